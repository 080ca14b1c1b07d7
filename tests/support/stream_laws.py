"""The laws of every stream, as functions from a stream to the events that break them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from formatbridge import Converted, Options, StreamConverter, collect_stream, convert_response, convert_stream, formats, ir
from formatbridge.convert.bodies import ConvertedError
from formatbridge.convert.event_parser import check_event
from formatbridge.errors import FormatBridgeError, PartialAnswer, StreamError, StreamFailedError
from formatbridge.formats.shared.reasoning_tokens import decode_token
from formatbridge.ir import events
from formatbridge.report.losses import Loss
from formatbridge.streaming.sse import DONE, ServerSentEvent, StreamReader, encode_event
from tests.corpus import entries
from tests.fixtures import check, streams
from tests.support.grammar_check import check as check_grammar
from tests.support.laws import RESTATING, changed
from tests.support.normal_form import normal_form
from tests.support.pointers import ABSENT, leaves, value_at, with_value

JsonObject = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream for the laws."""

    id: str
    format: ir.FormatName
    data: bytes

    def __str__(self) -> str:
        return self.id


def shipped(format: ir.FormatName) -> list[Stream]:
    """Return the fixtures of a format."""
    return [Stream(str(each), format, each.data) for each in streams(format)]


def recorded(format: ir.FormatName) -> list[Stream]:
    """Return the recorded streams of a format without contradictions; none without a corpus."""
    result = [Stream(entry.path, format, entry.bytes()) for entry in entries(format, "stream")]
    return [each for each in result if format != "responses" or not contradicts_itself(each.data)]


def contradicts_itself(data: bytes) -> bool:
    """Return whether the text deltas of a part of responses differ from the text of its done event.

    A server never sends that; a recording that was shortened by hand may have it. The answer is then undefined.
    test_nonconforming_streams.py tests the result.
    """
    texts: dict[tuple[Any, Any], str] = {}
    for raw in map(_value_of, read(data)):
        place = (raw.get("item_id"), raw.get("content_index"))
        if raw.get("type") == "response.output_text.delta":
            texts[place] = texts.get(place, "") + raw["delta"]
        elif raw.get("type") == "response.output_text.done" and texts.get(place, raw["text"]) != raw["text"]:
            return True
    return False


def read(data: bytes) -> list[ServerSentEvent]:
    """Return the events of a whole stream."""
    reader = StreamReader()
    return [*reader.feed(data), *reader.finish()]


def write(reported: Iterable[ServerSentEvent]) -> bytes:
    """Write events again, in one notation."""
    return b"".join(encode_event(event.data, event.event or None) for event in reported)


def convert(data: bytes, source: ir.FormatName, target: ir.FormatName, size: int | None = None) -> bytes:
    """Convert a whole stream that arrives in pieces of some size, or at once."""
    pieces = [data] if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(convert_stream(pieces, source=source, target=target))


# Law 1.


def nothing_is_silent(stream: Stream, target: ir.FormatName) -> Iterator[str]:
    """Law 1: a change of each leaf of each event is in the output or in the report, or is rejected.

    A same-format stream is passed on, so there the accumulated answer is compared. Of the leaves of recorded streams that differ only in
    their event the first is tried; repeated ones are not. Of an answer that failed only the error counts: the content before it was sent,
    and the content of its end never is.
    """
    emitted = read(stream.data)
    base = _outcome(write(emitted), stream.format, target)
    if base is None:
        return
    values = [_value_of(event) for event in emitted]
    reported = [loss.path for loss in base.losses]
    has_failed = b'"error":{' in base.written
    tried: Counter[str] = Counter()
    for at, (event, raw) in enumerate(zip(emitted, values, strict=True)):
        is_error = bool(raw.get("error")) or raw.get("type") in ("error", "response.failed")
        for path, value in leaves(raw) if is_error or not has_failed else ():
            place = f"{raw.get('type')}{path}"
            if value is None or tried[place] or _restates(stream, target, path, values, at) or _is_reported(raw, path, reported):
                continue
            tried[place] += stream.id.count("/")  # in a path, that of a recording
            other = json.dumps(with_value(raw, path, changed(value)), ensure_ascii=False).encode()
            outcome = _outcome(
                write([*emitted[:at], ServerSentEvent(event.event, other, 0), *emitted[at + 1 :]]), stream.format, target
            )
            if outcome is not None and outcome.comparable(target == stream.format) == base.comparable(target == stream.format):
                yield f"{stream.id} -> {target}: event {at} {path} {value!r:.60} is silent"
        if raw.get("error") or raw.get("type") in _ENDS[stream.format]:
            return  # nothing is read behind it


