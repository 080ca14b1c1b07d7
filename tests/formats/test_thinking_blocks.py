"""Proxies of chat_completions send reasoning as text, as blocks or as both; it is emitted once, with its token."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from formatbridge import FORMATS, StreamConverter, collect_stream, convert_response, ir
from formatbridge.formats.shared.reasoning_tokens import decode_token

NAME: ir.Format = "chat_completions"


def _chunks(*deltas: dict[str, Any]) -> bytes:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    return b"".join(b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n" for choice in choices)


@pytest.mark.parametrize("target", [format for format in FORMATS if format != NAME])
def test_a_thinking_block_that_repeats_reasoning_text_signs_it(target: ir.Format) -> None:
    """Proxies send reasoning as text and then as a block with the token. Sent twice it would be two parts, of which one has no token.

    If the reasoning was sent already, the report has the token, except in generate_content, in which a token may be separate.
    """
    block = {"type": "thinking", "thinking": "one", "signature": "S1"}
    stream = _chunks({"reasoning_content": "one"}, {"content": "Hi."}, {"thinking_blocks": [block]})
    converter = StreamConverter(source=NAME, target=target)

    converter.feed(stream)
    converter.finish()

    whole = convert_response(collect_stream([stream], source=NAME).body, source=NAME, target=target)
    assert converter.response().body == whole.body
    reported = [loss.path for loss in converter.losses if loss.code == "too_late"]
    assert reported == ([] if target == "generate_content" else ["/choices/0/message/thinking_blocks/0/signature"])


def _block(text: str, signature: str = "", **extra: str) -> dict[str, Any]:
    return {"thinking_blocks": [{"type": "thinking", "thinking": text, "signature": signature}], **extra}


def _twice(text: str) -> dict[str, Any]:
    return _block(text, reasoning_content=text)


def _hidden(data: str) -> dict[str, Any]:
    return {"thinking_blocks": [{"type": "redacted_thinking", "data": data}]}


def _reasoning_delta(text: str) -> dict[str, Any]:
    return {"reasoning_content": text}


def _reasoning_of(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the texts of reasoning and their tokens, which have a tag, because they came in a body of chat_completions."""
    blocks = [block for block in body["content"] if block["type"] != "text"]
    return [(block.get("thinking", ""), _token_of(block.get("signature") or block.get("data"))) for block in blocks]


def _token_of(text: str | None) -> str | None:
    if not text:
        return text
    signature = decode_token(text, "messages", "thinking", "")
    assert (signature.issuer, signature.received_in) == ("messages", NAME)
    return signature.token


def _both(*deltas: dict[str, Any]) -> dict[str, Any]:
    return {"thinking_blocks": [block for delta in deltas for block in delta["thinking_blocks"]]}


