"""Adapt a request of the caller's format to one server and to one model: the body keeps everything that their rules do not concern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.convert.input import check
from formatbridge.convert.origins import Origins
from formatbridge.convert.patch import BodyChanges, Patch
from formatbridge.convert.requests import encode_request_for, without_fields
from formatbridge.dialect import DialectRules
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats.format import CallerTool, FormatSpec
from formatbridge.formats.model_facts import ModelFacts
from formatbridge.formats.shared.reasoning_tokens import Removed, original_pointer
from formatbridge.formats.shared.server_bodies import drop_unread_fields
from formatbridge.formats.shared.server_rules import changes_configuration
from formatbridge.formats.shared.settings import EXCLUDES_REASONING
from formatbridge.formats.shared.turns import leading_instructions
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import prefixes
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.field_paths import ABSENT
from formatbridge.report.ledger import Ledger, null_ledger, resolve
from formatbridge.report.losses import Loss
from formatbridge.report.reasons import MODEL_REASONS, REASONING_REASONS, TARGET_REASONS

_MOST_ROUNDS = 3
"""The largest number of rounds. A body may set one thing in several fields, and each round adapts one of them."""


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
        _include(losses, noted, result[0], lambda pointer: original_pointer(pointer, removed))
        return result
    adaptation = _Adaptation(raw, format, format_of_server, options, facts)
    noted = Ledger(raw, format.field_paths)
    body, tools = adaptation.body(noted), adaptation.tools
    if not adaptation.is_equivalent(body):
        noted = Ledger(raw, format.field_paths)
        body = _Adaptation(raw, format, format_of_server, options, facts, replaces_conversation=True).body(noted)
    _include(losses, noted, body, str)
    adapted = body if facts is None else _adapted_until_stable(raw, body, format, format_of_server, options, facts, losses)
    losses.dialect = format_of_server.dialect
    if format_of_server.dialect is not None:
        adapted = format.server_requests.with_missing_messages(adapted, format_of_server.dialect, losses)
    _note_unmodelled(adaptation.request, Ledger(raw, format.field_paths), raw, adapted, losses)
    return adapted, tools


def _adapted_until_stable(
    original: JsonObject,
    body: JsonObject,
    format: FormatSpec,
    format_of_server: FormatSpec,
    options: Options,
    facts: ModelFacts,
    losses: Ledger,
) -> JsonObject:
    """Return an adapted body after as many more rounds as change its settings; note what each loses. ``original``: that of the caller."""
    # The first round has adapted the conversation. A later one is for the settings.
    conversation = {
        key: body[key] for key in (format.content_fields.get("request"), *format.item_identity.tool_lists) if key in body
    }
    adapted, previous, rounds = body, original, 0
    while adapted is not previous and rounds < _MOST_ROUNDS:
        previous, rounds, noted = adapted, rounds + 1, Ledger(adapted, format.field_paths)
        adapted = _Adaptation(previous, format, format_of_server, options, facts).body(noted) | conversation
        if adapted == previous:
            break
        # A field that the first round has added is no field of the caller.
        new = [loss for loss in noted.losses if resolve(original, loss.path)[1] is not ABSENT]
        losses.include(loss for loss in new if _key_of(loss.path) not in conversation)
        for addition in noted.additions(adapted):
            if _key_of(addition.path) not in conversation:
                losses.added(addition.path, addition.value, addition.why)
    if rounds:
        losses.withdraw(adapted)
    return adapted


def _key_of(pointer: str) -> str:
    """Return the key of a body below which a pointer is."""
    return pointer.split("/")[1] if pointer else ""


def _note_unmodelled(request: ir.Request, noted: Ledger, original: JsonObject, body: JsonObject, losses: Ledger) -> None:
    """Note the unmodelled members of settings that the body does not have, because other members were rejected or have another name.

    ``noted``: an empty report of ``original``, the body of the caller.
    """
    settings = (request, request.reasoning, request.tool_choice, request.output_format, request.audio, request.image)
    for node in settings:
        if node is not None and node.extra:
            noted.extras(node)
    code = "refused_by_model" if losses.dialect is None else "unsupported_by_server"
    dropped = {loss.path for loss in losses.losses if loss.kind == "dropped"} if noted.losses else set()
    for loss in noted.losses:
        is_absent = resolve(body, loss.path)[1] is ABSENT and not _is_elsewhere(loss.path, original, body)
        if is_absent and dropped.isdisjoint(prefixes(loss.path)):
            losses.dropped_at(loss.path, code, severity=loss.severity)


def _include(losses: Ledger, noted: Ledger, body: JsonObject, original: Callable[[str], str]) -> None:
    """Note the losses and the additions of another ledger. ``original``: the pointer into the request of the caller."""
    losses.include(replace(loss, path=original(loss.path)) for loss in noted.losses)
    for addition in noted.additions(body):
        losses.added(addition.path, addition.value, addition.why)


class _Adaptation:
    """One request, encoded for any server of the format and for one server. The differences are applied to the body of the caller."""

    # ``raw``: ``{"max_completion_tokens": 5, "x": 1}``; ``common``: ``{"max_completion_tokens": 5}``;
    # ``for_server``: ``{"max_tokens": 5}``. Only the difference of the last two is applied to ``raw``, which keeps ``x``.

    def __init__(
        self,
        raw: JsonObject,
        format: FormatSpec,
        format_of_server: FormatSpec,
        options: Options,
        facts: ModelFacts | None,
        *,
        replaces_conversation: bool = False,
    ) -> None:
        self._replaces_conversation = replaces_conversation
        self._raw, self._format, self._format_of_server, self._options, self._facts = raw, format, format_of_server, options, facts
        self._rules = format_of_server.dialect
        self._reasoning_fields = format.server_requests.reasoning_fields
        self._field = format.content_fields.get("request", "")
        self._tools = format.item_identity.tools
        self._noted = Ledger(raw, format.field_paths)
        origins = Origins(raw, format.item_identity)
        self._patch = Patch(raw, format, origins)
        self.request = format.decode_request(
            check(origins.body, format, "request"), model=raw.get("model"), stream=bool(raw.get("stream"))
        )
        self._common, _ = encode_request_for(self.request, format, null_ledger(), options)
        self._for_server, self.tools = encode_request_for(
            self.request, _without_history(format_of_server), self._noted, options, facts
        )
        """The caller's tools that were changed."""
        patterns = self._rules.rejects_nested if self._rules is not None else ()
        self._rejected = [
            pointer for pattern in sorted(patterns) for pointer in _matching_pointers(raw, pattern.split("/"), "", format)
        ]
        """The pointers of fields below others that the server rejects."""
        self._rejected_in_messages = set(_rejected_in_messages(raw.get(self._field), self._field, self._rules))
        """The pointers of fields of messages that the server rejects."""
        self._codes = {loss.code for loss in self._noted.losses}

    def body(self, losses: Ledger) -> JsonObject:
        """Return the body for the server; note what it loses."""
        body = self._with_differences(self._for_server)
        rules = losses.dialect = self._rules
        body = self._with_settings_of_reasoning(body)
        if self._facts is not None and "output_limit" in self._codes:
            body = self._with_one_limit(body, losses)
        unread = [
            loss
            for loss in self._noted.losses
            if loss.code in MODEL_REASONS or (loss.code in TARGET_REASONS and loss.kind == "dropped")
        ]
        unread += self._excluded_settings()
        changes = self._patch.changes
        changes.remove(loss.path for loss in unread if loss.path and not self._patch.concerns(loss.path))
        changes.remove([*self._nested_fields(losses), *self._items_of_reasoning(losses), *self._empty_messages(losses)])
        changes.remove(self._tools_outside_list(losses))
        body, before = _changed(self._with_changed_settings(body), changes, self._format), changes.apply(self._raw)
        noted, written = self._ledgers(before)
        if rules is not None:  # after the removal of values, because this moves parts of messages
            body = self._without_needless_choice(body)
            body = _with_fields_of_server(body, self._format, self._for_server, rules, written)
        self._report(body, before, losses)
        if rules is not None:
            body = drop_unread_fields(body, before, self.request, self._format_of_server, noted)
        original = [replace(loss, path=changes.original(loss.path)) for loss in noted.losses]
        losses.include(loss for loss in original if not self._has_losses_of_items(loss))
        for addition in written.additions(body):
            losses.added(addition.path, addition.value, addition.why)
        return body

    def _has_losses_of_items(self, loss: Loss) -> bool:
        """Return whether the report has each item of a list that the server does not read."""
        items, dropped = resolve(self._raw, loss.path)[1], {each.path for each in self._noted.losses if each.kind == "dropped"}
        return isinstance(items, list) and bool(items) and all(f"{loss.path}/{index}" in dropped for index in range(len(items)))

    def _ledgers(self, before: JsonObject) -> tuple[Ledger, Ledger]:
        """Return the ledgers of the losses and of the additions of the fields that only the server has.

        ``before``: the body of the caller. Its messages have the losses if the encoder has written others, with other pointers.
        """
        noted, written = Ledger(before, self._format.field_paths), Ledger(before, self._format.field_paths)
        noted.dialect = written.dialect = self._rules
        if self._rules is None or not self._patch.replaces(f"/{self._field}"):
            return written, written
        _with_fields_of_server(before, self._format, self._for_server, self._rules, noted)
        return noted, written

    def is_equivalent(self, body: JsonObject) -> bool:
        """Return whether the encoder writes a conversation for the server from ``body`` as from the body of the caller.

        Reasoning is left out: servers have different fields for it, and a message may have several texts of it. Tools have no order.
        """
        keys = {self._field, self._tools}
        if all(body.get(key) is self._raw.get(key) for key in keys):
            return True
        try:
            checked = check(body, self._format, "request")
        except InvalidPayloadError:  # the encoder always writes a valid conversation
            return False
        request = self._format.decode_request(checked, model=self._raw.get("model"), stream=bool(self._raw.get("stream")))
        expected, actual = (self._encoded_without_reasoning(each) for each in (self.request, request))
        return self._comparable(expected) == self._comparable(actual)

    def _comparable(self, encoded: JsonObject) -> JsonObject:
        tools = encoded.get(self._tools)
        order = {self._tools: sorted(tools, key=dumps)} if isinstance(tools, list) else {}
        return without_fields(encoded, self._reasoning_fields) | order

    def _encoded_without_reasoning(self, request: ir.Request) -> JsonObject:
        messages = [
            replace(message, parts=[part for part in message.parts if not isinstance(part, ir.Reasoning)])
            for message in request.messages
        ]
        losses = Ledger(self._raw, self._format.field_paths)
        request = replace(request, messages=messages)
        return encode_request_for(request, self._format_of_server, losses, self._options, self._facts)[0]

    def _nested_fields(self, losses: Ledger) -> list[str]:
        """Return the pointers of fields below others that the server rejects, which are noted, or ignores without any effect."""
        pointers = [pointer for pointer in self._rejected if not self._patch.concerns(pointer)]
        for pointer in pointers:
            if any(loss.code in TARGET_REASONS and loss.path.startswith(f"{pointer}/") for loss in self._noted.losses):
                continue  # each of its items is in the report
            # ``tools/*/eager_input_streaming`` only speeds up the answer, so the format states a lower severity for its loss.
            rule = self._format.field_paths.rules.get(f"FunctionTool.{pointer.rpartition('/')[2]}")
            losses.dropped_at(pointer, "rejected_by_server", severity=rule.severity if rule else None)
        ignored = self._rules.ignores_nested if self._rules is not None else ()
        neutral = [
            pointer for pattern in ignored for pointer in _matching_pointers(self._raw, pattern.split("/"), "", self._format)
        ]
        return pointers + [pointer for pointer in neutral if resolve(self._raw, pointer)[1] is False]

    def _empty_messages(self, losses: Ledger) -> list[str]:
        """Return the pointers of empty messages that the encoder does not write, at places where the server rejects them; note them."""
        if self._rules is None:
            return []
        first = leading_instructions(self.request.messages)
        empty = [
            message
            for index, message in enumerate(self.request.messages)
            if _is_empty(message) and _is_rejected(message, self._rules, is_later=index >= first)
        ]
        empty = [each for each in empty if self._patch.is_unwritten(each.src) or not self._patch.concerns(each.src)]
        for message in empty:
            losses.dropped_at(message.src, "empty", severity="lossy" if message.extra else "info")
        return [message.src for message in empty]

    def _items_of_reasoning(self, losses: Ledger) -> list[str]:
        """Return the pointers of list items that only a model that reasons accepts; note them."""
        if self._facts is None or self._facts.reasoning != "none":
            return []
        lists = {field: self._raw.get(field) for field in self._format.reasoning_items}
        pointers = [
            f"/{field}/{index}"
            for field, items in lists.items()
            for index, item in enumerate(items if isinstance(items, list) else ())
            if item == self._format.reasoning_items[field]
        ]
        for pointer in pointers:
            losses.dropped_at(pointer, "no_reasoning", severity="info")
        return pointers

    def _tools_outside_list(self, losses: Ledger) -> list[str]:
        """Return the pointers of tools that a choice excludes, if the server reads neither such a list nor such a name; note them.

        The encoder writes some of them for no server, so that the encodings do not differ.
        """
        choice = self.request.tool_choice
        if choice is None or choice.mode not in ("allowed", "named") or self._format_of_server.tool_rules.allowed_modes:
            return []
        lists = tuple(f"/{name}/" for name in self._format.item_identity.tool_lists)
        excluded = [loss for loss in self._noted.losses if loss.code == "not_allowed" and loss.path.startswith(lists)]
        excluded = [loss for loss in excluded if not self._patch.concerns(loss.path)]
        losses.include(excluded)
        return [loss.path for loss in excluded]

    def _with_differences(self, adapted: JsonObject) -> JsonObject:
        """Return the body of the caller with the differences of the encoded bodies, but for the settings of reasoning."""
        raw, field, patch, rules = self._raw, self._field, self._patch, self._rules
        settings, requests = self._reasoning_fields, self._format.server_requests
        body: JsonObject = patch.apply(raw, without_fields(self._common, settings), without_fields(adapted, settings), "")
        patch.remove_moved()
        current = body
        choice = self._format.item_identity.tool_choice
        changes_tools = self._common.get(self._tools) != adapted.get(self._tools)
        changes_tools = changes_tools or adapted.get(choice) not in (None, self._common.get(choice))
        is_of_other_list = any(  # a choice of a function, next to tools
            raw.get(key) and not raw.get(tools) and adapted.get(self._tools) for key, tools in self._format.only_with_tools.items()
        )
        if changes_tools or (rules is not None and (is_of_other_list or not rules.accepts_legacy_functions)):
            current = requests.without_legacy_functions(body, adapted)
        if current is not body:
            patch.note_changes(raw, current, (raw.keys() | current.keys()) - {field})
            body = current | {
                key: patch.replace(f"/{key}", adapted[key])
                for key in (field, self._tools)
                if key in current.keys() & adapted.keys()
            }
        elif self._replaces_conversation:
            body = body | {key: patch.replace(f"/{key}", adapted[key]) for key in (field, self._tools) if key in adapted}
        elif self._adds_tools() or self._has_moved_instructions():
            body = body | {field: patch.replace(f"/{field}", adapted[field])}
        return _with_moved_values(body, raw, self.request, self._format, (self._common, self._for_server), patch, self._options)

    def _adds_tools(self) -> bool:
        """Return whether the conversation adds tools or changes the effort in a form that the server does not read.

        The encoder moves tools before the first turn for any server, so that ``_common`` does not have them in the conversation either.
        """
        if self._rules is None or not any(message.tools or message.effort for message in self.request.messages):
            return False
        return changes_configuration(self.request, self._rules) or self._common.get(self._tools) != self._for_server.get(
            self._tools
        )

    def _has_moved_instructions(self) -> bool:
        """Return whether the encoder moves all instructions out of the conversation for any server, and this one requires it."""
        if self._rules is None or self._rules.accepts_later_instructions:
            return False
        encoded = (
            any(isinstance(item, dict) and item.get(self._format.item_identity.role) == "system" for item in body[self._field])
            for body in (self._common, self._for_server)
        )
        is_in_conversation = any(
            message.src.startswith(f"/{self._field}/") and message.role == "system" and not _is_empty(message)
            for message in self.request.messages
        )
        return is_in_conversation and not any(encoded)

    def _with_settings_of_reasoning(self, before: JsonObject) -> JsonObject:
        """Return a body with the settings of reasoning that the server and the model accept."""
        requests, facts, fields = self._format.server_requests, self._facts, self._reasoning_fields
        unread = [*self._excluded_settings(), *(loss for loss in self._noted.losses if loss.code in TARGET_REASONS)]
        is_invalid = bool(self._codes & REASONING_REASONS.keys()) or any(self._is_of_reasoning(loss) for loss in unread)
        if self._rules is None:
            is_invalid = is_invalid or any(self._common.get(name) != self._for_server.get(name) for name in fields)
        body = requests.with_reasoning_settings(before, self._for_server, self._rules, is_invalid)
        if facts is not None and facts.reasoning == "none" and fields:
            body = without_fields(body, fields - {"chat_template_kwargs"})
        self._patch.note_changes(before, body, fields)
        return body

    def _with_changed_settings(self, body: JsonObject) -> JsonObject:
        """Return a body with the settings that the server accepts in place of those of the caller, where the encodings do not differ."""
        for loss in self._noted.losses:
            key = loss.path[1:]
            is_of_server = loss.code in TARGET_REASONS and loss.kind == "changed" and not self._patch.concerns(loss.path)
            if is_of_server and key in body and type(body[key]) is type(loss.after) and key not in self._reasoning_fields:
                body = body | {key: loss.after}
                self._patch.note(loss.path)
        return body

    def _without_needless_choice(self, body: JsonObject) -> JsonObject:
        """Return a body without a tool choice that the encoder leaves out because there is no tool."""
        needless = {
            key
            for key, tools in self._format.only_with_tools.items()
            if body.get(key) not in (None, "none") and not body.get(tools) and key not in self._for_server
        }
        # A message may add tools, too.
        is_needless = needless and not any(message.tools for message in self.request.messages)
        return without_fields(body, frozenset(needless)) if is_needless else body

    def _with_one_limit(self, body: JsonObject, losses: Ledger) -> JsonObject:
        """Return a body whose only limit of output tokens is the one that was lowered for the model."""
        group = next((group for group in self._format.equivalent_fields if "max_tokens" in group), frozenset())
        names = self._rules.names if self._rules is not None else {}
        of_caller, written = group & self._raw.keys(), group & self._for_server.keys()
        if len(of_caller) == len(written) == 1 and of_caller != written and of_caller.isdisjoint(names):
            key, other = *of_caller, *written
            self._patch.note(f"/{key}")
            return without_fields(body, written) | {key: self._for_server[other]}
        others = group & body.keys() - written
        losses.include(Loss.of(f"/{key}", "dropped", "info", "repeated", before=body[key]) for key in sorted(others))
        return without_fields(body, others)

    def _excluded_settings(self) -> list[Loss]:
        """Return the losses of settings of reasoning which a forced tool call or a final answer excludes on the server."""
        rules = self._rules
        if rules is None or not rules.excludes_reasoning or not self._format_of_server.excludes_reasoning(self.request):
            return []
        codes = ("without_reasoning", "other_amount")
        return [
            loss
            for loss in self._noted.losses
            if loss.code in EXCLUDES_REASONING or (loss.code in codes and self._is_of_reasoning(loss))
        ]

    def _is_of_reasoning(self, loss: Loss) -> bool:
        """Return whether a loss is in a field with a setting of reasoning, of any server."""
        return loss.path != "" and loss.path.split("/")[1] in self._reasoning_fields

    def _report(self, body: JsonObject, before: JsonObject, losses: Ledger) -> None:
        """Note the losses and the additions that concern the body. The encoder also notes values that the body still has.

        ``before``: the body of the caller with removed, moved and new items only.
        """

        def differs(pointer: str) -> bool:
            pointer = self._patch.changes.pointer(pointer)
            return resolve(before, pointer) != resolve(body, pointer) and not _is_elsewhere(pointer, before, body)

        excluded = self._excluded_settings()
        noted = [
            loss
            for loss in self._noted.losses
            if loss.code in TARGET_REASONS or loss in excluded or self._patch.concerns(loss.path) or differs(loss.path)
        ]
        noted = [loss for loss in noted if loss.code != "weaker_form" or not _is_kept(loss.path, self._raw, body)]
        for loss in noted:
            is_rejected = loss.path in self._rejected or (loss.kind == "dropped" and loss.path in self._rejected_in_messages)
            if is_rejected and loss.code not in TARGET_REASONS:  # the encoder leaves it out because of the server
                losses.dropped_at(loss.path, "rejected_by_server", severity=loss.severity)
            else:
                losses.include([loss])
        for addition in self._noted.additions(self._for_server):
            pointer = self._patch.pointer_of_addition(addition.path)
            if pointer is not None:
                losses.added(pointer, addition.value, addition.why)