def unknown_is_reported(stream: Stream, target: ir.FormatName) -> Iterator[str]:
    """Law 1: an unknown field in any event, or in any delta, is in the output or in the report."""
    emitted = read(stream.data)
    for at, event in enumerate(emitted):
        raw = _value_of(event)
        if raw.get("error") or raw.get("type") == "error":
            return
        for path in _extended_pointers(raw) if raw else ():
            other = json.dumps(with_value(raw, f"{path}/tomorrow", "calm"), ensure_ascii=False).encode()
            outcome = _outcome(
                write([*emitted[:at], ServerSentEvent(event.event, other, 0), *emitted[at + 1 :]]), stream.format, target
            )
            if outcome is None or outcome.error is not None:
                continue
            reported = [loss.path for loss in outcome.losses]
            # An event that no one knows counts as a field of the answer: under its type, or as ``event``.
            kinds = {raw.get("type", "event"), raw["delta"].get("type") if path == "/delta" else None}
            is_reported = _is_reported(raw, path, reported) or any(
                path.startswith(loss) or _name_of(loss) in kinds for loss in reported
            )
            if not is_reported and "tomorrow" not in json.dumps(outcome.body) + str(reported):
                yield f"{stream.id} -> {target}: event {at} {path}/tomorrow is silent"
        if raw.get("type") in _ENDS[stream.format]:
            return  # nothing is read behind it


def _value_of(event: ServerSentEvent) -> JsonObject:
    """Return the value of an event; an empty text for an event without one."""
    message: JsonObject = {} if event.data == DONE or not event.data.strip() else json.loads(event.data)
    return message


def _extended_pointers(raw: JsonObject) -> list[str]:
    """Return the pointers of an event and of the object that it extends."""
    choices = [f"/choices/{at}" for at, _ in enumerate(raw.get("choices") or ())]
    candidates = [f"/candidates/{at}" for at, _ in enumerate(raw.get("candidates") or ())]
    deltas = ["/delta"] if isinstance(raw.get("delta"), dict) else []
    items = [f"{choice}/{name}" for choice in choices for name in ("delta", "message")]
    return ["", *deltas, *choices, *(path for path in items if value_at(raw, path) not in (ABSENT, None, {})), *candidates]


@dataclass(frozen=True)
class _Outcome:
    """The result of a stream."""

    written: bytes
    body: JsonObject
    losses: tuple[Loss, ...]
    error: ir.Error | None

    def comparable(self, is_same_format: bool) -> tuple[Any, ...]:
        """Return all of the result, except bytes that were passed on."""
        return (b"" if is_same_format else self.written, self.body, self.losses, self.error)


def _outcome(data: bytes, source: ir.FormatName, target: ir.FormatName) -> _Outcome | None:
    converter = StreamConverter(source=source, target=target)
    try:
        converted = converter.feed(data) + converter.finish()
    except FormatBridgeError:
        return None
    answer = converter.response() if source != target else _collected(data, source)
    return _Outcome(converted, answer.body, answer.losses, converter.error)


def _collected(data: bytes, format: ir.FormatName) -> Converted | PartialAnswer:
    """Return the accumulated answer of a stream in its format. Only there a report has losses: bytes that are passed on lose nothing."""
    try:
        return collect_stream([data], source=format)
    except StreamFailedError as error:
        partial = error.partial
    assert partial is not None
    return partial


_HEAD = frozenset({"id", "created", "created_at", "model", "responseId", "modelVersion", "createTime"})
"""Fields of the whole answer: between formats the first value counts, in the same format the last."""
_PADDING = frozenset({
    "obfuscation", "sequence_number", "willContinue", "output_index", "content_index", "summary_index",
})  # fmt: skip
_TOTALS = frozenset({"total_tokens", "totalTokenCount", "total_token_count"})
_LAST_COUNTS = frozenset({"usage", "usageMetadata", "finish_reason", "finishReason"})
"""Members whose last value counts if they are repeated."""


