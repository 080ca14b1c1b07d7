"""The Python half of the playground. It runs in the browser; the page calls ``convert`` and shows what it returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import formatbridge as fb

INDENT = "  "
STREAM = "stream"


def convert(text: str, kind: str = "", source: str = "", target: str = "messages") -> str:
    """Convert a body and return a JSON object for the page: both sides as lines, and the report.

    An empty ``kind`` or ``source`` is detected. A fault of the body is in ``error``, as a message for the user.
    """
    try:
        return json.dumps(_convert(text, kind, source, target))
    except (fb.FormatBridgeError, ValueError) as error:
        return json.dumps({"error": str(error)})


def _convert(text: str, kind: str, source: str, target: str) -> dict[str, Any]:
    if not kind and _is_stream(text):
        kind = STREAM
    if kind == STREAM:
        return _convert_stream(text, source, target)
    if not kind or not source:
        detection = fb.detect_format(text)
        kind, source = kind or detection.kind or "", source or detection.format or ""
        if not kind or not source:
            raise ValueError("the format was not detected: choose the kind and the source format")
    converted = _convert_body(text, kind, source, target)
    return {
        "kind": kind,
        "source": source,
        "target": target,
        "path": converted.path if isinstance(converted, fb.ConvertedRequest) else "",
        "before": list(lines_of(json.loads(text))),
        "after": list(lines_of(json.loads(converted.json()))),
        **_report(converted.losses, converted.additions),
    }


def _convert_body(text: str, kind: str, source: str, target: str) -> fb.Converted:
    from_, to = fb.RegisteredName(source), fb.RegisteredName(target)
    match kind:
        case "request":
            return fb.convert_request(text, source=from_, target=to)
        case "response":
            return fb.convert_response(text, source=from_, target=to)
        case "error":
            return fb.convert_error(text, source=from_, target=to, status=400)
        case "models":
            return fb.convert_models(text, source=from_, target=to)
        case _:
            raise ValueError(f"the playground does not convert the kind {kind!r}")


def _is_stream(text: str) -> bool:
    return text.lstrip().startswith(("data:", "event:", "id:", ":"))


def _convert_stream(text: str, source: str, target: str) -> dict[str, Any]:
    """Convert the text of a stream; its pointers lead into the complete response and not into the text."""
    data = text.encode()
    source = source or _stream_format(text)
    converter = fb.StreamConverter(source=fb.RegisteredName(source), target=fb.RegisteredName(target))
    error = ""
    try:
        after = converter.feed(data) + converter.finish()
    except fb.StreamError as fault:
        after, error = fault.tail, str(fault)
    return {
        "kind": STREAM,
        "source": source,
        "target": target,
        "path": "",
        "before": [["", line] for line in text.splitlines()],
        "after": [["", line] for line in after.decode(errors="replace").splitlines()],
        **_report(converter.losses, converter.additions),
        **({"error": error} if error else {}),
    }


def _stream_format(text: str) -> str:
    """Return the format of a stream by its first event."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "data" and value.strip().startswith("{"):
            event = json.loads(value)
            if "choices" in event:
                return "chat_completions"
            if "candidates" in event or "usageMetadata" in event:
                return "generate_content"
            return "responses" if str(event.get("type", "")).startswith("response.") else "messages"
    raise ValueError("the stream has no event: choose the source format")


def _report(losses: Iterable[fb.Loss], additions: Iterable[fb.Addition]) -> dict[str, Any]:
    return {
        "losses": [
            {"path": loss.path, "kind": loss.kind, "severity": loss.severity, "why": loss.why, "values": _values(loss)}
            for loss in losses
        ],
        "additions": [
            {"path": one.path, "why": one.why, "values": [json.dumps(one.value, ensure_ascii=False)]} for one in additions
        ],
    }


def _values(loss: fb.Loss) -> list[str]:
    values = [loss.before] if loss.after is None else [loss.before, loss.after]
    return [json.dumps(value, ensure_ascii=False) for value in values]


def lines_of(value: Any, pointer: str = "", indent: str = "", start: str = "", end: str = "") -> Iterator[tuple[str, str]]:
    """Yield the lines of a JSON value, each with the JSON pointer of the value in it."""
    if not isinstance(value, dict | list) or not value:
        yield pointer, f"{indent}{start}{json.dumps(value, ensure_ascii=False)}{end}"
        return
    if isinstance(value, dict):
        members = [(f"{json.dumps(key, ensure_ascii=False)}: ", _escape(key), item) for key, item in value.items()]
    else:
        members = [("", str(index), item) for index, item in enumerate(value)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield pointer, f"{indent}{start}{opening}"
    for number, (name, step, item) in enumerate(members, 1):
        yield from lines_of(item, f"{pointer}/{step}", indent + INDENT, name, "," if number < len(members) else "")
    yield pointer, f"{indent}{closing}{end}"


def _escape(key: str) -> str:
    """Escape a key as a step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
