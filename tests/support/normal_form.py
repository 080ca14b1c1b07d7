"""The normal form of canonical objects: the meaning of a body without positions, generated values and chunk boundaries.

Two bodies have the same meaning when their normal forms are equal. Of two notations of one meaning the form keeps one: developer messages
become system messages, results are in the user's turn, adjacent turns of one role are joined, and so are adjacent texts. Default settings
are absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from formatbridge import ir

JsonObject = dict[str, Any]

_NOWHERE = frozenset({
    "src", "received_in", "continues_last_turn", "second_src", "index_src", "index_count", "extra", "raw", "format", "item_id",
    "has_generated_id", "has_calls", "has_added_tools", "tagged_text", "seal_key", "key",
})  # fmt: skip
"""Fields with the place of a node, or with values that only its format has."""

_NOT_COMPARED: dict[str, frozenset[str]] = {
    "Text": frozenset({"id"}),
    "Media": frozenset({"id", "vendor", "transcript"}),
    "AudioOutput": frozenset({"voice_vendor"}),
    "Reasoning": frozenset({"id"}),
    "Refusal": frozenset({"id"}),
    "ToolResult": frozenset({"name", "kind"}),
    "Hosted": frozenset({"id", "role", "status", "name"}),
    "HostedTool": frozenset({"kind", "name"}),
    "Citation": frozenset({"cited_text"}),
    "Usage": frozenset({"total"}),
    "Finish": frozenset({"raw", "is_specific"}),
    "Error": frozenset({"family", "status", "code", "type", "param", "request_id", "retry_after"}),
    "Response": frozenset({"id", "created", "settings"}),
    "Choice": frozenset({"index"}),
    "ModelList": frozenset({"has_more", "first_id", "last_id", "next_page"}),
}
"""Fields, by class, that some format does not have, or that restate others."""

_NEUTRAL: tuple[tuple[str, Any], ...] = (
    ("n", 1),
    ("presence_penalty", 0),
    ("frequency_penalty", 0),
    ("logprobs", False),
    ("store", False),
    ("parallel_tool_calls", True),
    ("tier", "auto"),
    ("verbosity", "medium"),
    ("context_size", "medium"),
    ("detail", "auto"),
    ("strict", False),
    ("is_error", False),
    ("approval", "never"),
    ("parameters", {"type": "object", "properties": {}}),
)
"""Values that are defaults."""

_NEUTRAL_MODALITIES = ["text"]
_NEUTRAL_CACHE = {"mode": "implicit", "ttl": "30m"}


def normal_form(node: ir.Request | ir.Response | ir.Error | ir.ModelList) -> JsonObject:
    """Return a canonical object as JSON values in normal form."""
    form: JsonObject = _form(node)
    if isinstance(node, ir.Request):
        return _without_empty(form | {"messages": _turns(form.get("messages", []))} | _of_request(form))
    if isinstance(node, ir.Response):
        choices = [_choice(choice) for choice in form.get("choices", [])]
        return _without_empty(form | {"choices": choices, "usage": _usage(form.get("usage", {}))})
    return form


def without(form: JsonObject, names: Iterable[str]) -> JsonObject:
    """Return a normal form without the fields of some names, at any depth."""
    gone = frozenset(names)
    return _without_empty({key: _without(value, gone) for key, value in form.items() if key not in gone})


def _without(value: Any, gone: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return without(value, gone)
    return [_without(item, gone) for item in value] if isinstance(value, list) else value


# Nodes to JSON values.


def _form(value: Any) -> Any:
    """Convert a value to JSON values; a part has the name of its class."""
    kind: Any = type(value)
    if kind is str or value is None or kind is bool or kind is int:
        return value
    if (names := _compared_fields(kind)) is not None:
        form = {name: _form(getattr(value, name)) for name in names}
        return {"is": kind.__name__} | _of_node(value, _without_empty(_without_neutral(form)))
    if isinstance(value, dict):
        return _without_neutral({key: _form(item) for key, item in value.items() if item is not None})
    return [_form(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _compared_fields(kind: Any) -> list[str] | None:
    """Return the names of the fields of a node that are compared; None if the class is that of another value."""
    not_compared = _NOT_COMPARED.get(kind.__name__, frozenset()) | _NOWHERE
    if not is_dataclass(kind):
        return None
    return [field.name for field in fields(kind) if field.name not in not_compared]


def _of_node(node: Any, form: JsonObject) -> JsonObject:
    """Select one of the notations that a node of some class may have."""
    match node:
        case ir.ToolCall():
            bare = without(form, ["id"]) if node.has_generated_id else form
            return bare | {"arguments": node.arguments if node.kind == "custom" else _arguments(node.arguments)}
        case ir.ToolResult():
            return form | ({"content": [_result(part) for part in form["content"]]} if "content" in form else {})
        case ir.Media() if node.url is not None:
            return without(form, ["mime"])
        case ir.Reasoning() if not node.text:
            return without(form, ["is_summary"])
        case ir.HostedTool() if node.family == "other":
            return form | {"kind": node.kind}
        case ir.Hosted():
            message = {"name": node.name} if node.family == "mcp" else {}
            return form | message | ({"arguments": _arguments(node.arguments)} if node.arguments is not None else {})
        case ir.TokenLogprob():
            return form | {"bytes": list(node.token.encode()) if node.bytes is None else node.bytes}
        case ir.Opaque():
            return {"label": node.label}
    return form


def _arguments(text: Any) -> Any:
    """Return arguments as an object; text that is no object stays text."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _result(part: Any) -> Any:
    """Write a text that is a JSON object without spaces and escapes, which one format does not keep; keys and numbers stay unchanged."""
    if part.keys() != {"is", "text"} or not part["text"].lstrip().startswith("{"):
        return part
    try:
        pairs = json.loads(part["text"], object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number)
    except ValueError:
        return part
    return part | {"text": _json_of(pairs)}


