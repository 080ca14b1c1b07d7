"""What both clients have in common: their settings, and the flow of each kind of call. Nothing here waits or does I/O."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from formatbridge import formats, ir
from formatbridge.arguments import checked_stream
from formatbridge.client import errors
from formatbridge.client.calls import (
    Call,
    Head,
    Native,
    Prepared,
    build_call,
    build_models_call,
    note_replay,
    prepared,
    read_answer,
    read_json,
    read_models,
    refuse_failed,
)
from formatbridge.client.clock import Clock
from formatbridge.client.flow import Flow, Outcome, attempts, read_body
from formatbridge.client.flow_steps import Attempt, Close, Patience, Rules
from formatbridge.client.http_clients import Pool, checked_client
from formatbridge.client.incoming_stream import Incoming
from formatbridge.client.profile import RelayProfile, profile_of
from formatbridge.client.reply import Reply
from formatbridge.client.secrets import checked_headers
from formatbridge.client.settings import (
    Key,
    Limits,
    Retry,
    Timeout,
    base_url_of,
    checked,
    checked_callable,
    current_key,
    key_of,
    options_for,
    options_for_answer,
    retry_of,
    timeout_of,
)
from formatbridge.convert.bodies import Converted
from formatbridge.convert.bridge import Bridge, Exchange
from formatbridge.convert.input import model_of
from formatbridge.convert.masking import HIDDEN, hidden
from formatbridge.errors import ConfigurationError, NotFoundError
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options

T = TypeVar("T")

_LOG = logging.getLogger("formatbridge")
_MOST_PAGES = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to go."""

    exchange: Exchange
    call: Call


