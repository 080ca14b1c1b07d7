"""Laws 1 and 2 hold for requests that are written for the server of a dialect: every loss is reported, and every report is true."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.dialects import DIALECTS
from tests.corpus import requires_corpus
from tests.laws.test_vendor_rules import agents
from tests.support.laws import (
    Breach,
    Sample,
    nothing_added_is_silent,
    nothing_is_silent,
    once,
    recorded,
    report_is_precise,
    shipped,
)

every_target = pytest.mark.parametrize(
    ("name", "format"), [(name, format) for name, dialect in DIALECTS.items() for format in dialect.rules]
)

BY_VALUE = {
    "hosted_history_code": "a call with another name is an unknown block, which passes unchanged",
    "hosted_history_search": "a call with another name is an unknown block, which passes unchanged",
    "reasoning_off": "the server cannot turn reasoning off, and any other amount has an effort",
    "results_without_id_only": "a result whose name is that of no call is separated from its call",
    "settings_prewarm": "a limit of 0 has no counterpart; any other limit has one",
    "switch_effort_none": "the effort `none` has precedence over a flag, and another value has not",
    "switch_budget_off": "the server cannot turn reasoning off, and any other amount has an effort",
    "switch_template": "the server cannot turn reasoning off, and any other amount has an effort",
    "tool_choice_allowed_search": "an unknown mode is a free choice",
    "tool_choice_hosted": "a choice of another name is a choice of a function",
    "tools_definitions": "the explicit default of ``strict`` passes unchanged",
    "tools_property_names": "the explicit default of ``strict`` passes unchanged",
    "tools_schema_root": "the explicit default of ``strict`` passes unchanged",
    "tools_schema_untyped": "the explicit default of ``strict`` passes unchanged",
    "tools_strict_recursive": "the explicit default of ``strict`` passes unchanged",
    "tools_strict_without_parameters": "the explicit default of ``strict`` passes unchanged",
    "tools_search_client": "a tool with another name is not the one that the request has already",
}
"""Stems of fixtures with a loss that depends on its value, and why. Only law 1 for unknown keys and the pointers are checked for them."""
BY_VALUE_IN_RECORDINGS = {
    "media_type": "the server reads media of another type",
    "service_tier": "the server has some tiers, and an unknown one passes unchanged",
    "strict": "an explicit default passes unchanged",
    "name": "a server tool with another name is an unknown block, which passes unchanged",
}
"""Keys of recorded requests with a loss that depends on its value, and why."""
EACH = 12
"""One of so many recorded requests is checked for each target."""


def _breaches(sample: Sample, target: Any, *, by_value: bool) -> Iterator[str]:
    convert = once(sample.convert, sample.body)
    results = [
        *([] if by_value else nothing_is_silent(sample.body, target, convert, per_place=1)),
        *report_is_precise(sample.body, target, convert),
        *nothing_added_is_silent(sample.body, target, convert),
    ]
    yield from (f"{sample}: {breach}" for breach in results)


@every_target
def test_every_loss_for_a_dialect_is_reported_and_every_report_is_true(name: str, format: fb.Format) -> None:
    """Also in the same format, in which a body passes unchanged except for what the server does not accept."""
    target: Any = fb.Target(format, dialect=name)

    assert [
        breach
        for sample in shipped(kind="request")
        for breach in _breaches(sample, target, by_value=sample.id.split("-")[1] in BY_VALUE)
    ] == []


@requires_corpus
@every_target
def test_every_loss_of_a_recorded_request_for_a_dialect_is_reported(name: str, format: fb.Format) -> None:
    """Real requests have combinations of settings that no fixture has."""
    target: Any = fb.Target(format, dialect=name)
    number = list(DIALECTS).index(name)
    samples = [*recorded(kind="request"), *(each for source in fb.FORMATS for each in agents(source))]
    breaches: list[Breach] = []
    for sample in samples[number % EACH :: EACH]:
        with suppress(fb.InvalidPayloadError):
            convert = once(sample.convert, sample.body)
            breaches += nothing_is_silent(sample.body, target, convert, per_place=1)
            breaches += report_is_precise(sample.body, target, convert)

    assert [breach for breach in breaches if breach.path.rpartition("/")[2] not in BY_VALUE_IN_RECORDINGS] == []


_ANSWERED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chat_completions": (
        "messages",
        [
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        ],
    ),
    "messages": (
        "messages",
        [
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]},
        ],
    ),
    "responses": (
        "input",
        [
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": "https://example.com/a.png"}]},
        ],
    ),
    "generate_content": (
        "contents",
        [
            {"role": "model", "parts": [{"text": "Yes."}]},
            {"role": "user", "parts": [{"fileData": {"fileUri": "https://example.com/a.png", "mimeType": "image/png"}}]},
        ],
    ),
}
"""The field of each format with the conversation, and turns of which a server without media reads only the first."""
_IN_CONVERSATION: dict[str, list[dict[str, Any]]] = {
    "messages": [
        {"system": "Be kind.", "messages": [{"role": "system", "content": "Be brief."}]},
        {
            "tools": [{"name": "now", "input_schema": {"type": "object", "properties": {}}, "own": 1}],
            "messages": [{"role": "system", "content": [{"type": "tool_addition", "tool": {
                "type": "tool_definition", "definition": {"name": "later", "input_schema": {"type": "object", "properties": {}}},
            }}]}],
        },
    ],
    "responses": [
        {"instructions": "Be kind.", "input": [{"role": "system", "content": "Be brief."}]},
    ],
    "generate_content": [
        {"contents": [{"role": "system", "parts": [{"text": "Be brief."}]}]},
        {"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": [{"role": "system", "parts": [{"text": "Be brief."}]}]},
    ],
}  # fmt: skip
"""Requests whose instructions or tools are in the conversation, without its turns."""


def _other_fields(format: fb.Format) -> Iterator[Sample]:
    turns = _ANSWERED[format][1][:1]
    field = _ANSWERED[format][0]
    for number, body in enumerate(_IN_CONVERSATION.get(format, ())):
        user = turns[0] | {"role": "user"}
        yield Sample(
            f"{format}-{number}", format, "request", {"model": "m", "max_tokens": 9} | body | {field: [*body[field], user]}
        )


_IMAGES = frozenset({"image_data", "results_apart_only", "tool_result_image"})
"""Fixtures with an image, which a server without media would read if it had an unknown type."""


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_conversation_that_a_server_reads_only_in_part_loses_nothing_else(format: Any) -> None:
    """The list is then replaced as a whole, and the encoder may have moved instructions and tools between it and other fields."""
    field, turns = _ANSWERED[format]
    rules = fb.DialectRules(server="own", media=frozenset())
    target: Any = fb.Target(format, dialect=fb.Dialect("own", {format: rules}))
    samples = [sample for sample in shipped(format, "request") if isinstance(sample.body.get(field), list)]
    breaches: list[str] = []
    for sample in [*samples, *_other_fields(format)]:
        if sample.id.split("-")[1] not in BY_VALUE.keys() | _IMAGES:
            body = sample.body | {field: [*sample.body[field], *turns]}
            breaches += _breaches(replace(sample, body=body), target, by_value=False)

    assert breaches == []


def test_a_loss_after_a_removed_item_points_into_the_request_of_the_caller() -> None:
    """Reasoning with a token of another vendor is removed before the rules of the server are applied."""
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "fb1|messages|thinking|c2lnbmVk"}
    image = {"type": "input_image", "detail": "auto", "image_url": "https://example.com/a.png"}
    body = {"model": "m", "input": [{"role": "user", "content": "hi"}, reasoning, {"role": "user", "content": [image]}]}
    rules = fb.DialectRules(server="own", media=frozenset())
    target: Any = fb.Target("responses", dialect=fb.Dialect("own", {"responses": rules}))

    converted = fb.convert_request(body, source="responses", target=target)

    assert {loss.path: loss.before for loss in converted.losses} == {
        "/input/1": reasoning,
        "/input/2": body["input"][2],
        "/input/2/content/0": image,
    }


def test_each_listed_exception_is_still_needed() -> None:
    """An exception that is no longer needed would hide the next mistake."""
    targets = [fb.Target(fb.RegisteredName(format), dialect=name) for name, dialect in DIALECTS.items() for format in dialect.rules]
    needed = {
        stem
        for sample in shipped(kind="request")
        if (stem := sample.id.split("-")[1]) in BY_VALUE
        for target in targets
        if any(nothing_is_silent(sample.body, target, sample.convert, per_place=1))
    }

    assert needed == BY_VALUE.keys()
