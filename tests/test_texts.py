"""A conversation of texts is read before anybody has checked it, and means what it would mean then."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from formatbridge import FORMATS, ir
from formatbridge.bodies import check, read_texts
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats import load
from tests.corpus import entries
from tests.fixtures import fixtures
from tests.pointers import leaves, objects, value_at, with_value

TALKS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}],
        "temperature": 1,
    },
    "messages": {
        "model": "m",
        "system": "S",
        "messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}],
        "max_tokens": 5,
    },
    "responses": {
        "model": "m",
        "instructions": "S",
        "input": [
            {"type": "message", "role": "user", "content": "U"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "V"}]},
        ],
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "contents": [{"role": "user", "parts": [{"text": "U"}]}, {"role": "model", "parts": [{"text": "A"}]}],
        "generationConfig": {"temperature": 0.5},
    },
}
"""Format to a request whose conversation is nothing but texts."""
STRANGE: tuple[Any, ...] = (
    None, True, 0, 1.5, 2**70, "", "x", "user", "model", "assistant", "tool", "system", "message", [], ["x"], [[]], [{}], {}, {"text": "x"},
    [{"text": "x"}], [{"text": 1}], [{"type": "text", "text": "x"}], [{"type": "input_text", "text": "x"}], {"parts": [{"text": "x"}]},
)  # fmt: skip


def _requests(name: str) -> Iterator[dict[str, Any]]:
    """Yield requests of a format: shipped, recorded, and the one of texts with each value, and each object, made something else."""
    yield from (fixture.body for fixture in fixtures("request") if fixture.format == name)
    yield from (entry.json() for entry in entries(name, "request") if not entry.is_curated)
    plain = TALKS[name]
    yield plain
    for pointer, _ in leaves(plain):
        yield from (with_value(plain, pointer, value) for value in STRANGE)
    for pointer in objects(plain):
        yield from (with_value(plain, pointer, value) for value in STRANGE if pointer)
        for key in {*value_at(plain, pointer), "x", "role", "name", "id"}:
            yield from (with_value(plain, f"{pointer}/{key}", value) for value in STRANGE)
            yield _without_member(plain, pointer, key)


def _without_member(body: dict[str, Any], pointer: str, key: str) -> dict[str, Any]:
    made = copy.deepcopy(body)
    value_at(made, pointer).pop(key, None)
    return made


@pytest.mark.parametrize("name", FORMATS)
def test_texts_are_read_unchecked_as_they_would_be_checked(name: ir.Format) -> None:
    """What only the checker refuses would get through, and what only the long way reads would be lost."""
    format, count = load(name), 0
    for body in _requests(name):
        texts = read_texts(copy.deepcopy(body), format) if isinstance(body, dict) else None
        if texts is None:
            continue
        count += 1
        try:
            checked = check(copy.deepcopy(body), name, "request")
        except InvalidPayloadError as error:
            pytest.fail(f"{body} was read, and is refused: {error}")
        assert checked == body

        made = format.decode_request(body, model="m", stream=None, texts=texts)

        assert made == format.decode_request(checked, model="m", stream=None)

    assert count > 30, "hardly anything was read at a glance"


@pytest.mark.parametrize("name", FORMATS)
def test_the_usual_conversation_is_read_as_texts(name: ir.Format) -> None:
    """If none were, all of this would be slow, and no other test would say so."""
    assert read_texts(TALKS[name], load(name)) is not None
