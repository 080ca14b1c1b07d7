"""Write the body of a request: encode a canonical request, or keep a body that is in the format of the target.

With a dialect, the format has the rules of one server. A body of the same format then keeps everything that these rules do not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.convert.input import check
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import CallerTool, FormatSpec
from formatbridge.formats.model_facts import ModelFacts
from formatbridge.formats.shared.foreign_tokens import Removed, original_pointer
from formatbridge.formats.shared.json_mode import is_json_instruction
from formatbridge.formats.shared.model_rules import adapt_to_model, options_for_model
from formatbridge.formats.shared.server_fields import add_missing_messages, drop_unread_fields, rename_for_server
from formatbridge.formats.shared.server_rules import adapt_to_server, changes_configuration
from formatbridge.formats.shared.token_authentication import check_request_tokens
from formatbridge.formats.shared.tools import adapt_tools
from formatbridge.formats.shared.turns import without_billing_header
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape, to_snake, unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger, null_ledger, resolve
from formatbridge.report.losses import Loss
from formatbridge.report.reasons import MENTIONS_JSON, REASONS


def prepared_request(request: ir.Request, source_format: FormatSpec, losses: Ledger, options: Options) -> ir.Request:
    """Return a request without what the options remove: tokens without a valid seal, and the billing header."""
    if options.token_key is not None:
        request = check_request_tokens(request, options.token_key, losses)
    if options.strip_billing_header and source_format.billing_header:
        request = without_billing_header(request, source_format.billing_header, losses)
    return request


def encode_request_for(
    request: ir.Request, target_format: FormatSpec, losses: Ledger, options: Options, facts: ModelFacts | None = None
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Encode a canonical request with its tools adapted to the target; also return the original tools, to restore their names later.

    ``facts``: what the model accepts; None: unknown.
    """
    # ``adapt_tools`` comes after the steps that remove tools or change them to another kind, because it names those that remain.
    if facts is not None:
        request = adapt_to_model(request, facts, target_format, losses)
        options = options_for_model(request, facts, target_format, options)
    if target_format.dialect is not None:
        request = adapt_to_server(request, target_format, losses)
    request, tools = adapt_tools(request, target_format.tool_rules, losses)
    body = target_format.encode_request(request, losses, options)
    if target_format.dialect is not None:
        body = rename_for_server(body, target_format, losses)
    return body, tools


def same_request(raw: JsonObject, format: FormatSpec, model: str, stream: bool) -> JsonObject:
    """Return a request unchanged, except for a model or stream flag that the caller overrides.

    For a format with these values in the URL, keys are overridden only if the body has them. Turning the stream off also removes
    ``stream_options``, because the vendors reject it together with ``stream: false``.
    """
    # A missing ``stream`` means false, so that false is no override of it: the body stays as it is.
    overrides = {"model": model, "stream": stream}
    if format.url_fields:
        overrides = {key: value for key, value in overrides.items() if key in raw}
    body = raw | {key: value for key, value in overrides.items() if value != (raw.get(key) or type(value)())}
    if raw.get("stream") and not stream:  # OpenAI's error names both fields (BerriAI/litellm#5803)
        body.pop("stream_options", None)
    return body


