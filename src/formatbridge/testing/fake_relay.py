"""A relay in the process: all endpoints of four formats from one script, for clients of httpx and httpx2, without sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import formatbridge as fb
from formatbridge.arguments import checked_names, shown, type_name
from formatbridge.client.http_libraries import build_async_stream, build_response, build_stream, library_of
from formatbridge.client.profile import checked_url, origin_of
from formatbridge.client.settings import Clock, checked
from formatbridge.client.token_counts import TokenCounter
from formatbridge.errors import ConfigurationError
from formatbridge.testing import endpoints
from formatbridge.testing.endpoints import encoded_answer
from formatbridge.testing.events import (
    QUIRKS,
    Quirk,
    apply_error_quirks,
    apply_models_quirks,
    compact,
    rechunk,
    write_array,
    write_event,
)
from formatbridge.testing.faults import Fault, apply_fault, apply_fault_async, with_fault, with_fault_async
from formatbridge.testing.in_memory import InMemoryTransport
from formatbridge.testing.script import Answer, Body, Failure, Recorded, Script, ScriptedStep, ScriptPlayer
from formatbridge.testing.vendor_rules import SERVER_RULES, Facts, Issued, broken_rules
from formatbridge.testing.vendor_rules.responses import asks_for_token, stores_answer

_Models = Collection[str] | Callable[[str], bool]
_JSON = "application/json"
_STREAM_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True)
class _Reply:
    """The relay's answer: a status, headers and chunks of a body; and a fault of the connection."""

    status: int
    headers: Mapping[str, str]
    pieces: Sequence[bytes]
    fault: Fault | None = None


