"""The memory of a gateway: what ``previous_response_id`` and ``item_reference`` of a responses request refer to.

Only an endpoint of the responses format keeps earlier answers. For any other endpoint the gateway stores them and sends the whole
conversation. ``FormatSpec.stored_answers`` has the fields of the format.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from formatbridge.arguments import type_name
from formatbridge.client.sdk_requests import RejectedRequestError, SDKRequest, operator_code, sdk_key
from formatbridge.convert.bodies import Converted, ConvertedError
from formatbridge.errors import ConfigurationError
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject

T = TypeVar("T")
_MAX_CHAIN = 10_000


class ResponseStore(Protocol):
    """Keeps JSON objects by id, for ``Gateway(memory=...)``. Both methods may be async.

    An id begins with a digest of the caller's key, so that no caller reads the conversation of another.
    """

    def get(self, id: str) -> JsonObject | Awaitable[JsonObject | None] | None:
        """Return the object of an id; None if it is unknown."""

    def put(self, id: str, value: JsonObject) -> Awaitable[None] | None:
        """Store an object."""


class InMemoryStore:
    """A store for tests and single processes. ``max_bytes``: the size of all objects as JSON; the least recently used ones are removed."""

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 1:
            raise ConfigurationError(f"max_bytes is {max_bytes!r}, expected an integer of 1 or more")
        self._max_bytes = max_bytes
        self._size = 0
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"<InMemoryStore, {len(self)} objects, {self._size} bytes>"

    def get(self, id: str) -> JsonObject | None:
        """Return a copy of the object of an id; None if it is unknown."""
        with self._lock:
            text = self._texts.get(id)
            if text is None:
                return None
            self._texts.move_to_end(id)
        value: JsonObject = codec.loads(text)
        return value

    def put(self, id: str, value: JsonObject) -> None:
        """Store a copy of an object."""
        text = codec.dumps(value)
        with self._lock:
            self._size += len(text) - len(self._texts.pop(id, b""))
            self._texts[id] = text
            while self._size > self._max_bytes:
                _, removed = self._texts.popitem(last=False)
                self._size -= len(removed)


class Turn:
    """One request, of a format with stored answers, and the conversation that it continues; it stores the answer."""

    def __init__(self, store: ResponseStore, request: SDKRequest) -> None:
        stored = request.format.stored_answers
        assert stored is not None
        self._store = store
        self._stored = stored
        self._id_field = request.format.id_field
        self._input_field, self._output_field = (request.format.content_fields[kind] for kind in ("request", "response"))
        self._scope = _scope(request.headers)
        self._previous: str | None = None
        self._input: list[Any] = []
        self._is_stored = False

    async def resolve(self, request: SDKRequest) -> SDKRequest:
        """Return the request with the whole conversation. Reject it where it refers to something unknown."""
        try:
            body = codec.loads(request.content)
        except codec.NotJsonError:
            return request
        if not isinstance(body, dict):
            return request
        self._input = self._input_items(body.get(self._input_field))
        self._is_stored = body.get(self._stored.flag) is not False
        has_references = any(map(self._is_reference, self._input))
        if has_references:
            self._input = [await self._item(item) for item in self._input]
        field = self._stored.previous_field
        previous = body.get(field)
        if isinstance(previous, str):
            self._previous = previous
            body = {**body, self._input_field: [*(await self._conversation(previous)), *self._input]}
            del body[field]
            return replace(request, content=codec.dumps(body), replaced={field: previous})
        if has_references:
            return replace(request, content=codec.dumps({**body, self._input_field: self._input}))
        return request

    async def save(self, answer: Converted) -> None:
        """Store a complete answer, once; an answer whose id is not from the endpoint is not unique and is not stored."""
        id, output = answer.body.get(self._id_field), answer.body.get(self._output_field)
        field, statuses = self._stored.statuses
        is_complete = answer.body.get(field) in statuses and not isinstance(answer, ConvertedError)
        if not self._is_stored or not is_complete or not isinstance(id, str) or not isinstance(output, list):
            return
        self._is_stored = False
        if any(addition.path == f"/{self._id_field}" for addition in answer.additions):
            return
        items = [*self._input, *output]
        await _result(self._store.put(self._key(id), {"previous": self._previous, "items": items}))
        for index, item in enumerate(items):
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                await _result(self._store.put(self._key(item["id"]), {"response": id, "index": index}))

    async def _conversation(self, id: str) -> list[Any]:
        """Return the items of an answer and of all before it, oldest first."""
        turns: list[list[Any]] = []
        previous: str | None = id
        while previous is not None:
            turn = await self._get(previous)
            if turn is None or "items" not in turn or len(turns) >= _MAX_CHAIN:
                message = f"Previous response with id {previous!r} not found."
                raise RejectedRequestError(400, message, code=self._stored.codes[0], param=self._stored.previous_field)
            turns.append(turn["items"])
            previous = turn["previous"]
        return [item for items in reversed(turns) for item in items]

    async def _item(self, item: Any) -> Any:
        """Return the item that a reference stands for; any other item unchanged."""
        if not self._is_reference(item):
            return item
        place = await self._get(str(item.get("id")))
        turn = await self._get(place["response"]) if place is not None and "response" in place else None
        if place is None or turn is None:
            message = f"Item with id {str(item.get('id'))[:200]!r} not found."
            raise RejectedRequestError(404, message, code=self._stored.codes[1], param=self._input_field)
        return turn["items"][place["index"]]

    def _is_reference(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("type") == self._stored.reference_type

    def _input_items(self, raw: Any) -> list[Any]:
        """Return the conversation of a request as a list; a text is a message of the user."""
        if isinstance(raw, str):
            return [self._stored.item_of_text(raw)]
        return list(raw) if isinstance(raw, list) else []

    async def _get(self, id: str) -> JsonObject | None:
        with operator_code("memory"):
            return await _result(self._store.get(self._key(id)))

    def _key(self, id: str) -> str:
        return f"{self._scope}/{id}"


async def _result(value: T | Awaitable[T]) -> T:
    """Return a value, awaited if the store is async."""
    return await value if isinstance(value, Awaitable) else value


def _scope(headers: Mapping[str, str]) -> str:
    """Return a digest of the caller's key."""
    key = sdk_key(headers)
    return hashlib.sha256(key.reveal().encode() if key is not None else b"").hexdigest()[:32]


def checked_store(store: Any) -> ResponseStore | None:
    """Return the argument ``memory``; raise ``ConfigurationError`` on an object without ``get`` and ``put``."""
    if store is None or all(callable(getattr(store, name, None)) for name in ("get", "put")):
        checked: ResponseStore | None = store
        return checked
    raise ConfigurationError(
        f"memory is {type_name(store)}, expected an object with get and put, such as formatbridge.InMemoryStore"
    )
