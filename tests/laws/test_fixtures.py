"""Every fixture is valid and described, and fixtures of one name have the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, cast

import pytest

from formatbridge import formats, ir
from formatbridge.convert.collect import collect_stream
from formatbridge.errors import InvalidPayloadError, StreamFailedError
from tests.fixtures import (
    Fixture,
    InvalidFixture,
    ServerFixture,
    StreamFixture,
    check,
    count_fixtures,
    fixtures,
    invalid_fixtures,
    server_fixtures,
    streams,
)
from tests.private_words import in_prose
from tests.support.for_each import for_each
from tests.support.normal_form import normal_form, without

_VARIANT = "_only"
"""The end of stems of content that only one format has; such fixtures share a subject, not a conversation."""

_LISTED = "one list has it, another does not"

NOT_COMPARED: Mapping[str, Mapping[str, str]] = {
    "request/cache_marks_ttl": {"ttl": "the vendors keep entries for different times"},
    "request/citations_history": {"start": "messages cites a block, not a span", "end": "messages cites a block, not a span"},
    "request/output_audio": {"voice": "each vendor has other voices", "language": "part of generate_content's voice alone"},
    "request/structured_output": {
        "name": "required in two formats, absent in two",
        "strict": "messages is always strict, and one format has no field for it",
    },
    "response/audio_out": {"mime": "chat_completions has it only in the request"},
    "models/models_two": dict.fromkeys(
        ("created", "owner", "display_name", "version", "input_limit", "output_limit", "methods"), _LISTED
    ),
}
"""Conversations that some format expresses in part only: the fields that are not compared, and why."""


@for_each("fixture", [*fixtures(), *count_fixtures(), *server_fixtures()])
def test_a_fixture_has_a_description_and_a_source(fixture: Fixture | ServerFixture) -> None:
    """A case without a source cannot be corrected."""
    assert fixture.about.endswith(".")
    assert in_prose(fixture.about) == []
    assert fixture.source


@for_each("fixture", fixtures())
def test_a_fixture_is_a_body_of_its_format(fixture: Fixture) -> None:
    """The test fails if a model became stricter than servers."""
    check(fixture.body, fixture.format, cast(Any, fixture.kind))


@for_each("fixture", fixtures())
def test_a_body_is_unchanged_in_its_format(fixture: Fixture) -> None:
    """Law 3: a conversion to the same format returns the body unchanged."""
    converted = fixture.convert(fixture.format)

    assert converted.body == fixture.body
    assert not converted.losses
    assert not converted.additions


@pytest.mark.parametrize("fixture", invalid_fixtures(), ids=str)
@pytest.mark.parametrize("target", formats.FORMATS)
def test_an_invalid_body_is_refused_whatever_the_target(fixture: InvalidFixture, target: ir.Format) -> None:
    """A body that is invalid in its format is never converted, not even to the same format."""
    with pytest.raises(InvalidPayloadError):
        fixture.convert(target)


def _conversations() -> list[tuple[Fixture, ...]]:
    """Group the fixtures of one kind and stem that must be equal."""
    groups = (tuple(group) for _, group in groupby(fixtures(), key=lambda each: (each.kind, each.stem)))
    return [group for group in groups if len(group) > 1 and not group[0].stem.endswith(_VARIANT)]


@pytest.mark.parametrize("group", _conversations(), ids=lambda group: f"{group[0].kind}-{group[0].stem}")
def test_fixtures_of_one_name_have_the_same_meaning(group: tuple[Fixture, ...]) -> None:
    """Law 15: content that two formats can express is the same in the canonical model, so that the direction does not matter."""
    not_compared = NOT_COMPARED.get(f"{group[0].kind}/{group[0].stem}", {})
    first, *others = [without(normal_form(_decoded(fixture)), not_compared) for fixture in group]

    for fixture, form in zip(group[1:], others, strict=True):
        assert form == first, f"{fixture.format} has another meaning than {group[0].format}"


@for_each("fixture", streams())
def test_a_stream_fixture_has_a_description_and_a_source(fixture: StreamFixture) -> None:
    """A case without a source cannot be corrected."""
    assert fixture.about.endswith(".")
    assert in_prose(fixture.about) == []
    assert fixture.source


def _meaning_of(fixture: StreamFixture) -> Any:
    """Return the accumulated answer of a stream, in normal form, or the kind of its error."""
    try:
        body = collect_stream([fixture.data], source=fixture.format).body
    except StreamFailedError as error:
        return error.error.kind
    return normal_form(formats.load(fixture.format).decode_response(check(body, fixture.format, "response")))


@pytest.mark.parametrize("stem", sorted({fixture.stem for fixture in streams() if not fixture.stem.endswith(_VARIANT)}))
def test_streams_of_one_name_have_the_same_meaning(stem: str) -> None:
    """Law 15 for streams; a stream has the same meaning as the whole answer of its name."""
    message = {fixture.format: _meaning_of(fixture) for fixture in streams() if fixture.stem == stem}

    first = next(iter(message.values()))
    assert {name: form for name, form in message.items() if form != first} == {}


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, not_compared in NOT_COMPARED.items() for field in not_compared]
)
def test_a_field_is_left_out_of_the_comparison_only_where_it_differs(name: str, field: str) -> None:
    """An exception that is no longer needed would hide the next mistake."""
    group = next(group for group in _conversations() if f"{group[0].kind}/{group[0].stem}" == name)
    others = NOT_COMPARED[name].keys() - {field}

    forms = [without(normal_form(_decoded(fixture)), others) for fixture in group]

    assert any(form != forms[0] for form in forms)


def _decoded(fixture: Fixture) -> Any:
    """Decode a fixture to the canonical model."""
    format, body = formats.load(fixture.format), check(fixture.body, fixture.format, cast(Any, fixture.kind))
    match fixture.kind:
        case "request":
            return format.decode_request(body, model=fixture.model, stream=None)
        case "response":
            return format.decode_response(body)
        case "models":
            return format.decode_models(body)
        case _:
            return format.decode_error(body, status=fixture.status)