_WHOLE = _block("First.", "S1")
_SECOND = _block("Then.", "S2")
_TWO = _both(_WHOLE, _SECOND)
_BLOCKS, _TEXT = "/choices/0/message/thinking_blocks", "/choices/0/message/reasoning_content"
_FIRST, _THEN = ("First.", "S1"), ("Then.", "S2")
_ANSWERS = {"content": "Hi."}
_OF_BLOCKS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str | None]], list[str]]] = {
    "pieces next to text, the token last": ([_twice("Fi"), _twice("rst."), _block("", "S1")], [_FIRST], []),
    "pieces alone, the token last": ([_block("Fi"), _block("rst."), _block("", "S1")], [_FIRST], []),
    "pieces alone, the token with the last": ([_block("Fi"), _block("r"), _block("st.", "S1")], [_FIRST], []),
    "one piece, then another or a separate block": ([_block("Fi"), _block("rst.", "S1")], [("First.", None)], [_BLOCKS]),
    "one piece next to text, then another or a block": (
        [_twice("Fi"), _block("rst.", "S1") | _reasoning_delta("rst.")],
        [("First.", None)],
        [_BLOCKS],
    ),
    "text, then the block that signs it": ([_reasoning_delta("Fi"), _reasoning_delta("rst."), _WHOLE], [_FIRST], []),
    "hidden alone": ([_hidden("S1")], [("", "S1")], []),
    "hidden behind text": ([_reasoning_delta("First."), _WHOLE, _hidden("S2")], [_FIRST, ("", "S2")], []),
    "reasoning that is not shown": ([_block("", "S1")], [("", "S1")], []),
    "two blocks for one text": ([_reasoning_delta("First."), _reasoning_delta("Then."), _TWO], [("First.Then.", None)], [_BLOCKS]),
    "two blocks for one text that has closed": (
        [_reasoning_delta("First."), _reasoning_delta("Then."), _ANSWERS, _TWO],
        [("First.Then.", None)],
        [_BLOCKS],
    ),
    "pieces next to text, then all of it with the token": ([_twice("Fi"), _twice("rst."), _WHOLE], [_FIRST], []),
    "pieces next to text, then all of it in both notations": (
        [_twice("Fi"), _twice("rst."), _reasoning_delta("First.") | _WHOLE],
        [_FIRST],
        [],
    ),
    "pieces with their token, then all of it": ([_twice("Fi"), _twice("rst."), _block("", "S1"), _WHOLE], [_FIRST], []),
    "details, then the block": (
        [_reasoning_delta("First.") | {"reasoning_details": [{"type": "reasoning.text", "text": "First.", "index": 0}]}, _WHOLE],
        [("First.", None)],
        [_BLOCKS],
    ),
    "the block, then its text": ([_WHOLE, _reasoning_delta("First.")], [_FIRST], []),
    "the block, then another text": ([_WHOLE, _reasoning_delta("Other.")], [_FIRST], [_TEXT]),
    "the token after the reasoning was closed": (
        [_twice("First."), _ANSWERS, _block("", "S1")],
        [_FIRST],
        [f"{_BLOCKS}/0/signature"],
    ),
    "text and its pieces by turns": (
        [_reasoning_delta("Fi"), _block("Fi"), _reasoning_delta("rst."), _block("rst."), _block("", "S1")],
        [_FIRST],
        [],
    ),
    "text, then all of it in both notations": ([_reasoning_delta("First."), _reasoning_delta("First.") | _WHOLE], [_FIRST], []),
    "text in pieces, then all of it in both notations": (
        [_reasoning_delta("Fi"), _reasoning_delta("rst."), _reasoning_delta("First.") | _WHOLE],
        [_FIRST],
        [],
    ),
    "text, then all of it in both notations without a token": (
        [_reasoning_delta("First."), _twice("First."), _reasoning_delta("Then.")],
        [("First.", None), ("Then.", None)],
        [],
    ),
    "text that has closed, then all of it in both notations": (
        [_reasoning_delta("First."), _ANSWERS, _reasoning_delta("First.") | _WHOLE],
        [_FIRST],
        [f"{_BLOCKS}/0/signature"],
    ),
    "text alone, then other reasoning in both notations": (
        [_reasoning_delta("First."), _WHOLE, _twice("Th"), _twice("en."), _reasoning_delta("Then.") | _SECOND],
        [_FIRST, _THEN],
        [],
    ),
    "two parts of reasoning, each in pieces and then whole in both notations": (
        [
            _twice("Fi"),
            _twice("rst."),
            _reasoning_delta("First.") | _WHOLE,
            _twice("Th"),
            _twice("en."),
            _reasoning_delta("Then.") | _SECOND,
        ],
        [_FIRST, _THEN],
        [],
    ),
    "the same without tokens": (
        [_twice("Fi"), _twice("rst."), _twice("First."), _twice("Th"), _twice("en."), _twice("Then.")],
        [("First.", None), ("Then.", None)],
        [],
    ),
    "pieces next to text, then the block alone without a token": (
        [_twice("Fi"), _twice("rst."), _block("First."), _twice("Th"), _twice("en."), _block("Then.")],
        [("First.", None), ("Then.", None)],
        [],
    ),
    "pieces next to text that continue as text alone": (
        [_twice("Fi"), _reasoning_delta("rst."), _block("", "S1")],
        [("First.", None)],
        [_BLOCKS],
    ),
    "two blocks at once, of which one has a token": ([_both(_block("First."), _SECOND)], [("First.", None), _THEN], []),
    "the same next to text": (
        [_both(_block("First."), _SECOND) | _reasoning_delta("First.\n\nThen.")],
        [("First.", None), _THEN],
        [],
    ),
    "two blocks at once that the text parts": (
        [_both(_block("First."), _block("Then.")) | _reasoning_delta("First.\n\nThen.")],
        [("First.", None), ("Then.", None)],
        [],
    ),
    "pieces at once": ([_both(_block("Fi"), _block("rst."), _block("", "S1"))], [_FIRST], []),
    "text and its block, then reasoning that is not shown": (
        [_reasoning_delta("First."), _WHOLE, _block("", "S2")],
        [_FIRST, ("", "S2")],
        [],
    ),
    "text, then blocks with another text": ([_reasoning_delta("First."), _block("Then.")], [("First.", None)], [_BLOCKS]),
    "a block with a blank line ahead": (
        [_reasoning_delta("First.") | _WHOLE, _twice("\n\nThen."), _block("", "S2")],
        [_FIRST, ("\n\nThen.", "S2")],
        [],
    ),
    "text, then a token of unknown origin": ([_reasoning_delta("First."), _block("", "S1")], [("First.", None)], [_BLOCKS]),
    "text, then a block of a part of it": ([_reasoning_delta("First."), _block("Firs", "S1")], [("First.", None)], [_BLOCKS]),
    "a block with another text than the text next to it": (
        [_block("{}", "S1", reasoning_content="First.")],
        [("First.", None)],
        [_BLOCKS],
    ),
    "pieces alone, then a longer text with a token": ([_block("Fi"), _block("First.", "S1")], [("Fi", None)], [_BLOCKS]),
}


