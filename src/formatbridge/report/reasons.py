"""The reasons for losses and additions. Each reason has one text."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "no_counterpart": "the target has no place for it",
    "unknown_field": "known to its own format alone",
    "malformed": "not of the shape its format has there",
    "out_of_range": "outside the range of the target",
    "nearest_value": "the nearest value the target has",
    "weaker_carrier": "carried, but with less meaning",
    "foreign_signature": "only its issuer can read it",
    "unverified_token": "not sealed with the token key",
    "unsigned_reasoning": "the target takes reasoning with its own token only",
    "foreign_id": "the id belongs to another vendor",
    "unsupported_media": "the target does not take this medium here",
    "flattened": "written as plain text",
    "moved": "stands elsewhere in the target",
    "position_lost": "its place in the turn is lost",
    "renamed": "the target allows no such name",
    "wrapped": "free text becomes a JSON argument",
    "invalid_arguments": "no JSON object, passed on as raw text",
    "duplicate_keys": "of equal keys only the last counts",
    "lone_surrogate": "half of a character, no valid Unicode",
    "invalid_utf8": "holds bytes that are not UTF-8",
    "inexact_number": "the target reads numbers as doubles",
    "too_many": "more than the target takes",
    "single_answer": "the target gives one answer only",
    "excluded": "the target refuses it beside another setting",
    "without_tools": "the target takes it beside tools only",
    "billing_header": "billing data of the caller's client",
    "root_union": "the target takes no union at the root",
    "json_mode": "an instruction stands for the JSON mode",
    "schema_keyword": "moved into the description",
    "late": "told when the stream had begun without it",
    "unfinished": "only a part of it has come",
    "server_history": "server tool history stays with its vendor",
    "server_tool": "the target has no such server tool",
    "repeated_id": "another call has the same id",
    "orphan": "call and result do not match",
    "no_turns": "the target demands a turn besides instructions",
    "empty": "nothing is left of the turn",
    "echo": "only repeats the request",
    "repeated": "only repeats another field",
    "diagnostic": "tells about the server, not the answer",
    "accounting": "the target does not count this",
    "finish_reason": "the target ends for fewer reasons",
    "prefill": "the target may not continue this turn",
    "first_turn": "the target begins with a turn of the user's",
    "span_lost": "the target cites without offsets",
    "replayed": "the endpoint cannot stream, its answer is replayed",
    "stored_state": "stored state; send store: false and the full history",
    "not_portable": "depends on state of the source's server",
}
"""Code of a loss to its reason."""

SHOWN = "without it the server shows no reasoning"
"""Why a request to generate_content asks for the reasoning that it enables."""

REQUIRED = "required, and the source names none"
"""Why nearly every value is added."""