class FakeRelay(InMemoryTransport):
    """A relay in the process. It is also a transport for clients of httpx and httpx2, sync and async.

    ``answer``: its script. One step is used for every request: text, ``Answer``, ``Body``, a typed response, ``Failure``, a fault, or a
    pair of a failure or fault and an answer. A list of steps is used once, in sequence. A callable gets each request as ``Recorded`` and
    returns a step.

    ``api_key``: the key that it requires; None: no key is required.
    ``base_url``: its base URL, with or without a path. A request to another origin gets a connection error and is added to
    ``misdirected``.
    ``models``: the ids in its list of models; it answers for any model.
    ``count_tokens``: the number of input tokens that it counts, or a function of the request body; None: one token for each four bytes of
    the body. A token count uses no answer of the script; failures and faults apply to it.
    ``quirks``: deviations of real relays, see ``QUIRKS``.
    ``longest_delta``: maximum number of characters in one delta of a stream.
    ``chunks``: bytes of each chunk of the body, a number or a list of numbers; None: one event each.
    ``clock``: the clock for stalls; None: the system clock.
    ``strict``: reject requests that violate a vendor rule, and send ``encrypted_content`` only if the request
    includes it.
    ``reasoning_models``: the models that reason, as names or as a function of a name; None: all models.
    ``models_excluding_functions``: the models that reject functions with reasoning in chat_completions; None: no model.
    ``dialect``: the built-in dialect whose server it is; it rejects what this server rejects.
    ``verified``: whether the organisation is verified, which summaries of reasoning in responses require.

    >>> relay = FakeRelay("Hello")
    >>> client = relay.http_client()
    """

    def __init__(
        self,
        answer: Script = "Hello from the fake relay.",
        *,
        api_key: str | None = "sk-fake",
        base_url: str = "https://relay.test",
        models: Sequence[str] = ("m-large", "m-small"),
        quirks: Iterable[Quirk] = (),
        longest_delta: int = 16,
        chunks: int | Sequence[int] | None = None,
        clock: Clock | None = None,
        strict: bool = True,
        reasoning_models: _Models | None = None,
        models_excluding_functions: _Models | None = None,
        verified: bool = True,
        dialect: str | None = None,
        count_tokens: int | TokenCounter | None = None,
    ) -> None:
        self.api_key = api_key
        """The key that it requires."""
        self.base_url = checked_url(base_url)
        """Its base URL, for the client."""
        self.requests: list[Recorded] = []
        """All requests to it, in order, including rejected ones."""
        self.misdirected: list[Recorded] = []
        """All requests to another origin, in order."""
        self.models = checked_names("models", models)
        """The ids in its list of models."""
        self.quirks = frozenset(checked_names("quirks", quirks))
        """Its deviations."""
        unknown = sorted(self.quirks - QUIRKS.keys())
        if unknown:
            raise ConfigurationError(f"unknown quirk {unknown[0]!r}, expected some of {', '.join(QUIRKS)}")
        if not _are_counts([longest_delta]):
            raise ConfigurationError(f"longest_delta is {shown(longest_delta)}, expected 1 or more")
        if chunks is not None and not _are_counts(chunks if isinstance(chunks, Sequence) else [chunks]):
            raise ConfigurationError(f"chunks is {shown(chunks)}, expected bytes of a chunk, 1 or more, or a list of such numbers")
        if api_key is not None and not isinstance(api_key, str):
            raise ConfigurationError(f"api_key is {type_name(api_key)}, expected a string or None")
        self._longest_delta = longest_delta
        self._chunks = chunks
        self._clock = checked("clock", clock, Clock)
        self._strict = _checked_flag("strict", strict)
        self._verified = _checked_flag("verified", verified)
        self._reasoning_models = _checked_models("reasoning_models", reasoning_models)
        self._excluding_functions = _checked_models("models_excluding_functions", models_excluding_functions)
        if dialect is not None and dialect not in SERVER_RULES:
            raise ConfigurationError(f"dialect is {shown(dialect)}, expected one of {', '.join(SERVER_RULES)}")
        self._dialect = dialect
        if count_tokens is not None and not callable(count_tokens) and not _are_counts([count_tokens]):
            raise ConfigurationError(f"count_tokens is {shown(count_tokens)}, expected a number of tokens or a function")
        self._count_tokens = count_tokens
        self._issued = Issued()
        self._player = ScriptPlayer(answer)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Show the base URL and the number of requests, not the key."""
        if not hasattr(self, "_lock"):  # in a traceback of an ``__init__`` that raised
            return "<FakeRelay, not initialized>"
        return f"<FakeRelay {self.base_url}, {len(self.requests)} requests>"

    def play(self, *steps: Script) -> None:
        """Set a new script: one step for every request (or a callable), or several in sequence."""
        script = steps[0] if len(steps) == 1 else list(steps)
        self._player = ScriptPlayer(script)  # type: ignore[arg-type]  # it checks that each of several is one step

    @property
    def steps_left(self) -> int | None:
        """The number of unused steps of a list; None if the script has no end."""
        return self._player.steps_left

    def leaks(self, secret: str) -> list[str]:
        """Return the locations of a secret in all requests, except in the header for the key of requests to the relay itself."""
        locations = [location for request in self.requests for location in request.locations_of(secret, may_hold_key=True)]
        return locations + [
            location for request in self.misdirected for location in request.locations_of(secret, may_hold_key=False)
        ]

    def __enter__(self) -> FakeRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> FakeRelay:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Do nothing: there is nothing to close, and the next client may use the same relay."""

    async def aclose(self) -> None:
        """Do nothing, as ``close``."""

    def handle_request(self, request: Any) -> Any:
        """Handle a request of a sync client."""
        library = library_of(request)
        reply = self._reply(library, request, request.read())
        fault = reply.fault
        if fault is not None and fault.at is None:
            apply_fault(fault, request, self._clock)
            fault = None
        pieces = reply.pieces if fault is None else with_fault(reply.pieces, fault, request, self._clock)
        return build_response(library, reply.status, reply.headers, build_stream(library, pieces))

    async def handle_async_request(self, request: Any) -> Any:
        """Answer a request of an async client."""
        library = library_of(request)
        reply = self._reply(library, request, await request.aread())
        fault = reply.fault
        if fault is not None and fault.at is None:
            await apply_fault_async(fault, request, self._clock)
            fault = None
        pieces = _each(reply.pieces)
        if fault is not None:
            pieces = with_fault_async(pieces, fault, request, self._clock)
        return build_response(library, reply.status, reply.headers, build_async_stream(library, pieces))

    def _reply(self, library: Any, request: Any, content: bytes) -> _Reply:
        """Record a request and return its answer."""
        recorded = Recorded(request.method, str(request.url), dict(request.headers), content, body=_parsed(content))
        if origin_of(recorded.url) != origin_of(self.base_url):
            with self._lock:
                self.misdirected.append(recorded)
            raise library.ConnectError(f"no server at {recorded.url}, the relay is at {self.base_url}", request=request)
        prefix = urlsplit(self.base_url).path
        endpoint = endpoints.find_endpoint(recorded.method, recorded.url, prefix, recorded.headers)
        if endpoint is not None:
            recorded = replace(recorded, format=endpoint.format, model=endpoint.model, stream=bool(endpoint.stream))
        with self._lock:
            self.requests.append(recorded)
            number = len(self.requests)
        try:
            return self._serve(endpoint, recorded, number)
        except endpoints.RejectedByRelayError as error:
            return self._error_reply(error.failure, endpoint, number)

    def _serve(self, endpoint: endpoints.Endpoint | None, recorded: Recorded, number: int) -> _Reply:
        redirect = self._redirect(recorded)
        if redirect is not None:
            return redirect
        if endpoint is None:
            path = urlsplit(recorded.url).path
            raise endpoints.RejectedByRelayError(
                Failure(404, f"Invalid URL ({recorded.method} {path})", type="invalid_request_error", code="")
            )
        endpoints.check_key(endpoint, recorded.headers, self.api_key)
        endpoints.check_version(endpoint, recorded.headers)
        if endpoint.kind == "models":
            step = self._player.next(recorded, wants_answer=False)
            return self._list(endpoint, number) if step is None else self._respond_without_answer(step, endpoint, number)
        if endpoint.kind == "count":
            step = self._player.next(recorded, wants_answer=False)
            return self._count(endpoint, recorded, number) if step is None else self._respond_without_answer(step, endpoint, number)
        request = endpoints.check_body(endpoint, recorded.content, endpoint.format)
        known = replace(recorded, model=request.model, stream=request.stream)
        with self._lock:
            self.requests[number - 1] = known
        self._check_vendor_rules(known)
        step = self._player.next(known, wants_answer=True)
        assert step is not None
        if step.answer is None:
            return self._respond_without_answer(step, endpoint, number)
        return self._answer(step, step.answer, endpoint, known, number)

    def _check_vendor_rules(self, request: Recorded) -> None:
        """Reject a request that the vendor of its format would reject."""
        if not self._strict or request.format is None:
            return
        facts = Facts(
            model=request.model,
            can_reason=_has_model(self._reasoning_models, request.model, default=True),
            excludes_functions=_has_model(self._excluding_functions, request.model, default=False),
            is_verified=self._verified,
            issued=self._issued,
        )
        for _, failure in broken_rules(request.format, request.body, facts, self._dialect):
            raise endpoints.RejectedByRelayError(failure)

    def _redirect(self, recorded: Recorded) -> _Reply | None:
        """Return a redirect for a path with a slash at its end or, with the quirk, for one without."""
        split = urlsplit(recorded.url)
        requires_trailing_slash = "trailing_slash_307" in self.quirks
        if split.path.endswith("/") == requires_trailing_slash:
            return None
        path = f"{split.path}/" if requires_trailing_slash else split.path.rstrip("/")
        return _Reply(307, {"location": split._replace(path=path).geturl()}, ())

    def _list(self, endpoint: endpoints.Endpoint, number: int) -> _Reply:
        """Return the list of models, or one of them."""
        ids = [id_ for id_ in self.models if endpoint.model in ("", id_)]
        if endpoint.model and not ids:
            raise endpoints.RejectedByRelayError(
                Failure(404, f"no model {endpoint.model!r}, expected one of {', '.join(self.models)}", code="model_not_found")
            )
        models = {"models": [_model(id_) for id_ in ids]}
        body = fb.convert_models(models, source="generate_content", target=endpoint.format).body
        body = apply_models_quirks(body, endpoint.format, self.quirks)
        if endpoint.model:
            body = body["models" if endpoint.format == "generate_content" else "data"][0]
        return self._send(200, body, number)

    def _count(self, endpoint: endpoints.Endpoint, recorded: Recorded, number: int) -> _Reply:
        """Return the number of input tokens of a request."""
        request = endpoints.check_count_body(endpoint, recorded.content, self._dialect)
        with self._lock:
            self.requests[number - 1] = replace(recorded, model=request.model)
        count = self._count_tokens
        tokens = count(recorded.body) if callable(count) else -(-len(recorded.content) // 4) if count is None else count
        answer = {"object": "response.input_tokens", "input_tokens": tokens}
        return self._send(200, fb.convert_count_response(answer, source="responses", target=endpoint.format).body, number)

    def _answer(
        self, step: ScriptedStep, answer: Answer | Body, endpoint: endpoints.Endpoint, request: Recorded, number: int
    ) -> _Reply:
        failure = step.failure if isinstance(step.failure, Failure) else None
        fault = None if isinstance(step.failure, Failure) else step.failure
        has_token = not self._strict or asks_for_token(request.body)
        encoded = encoded_answer(answer, endpoint, request.content, request.model, number, has_encrypted_content=has_token)
        if not request.stream:
            if failure is not None:
                return self._error_reply(failure, endpoint, number)
            status, body = encoded.whole(self.quirks)
            self._remember(body, endpoint, request)
            return self._send(status, body, number, fault=fault)
        events = encoded.streamed(self.quirks, self._longest_delta, failure)
        self._remember([event.data for event in events], endpoint, request)
        if endpoint.is_array:
            return self._send(200, write_array(events), number, fault=fault)
        frames = [write_event(event, endpoint.format) for event in events]
        return self._send(200, frames, number, headers=_STREAM_HEADERS, fault=fault)

    def _remember(self, sent: Any, endpoint: endpoints.Endpoint, request: Recorded) -> None:
        """Record the tokens and ids of an answer, for the request that sends them back."""
        is_stored = endpoint.format == "responses" and stores_answer(request.body)
        with self._lock:
            self._issued.note(endpoint.format, sent, is_stored=is_stored)

    def _respond_without_answer(self, step: ScriptedStep, endpoint: endpoints.Endpoint, number: int) -> _Reply:
        """Return the reply of a step without an answer."""
        if isinstance(step.failure, Failure):
            return self._error_reply(step.failure, endpoint, number)
        return _Reply(200, {}, (), step.failure)

    def _error_reply(self, failure: Failure, endpoint: endpoints.Endpoint | None, number: int) -> _Reply:
        format = endpoint.format if endpoint else None
        body = endpoints.error_body(failure, format or "chat_completions")
        status, body = apply_error_quirks(failure.status, body, failure.message, format, self.quirks)
        retry_after_header = {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
        return self._send(status, body, number, headers={**retry_after_header, **failure.headers})

    def _send(
        self, status: int, body: Any, number: int, *, headers: Mapping[str, str] | None = None, fault: Fault | None = None
    ) -> _Reply:
        """Return a reply with a body (JSON, HTML or chunks) in chunks of the configured size."""
        kind = "text/html" if isinstance(body, str) else _JSON
        pieces = body if isinstance(body, list) and all(isinstance(piece, bytes) for piece in body) else [_written(body)]
        sent = {"content-type": kind, "x-oneapi-request-id": f"fake-{number}", **(headers or {})}
        return _Reply(status, sent, tuple(rechunk(pieces, self._chunks)), fault)


def _are_counts(values: Iterable[object]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) and value > 0 for value in values)


def _checked_models(name: str, models: _Models | None) -> _Models | None:
    """Return names of models as a set, or a function of a name; raise ``ConfigurationError`` on anything else."""
    return models if models is None or callable(models) else frozenset(checked_names(name, models))


def _has_model(models: _Models | None, model: str, *, default: bool) -> bool:
    """Return whether a model is among those of a setting. ``default``: the result without the setting."""
    if models is None:
        return default
    return bool(models(model)) if callable(models) else model in models


def _checked_flag(name: str, value: object) -> bool:
    """Return a bool; raise ``ConfigurationError`` on anything else."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is {shown(value)}, expected True or False")
    return value


def _written(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else compact(body).encode()


def _model(id_: str) -> dict[str, Any]:
    return {
        "name": f"models/{id_}",
        "version": "001",
        "displayName": id_,
        "description": f"The model {id_} of the fake relay.",
        "inputTokenLimit": 200_000,
        "outputTokenLimit": 64_000,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
    }


def _parsed(content: bytes) -> Any:
    """Return a body as JSON; None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
