"""A relay in the process: five endpoints and four formats from one script, for clients of httpx and httpx2, without a socket."""

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
from formatbridge.errors import ConfigurationError
from formatbridge.testing.encoded_answer import encoded_answer
from formatbridge.testing.endpoints import (
    Endpoint,
    RefusedError,
    check_body,
    check_key,
    check_version,
    error_body,
    find_endpoint,
)
from formatbridge.testing.events import compact, cut, write_array, write_event
from formatbridge.testing.faults import Fault, apply_fault, apply_fault_async, with_fault, with_fault_async
from formatbridge.testing.in_memory import InMemoryTransport
from formatbridge.testing.quirks import QUIRKS, Quirk, apply_error_quirks, apply_models_quirks
from formatbridge.testing.script import Answer, Body, Failure, Recorded, Script, ScriptPlayer, Turn
from formatbridge.testing.vendor_rules import Facts, Issued, broken_rules
from formatbridge.testing.vendor_rules.responses import asks_for_token, stores_answer

_JSON = "application/json"
_STREAM_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the relay sends back: a status, headers and pieces of a body; and what goes wrong on the way."""

    status: int
    headers: Mapping[str, str]
    pieces: Sequence[bytes]
    fault: Fault | None = None


class FakeRelay(InMemoryTransport):
    """An in-process relay; it is itself a transport for clients of httpx and httpx2, sync and async.

    ``answer``: what it says. One step (text, ``Answer``, ``Body``, a typed response, ``Failure`` or a fault, or a pair of trouble
    and an answer) is said to everybody; a list is said in turn, once; a callable gets each request, ``Recorded``, and returns a
    step.

    ``api_key``: the key that it wants; None: none. ``base_url``: where it lives, with a path prefix or without; a request that
    goes anywhere else gets no connection and stands in ``strays``. ``models``: the ids that it lists; it answers for any model.
    ``quirks``: what it does differently, see ``QUIRKS``. ``longest_delta``: characters in one delta of a stream. ``chunks``:
    bytes in one read of the body, a number or a list of numbers; None: an event each. ``clock``: whose time
    passes where a script stalls; None: the machine's.

    ``strict``: refuse what the vendors' servers refuse although their types allow it, and send ``encrypted_content`` only if the
    request includes it. ``reasoning_models``: the models that reason, as names or as a function of a name; None: all of them.
    ``verified``: whether the organisation is verified, as summaries of reasoning demand in responses.

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
        reasoning_models: Collection[str] | Callable[[str], bool] | None = None,
        verified: bool = True,
    ) -> None:
        self.api_key = api_key
        """The key that it wants."""
        self.base_url = checked_url(base_url)
        """Where it lives; hand it to the client."""
        self.requests: list[Recorded] = []
        """Every request that reached it, in order, also those that it refused."""
        self.strays: list[Recorded] = []
        """Every request that was sent to another origin than its own, in order."""
        self.models = checked_names("models", models)
        """The ids that it lists."""
        self.quirks = frozenset(checked_names("quirks", quirks))
        """What it does differently."""
        unknown = sorted(self.quirks - QUIRKS.keys())
        if unknown:
            raise ConfigurationError(f"unknown quirk {unknown[0]!r}, expected some of {', '.join(QUIRKS)}")
        if not _are_counts([longest_delta]):
            raise ConfigurationError(f"longest_delta is {shown(longest_delta)}, expected 1 or more")
        if chunks is not None and not _are_counts(chunks if isinstance(chunks, Sequence) else [chunks]):
            raise ConfigurationError(f"chunks is {shown(chunks)}, expected bytes in a read, 1 or more, or a list of that")
        if api_key is not None and not isinstance(api_key, str):
            raise ConfigurationError(f"api_key is {type_name(api_key)}, expected a string or None")
        self._longest_delta = longest_delta
        self._chunks = chunks
        self._clock = checked("clock", clock, Clock)
        self._strict = _checked_flag("strict", strict)
        self._verified = _checked_flag("verified", verified)
        if reasoning_models is not None and not callable(reasoning_models):
            reasoning_models = frozenset(checked_names("reasoning_models", reasoning_models))
        self._reasoning_models = reasoning_models
        self._issued = Issued()
        self._prompter = ScriptPlayer(answer)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Show where it lives and what has come, not the key."""
        if not hasattr(self, "_lock"):  # a traceback shows a relay that could not be made, too
            return "<FakeRelay, not made>"
        return f"<FakeRelay {self.base_url}, {len(self.requests)} requests>"

    def play(self, *steps: Any) -> None:
        """Take a new script: one step for everybody (or a callable), or several in turn."""
        self._prompter = ScriptPlayer(steps[0] if len(steps) == 1 else list(steps))

    @property
    def steps_left(self) -> int | None:
        """How many steps of a list are still to be said; None where the script has no end."""
        return self._prompter.left

    def leaks(self, secret: str) -> list[str]:
        """Return where a secret stands in any request, but for the one header that holds the key at the relay itself."""
        locations = [place for request in self.requests for place in request.places_of(secret, is_home=True)]
        return locations + [place for request in self.strays for place in request.places_of(secret, is_home=False)]

    def __enter__(self) -> FakeRelay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> FakeRelay:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Do nothing: there is nothing to let go of, and the next client may use the same relay."""

    async def aclose(self) -> None:
        """Do nothing, either."""

    def handle_request(self, request: Any) -> Any:
        """Answer a request of a sync client."""
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
        """Record a request and return what it gets."""
        recorded = Recorded(request.method, str(request.url), dict(request.headers), content, body=_parsed(content))
        if origin_of(recorded.url) != origin_of(self.base_url):
            with self._lock:
                self.strays.append(recorded)
            raise library.ConnectError(f"nobody at {recorded.url}, the relay is at {self.base_url}", request=request)
        prefix = urlsplit(self.base_url).path
        endpoint = find_endpoint(recorded.method, recorded.url, prefix, recorded.headers)
        if endpoint is not None:
            recorded = replace(recorded, format=endpoint.format, model=endpoint.model, stream=bool(endpoint.stream))
        with self._lock:
            self.requests.append(recorded)
            number = len(self.requests)
        try:
            return self._serve(endpoint, recorded, number)
        except RefusedError as error:
            return self._fail(error.failure, endpoint, number)

    def _serve(self, endpoint: Endpoint | None, recorded: Recorded, number: int) -> _Reply:
        moved = self._moved(recorded)
        if moved is not None:
            return moved
        if endpoint is None:
            path = urlsplit(recorded.url).path
            raise RefusedError(Failure(404, f"Invalid URL ({recorded.method} {path})", type="invalid_request_error", code=""))
        check_key(endpoint, recorded.headers, self.api_key)
        check_version(endpoint, recorded.headers)
        if endpoint.kind == "models":
            turn = self._prompter.next(recorded, wants_answer=False)
            return self._list(endpoint, number) if turn is None else self._trouble(turn, endpoint, number)
        asked = check_body(endpoint, recorded.content, endpoint.format)
        known = replace(recorded, model=asked.model, stream=asked.stream)
        with self._lock:
            self.requests[number - 1] = known
        self._refuse(known)
        turn = self._prompter.next(known, wants_answer=True)
        assert turn is not None
        if turn.answer is None:
            return self._trouble(turn, endpoint, number)
        return self._answer(turn, turn.answer, endpoint, known, number)

    def _refuse(self, asked: Recorded) -> None:
        """Refuse a request that the vendor of its format would refuse."""
        if not self._strict or asked.format is None:
            return
        facts = Facts(model=asked.model, reasons=self._reasons(asked.model), is_verified=self._verified, issued=self._issued)
        for _, failure in broken_rules(asked.format, asked.body, facts):
            raise RefusedError(failure)

    def _reasons(self, model: str) -> bool:
        """Say whether a model reasons."""
        models = self._reasoning_models
        if models is None:
            return True
        return bool(models(model)) if callable(models) else model in models

    def _moved(self, recorded: Recorded) -> _Reply | None:
        """Return the redirect of a path with a slash too many, or, by the quirk, with one too few."""
        split = urlsplit(recorded.url)
        wants_slash = "trailing_slash_307" in self.quirks
        if split.path.endswith("/") == wants_slash:
            return None
        path = f"{split.path}/" if wants_slash else split.path.rstrip("/")
        return _Reply(307, {"location": split._replace(path=path).geturl()}, ())

    def _list(self, endpoint: Endpoint, number: int) -> _Reply:
        """Return the list of models, or one of them."""
        ids = [id_ for id_ in self.models if endpoint.model in ("", id_)]
        if endpoint.model and not ids:
            raise RefusedError(Failure(404, f"no model {endpoint.model!r}", code="model_not_found"))
        listed = {"models": [_model(id_) for id_ in ids]}
        body = fb.convert_models(listed, source="generate_content", target=endpoint.format).body
        body = apply_models_quirks(body, endpoint.format, self.quirks)
        if endpoint.model:
            body = body["models" if endpoint.format == "generate_content" else "data"][0]
        return self._send(200, body, number)

    def _answer(self, turn: Turn, answer: Answer | Body, endpoint: Endpoint, asked: Recorded, number: int) -> _Reply:
        failure = turn.trouble if isinstance(turn.trouble, Failure) else None
        fault = None if isinstance(turn.trouble, Failure) else turn.trouble
        has_token = not self._strict or asks_for_token(asked.body)
        speech = encoded_answer(answer, endpoint, asked.content, asked.model, number, has_encrypted_content=has_token)
        if not asked.stream:
            if failure is not None:
                return self._fail(failure, endpoint, number)
            status, body = speech.whole(self.quirks)
            self._note(body, endpoint, asked)
            return self._send(status, body, number, fault=fault)
        events = speech.streamed(self.quirks, self._longest_delta, failure)
        self._note([event.data for event in events], endpoint, asked)
        if endpoint.is_array:
            return self._send(200, write_array(events), number, fault=fault)
        frames = [write_event(event, endpoint.format) for event in events]
        return self._send(200, frames, number, headers=_STREAM_HEADERS, fault=fault)

    def _note(self, sent: Any, endpoint: Endpoint, asked: Recorded) -> None:
        """Remember the tokens and ids of an answer, for the request that sends them back."""
        is_stored = endpoint.format == "responses" and stores_answer(asked.body)
        with self._lock:
            self._issued.note(endpoint.format, sent, is_stored=is_stored)

    def _trouble(self, turn: Turn, endpoint: Endpoint, number: int) -> _Reply:
        """Return what a step without an answer does to a request."""
        if isinstance(turn.trouble, Failure):
            return self._fail(turn.trouble, endpoint, number)
        return _Reply(200, {}, (), turn.trouble)

    def _fail(self, failure: Failure, endpoint: Endpoint | None, number: int) -> _Reply:
        format = endpoint.format if endpoint else None
        body = error_body(failure, format or "chat_completions")
        status, body = apply_error_quirks(failure.status, body, failure.message, format, self.quirks)
        wait = {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
        return self._send(status, body, number, headers={**wait, **failure.headers})

    def _send(
        self, status: int, body: Any, number: int, *, headers: Mapping[str, str] | None = None, fault: Fault | None = None
    ) -> _Reply:
        """Put a body, JSON, HTML or pieces of one, in the pieces that the relay was told to send."""
        kind = "text/html" if isinstance(body, str) else _JSON
        pieces = body if isinstance(body, list) and all(isinstance(piece, bytes) for piece in body) else [_written(body)]
        sent = {"content-type": kind, "x-oneapi-request-id": f"fake-{number}", **(headers or {})}
        return _Reply(status, sent, tuple(cut(pieces, self._chunks)), fault)


def _are_counts(values: Iterable[object]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) and value > 0 for value in values)


def _checked_flag(name: str, value: object) -> bool:
    """Return a flag; raise ``ConfigurationError`` on anything else."""
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
    """Return a body as JSON; None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