def same_request_for_server(
    raw: JsonObject,
    format: FormatSpec,
    format_of_server: FormatSpec,
    losses: Ledger,
    options: Options,
    facts: ModelFacts | None,
    removed: Removed,
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Return a request of the format itself as one server accepts it, and the caller's tools that were changed.

    ``removed``: the items of the caller's request that ``raw`` does not have any more, so that losses point into the former.

    The request is encoded twice: for any server of the format, and for this one. The differences are applied to the body, so that all
    that the rules of the server do not concern stays as it is, unmodelled fields included. With facts about the model this is repeated
    until the body is stable, because a body may set the same in several fields, of which a decoder reads the first.
    """
    if removed:
        noted = Ledger(raw, format.field_paths)
        result = same_request_for_server(raw, format, format_of_server, noted, options, facts, {})
        losses.include(replace(loss, path=original_pointer(loss.path, removed)) for loss in noted.losses)
        for addition in noted.additions(result[0]):
            losses.added(addition.path, addition.value, addition.why)
        return result
    body, tools = _adapted_once(raw, format, format_of_server, losses, options, facts)
    adapted, rounds = body, 0
    while facts is not None and adapted is not raw and rounds < _MOST_ROUNDS:
        raw, rounds = adapted, rounds + 1
        adapted, _ = _adapted_once(raw, format, format_of_server, losses, options, facts)
        adapted = raw if adapted == raw else adapted
    if format_of_server.dialect is not None:
        adapted = add_missing_messages(adapted, format_of_server.dialect, losses)
    return adapted, tools


def _adapted_once(
    raw: JsonObject, format: FormatSpec, format_of_server: FormatSpec, losses: Ledger, options: Options, facts: ModelFacts | None
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Apply the differences of the server and the model to a body once; return also the caller's tools that were changed."""
    # ``raw``: ``{"max_completion_tokens": 5, "x": 1}``; ``common``: ``{"max_completion_tokens": 5}``;
    # ``for_server``: ``{"max_tokens": 5}``. Only the difference of the last two is applied to ``raw``, which keeps ``x``.
    request = format.decode_request(check(raw, format, "request"), model=raw.get("model"), stream=bool(raw.get("stream")))
    common, _ = encode_request_for(request, format, null_ledger(), options)
    noted = Ledger(raw, format.field_paths)
    for_server, tools = encode_request_for(request, _without_history(format_of_server), noted, options, facts)
    patch = Patch()
    field = format.content_fields.get("request", "")
    instruction = _added_instruction(common, for_server, field)
    rules = format_of_server.dialect
    adapted = _without_message(for_server, instruction, field)
    settings = format.reasoning_fields
    body: JsonObject = patch.apply(raw, _without_fields(common, settings), _without_fields(adapted, settings), "")
    if rules is not None and not rules.legacy_functions and _has_legacy_functions(raw):
        body = _without_fields(body, _LEGACY) | {key: adapted[key] for key in _CURRENT if key in adapted}
        patch.note_changes(raw, body, _LEGACY | _CURRENT)
        body = body | {field: patch.replace(f"/{field}", adapted[field])}
    elif _replaces_conversation(request, rules, common, for_server):
        body = body | {field: patch.replace(f"/{field}", adapted[field])}
    body = _with_moved_values(body, raw, format, (common, for_server), patch, options)
    if rules is not None:
        body = _with_fields_of_server(body, format, for_server, rules, losses)
    excluded = _excluded_reasoning(request, format_of_server, noted)
    codes = {loss.code for loss in noted.losses}
    if format.settings_for_server is not None:
        before, unread = body, [*excluded, *(loss for loss in noted.losses if loss.code in _OF_TARGET)]
        is_invalid = any(_is_reasoning_field(loss.path, format) for loss in unread)
        is_invalid = is_invalid or (facts is not None and (facts.reasoning == "none" or bool(codes & _OF_REASONING)))
        body = format.settings_for_server(before, for_server, rules, is_invalid)
        patch.note_changes(before, body, settings)
    if facts is not None and "output_limit" in codes:
        body = _without_other_limits(body, format, for_server, losses)
    unread = [loss for loss in noted.losses if loss.code in _OF_MODEL or (loss.code in _OF_TARGET and loss.kind == "dropped")]
    unread += excluded
    body = _without_values(body, [loss.path for loss in unread if loss.path and not patch.concerns(loss.path)])
    # The encoder also notes values that the body still has, because the caller's values were kept. They are not lost.
    losses.dialect = rules
    losses.include(
        loss
        for loss in noted.losses
        if loss.code in _OF_TARGET or patch.concerns(loss.path) or resolve(raw, loss.path) != resolve(body, loss.path)
    )
    if instruction is not None:
        body = _with_instruction(body, instruction, field, losses)
    for addition in noted.additions(for_server):
        if patch.concerns(addition.path):
            losses.added(addition.path, addition.value, addition.why)
    return drop_unread_fields(body, raw, request, format_of_server, losses) if format_of_server.dialect else body, tools


def _without_history(format: FormatSpec) -> FormatSpec:
    """Return a format whose encoder leaves the reasoning of messages in the fields of the format.

    The messages of the caller may have it in any field, and these fields are compared separately.
    """
    rules = format.dialect
    if rules is None or rules.reasoning_history in (None, "none"):
        return format
    return replace(format, dialect=replace(rules, reasoning_history=None))


def _without_fields(body: JsonObject, fields: frozenset[str]) -> JsonObject:
    return {key: value for key, value in body.items() if key not in fields}


_LEGACY = frozenset({"functions", "function_call"})
"""Fields of chat_completions with functions, from the time before tools."""
_CURRENT = frozenset({"tools", "tool_choice"})


def _has_legacy_functions(body: JsonObject) -> bool:
    """Return whether a request has functions, calls or results from the time before tools."""
    messages = body.get("messages") or ()
    return not _LEGACY.isdisjoint(body) or any(
        message.get("role") == "function" or message.get("function_call") is not None for message in messages
    )


def _replaces_conversation(request: ir.Request, rules: DialectRules | None, common: JsonObject, for_server: JsonObject) -> bool:
    """Return whether a conversation that adds tools or changes the effort is replaced as a whole.

    The encoder moves tools before the first turn for any server, so that ``common`` does not have them in the conversation either.
    """
    if rules is None or not any(message.tools or message.effort for message in request.messages):
        return False
    return changes_configuration(request, rules) or common.get("tools") != for_server.get("tools")


def _with_moved_values(
    body: JsonObject, raw: JsonObject, format: FormatSpec, encoded: tuple[JsonObject, JsonObject], patch: Patch, options: Options
) -> JsonObject:
    """Return a body without a difference between a replaced conversation and its other fields.

    The encoder may move instructions and tools out of a conversation, or instructions into it. If the bodies for any server and for this
    one (``encoded``) have the same value in such a field, the body still has the one of the caller, without what was moved.
    """
    field = format.content_fields.get("request", "")
    if not patch.replaces(f"/{field}"):
        return body
    common, for_server = encoded
    rest = raw | {field: [item for item in raw[field] if isinstance(item, dict) and item.get("role") == "user"][:1]}
    request = format.decode_request(rest, model=raw.get("model"), stream=bool(raw.get("stream")))
    alone, _ = encode_request_for(request, format, null_ledger(), options)
    moved = [
        key
        for key in (alone.keys() | common.keys()) - {field}
        if alone.get(key) != common.get(key) and not patch.concerns(f"/{key}")
    ]
    for key in moved:
        patch.note(f"/{key}")
    return {key: value for key, value in body.items() if key not in moved} | {
        key: for_server[key] for key in for_server if key in moved
    }


def _added_instruction(common: JsonObject, for_server: JsonObject, field: str) -> JsonObject | None:
    """Return the message that only the body for the server has, because this server has JSON mode instead of schemas."""
    before, after = common.get(field), for_server.get(field)
    if not isinstance(before, list) or not isinstance(after, list) or len(after) != len(before) + 1:
        return None
    return next((message for message in after if is_json_instruction(message)), None)


def _without_message(body: JsonObject, message: JsonObject | None, field: str) -> JsonObject:
    return body if message is None else body | {field: [each for each in body[field] if each is not message]}


def _with_instruction(body: JsonObject, instruction: JsonObject, field: str, losses: Ledger) -> JsonObject:
    """Return a body with an instruction after its leading ones."""
    messages = body[field] if isinstance(body[field], list) else [{"type": "message", "role": "user", "content": body[field]}]
    at = next((index for index, each in enumerate(messages) if each.get("role") not in _INSTRUCTING), len(messages))
    losses.added(f"/{field}/{at}", instruction, MENTIONS_JSON)
    return body | {field: [*messages[:at], instruction, *messages[at:]]}


_INSTRUCTING = ("system", "developer")


def _with_fields_of_server(
    body: JsonObject, format: FormatSpec, for_server: JsonObject, rules: DialectRules, losses: Ledger
) -> JsonObject:
    """Return a body with the fields and the words that the server has for what several of them express."""
    for group in format.equivalent_fields:
        if not group.isdisjoint(rules.names.values()):
            body = _with_server_field(body, for_server, group)
    if format.messages_for_server is not None:
        body = format.messages_for_server(body, rules, losses)
    if body.get("tool_choice") == "any" and for_server.get("tool_choice") is not None:
        # ``any`` of Mistral means ``required`` (Mistral's API specification, ``ToolChoice``); other servers do not know it.
        body = body | {"tool_choice": for_server["tool_choice"]}
    return body


def _with_server_field(body: JsonObject, for_server: JsonObject, group: frozenset[str]) -> JsonObject:
    """Return a body with a setting in the field that the server reads, if the body has it in the field of another server only."""
    # The group is, for example, ``max_tokens`` and ``max_completion_tokens``, of which most servers read only one.
    expected, present = group & for_server.keys(), group & body.keys()
    if not expected or not present or not expected.isdisjoint(present):
        return body
    kept = {key: value for key, value in body.items() if key not in group}
    return kept | {key: for_server[key] for key in for_server if key in expected}


def _excluded_reasoning(request: ir.Request, format_of_server: FormatSpec, noted: Ledger) -> list[Loss]:
    """Return the losses of reasoning settings which a forced tool call excludes on the server."""
    rules = format_of_server.dialect
    if rules is None or not rules.forced_call_excludes_reasoning or not format_of_server.excludes_reasoning(request):
        return []
    return [loss for loss in noted.losses if loss.code == "excluded" and _is_reasoning_field(loss.path, format_of_server)]


def _is_reasoning_field(path: str, format: FormatSpec) -> bool:
    """Return whether a pointer is in a field that sets the amount of reasoning, on any server."""
    return path != "" and path.split("/")[1] in format.reasoning_fields


def _without_other_limits(body: JsonObject, format: FormatSpec, for_server: JsonObject, losses: Ledger) -> JsonObject:
    """Return a body whose only limit of output tokens is the one that was lowered for the model."""
    others = {key for group in format.equivalent_fields if "max_tokens" in group for key in group & body.keys() - for_server.keys()}
    code = "repeated"
    losses.include(Loss(f"/{key}", "dropped", "info", code, REASONS[code], body[key]) for key in sorted(others))
    return {key: value for key, value in body.items() if key not in others}


def _without_values(body: JsonObject, pointers: list[str]) -> JsonObject:
    """Return a body without the values at some pointers, and without objects and lists of tools that this leaves empty.

    The server or the model does not accept them. They are in fields that the format reads and never writes, so that no encoded body has
    them.
    """
    before = body
    for steps in sorted((_steps(pointer) for pointer in pointers), reverse=True):  # last items first, so that indexes stay valid
        body = _without_value(body, steps) or {}
    emptied = {key for key in ("tools", "functions") if body.get(key) == [] and before[key]}
    needless = emptied | {key for key, list_of_tools in _ONLY_WITH.items() if list_of_tools in emptied}
    return {key: value for key, value in body.items() if key not in needless} if needless else body


_ONLY_WITH = {"function_call": "functions", "tool_choice": "tools", "parallel_tool_calls": "tools"}
"""Fields to the list of tools without which servers reject them."""


def _steps(pointer: str) -> list[tuple[int, str]]:
    """Return the keys of a pointer. Each follows its number, or -1 for a key of letters, so that they can be compared."""
    keys = [unescape(step) for step in pointer.split("/")[1:]]
    return [(int(key) if key.isdecimal() else -1, key) for key in keys]


def _without_value(value: Any, steps: list[tuple[int, str]]) -> Any:
    """Return a copy of a value without the value at some steps; None if no member of an object is left."""
    if not steps:
        return None
    (index, key), *rest = steps
    if isinstance(value, dict) and key in value:
        inner = _without_value(value[key], rest)
        return {
            name: inner if name == key else member for name, member in value.items() if name != key or inner is not None
        } or None
    if isinstance(value, list) and 0 <= index < len(value):
        inner = _without_value(value[index], rest)
        return [*value[:index], *([] if inner is None else [inner]), *value[index + 1 :]]
    return value


_MOST_ROUNDS = 3
"""How often a body is adapted again: once for each field that sets the same as another one."""
_OF_REASONING = frozenset({"reasoning_control", "reasoning_budget", "no_reasoning", "reasoning_stays_on", "always_reasons"})
"""Codes of losses of reasoning settings that only facts about a model cause."""
_OF_MODEL = _OF_REASONING | {"refused_by_model", "unsupported_by_model", "output_limit"}
"""Codes of losses that only facts about a model cause."""
_OF_TARGET = _OF_MODEL | {"rejected_by_server", "ignored_by_server", "unsupported_by_server", "server_limit"}
"""Codes of losses that only a dialect or facts about a model cause."""


_ABSENT = object()


class Patch:
    """Applies the differences between two bodies to a third, and records where."""

    def __init__(self) -> None:
        self._changed: list[str] = []
        self._replaced: set[str] = set()

    def note(self, path: str) -> None:
        """Record a pointer at which another value than that of the caller is written."""
        self._changed.append(path)

    def replace(self, path: str, value: Any) -> Any:
        """Record a pointer at which another value with items or members is written, and return this value."""
        self._changed.append(path)
        self._replaced.add(path)
        return value

    def note_changes(self, before: JsonObject, after: JsonObject, keys: Iterable[str]) -> None:
        """Record the pointers at which two objects differ, below some of their keys."""
        for key in keys:
            old, new = before.get(key), after.get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                self._changed += [f"/{key}/{member}" for member in old.keys() | new.keys() if old.get(member) != new.get(member)]
            elif old != new:
                self._changed.append(f"/{key}")

    @property
    def replaces_any(self) -> bool:
        """Whether a value with items or members was replaced as a whole, so that it may have lost some."""
        return bool(self._replaced)

    def replaces(self, path: str) -> bool:
        """Return whether the value at a pointer was replaced as a whole."""
        return path in self._replaced

    def concerns(self, path: str) -> bool:
        """Return whether a pointer is at, above or below a changed value."""
        return any(f"{path}/".startswith(f"{changed}/") or f"{changed}/".startswith(f"{path}/") for changed in self._changed)

    def apply(self, raw: Any, before: Any, after: Any, path: str) -> Any:
        """Return ``raw`` with the changes from ``before`` to ``after``; the same object if there are none."""
        if dumps(before) == dumps(after):  # in Python 1 equals True
            return raw
        if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
            return self._apply_to_object(raw, before, after, path)
        if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list):
            indexes = _indexes_in(raw, before, after)
            if indexes is not None:
                result = list(raw)
                for index, old, new in zip(indexes, before, after, strict=True):
                    result[index] = self.apply(raw[index], old, new, f"{path}/{index}")
                return result
            removed = _removed_from(raw, before, after)
            if removed is not None:
                self._changed += [f"{path}/{index}" for index in removed]
                return [item for index, item in enumerate(raw) if index not in removed]
        if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and _adds_known_items(raw, before, after):
            return raw
        if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and _is_extended(raw, before, after):
            self._changed += [f"{path}/{index}" for index in range(len(raw), len(after))]
            return raw + after[len(raw) :]
        self._changed.append(path)
        if isinstance(raw, list | dict):
            self._replaced.add(path)
        return after

    def _apply_to_object(self, raw: JsonObject, before: JsonObject, after: JsonObject, path: str) -> JsonObject:
        result, count = dict(raw), len(self._changed)
        for key in [*before, *(key for key in after if key not in before)]:
            # ``name``: the key as the caller has it. Gemini's servers also read keys in snake_case.
            name = key if key in raw or to_snake(key) not in raw else to_snake(key)
            below = f"{path}/{escape(name)}"
            if key not in after:
                if name in result:
                    del result[name]
                    self._changed.append(below)
            elif key in before and name in raw:
                result[name] = self.apply(raw[name], before[key], after[key], below)
            # A key that only the server's body has may be in the caller's body already, in a field that the format does not write.
            elif before.get(key, _ABSENT) != after[key] and (key in before or not _covers(raw.get(name), after[key])):
                result[name] = after[key]
                self._changed.append(below)
        return result if len(self._changed) > count else raw


