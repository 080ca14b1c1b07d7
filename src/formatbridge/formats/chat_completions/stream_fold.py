"""Folding of Chat Completions streams: chunks to a ``chat.completion`` with the same content, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from formatbridge.formats.chat_completions.reasoning import BLOCK_TYPES, LIST_FIELDS, TEXT_FIELDS, reasoning_text
from formatbridge.formats.chat_completions.stream_reasoning import BlockStep, TextInPieces, ThinkingBlocks
from formatbridge.formats.chat_completions.stream_state import kind_of_call
from formatbridge.formats.chat_completions.tool_calls import ARGUMENTS
from formatbridge.formats.shared.choices import assign_numbers, assign_numbers_if_repeated
from formatbridge.formats.shared.fold import ConflictError, Fold, Table
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.jsontext.pointers import Path, continued, index_in
from formatbridge.jsontext.types import JsonObject

# The rules follow ``accumulate_delta`` of openai-python: texts are concatenated, list entries are joined by their index.
_WHOLE, _CHUNK = "chat.completion", "chat.completion.chunk"
_LISTS = ("tool_calls", *LIST_FIELDS)
_AFTER_REASONING = ("content", "refusal", "tool_calls", "function_call")
"""Fields of a delta that end the reasoning."""
_DETAIL_TEXTS = frozenset({"text", "summary", "thinking"})
"""Fields of a reasoning detail or thinking block that come in pieces."""


def fold_stream(events: Iterable[JsonObject]) -> JsonObject | None:
    """Fold chunks by the rules of ``accumulate_delta``. Return None if they break them, because the whole response is then unknown."""
    body = Fold(_BODY, {"object": _WHOLE})
    choices: dict[int, tuple[Fold, _Message]] = {}
    try:
        for chunk in events:
            body.add(chunk)
            for chunk_choice in chunk.get("choices") or ():
                index = chunk_choice.get("index") or 0
                if index not in choices:
                    choices[index] = Fold(_CHOICE, {"index": index}), _Message(_MESSAGE)
                choice, message = choices[index]
                message.add(chunk_choice.get("delta") or {})
                choice.add(chunk_choice)
        by_number = dict(zip(assign_numbers([*choices]), choices.values(), strict=True))
        in_order = (by_number[number] for number in sorted(by_number))
        whole_choices = [{"message": message.to_object()} | choice.to_object() for choice, message in in_order]
    except ConflictError:
        return None
    return body.to_object() | {"choices": whole_choices} if whole_choices else None


class _Message(Fold):
    """The message of a choice.

    ``_latest_details``: by index and type. ``_uncertain_calls``: calls without an id whose name was repeated, by index; each may be two.
    """

    __slots__ = ("_latest_details", "_reasoning", "_uncertain_calls")

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._reasoning: _Reasoning | None = None
        self.items = {key: [] for key in _LISTS}  # in the order of the whole message
        self._latest_details: dict[str, Fold] = {}
        self._uncertain_calls: dict[int, Fold] = {}

    def add(self, piece: JsonObject) -> None:
        """Add a delta. Reasoning that arrives both as text and as blocks is added once."""
        if piece.get("reasoning_content") or piece.get("thinking_blocks"):
            self._reasoning = self._reasoning or _Reasoning(self.items["thinking_blocks"])
            piece = self._reasoning.take(piece)
        elif self._reasoning is not None and any(piece.get(key) for key in _AFTER_REASONING):
            self._reasoning.close()
        super().add(piece)
        if calls := piece.get("tool_calls"):
            self._add_calls(calls)
        if details := piece.get("reasoning_details"):
            self._add_details(details)

    def to_object(self) -> JsonObject:
        """Return the message; raise ``ConflictError`` where one call may be two, or has no name."""
        for call in map(Fold.to_object, self._uncertain_calls.values()):
            kind = kind_of_call(call)
            if read_object(call[kind].get(ARGUMENTS[kind]) or "") is None:
                raise ConflictError(kind)
        message = super().to_object()
        if message.get("function_call") and message["function_call"].get("name") is None:
            raise ConflictError("function_call")
        return message

    def _add_calls(self, pieces: Iterable[JsonObject]) -> None:
        """Add each piece of a tool call to the call that its index names.

        The first piece has the name; later ones may only repeat it.
        """
        calls = self.items["tool_calls"]
        for piece in pieces:
            index, kind = piece.get("index"), kind_of_call(piece)
            body = piece.get(kind) or {}
            has_name = bool(body.get("name"))
            is_text = isinstance(body.get(ARGUMENTS[kind]), str | None)
            # OpenAI sends calls one after the other, each with its name first (recorded streams).
            # Any other order may have several meanings.
            if index == len(calls) and has_name and is_text:
                calls.append(Fold(_CALL, {field: value for field, value in piece.items() if field != "index"}))
            elif isinstance(index, int) and 0 <= index < len(calls) and is_text and kind in calls[index].values:
                # Without ids, a repeated name may begin another call (fixture tools_index_reused_no_ids).
                if has_name and not calls[index].values.get("id"):
                    self._uncertain_calls[index] = calls[index]
                calls[index].add(piece)
            else:
                raise ConflictError("tool_calls")

    def _add_details(self, pieces: Iterable[JsonObject]) -> None:
        """Add each piece of a reasoning detail to the latest detail with its index and type.

        Without an index only the last detail continues.
        """
        details = self.items["reasoning_details"]
        for piece in pieces:
            key = repr((piece.get("index"), piece.get("type")))
            known = self._latest_details.get(key)
            if known is None or (piece.get("index") is None and known is not details[-1]) or _begins_other_detail(known, piece):
                self._latest_details[key] = Fold(_DETAIL, piece)
                details.append(self._latest_details[key])
            else:
                known.add(piece)


def _begins_other_detail(detail: Fold, piece: JsonObject) -> bool:
    """Return whether a piece begins another detail. A signature, or encrypted data, ends a detail."""
    return bool(detail.values.get("signature") or detail.values.get("data")) or _contradicts(detail, piece)


def _contradicts(detail: Fold, piece: JsonObject) -> bool:
    """Return whether a piece has another value for a field of a detail or thinking block. Texts are pieces, so they may differ."""
    return any(
        not isinstance(value, str) if key in _DETAIL_TEXTS else detail.values.get(key) not in (None, "", value)
        for key, value in piece.items()
        if value is not None
    )


class _Reasoning:
    """The reasoning of one choice, which comes as text, as thinking blocks, or as both.

    ``_text``: the text of the open reasoning; ``_earlier_texts``: texts before it; ``_has_text_alone``: whether a delta had text only.
    """

    def __init__(self, blocks: list[Fold]) -> None:
        self._blocks = blocks
        self._thinking_blocks = ThinkingBlocks()
        self._numbered: list[Fold] = []  # the blocks of known types, as ``_thinking_blocks`` numbers them
        self._text = TextInPieces()
        self._earlier_texts: set[str] = set()
        self._has_text_alone = False

    def take(self, delta: JsonObject) -> JsonObject:
        """Add the blocks of a delta and return its other fields, without text that an earlier block or text had."""
        entries = delta.get("thinking_blocks") or []
        blocks = [entry for entry in entries if entry.get("type") in BLOCK_TYPES]
        text = "" if delta.get("reasoning_details") else reasoning_text(delta) or ""
        if not blocks and not self._text.pieces and self._has_text_alone:
            self._thinking_blocks.close()
        steps = self._thinking_blocks.take(blocks, text)
        new = text
        if self._thinking_blocks.repeats_text:
            if steps[0].kind == "new" and self._has_text(text, blocks):
                new, steps = "", self._thinking_blocks.end(steps)
            else:
                new = _without_repeated(text, blocks, steps)
        self._add(entries, steps)
        self._note_open_text(steps, new)
        return _with_text(delta, text, new)

    def close(self) -> None:
        """End the open reasoning: other content follows."""
        self._thinking_blocks.close()
        if self._text.pieces:
            self._earlier_texts.add(self._text.text())
            self._text = TextInPieces()

    def _has_text(self, text: str, blocks: list[JsonObject]) -> bool:
        """Return whether the text of blocks is that of the open reasoning, or of earlier reasoning that the blocks sign."""
        return self._text.is_text(text) or (text in self._earlier_texts and any(block.get("signature") for block in blocks))

    def _add(self, entries: list[JsonObject], steps: list[BlockStep]) -> None:
        """Add entries to their blocks; raise ``ConflictError`` where it is not certain which block that is."""
        remaining = iter(steps)
        for entry in entries:
            if entry.get("type") not in BLOCK_TYPES:
                self._blocks.append(Fold(_DETAIL, entry))
                continue
            step = next(remaining)
            is_signed = bool(entry.get("signature") or entry.get("data"))
            if step.kind == "unclear" or (step.ends_block and is_signed and not step.signs_block):
                raise ConflictError("thinking_blocks")
            if step.kind == "new":
                self._numbered.append(Fold(_DETAIL, entry))
                self._blocks.append(self._numbered[-1])
                continue
            block = self._numbered[step.number]
            if _contradicts(block, entry):
                raise ConflictError("thinking_blocks")
            block.add({key: value for key, value in entry.items() if step.kind == "more" or key not in _DETAIL_TEXTS})

    def _note_open_text(self, steps: list[BlockStep], text: str) -> None:
        """Note the text of the open reasoning; a block with the whole text ends the reasoning."""
        self._has_text_alone = self._has_text_alone or bool(text and not steps)
        self._text.add(text)
        ends = [step.number for step in steps if step.ends_block]
        if ends and (self._thinking_blocks.repeats_text or self._text.is_text(self._thinking_blocks.blocks[ends[-1]].text())):
            self._text = TextInPieces()


def _without_repeated(text: str, blocks: list[JsonObject], steps: list[BlockStep]) -> str:
    """Return a text, which is that of its blocks, without the texts that earlier blocks had."""
    pairs = zip(blocks, steps, strict=True)
    texts = [(block["thinking"], step.kind in ("new", "more")) for block, step in pairs if block.get("thinking")]
    return text if all(is_new for _, is_new in texts) else "".join(each for each, is_new in texts if is_new)


def _with_text(delta: JsonObject, text: str, new: str) -> JsonObject:
    """Return a delta without its blocks, and with ``new`` in place of its reasoning text."""
    fields = {key: value for key, value in delta.items() if key != "thinking_blocks" or not value}
    if new != text:
        fields |= {name: new for name in TEXT_FIELDS if delta.get(name) == text}
    return fields


_BODY = Table({"choices": "ignore", "obfuscation": "ignore", "object": "ignore", "error": "empty"}, other="filled", null="filled")
_LOGPROBS = Table({}, other="list", null="first")
_CHOICE = Table({"delta": "ignore", "logprobs": _LOGPROBS}, other="filled_list", null="filled")
_AUDIO = Table({"id": "equal", "data": "text", "transcript": "text"}, other="filled", null="first")
_FUNCTION_CALL = Table({"arguments": "text"}, other="equal", null="first")
_FUNCTION = Table({"arguments": "text"}, other="repeated", null="ignore")
_CUSTOM = Table({"input": "text"}, other="repeated", null="ignore")
_CALL = Table({"index": "ignore", "function": _FUNCTION, "custom": _CUSTOM}, other="repeated", null="ignore")
_DETAIL = Table(dict.fromkeys(_DETAIL_TEXTS, "text"), other="filled", null="first")
_MESSAGE = Table(
    {
        "role": "equal",
        "content": "text",
        "refusal": "text",
        "reasoning_content": "text",
        "reasoning": "text",
        "annotations": "list",
        "images": "list",
        "audio": _AUDIO,
        "tool_calls": "empty_list",
        "function_call": _FUNCTION_CALL,
        "reasoning_details": "null",
        "thinking_blocks": "ignore",  # added before, together with reasoning as text
    },
    other="unknown",
    null="first",
)


def response_path(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the whole response of a path in a chunk. ``lengths``: the lengths of its lists before this chunk."""
    match path:
        case ("choices", int(at), *below) if isinstance(event["choices"][at], dict):
            below = ["message", *below[1:]] if below[:1] == ["delta"] else below
            return continued(("choices", index_in(event["choices"][at], "index"), *below), lengths)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the chunks that fold to a body: each message in one piece, then its end; usage last."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")} | {"object": _CHUNK}
    choices = body.get("choices") or []
    indexes = [position if choice.get("index") is None else choice["index"] for position, choice in enumerate(choices)]
    chunk_choices: list[JsonObject] = []
    for index, choice in zip(assign_numbers_if_repeated(indexes), choices, strict=True):
        delta = dict(choice.get("message") or {})
        if delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": number, **call} for number, call in enumerate(delta["tool_calls"])]
        # OpenAI sends the finish reason in a chunk with an empty delta, after all content (recorded streams).
        null_finish_reason = {"finish_reason": None} if "finish_reason" in choice else {}
        logprobs = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
        end = {key: value for key, value in choice.items() if key not in ("message", "logprobs")}
        chunk_choices += [{"index": index, "delta": delta} | null_finish_reason | logprobs, end | {"index": index, "delta": {}}]
    usage = [head | {"choices": [], "usage": body["usage"]}] if "usage" in body else []
    return [head | {"choices": [each]} for each in chunk_choices] + usage