class Caller:
    """The settings of a client, and what both clients do without I/O."""

    _IS_ASYNC: ClassVar[bool]

    def __init__(
        self,
        base_url: str | None = None,
        api_key: Key | None = None,
        *,
        profile: RelayProfile | str | None = None,
        timeout: Timeout | float | EllipsisType | None = ...,
        retry: Retry | int = 2,
        http_client: object | None = None,
        headers: Mapping[str, str] | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take the settings; nothing is sent and no connection opened.

        ``base_url`` may have a path; None: ``FORMATBRIDGE_BASE_URL``, else the profile's. ``api_key``: a string, or a callable that is
        asked before every call; None: ``FORMATBRIDGE_API_KEY``; without any, none is sent. ``profile``: what the relay wants, or the name
        of one of ``PROFILES``. ``timeout``: a ``Timeout``, the total seconds, or None for no limit; left out: ``Timeout()``, but for
        streams without a total. ``retry``: how many attempts more than one, or a ``Retry``. ``http_client``: a client of httpx or httpx2 to
        send with; it stays its owner's to close. ``headers`` go with every call. ``options``: left out, ``raise_on="impossible"``;
        ``raise_on`` holds for requests, for an answer has been paid for. ``limits``: the most bytes that may come. ``on_attempt`` is told
        of every attempt. ``clock``: time and chance for tests. Raises ``ConfigurationError``.
        """
        key = hidden(api_key)
        del api_key
        self._profile = profile_of(profile)
        self._base_url = base_url_of(base_url, self._profile)
        self._key = key_of(key)
        self._timeout = None if isinstance(timeout, EllipsisType) else timeout_of(timeout)
        self._retry = retry_of(retry)
        checked_client(http_client, is_async=self._IS_ASYNC)
        self._pool = Pool(http_client, is_async=self._IS_ASYNC)
        self._owns_pool = True
        self._headers = checked_headers(headers)
        self._options = options_for(options, self._profile)
        self._limits = checked("limits", limits, Limits) or Limits()
        self._on_attempt = checked_callable("on_attempt", on_attempt)
        self._clock = checked("clock", clock, Clock) or Clock()
        self._known_rules: dict[bool, Rules] = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} holds a key and connections and cannot be pickled, expected to be made where it is used"
        )

    def __repr__(self) -> str:
        if not hasattr(self, "_key"):  # a traceback shows a client that could not be made, too
            return f"<{type(self).__name__}, not made>"
        key = "set" if self._key is not None else "none"
        return f"{type(self).__name__}(base_url={self._base_url!r}, profile={self._profile.name!r}, key={key})"

    def with_options(
        self,
        *,
        timeout: Timeout | float | EllipsisType | None = ...,
        retry: Retry | int | None = None,
        headers: Mapping[str, str] | None = None,
        options: Options | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
    ) -> Self:
        """Return a client that differs in what is given and shares the connections; to close it closes nothing. ``headers`` are added."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._owns_pool, made._known_rules = False, {}
        if not isinstance(timeout, EllipsisType):
            made._timeout = timeout_of(timeout)
        if retry is not None:
            made._retry = retry_of(retry)
        made._headers = checked_headers({**self._headers, **checked_headers(headers)})
        if options is not None:
            made._options = options_for(options, self._profile)
        if on_attempt is not None:
            made._on_attempt = checked_callable("on_attempt", on_attempt)
        return made

    def prepare(
        self,
        request: Any,
        format: FormatOrName | None = None,
        via: FormatOrName | None = None,
        stream: bool = False,
        *,
        model: str | None = None,
    ) -> Prepared:
        """Show what ``send`` or ``stream`` would send, without sending it. The key is hidden."""
        plan = self._plan(request, format, via, model, stream=stream)
        return prepared(plan.call, plan.exchange)

    def _plan(
        self, request: Any, format: FormatOrName | None, via: FormatOrName | None, model: str | None, *, stream: bool
    ) -> Plan:
        """Convert and address a request."""
        source_format = _format_of(request, format)
        bridge = Bridge(source_format, via=via if via is not None else source_format, options=self._options)
        is_plain = bridge.via in self._profile.plain_only
        streams = checked_stream(stream) and not is_plain
        home = options_for_answer(self._options, self._clock.time())
        exchange = bridge.open(request, stream=streams, model=model, home=home)
        if stream and is_plain:
            note_replay(exchange.request)
        if not exchange.request.model:
            raise ConfigurationError("the request names no model: pass model=")
        return Plan(exchange, build_call(exchange, self._base_url, self._profile, current_key(self._key), self._headers))

    def _rules(self, *, is_stream: bool) -> Rules:
        rules = self._known_rules.get(is_stream)
        if rules is None:
            usual = Timeout(total=None) if is_stream else Timeout()
            timeout = self._timeout if self._timeout is not None else usual
            rules = Rules(timeout, self._retry, self._limits, self._clock, self._profile.request_id_headers, self._observe)
            self._known_rules[is_stream] = rules
        return rules

    def _whole(self, plan: Plan) -> Flow[Reply]:
        """Bring a whole answer."""
        names = self._profile.request_id_headers

        def read(head: Head, native: Native) -> tuple[JsonObject, Converted]:
            answer = read_answer(head, native, plan.exchange, plan.call, names)
            refuse_failed(head, native.value, plan.call, names)  # which formats that hold failures would pass on
            return native.value, answer

        rules = self._rules(is_stream=False)
        outcome = yield from self._fetched(plan.call, read, rules, Patience(rules, is_stream=False))
        native, answer = outcome.received
        return Reply(plan.exchange.request, answer, native, outcome, names)

    def _listed(self) -> Flow[list[ir.Model]]:
        """Bring the list of models, page by page."""
        found: list[ir.Model] = []
        page, seen = "", {""}
        places = self._profile.model_lists()
        rules = self._rules(is_stream=False)
        patience = Patience(rules, is_stream=False)
        while True:
            call = build_models_call(self._base_url, self._profile, current_key(self._key), self._headers, places[0], page)

            def read(head: Head, native: Native, call: Call = call) -> ir.ModelList:
                return read_models(head, native.value, call, self._profile.request_id_headers)

            try:
                outcome = yield from self._fetched(call, read, rules, patience)
            except NotFoundError:
                if page or len(places) == 1:
                    raise
                del places[0]
                continue
            found += outcome.received.models
            page = _page_after(outcome.received)
            if not page:
                return found
            if page in seen or len(seen) >= _MOST_PAGES:
                told = "names a page that was read" if page in seen else f"has more than {_MOST_PAGES} pages"
                id = errors.request_id(outcome.head.headers, rules.request_id_headers)
                raise errors.unexpected(f"{told}, a list without end", status=outcome.head.status, body=b"", id=id, mask=call.mask)
            seen.add(page)

    def _fetched(self, call: Call, read: Callable[[Head, Native], T], rules: Rules, patience: Patience) -> Flow[Outcome[T]]:
        """Bring a whole body and what is read in it."""
        _announce(call)

        def receive(head: Head) -> Flow[T]:
            body = yield from read_body(head, rules, patience, call)
            return read(head, read_json(head, body, call, rules.request_id_headers))

        outcome = yield from attempts(call, rules, patience, receive)
        yield Close()
        return outcome

    def _opened(self, plan: Plan) -> Flow[Outcome[Incoming]]:
        """Open a stream, up to its first event."""
        _announce(plan.call)
        rules = self._rules(is_stream=True)
        patience = Patience(rules, is_stream=True)

        def receive(head: Head) -> Flow[Incoming]:
            return Incoming(plan.exchange, plan.call.mask, rules, patience).open(head, plan.call)

        return (yield from attempts(plan.call, rules, patience, receive))

    def _observe(self, attempt: Attempt) -> None:
        """Log an attempt, without bodies and secrets, and tell who wants to know."""
        result = attempt.status if attempt.status is not None else type(attempt.error).__name__
        what = (attempt.format, attempt.via, attempt.model[:200], result, attempt.seconds * 1000, attempt.request_id)
        if attempt.pause is None:
            _LOG.info("%s via %s, model %r: %s in %.0f ms, request %s", *what)
        else:
            _LOG.info("%s via %s, model %r: %s in %.0f ms, request %s, again in %.1f s", *what, attempt.pause)
        if self._on_attempt is not None:
            self._on_attempt(attempt)


def _announce(call: Call) -> None:
    """Log what is about to be sent, without body and secrets."""
    if _LOG.isEnabledFor(logging.DEBUG):
        secrets = dict.fromkeys(call.secrets, HIDDEN)
        _LOG.debug("%s %s with %d bytes, headers %s", call.method, call.url, len(call.body), {**call.headers, **secrets})


def _format_of(request: Any, format: FormatOrName | None) -> FormatSpec:
    """Return the caller's format: that of a typed model, or as named. It is never guessed."""
    found = model_of(request)
    if format is None:
        if found is None:
            raise ConfigurationError("format is missing; it may be left out for a typed model only")
        return formats.load(found[0])
    return formats.load(format)


def _page_after(made: ir.ModelList) -> str:
    """Return the query for the next page; empty on the last."""
    from urllib.parse import urlencode

    if made.next_page:
        return "?" + urlencode({"pageToken": made.next_page})
    return "?" + urlencode({"after_id": made.last_id}) if made.more and made.last_id else ""