def _indexes_in(raw: list[Any], before: list[Any], after: list[Any]) -> list[int] | None:
    """Return the index in ``raw`` of each item of ``before``; None if the encoder has moved or joined items.

    ``raw`` may also have items that the encoder does not write, if no written item is of the same kind.
    """
    if len(before) != len(after):
        return None
    expected = [_identity(item) for item in before]
    indexes = [index for index, item in enumerate(raw) if _identity(item) in expected]
    return indexes if [_identity(raw[index]) for index in indexes] == expected else None


def _removed_from(raw: list[Any], before: list[Any], after: list[Any]) -> set[int] | None:
    """Return the indexes of the items that ``after`` does not have, if that is the only difference to ``before``; otherwise None.

    None also if the items of ``raw`` are not those of ``before``.
    """
    if [*map(_identity, raw)] != [*map(_identity, before)]:
        return None
    kept = [dumps(item) for item in after]
    removed = set()
    for index, item in enumerate(before):
        if kept and dumps(item) == kept[0]:
            del kept[0]
        else:
            removed.add(index)
    return None if kept else removed


def _adds_known_items(raw: list[Any], before: list[Any], after: list[Any]) -> bool:
    """Return whether ``after`` is ``before`` with items that ``raw`` has already, such as reasoning that only this server reads."""
    if len(raw) != len(after):
        return False
    others = [dumps(item) for item in before]
    for one, new in zip(raw, after, strict=True):
        if others and dumps(new) == others[0]:
            del others[0]
        elif not _covers(one, new):
            return False
    return not others


def _is_extended(raw: list[Any], before: list[Any], after: list[Any]) -> bool:
    """Return whether ``after`` is ``before`` with further items, such as tools that a conversation adds later."""
    is_same = [*map(_identity, raw)] == [*map(_identity, before)]
    return is_same and len(after) > len(before) and dumps(after[: len(before)]) == dumps(before)


def _identity(value: Any) -> Any:
    return (value.get("role"), value.get("type"), value.get("tool_call_id")) if isinstance(value, dict) else None


def _covers(raw: Any, value: Any) -> bool:
    """Return whether a value of the body has all of another value already."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return all(key in raw and _covers(raw[key], member) for key, member in value.items())
    return type(raw) is type(value) and bool(raw == value)