class _Number(str):
    """A number in its notation."""


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, with repeated keys."""


def _json_of(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_json_of(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _without_neutral(form: JsonObject) -> JsonObject:
    neutral = [key for key, value in _NEUTRAL if key in form and form[key] == value]
    if form.get("modalities") == _NEUTRAL_MODALITIES:
        neutral.append("modalities")
    if "prompt_cache_options" in form:
        options = {key: value for key, value in form["prompt_cache_options"].items() if _NEUTRAL_CACHE.get(key) != value}
        form = form | {"prompt_cache_options": options}
    return {key: value for key, value in form.items() if key not in neutral}


def _without_empty(form: JsonObject) -> JsonObject:
    return {key: value for key, value in form.items() if value is not None and value not in ("", [], {})}


# Turns.


def _turns(messages: list[JsonObject]) -> list[JsonObject]:
    """Merge adjacent turns of one role, with results first. Then name calls by their order if ids differ by format."""
    turns: list[JsonObject] = []
    for message in messages:
        role = {"developer": "system", "tool": "user"}.get(message["role"], message["role"])
        parts, more = message.get("parts", []), {key: message[key] for key in ("effort", "tools") if key in message}
        if turns and turns[-1]["role"] == role:
            turns[-1] = turns[-1] | more | {"parts": [*turns[-1]["parts"], *parts]}
        else:
            turns.append({"role": role, "parts": parts} | more)
    return [turn | {"parts": list(_parts(turn["parts"]))} for turn in turns]


def _parts(parts: list[JsonObject]) -> Iterator[JsonObject]:
    """Merge adjacent texts, and each hosted call with its result; leave out empty texts."""
    pending: JsonObject | None = None
    for part in parts:
        if part == {"is": "Text"}:
            continue
        if pending is not None and (merged := _merged(pending, part)) is not None:
            pending = merged
            continue
        if pending is not None:
            yield pending
        pending = part | {"content": list(_parts(part["content"]))} if "content" in part else part
    if pending is not None:
        yield pending


def _merged(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """Return two parts as one, if they are one."""
    if one.keys() == other.keys() == {"is", "text"} and one["is"] == other["is"] == "Text":
        return one | {"text": one["text"] + other["text"]}
    if one["is"] == other.get("is") == "Hosted" and one["family"] == other["family"] and "arguments" not in other:
        return one | {key: value for key, value in other.items() if key != "name"}
    return None


# Requests and responses.


def _of_request(form: JsonObject) -> JsonObject:
    """Select one notation of settings that have several."""
    settings = {key: value for key, value in form.get("settings", {}).items() if key not in ("usage_in_stream", "stream_options")}
    reasoning, output = dict(form.get("reasoning", {})), form.get("output_format", {})
    if reasoning.get("effort") == "none" or reasoning.get("mode") == "off" or reasoning.get("budget") == 0:
        reasoning = {"mode": "off"}
    elif reasoning.get("mode") in ("on", "adaptive") and reasoning.keys() & {"effort", "budget"}:
        del reasoning["mode"]
    if reasoning not in ({}, {"mode": "off"}) and settings.get("temperature") == 1:
        del settings["temperature"]  # what happens anyway where the model thinks; one format refuses all others there
    if settings.get("temperature") is not None and settings.get("top_p") is not None:
        # The default of one has no effect next to the other, and some models accept only one of them.
        for name in ("top_p", "temperature"):
            if len({"temperature", "top_p"} & settings.keys()) == 2 and settings[name] == 1:
                del settings[name]
    choice = form.get("tool_choice", {})
    return {
        "settings": settings,
        "reasoning": reasoning,
        "output_format": {} if output.get("type") == "text" else output,
        "tool_choice": {} if choice.get("mode") == "auto" else choice,
    }


def _choice(choice: JsonObject) -> JsonObject:
    """Merge the texts of an answer, and move the probabilities of its tokens and its citations to the answer."""
    parts = choice.get("parts", [])
    logprobs = [token for part in parts for token in part.get("logprobs", [])]
    citations = [citation for part in parts for citation in part.get("citations", [])]
    bare = [{key: value for key, value in part.items() if key not in ("logprobs", "citations")} for part in parts]
    message = {"parts": list(_parts(bare)), "citations": citations}
    return _without_empty(choice | message | ({"logprobs": logprobs} if logprobs else {}))


def _usage(usage: JsonObject) -> JsonObject:
    """Leave out counts of zero, except of input and output."""
    return {key: value for key, value in usage.items() if value or key in ("input", "output")}