def _restates(stream: Stream, target: ir.FormatName, path: str, value: list[JsonObject], at: int) -> bool:
    """Return whether a leaf of an event only repeats other leaves, or hides their length.

    In the same format the last value of an answer counts, and the last event of responses repeats its deltas.
    """
    raw, earlier, later = value[at], value[:at], value[at + 1 :]
    steps = path.split("/")[1:]
    if steps[-1] in RESTATING | _PADDING | _TOTALS or (raw.get("type") == "content_block_start" and value_at(raw, path) == ""):
        return True
    if target == stream.format and (_is_overruled(raw, steps, later) or str(raw.get("type")).endswith(".delta")):
        return True
    head = steps[-1] if steps[:-1] in ([], ["response"]) else ""
    if head in _HEAD and any((each.get("response") or each).get(head) for each in earlier):
        return True
    if head in _HEAD and target == stream.format and any((each.get("response") or each).get(head) is not None for each in later):
        return True
    if "error" in raw:
        return steps[0] != "error" or (steps[-1] == "code" and "status" in raw["error"])
    name = next((step for step in steps if step in _LAST_COUNTS), None)
    if name and any(_contains_text(each, name) for each in later):
        return True
    return stream.format == "responses" and _repeats(raw, steps) and not _is_news(raw, steps, earlier)


def _is_overruled(raw: JsonObject, steps: list[str], later: list[JsonObject]) -> bool:
    """Return whether a later event repeats a field of the answer or of a choice; the content of a choice continues instead.

    Some servers of chat_completions send the whole message in each chunk, next to its delta: then the last one counts.
    """
    with_message = [raw, *later] if steps[2:3] == ["delta"] else later
    if any(choice.get("message") for each in with_message for choice in each.get("choices") or ()):
        return True
    if not raw.keys() & {"choices", "candidates", "usage", "usageMetadata"}:
        return False
    if steps[0] not in ("choices", "candidates"):
        return any(each.get(steps[0]) is not None for each in later)
    if len(steps) == 4 and steps[2] == "delta" and isinstance(value_at(raw, "/" + "/".join(steps)), int | float):
        return any(_contains_text(each, steps[3]) for each in later)  # of an unknown number in deltas the last one counts
    return len(steps) > 2 and steps[2] not in ("delta", "content") and any(_contains_text(each, steps[2]) for each in later)


