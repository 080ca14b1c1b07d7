"""What is written without a search for escapes is written as any other: it matters for images, which are most of a body's bytes."""

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
    "a control character behind what stands there": {"data": IMAGE[:-1] + "\x01"},
    "beyond ASCII": {"data": IMAGE + "é\U0001f642"},
    "what looks like a mark": {"data": IMAGE, "mark": "\0", "key\0": "\0\0"},
    "nested deep": json.loads('{"a":' * 100 + json.dumps(IMAGE) + "}" * 100),
    "many values": {"data": IMAGE, "numbers": list(range(1000))},
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_long_string_is_written_like_any_other(value: object, indent: int | None) -> None:
    """Whatever the source holds, and however it is spaced."""
    source = json.dumps(BODY, indent=indent).encode()

    assert dumps(value, source) == dumps(value)


@pytest.mark.parametrize("gap", ["\n", "\t", " ", "\r\n"])
def test_what_stands_between_strings_is_not_taken_for_one(gap: str) -> None:
    """A string of line ends looks like the spaces of pretty JSON, and must be escaped where those must not."""
    gaps = gap * 300 * 1024
    source = b'{"a":' + gaps.encode() + b'"b"}'

    assert dumps({"a": gaps}, source) == dumps({"a": gaps})


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6), st.data())
def test_long_strings_are_found_or_not_but_never_changed(words: list[str], data: st.DataObject) -> None:
    """Any text, repeated until it is long, beside a source that has some of it."""
    texts = [word * (LONG // len(word) + 1) for word in words]
    source = json.dumps([*texts, "x" * 300 * 1024], ensure_ascii=data.draw(st.booleans())).encode()
    value = data.draw(st.permutations([*texts, *(text[5:] for text in texts)]))

    assert loads(dumps(value, source)) == value
    assert dumps(value, source) == dumps(value)


@given(st.data())
def test_strings_that_moved_take_nothing_of_what_stands_behind_them(data: st.DataObject) -> None:
    """Strings that are much alike, in another order, some of them changed so that they are not found: each ends where it ends."""
    letters = "A" * 3 + data.draw(st.text("ABCxyz+/", min_size=1, max_size=4))
    sizes = data.draw(st.lists(st.integers(LONG, LONG + 300), min_size=2, max_size=5))
    texts = [letters * (size // len(letters)) + letters[: size % len(letters)] for size in sizes]
    source = json.dumps({"texts": texts, "tail": "secret " * 45_000}).encode()
    cut = [text[data.draw(st.integers(0, 200)) :] + data.draw(st.sampled_from(["", "A", "\n"])) for text in texts]
    value = {"moved": data.draw(st.permutations([*texts, *cut])), "more": "s\n" + "t" * (len(source) // 2)}

    assert dumps(value, source) == dumps(value)


def test_a_string_that_is_not_found_does_not_lengthen_the_next() -> None:
    """A system prompt that moves to the front, just longer than what stands before the image."""
    image = "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=300_000))
    source = json.dumps({"first": "f" * 65_400, "image": image, "next": "secret"}).encode()
    for length in range(source.index(image.encode()) - 10, source.index(image.encode()) + 160, 10):
        value = {"system": "s\n" + "t" * length, "first": "f" * 65_400, "image": image}

        assert dumps(value, source) == dumps(value)


@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_image_arrives_letter_by_letter(target: str) -> None:
    """Also where the caller changed the body before writing it."""
    url = {"url": f"data:image/png;base64,{IMAGE * 5}"}
    given = {"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]}
    made = fb.convert_request(json.dumps(given).encode(), source="chat_completions", target=target)
    made.body["more"] = IMAGE + "\n"

    assert json.loads(made.json()) == made.body
    assert IMAGE * 5 in made.json().decode()
