"""The reasons for losses and additions. Each reason has one text."""

from __future__ import annotations

from collections.abc import Mapping

SERVER = "{server}"
"""In a reason: the name of the server in whose dialect the request is written."""
SEARCH_TOOL = "{search_tool}"
"""In a reason: the tool, or the field, with which that server searches the web."""

REASONING_REASONS: Mapping[str, str] = {
    "reasoning_control": "the model has another reasoning control",
    "reasoning_budget": "outside the reasoning budgets of the model",
    "no_reasoning": "the model does not reason",
    "reasoning_stays_on": "the model cannot turn reasoning off",
    "always_reasons": "the model always reasons and has no such setting",
}
"""Reasons why a model does not accept a setting of reasoning. Only facts about the model cause these losses."""

MODEL_REASONS: Mapping[str, str] = {
    **REASONING_REASONS,
    "refused_by_model": "the model does not accept it",
    "refused_combination": "the model does not accept it next to functions",
    "unsupported_by_model": "the model does not support this kind of media",
    "output_limit": "more than the model can write",
}
"""Reasons of losses that only facts about a model cause."""

TARGET_REASONS: Mapping[str, str] = {
    **MODEL_REASONS,
    "rejected_by_server": "{server} rejects it",
    "ignored_by_server": "{server} ignores it",
    "unsupported_by_server": "{server} does not support it",
    "server_limit": "more than {server} accepts",
    "server_range": "outside the range of {server}",
    "rejected_combination": "{server} rejects it next to other fields",
    "prevents_calls": "{server} calls no tools next to it",
    "other_tool_of_server": "{server} searches with {search_tool}",
}
"""Reasons of losses that only facts about a model or the dialect of a server cause."""

REASONS: Mapping[str, str] = {
    "no_counterpart": "the target has no place for it",
    "unknown_field": "only the source format has this field",
    "malformed": "not valid in the source format",
    "out_of_range": "outside the range of the target",
    "nearest_value": "replaced by the nearest value of the target",
    "weaker_form": "converted to a form with less meaning",
    "foreign_signature": "only its issuer can read it",
    "unverified_token": "not sealed with the token key",
    "unsigned_reasoning": "the target requires a reasoning token of its format",
    "foreign_id": "the id belongs to another vendor",
    "email_address": "the target accepts no email address here",
    "unsupported_media": "the target does not support this media here",
    "flattened": "converted to plain text",
    "moved": "moved to another place in the target",
    "position_lost": "its position in the turn is lost",
    "renamed": "the target does not allow this name",
    "namespace": "the target has no namespaces of tools",
    "wrapped": "free text becomes a JSON argument",
    "invalid_arguments": "not a JSON object, passed on as text",
    "duplicate_keys": "the key is repeated, only the last value counts",
    "lone_surrogate": "half a surrogate pair is not valid Unicode",
    "invalid_utf8": "contains bytes that are not UTF-8",
    "inexact_number": "the target reads numbers as doubles",
    "too_many": "more than the target accepts",
    "single_answer": "the target returns one answer only",
    "excluded": "not allowed together with another setting",
    "with_forced_call": "not allowed together with a forced tool call",
    "with_output_format": "not allowed together with an output format",
    "with_functions": "not allowed together with functions",
    "with_final_answer": "not allowed together with a final assistant message",
    "with_reasoning": "not allowed together with reasoning",
    "without_reasoning": "the target allows it only with reasoning",
    "other_amount": "another setting has the amount of reasoning",
    "lacks_reasoning": "a budget requires reasoning in the history",
    "not_allowed": "the caller does not allow it",
    "without_tools": "the target allows it only with tools",
    "without_deferred": "there is no deferred tool to search",
    "all_deferred": "the target requires a tool that is not deferred",
    "not_stored": "the target allows it only with stored responses",
    "billing_header": "billing data of the caller's client",
    "not_strict": "the target enforces only objects without optional properties",
    "root_union": "the target allows no union at the root",
    "recursive_schema": "the target cannot enforce a recursive schema",
    "json_mode": "replaced by an instruction to return JSON",
    "schema_keyword": "moved into the description",
    "too_late": "arrived after the target needed it",
    "unfinished": "only a part of it arrived",
    "server_history": "only its vendor can read server tool history",
    "server_tool": "the target has no such built-in tool",
    "repeated_id": "another call has the same id",
    "orphan": "call and result do not match",
    "no_turns": "the target requires a turn besides instructions",
    "no_content": "no content of the conversation is left",
    "empty": "no content is left",
    "echo": "only repeats the request",
    "repeated": "only repeats another field",
    "not_counted": "does not change the count of input tokens",
    "diagnostic": "describes the server, not the answer",
    "accounting": "the target does not count this",
    "finish_reason": "the target has fewer finish reasons",
    "prefill": "the target may not continue this turn",
    "first_turn": "the target requires a user turn first",
    "span_lost": "the target has citations without offsets",
    "replayed": "the endpoint cannot stream, its answer is replayed",
    "stored_state": "stored state; send store: false and the full history",
    **TARGET_REASONS,
    "batch_stream": "a batch returns whole answers",
    "batch_model": "a batch names its model outside its lines",
    "unstated_budget": "no facts state that the model has a budget",
    "server_id": "{server} does not accept this id",
    "not_portable": "depends on state of the source's server",
}
"""Code of a loss to its reason, with ``SERVER`` for the name of a server and ``SEARCH_TOOL`` for its tool."""

SHOWN = "without it the server returns no reasoning"
"""Why a request to generate_content asks for the text of the reasoning."""

CLOSED = "a strict schema sets additionalProperties to false"
"""Why an object of a schema gets ``additionalProperties: false``."""

WITHOUT_CODE = "not every model lets code call this tool"
"""Why only the model may call a web search."""

SEARCHES_DEFERRED = "a request with deferred tools must have a tool search"
"""Why a request gets a tool search."""

REPLACES_JSON_MODE = "replaces JSON mode, which the target lacks"
"""Why the system prompt gets an instruction."""

NAMES_RESULT = "the media after it belong to this tool result"
"""Why a message with media from tool results has a text."""

MENTIONS_JSON = "a request with JSON mode must mention JSON"
"""Why a conversation gets an instruction."""

REQUIRED = "required by the target, missing in the source"
"""The reason of most additions."""