def _is_empty(message: ir.Message) -> bool:
    """Return whether a message has nothing but empty texts."""
    has_parts = any(not isinstance(part, ir.Text) or part.text for part in message.parts)
    return not (has_parts or message.tools or message.effort)


def _is_rejected(message: ir.Message, rules: DialectRules, *, is_later: bool) -> bool:
    """Return whether a server rejects an empty message. ``is_later``: it is not among the leading instructions."""
    if message.role == "assistant" and not rules.accepts_empty_answers:
        return True
    is_instruction = message.role in ("system", "developer")
    return is_later and not rules.accepts_later_instructions and (is_instruction or rules.requires_alternating_turns)


def _is_elsewhere(pointer: str, before: JsonObject, body: JsonObject) -> bool:
    """Return whether a text is in another field of the same object now, or an item that has the value at another index of its list."""
    for each in prefixes(pointer):
        above = each.rpartition("/")[0]
        value, old, new = (resolve(*place)[1] for place in ((before, each), (before, above), (body, above)))
        if isinstance(old, list) and isinstance(new, list) and value in new:
            return True
        if each == pointer and isinstance(value, str) and isinstance(old, dict) and isinstance(new, dict):
            return any(member == value and old.get(key) != value for key, member in new.items())
    return False


def _is_kept(pointer: str, raw: JsonObject, body: JsonObject) -> bool:
    """Return whether an item of a list of the caller is in the list of the body, which is another list."""
    above = pointer.rpartition("/")[0]
    item, items = resolve(raw, pointer)[1], resolve(body, above)[1]
    return isinstance(items, list) and item in items