@pytest.mark.parametrize(("deltas", "reasoning", "reported"), _OF_BLOCKS.values(), ids=_OF_BLOCKS)
def test_repeated_reasoning_is_emitted_once_with_its_token(
    deltas: list[dict[str, Any]], reasoning: list[tuple[str, str | None]], reported: list[str]
) -> None:
    """Proxies send reasoning as text, as blocks or as both, in any order; a vendor rejects a token on another text."""
    converter = StreamConverter(source=NAME, target="messages")

    converter.feed(_chunks(*deltas, _ANSWERS))
    converter.finish()

    assert _reasoning_of(converter.response().body) == reasoning
    assert [loss.path for loss in converter.losses if loss.path.startswith("/choices/0/message/")] == reported


@pytest.mark.parametrize("pieces", [("Fi", "rst."), ("First.",)])
def test_a_repeated_whole_block_is_one_block_in_the_same_format(pieces: tuple[str, ...]) -> None:
    """The collected answer returns to the proxy, whose vendor rejects a token on a repeated text."""
    for ends in ([_WHOLE], [_block("", "S1"), _WHOLE]):
        folded = collect_stream([_chunks(*map(_twice, pieces), *ends, _ANSWERS)], source=NAME).body

        assert folded["choices"][0]["message"]["thinking_blocks"] == _WHOLE["thinking_blocks"]


def _collected_reasoning(*deltas: dict[str, Any]) -> tuple[str, list[tuple[str, str | None]]]:
    """Return the reasoning of a stream that is collected in its format: the text, and the blocks."""
    message = collect_stream([_chunks(*deltas, _ANSWERS)], source=NAME).body["choices"][0]["message"]
    blocks = [(block["thinking"], block.get("signature") or None) for block in message.get("thinking_blocks", [])]
    return message.get("reasoning_content", ""), blocks


@pytest.mark.parametrize(
    ("deltas", "text", "blocks"),
    [
        ([_twice("Fi"), _twice("rst."), _block("First.")], "First.", [("First.", None)]),
        ([_twice("Fi"), _twice("rst."), _twice("First."), _twice("Th")], "First.Th", [("First.", None), ("Th", None)]),
        ([_twice("Fi"), _twice("rst."), _reasoning_delta("First.") | _WHOLE], "First.", [_FIRST]),
        ([_reasoning_delta("Fi"), _reasoning_delta("rst."), _reasoning_delta("First.") | _WHOLE], "First.", [_FIRST]),
        ([_reasoning_delta("First."), _ANSWERS, _reasoning_delta("First.") | _WHOLE], "First.", [_FIRST]),
        (
            [_twice("First."), _block("", "S1"), _both(_WHOLE, _SECOND) | _reasoning_delta("First.Then.")],
            "First.Then.",
            [_FIRST, _THEN],
        ),
        ([_block("First."), _ANSWERS, _SECOND], "", [("First.", None), _THEN]),
        ([_both(_block("First."), _SECOND)], "", [("First.", None), _THEN]),
        ([_reasoning_delta("Fi"), _block("Fi"), _reasoning_delta("rst."), _block("rst."), _block("", "S1")], "First.", [_FIRST]),
    ],
)
def test_repeated_reasoning_is_one_part_in_the_same_format(
    deltas: list[dict[str, Any]], text: str, blocks: list[tuple[str, str | None]]
) -> None:
    """A user who collects a stream sends its blocks back; a repeated one, or one with the token of another, is rejected."""
    assert _collected_reasoning(*deltas) == (text, blocks)


