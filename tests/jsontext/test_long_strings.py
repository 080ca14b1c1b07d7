"""Copied strings are written like all others. This matters for images, which are most of the bytes of a body."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge.jsontext.codec import dumps, loads

LONG = 70 * 1024
IMAGE = "iVBORw0KGgo/AAA+" * (LONG // 16)
OTHER = "R0lGODlhAQABAIA=" * (LONG // 16)
BODY = {"before": [IMAGE, {"text": "short"}], "after": OTHER, "more": "x" * 300 * 1024}

VALUES = {
    "in order": BODY,
    "in another order": {"after": OTHER, "before": [IMAGE]},
    "a quote in the head": {"data": '"' + IMAGE},
    "a piece of a string": {"data": IMAGE[4:]},
    "a string around one": {"url": f"data:image/png;base64,{IMAGE}"},
    "nothing of the source": {"data": "Z" * LONG},
    "a quote": {"data": IMAGE + '"'},
    "a line end": {"data": IMAGE + "\n"},
    "a control character": {"data": "\x01" + IMAGE},
    "a control character after the data": {"data": IMAGE[:-1] + "\x01"},
    "beyond ASCII": {"data": IMAGE + "é\U0001f642"},
    "what looks like a mark": {"data": IMAGE, "mark": "\0", "key\0": "\0\0"},
    "nested deep": json.loads('{"a":' * 100 + json.dumps(IMAGE) + "}" * 100),
    "many values": {"data": IMAGE, "numbers": list(range(1000))},
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_long_string_is_written_like_any_other(value: object, indent: int | None) -> None:
    """For any content and any white space of the source."""
    source = json.dumps(BODY, indent=indent).encode()

    assert dumps(value, source) == dumps(value)


@pytest.mark.parametrize("gap", ["\n", "\t", " ", "\r\n"])
def test_text_between_strings_is_not_read_as_a_string(gap: str) -> None:
    """A string of line ends looks like the white space of indented JSON, and must be escaped."""
    gaps = gap * 300 * 1024
    source = b'{"a":' + gaps.encode() + b'"b"}'

    assert dumps({"a": gaps}, source) == dumps({"a": gaps})


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6), st.data())
def test_long_strings_never_change(words: list[str], data: st.DataObject) -> None:
    """Any text, repeated until it is long, together with a source that contains a part of it."""
    texts = [word * (LONG // len(word) + 1) for word in words]
    source = json.dumps([*texts, "x" * 300 * 1024], ensure_ascii=data.draw(st.booleans())).encode()
    value = data.draw(st.permutations([*texts, *(text[5:] for text in texts)]))

    assert loads(dumps(value, source)) == value
    assert dumps(value, source) == dumps(value)


@given(st.data())
def test_reordered_strings_are_copied_exactly(data: st.DataObject) -> None:
    """Similar strings in another order, some of them changed: each copy has exactly its characters."""
    letters = "A" * 3 + data.draw(st.text("ABCxyz+/", min_size=1, max_size=4))
    sizes = data.draw(st.lists(st.integers(LONG, LONG + 300), min_size=2, max_size=5))
    texts = [letters * (size // len(letters)) + letters[: size % len(letters)] for size in sizes]
    source = json.dumps({"texts": texts, "tail": "secret " * 45_000}).encode()
    cut = [text[data.draw(st.integers(0, 200)) :] + data.draw(st.sampled_from(["", "A", "\n"])) for text in texts]
    value = {"moved": data.draw(st.permutations([*texts, *cut])), "more": "s\n" + "t" * (len(source) // 2)}

    assert dumps(value, source) == dumps(value)


def test_a_missing_string_does_not_extend_the_next() -> None:
    """A system prompt moves to the front and is slightly longer than the text before the image."""
    image = "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=300_000))
    source = json.dumps({"first": "f" * 65_400, "image": image, "next": "secret"}).encode()
    for length in range(source.index(image.encode()) - 10, source.index(image.encode()) + 160, 10):
        value = {"system": "s\n" + "t" * length, "first": "f" * 65_400, "image": image}

        assert dumps(value, source) == dumps(value)


@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_image_is_unchanged(target: fb.Format) -> None:
    """Also if the caller changes the body before writing it."""
    url = {"url": f"data:image/png;base64,{IMAGE * 5}"}
    raw = {"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]}
    converted = fb.convert_request(json.dumps(raw).encode(), source="chat_completions", target=target)
    converted.body["more"] = IMAGE + "\n"

    assert json.loads(converted.json()) == converted.body
    assert IMAGE * 5 in converted.json().decode()