def _without_history(format: FormatSpec) -> FormatSpec:
    """Return a format without its rule for repeated reasoning, because the fields of messages are adapted separately.

    The caller's messages may have their reasoning in any field.
    """
    rules = format.dialect
    if rules is None or rules.reasoning_history is None:
        return format
    return replace(format, dialect=replace(rules, reasoning_history=None))


def _with_moved_values(
    body: JsonObject,
    raw: JsonObject,
    request: ir.Request,
    format: FormatSpec,
    encoded: tuple[JsonObject, JsonObject],
    patch: Patch,
    options: Options,
) -> JsonObject:
    """Return a body without a difference between a replaced conversation and its other fields.

    The encoder may move instructions and tools between a conversation and another field. If both bodies of ``encoded`` (for any server
    and for this one) have the same value in that field, the caller's value lacks what was moved. It is then replaced by the encoded one.
    """
    field = format.content_fields.get("request", "")
    if not patch.replaces(f"/{field}"):
        return body
    common, for_server = encoded
    items = [resolve(raw, "/".join(message.src.split("/")[:3]))[1] for message in request.messages if message.role == "user"]
    rest = raw | {field: [item for item in items[:1] if isinstance(item, dict)]}
    request = format.decode_request(check(rest, format, "request"), model=raw.get("model"), stream=bool(raw.get("stream")))
    alone, _ = encode_request_for(request, format, null_ledger(), options)
    moved = [
        key
        for key in (alone.keys() | common.keys()) - {field}
        if alone.get(key) != common.get(key) and not patch.concerns(f"/{key}")
    ]
    result = {key: value for key, value in body.items() if key not in moved or key in for_server}
    for key in moved:
        if key in for_server:
            result[key] = _with_moved(body.get(key), alone.get(key), for_server[key], f"/{key}", patch)
    return result