def _contains_text(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return any((key == name and bool(item)) or _contains_text(item, name) for key, item in value.items())
    return isinstance(value, list) and any(_contains_text(item, name) for item in value)


def _repeats(raw: JsonObject, steps: list[str]) -> bool:
    """Return whether an event of responses repeats others: done events repeat opened objects, and the last event repeats all."""
    kind = str(raw.get("type"))
    if kind.endswith((".partial_image", "arguments.delta", "input.delta", "code.delta")):
        return True
    is_name = len(steps) == 2 and steps[1] in _HEAD
    is_echo = kind in ("response.created", "response.in_progress", "response.queued") and not is_name
    is_old = kind.endswith((".done", ".added")) or steps[:2] == ["response", "output"]
    return is_echo or is_old or "item_id" in steps


def _is_news(raw: JsonObject, steps: list[str], earlier: list[JsonObject]) -> bool:
    """Return whether the last event is the first with a leaf of an item that was done; its id and its status do not count."""
    if steps[:2] != ["response", "output"] or steps[-1] in ("id", "status"):
        return False
    value = raw["response"]["output"][int(steps[2])]
    done = [each["item"] for each in earlier if each.get("type") == "response.output_item.done"]
    item = next((each for each in done if value.get("id") is not None and each.get("id") == value["id"]), None)
    message, new = value_at(item, "/" + "/".join(steps[3:])), value_at(raw, "/" + "/".join(steps))
    goes_on = isinstance(message, str) and isinstance(new, str) and len(new) > len(message) and new.startswith(message)
    return item is not None and (message is ABSENT or message is None or goes_on)


_NUMBERED = ("citationMetadata", "groundingMetadata")


def _name_of(pointer: str) -> str | None:
    name = pointer.rpartition("/")[2]
    return None if name.isdecimal() else name


def _is_reported(raw: JsonObject, path: str, reported: list[str]) -> bool:
    """Return whether a loss was reported at a leaf, or at the block, item or part with it."""
    index, item = raw.get("index"), raw.get("output_index")
    choice = next((f"/choices/{each.get('index')}" for each in raw.get("choices") or ()), "")
    steps = path.split("/")[1:]
    for loss in reported:
        if loss in (f"/content/{index}", f"/output/{item}", choice) or _name_of(loss) in steps:
            return True
        if loss.endswith("_modality") and any(step.endswith("_details") for step in steps):
            return True  # the report names it by our name, where it does not know the source's
        if "error" in raw and loss.startswith("/error/"):
            return True
        if loss.startswith(f"/content/{index}/citations/") and "citation" in steps and loss.count("/") == 4:
            return True
        if any(name in steps and f"/{name}/" in loss for name in _NUMBERED):
            return True  # whose numbers go on from event to event
        if loss.startswith("/candidates/") and "/parts/" in loss and "parts" in steps and loss.count("/") <= 5:
            return True
    return False


# Law 6.

_URL = re.compile(r'"(?:url|uri)": "([^"]+)"')


def stream_and_whole_agree(stream: Stream, target: ir.FormatName) -> str | None:
    """Law 6: a converted stream, collected, is the conversion of the collected stream, except for facts that a live stream lacks."""
    try:
        whole = collect_stream([stream.data], source=stream.format, target=target).body
    except StreamError:
        return None
    return _difference(stream, target, whole)


def stream_and_fold_agree(stream: Stream, target: ir.FormatName) -> str | None:
    """Law 6, for a user who collects in the source's format, as its client does, and converts that.

    An exception is arguments that are no JSON: a stream has sent them before their end is known.
    """
    try:
        folded = collect_stream([_as_done(stream)], source=stream.format).body
    except StreamError:
        return None
    whole = convert_response(folded, source=stream.format, target=target)
    if isinstance(whole, ConvertedError) or "raw_arguments" in json.dumps(folded):
        return None
    return _difference(stream, target, whole.body)


def _as_done(stream: Stream) -> bytes:
    """Return a stream of responses whose last event repeats the tokens of its done events:

    servers encrypt again, and the first was sent.
    """
    emitted: list[ServerSentEvent] = []
    tokens: dict[str, str] = {}
    for event in read(stream.data):
        raw = _value_of(event)
        if raw.get("type") == "response.output_item.done" and raw["item"].get("encrypted_content"):
            tokens[raw["item"].get("id")] = raw["item"]["encrypted_content"]
        for item in (raw.get("response") or {}).get("output") or () if tokens else ():
            if item.get("encrypted_content"):
                item["encrypted_content"] = tokens.get(item.get("id"), item["encrypted_content"])
        emitted.append(ServerSentEvent(event.event, json.dumps(raw).encode(), 0) if tokens and raw else event)
    return write(emitted) if tokens else stream.data


def _difference(stream: Stream, target: ir.FormatName, whole: JsonObject) -> str | None:
    """Return the difference between a collected stream and the whole answer, except reported values that followed their text."""
    converter = StreamConverter(source=stream.format, target=target)
    try:
        converted = converter.feed(stream.data) + converter.finish()
    except StreamError:
        return None
    if whole.get("status") == "failed":  # in this format a failed answer is an answer, and a failed stream a failure
        return None if b"response.failed" in converted else f"{stream.id} -> {target}: did not fail"
    one, other = (meaning(body, stream.format, target) for body in (collect_stream([converted], source=target).body, whole))
    delayed = [loss for loss in converter.losses if loss.code == "too_late"]
    if any(loss.path.lower().startswith("/model") for loss in delayed):
        del other["model"]
        one.pop("model", None)
    for token in (token for choice in (*one["choices"], *other["choices"]) for token in choice.get("logprobs") or ()):
        token["logprob"] = round(token["logprob"], 6)  # as servers do in what repeats the deltas
    sources = {url for loss in delayed for url in _URL.findall(json.dumps(loss.before))}  # they came after their text was closed
    for choice in (*one["choices"], *other["choices"]) if sources else ():
        choice["citations"] = [each for each in choice.get("citations", []) if not any(url in str(each) for url in sources)]
    tokens = [
        decode_token(loss.before, formats.load(stream.format).name, "thought", "").token
        for loss in delayed
        if isinstance(loss.before, str)
    ]
    one, other = (_without_tokens(form, tokens) if tokens else form for form in (one, other))
    return None if one == other else f"{stream.id} -> {target}: {_first_difference(one, other)}"


def _without_tokens(form: Any, tokens: list[str]) -> Any:
    """Return the content of a body without tokens that came after their reasoning parts were sent."""
    if isinstance(form, dict):
        token = (form.get("signature") or {}).get("token")
        message = {key: value for key, value in form.items() if key != "signature" or token not in tokens}
        return {key: _without_tokens(value, tokens) for key, value in message.items()}
    if isinstance(form, list):
        return [_without_tokens(each, tokens) for each in form if not isinstance(each, str) or each not in tokens]
    return form


def meaning(body: JsonObject, source: ir.FormatName, target: ir.FormatName) -> Any:
    """Return the content of a body, except for values that a stream between two formats cannot keep.

    A message of chat_completions has no order between kinds, and generate_content writes a call as a whole, so there the content is
    compared by kind. A text of messages that was sent gets no span of a citation.
    """
    form = normal_form(formats.load(target).decode_response(check(body, target, "response")))
    for choice in form.get("choices", []):
        if target == "messages":
            bare = [{key: each[key] for key in each if key not in ("start", "end")} for each in choice.get("citations", [])]
            choice["citations"] = sorted({json.dumps(each) for each in bare})  # one that spans two pieces stands on each
            choice["parts"] = _joined(choice.get("parts", []))
        if {source, target} & {"chat_completions", "generate_content"}:
            choice["parts"] = _by_kind(choice.get("parts", []))
    return form


def _joined(parts: list[JsonObject]) -> list[JsonObject]:
    results: list[JsonObject] = []
    for part in parts:
        if results and part["is"] == results[-1]["is"] == "Text" and results[-1].keys() | part.keys() == {"is", "text"}:
            results[-1] = results[-1] | {"text": results[-1]["text"] + part["text"]}
        else:
            results.append(part)
    return results


def _by_kind(parts: list[JsonObject]) -> JsonObject:
    texts = {kind: [part.get("text", "") for part in parts if part["is"] == kind] for kind in ("Text", "Reasoning", "Refusal")}
    tokens = [part["signature"]["token"] for part in parts if "signature" in part]
    rest = [part for part in parts if part["is"] not in texts]
    message = {kind: "".join("".join(pieces).split("\n\n")) for kind, pieces in texts.items()}
    return message | {"tokens": sorted(tokens), "rest": rest}


def _first_difference(a: Any, b: Any, path: str = "") -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if a.get(key) != b.get(key):
                return _first_difference(a.get(key), b.get(key), f"{path}/{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            if one != other:
                return _first_difference(one, other, f"{path}/{index}")
    return f"{path} {a!r:.150} is {b!r:.150}"


# Law 9.


def end_of(stream: Stream) -> int:
    """Return the number of bytes of a stream from which on it may be complete."""
    running: set[int] = set()
    for event in read(stream.data):
        raw = {} if event.data == DONE else json.loads(event.data)
        end = event.offset + len(event.data)
        if event.data == DONE or raw.get("error") or raw.get("type") in _ENDS[stream.format]:
            return end
        for choice in raw.get("choices") or raw.get("candidates") or ():
            running.add(choice.get("index") or 0)
            if choice.get("finish_reason") or choice.get("finishReason"):
                running.discard(choice.get("index") or 0)
        if (raw.get("choices") or raw.get("candidates")) and not running:
            return end
        if raw.get("promptFeedback", {}).get("blockReason"):
            return end
        if raw.get("type") == "message_delta" and raw["delta"].get("stop_reason"):
            return end
    raise AssertionError(f"{stream} has no end")


def tears(stream: Stream) -> list[int]:
    """Return a position inside each event, up to the last one that counts."""
    problems: list[int] = []
    for event in read(stream.data):
        raw = {} if event.data == DONE or not event.data.strip() else json.loads(event.data)
        if event.data.strip():
            problems.append(event.offset + len(event.data) // 2)
        if event.data == DONE or raw.get("error") or raw.get("type") in _ENDS[stream.format]:
            break
    return problems


_ENDS: dict[str, frozenset[str]] = {
    "chat_completions": frozenset(),
    "messages": frozenset({"message_stop", "error"}),
    "responses": frozenset({"response.completed", "response.incomplete", "response.failed", "error"}),
    "generate_content": frozenset(),
}


def ends_too_early(stream: Stream, target: ir.FormatName, cuts: Iterable[int]) -> Iterator[str]:
    """Law 9: a truncated stream raises, and its tail has an error for the target's reader, and nothing else."""
    for cut in cuts:
        converter = StreamConverter(source=stream.format, target=target)
        converted = converter.feed(stream.data[:cut])
        try:
            converter.finish()
        except StreamError as error:
            tail = getattr(error, "tail", b"")
            if not any(word in tail for word in (b'"error":{', b"response.failed")):
                yield f"{stream.id} -> {target}: cut at {cut}, its tail is no error"
            faults = check_grammar(converted + tail, formats.load(target).name) if target != stream.format else []
            yield from (f"{stream.id} -> {target}: cut at {cut}, {fault}" for fault in faults)
            continue
        yield f"{stream.id} -> {target}: cut at {cut} of {len(stream.data)} it ends well"


def ends_twice(stream: Stream, target: ir.FormatName, cuts: Iterable[int]) -> Iterator[str]:
    """Law 9: a stream that is closed after its truncation has one beginning and one end."""
    for cut in cuts:
        chunks = [stream.data[:cut]]
        try:
            output = b"".join(convert_stream(chunks, source=stream.format, target=target, options=Options(on_truncated="close")))
        except StreamError as error:
            if f"no event of {stream.format} arrived" not in str(error):
                yield f"{stream.id} -> {target}: cut at {cut}, {error}"
            continue
        yield from (f"{stream.id} -> {target}: cut at {cut}, {fault}" for fault in check_grammar(output, formats.load(target).name))


# Law 10.


def held_back(stream: Stream, target: ir.FormatName) -> Iterator[str]:
    """Law 10: text is emitted in the feed that brings it, and so are arguments if the target has pieces of them.

    Exceptions: a part of messages is delayed while another block is open, a call while its name is unknown, and a choice of
    chat_completions until those before it have begun.
    """
    converter = StreamConverter(source=stream.format, target=target)
    source, target_body = formats.load(stream.format).stream_decoder(), formats.load(target).stream_decoder()
    open_parts: dict[tuple[int, int], ir.Part] = {}
    begun: set[int] = set()
    for number, event in enumerate(read(stream.data)):
        if event.data == DONE or not event.data.strip() or converter.error:
            return
        checked, _ = check_event(json.loads(event.data), event, formats.load(stream.format))
        emitted = source.feed(checked) if checked is not None else []
        converted = converter.feed(encode_event(event.data, event.event or None))
        left = [each for out in read(converted) if out.data != DONE for each in target_body.feed(json.loads(out.data))]
        expected = _expected_texts(emitted, open_parts, begun, target)
        got = _texts(left)
        for text in expected:
            if text not in got:
                yield f"{stream.id} -> {target}: event {number}, {text[:40]!r} waits"


_TEXTS = (ir.Text, ir.Reasoning, ir.Refusal)


def _expected_texts(
    emitted: list[events.Event], open_parts: dict[tuple[int, int], ir.Part], begun: set[int], target: ir.FormatName
) -> list[str]:
    """Return the texts that must be emitted now."""
    expected: list[str] = []
    for event in emitted:
        match event:
            case events.PartStart():
                open_parts[event.choice, event.index] = event.part
                begun.add(event.choice)
            case events.PartEnd():
                open_parts.pop((event.choice, event.index), None)
            case events.Delta() if event.text:
                part = open_parts[event.choice, event.index]
                waits = target == "messages" and (event.choice > 0 or next(iter(open_parts)) != (event.choice, event.index))
                waits = waits or (event.choice > 0 and target == "responses")
                waits = waits or (target == "chat_completions" and not begun.issuperset(range(event.choice)))
                streams = isinstance(part, _TEXTS) or (isinstance(part, ir.ToolCall) and part.kind == "function")
                streams = streams and not (isinstance(part, ir.ToolCall) and target == "generate_content")
                if streams and not waits:
                    expected.append(event.text)
            case _:
                pass
    return expected


def _texts(emitted: list[events.Event]) -> str:
    return "".join(event.text for event in emitted if isinstance(event, events.Delta))