@pytest.mark.parametrize("deltas", [deltas for deltas, _, reported in _OF_BLOCKS.values() if _TEXT not in reported])
def test_a_collected_answer_has_the_same_reasoning_as_the_stream(deltas: list[dict[str, Any]]) -> None:
    """Streams are converted as they arrive or after they are collected; reasoning is emitted once in both cases."""
    stream = _chunks(*deltas, _ANSWERS)
    converter = StreamConverter(source=NAME, target="messages")
    converter.feed(stream)
    converter.finish()

    whole = convert_response(collect_stream([stream], source=NAME).body, source=NAME, target="messages")

    first, second = _reasoning_of(converter.response().body), _reasoning_of(whole.body)
    assert "".join(text for text, _ in second).replace("\n", "") == "".join(text for text, _ in first).replace("\n", "")
    assert {reasoning for reasoning in first if reasoning[1]} <= set(second)


def _pieces(random: Random, text: str) -> list[str]:
    cuts = sorted({0, len(text), *(random.randrange(1, len(text)) for _ in range(3))})
    return [text[start:end] for start, end in pairwise(cuts)]


def _reasoning_deltas(random: Random, text: str) -> list[dict[str, Any]]:
    return [_reasoning_delta(piece) for piece in _pieces(random, text)]


def _twofold(random: Random, text: str) -> list[dict[str, Any]]:
    return [_twice(piece) for piece in _pieces(random, text)]


_SERVERS: dict[str, Callable[[Random, str, str], list[dict[str, Any]]]] = {
    "pieces next to text, the token last": lambda random, text, token: [*_twofold(random, text), _block("", token)],
    "pieces, the token last": lambda random, text, token: [*map(_block, _pieces(random, text)), _block("", token)],
    "text, then the block": lambda random, text, token: [*_reasoning_deltas(random, text), _block(text, token)],
    "text, then both": lambda random, text, token: [*_reasoning_deltas(random, text), _reasoning_delta(text) | _block(text, token)],
    "pieces next to text, then the block": lambda random, text, token: [*_twofold(random, text), _block(text, token)],
    "pieces next to text, then both": lambda random, text, token: [
        *_twofold(random, text),
        _reasoning_delta(text) | _block(text, token),
    ],
    "pieces and their token, then the block": lambda random, text, token: [
        *_twofold(random, text),
        _block("", token),
        _block(text, token),
    ],
    "the block": lambda _, text, token: [_block(text, token)],
    "both at once": lambda _, text, token: [_reasoning_delta(text) | _block(text, token)],
    "text and pieces by turns": lambda random, text, token: [
        *(delta for piece in _pieces(random, text) for delta in (_reasoning_delta(piece), _block(piece))),
        _block("", token),
    ],
}


@pytest.mark.parametrize("server", _SERVERS)
def test_each_reasoning_part_keeps_its_token_in_every_notation(server: str) -> None:
    """Servers use one notation, with one reasoning part or several, before, between or after the texts."""
    for seed in range(60):
        random = Random(seed)
        reasoning_texts = [
            (f"{seed} of {number}, {'ha' * random.randrange(4)}.", f"S{number}") for number in range(random.randrange(1, 4))
        ]
        between = random.choice([[], [_ANSWERS]])
        deltas = [delta for reasoning in reasoning_texts for delta in (*_SERVERS[server](random, *reasoning), *between)]
        converter = StreamConverter(source=NAME, target="messages")
        converter.feed(_chunks(*deltas, _ANSWERS))
        converter.finish()

        assert _reasoning_of(converter.response().body) == reasoning_texts
        assert _collected_reasoning(*deltas)[1] == reasoning_texts
        assert not [loss for loss in converter.losses if _BLOCKS in loss.path or _TEXT in loss.path]