def _with_moved(value: Any, alone: Any, encoded: Any, pointer: str, patch: Patch) -> Any:
    """Return an encoded value of a field, or the list of the caller with the items that only the encoded one has.

    ``alone``: the value as it is encoded without the conversation.
    """
    if not all(isinstance(each, list | None) for each in (value, alone, encoded)):
        patch.note(pointer)
        return encoded
    items = [item for item in encoded if item not in (alone or ())]
    for index, _ in enumerate(items, len(value or ())):
        patch.note(f"{pointer}/{index}")
    return [*(value or ()), *items]


def _with_fields_of_server(
    body: JsonObject, format: FormatSpec, for_server: JsonObject, rules: DialectRules, losses: Ledger
) -> JsonObject:
    """Return a body with the fields and the words that the server has for what several of them express."""
    for group in format.equivalent_fields:
        # Other names than those of the token limit are those of single servers. Which names a server reads: ``docs/dialects.md``.
        if not group.isdisjoint(rules.names.values()) or "max_tokens" not in group:
            body = _with_server_field(body, for_server, group)
    return format.server_requests.with_server_fields(body, for_server, rules, losses)


def _with_server_field(body: JsonObject, for_server: JsonObject, group: frozenset[str]) -> JsonObject:
    """Return a body with a setting in the field that the server reads, if the body has it in the field of another server only."""
    # The group is, for example, ``max_tokens`` and ``max_completion_tokens``, of which a server may read only one.
    expected, present = group & for_server.keys(), group & body.keys()
    if not expected or not present or not expected.isdisjoint(present):
        return body
    kept = {key: value for key, value in body.items() if key not in group}
    return kept | {key: for_server[key] for key in for_server if key in expected}


def _changed(body: JsonObject, changes: BodyChanges, format: FormatSpec) -> JsonObject:
    """Return a body with some changes, without lists of tools that become empty and what servers reject without them."""
    before, body = body, changes.apply(body)
    emptied = {key for key in format.item_identity.tool_lists if body.get(key) == [] and before[key]}
    needless = emptied | {key for key, list_of_tools in format.only_with_tools.items() if list_of_tools in emptied}
    return {key: value for key, value in body.items() if key not in needless} if needless else body


def _matching_pointers(value: Any, steps: list[str], pointer: str, format: FormatSpec) -> Iterator[str]:
    """Yield the pointers of values that are not null, below a value. ``*`` is any item."""
    if not steps:
        if value is not None:
            yield pointer
        return
    step, *rest = steps
    if step == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _matching_pointers(item, rest, f"{pointer}/{index}", format)
    elif isinstance(value, dict):
        for key in format.keys_of(step):
            yield from _matching_pointers(value.get(key), rest, f"{pointer}/{key}", format)


def _rejected_in_messages(messages: Any, field: str, rules: DialectRules | None) -> Iterator[str]:
    """Yield the pointers of the fields of messages that the server rejects. ``field``: that of the conversation."""
    rejected = rules.rejects_in_messages if rules is not None else ()
    for index, message in enumerate(messages if rejected and isinstance(messages, list) else ()):
        yield from (f"/{field}/{index}/{key}" for key in message if f"{message.get('role')}.{key}" in rejected)
