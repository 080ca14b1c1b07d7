"""Requests, answers and errors of every format as attributes of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

import copy
import json
from itertools import groupby
from typing import Any, cast

import pytest

import formatbridge as fb
from tests import corpus
from tests.fixtures import Fixture, StreamFixture, fixtures, streams
from tests.support.for_each import for_each
from tests.support.genai_schema import STRUCTURED, TYPES, check

KINDS: tuple[Any, ...] = ("request", "response", "error")
FIXTURES = [fixture for kind in KINDS for fixture in fixtures(kind)]
BY_STEM = [
    list(group) for kind in ("request", "response") for _, group in groupby(fixtures(kind), key=lambda fixture: fixture.stem)
]
MATCHING = [group for group in BY_STEM if len(group) > 1 and not group[0].stem.endswith("_only")]


def attributes_of(fixture: Fixture, *, content: bool = True) -> dict[str, Any]:
    """Return the attributes of a fixture."""
    kind: Any = fixture.kind
    return fb.telemetry.genai_attributes(
        fixture.body, source=fixture.format, kind=kind, model=fixture.model, status=fixture.status, content=content
    )


@for_each("fixture", FIXTURES)
def test_every_fixture_has_attributes_that_the_conventions_define(fixture: Fixture) -> None:
    """A backend reads an attribute only under its name and in its form; the body is not changed by reading it."""
    body = copy.deepcopy(fixture.body)

    attributes = attributes_of(fixture)

    check(attributes)
    assert {"gen_ai.operation.name", "gen_ai.provider.name"} <= attributes.keys()
    assert ("error.type" in attributes) or fixture.kind != "error"
    assert fixture.body == body


@corpus.requires_corpus
@pytest.mark.parametrize("format", fb.FORMATS)
def test_every_recorded_body_has_attributes_that_the_conventions_define(format: fb.Format) -> None:
    """Real traffic has fields and parts that no fixture has."""
    read = 0
    for entry in corpus.entries(format):
        if entry.kind not in KINDS or entry.is_curated or entry.was_refused:
            continue
        kind: Any = entry.kind
        try:
            body = entry.json()
            fb.convert_request(body, source=format, target=format, model=entry.url_model) if kind == "request" else None
        except ValueError:
            continue  # the body is no JSON or invalid in its format
        check(fb.telemetry.genai_attributes(body, source=format, kind=kind, model=entry.url_model, content=True))
        read += 1

    assert read > 50


def test_attributes_outside_the_conventions_are_rejected() -> None:
    """A judge that accepts everything would prove nothing."""
    call = {"type": "tool_call", "arguments": {}}
    for wrong in (
        {"gen_ai.request.temprature": 1.0},
        {"gen_ai.request.temperature": 1},
        {"gen_ai.output.type": "json_schema"},
        {"gen_ai.input.messages": [{"role": "user", "parts": [call]}]},
        {"gen_ai.tool.definitions": [{"type": "function"}]},
    ):
        with pytest.raises(Exception, match=r"."):
            check(wrong)


@for_each("fixture", FIXTURES)
def test_content_is_left_out_unless_it_is_requested(fixture: Fixture) -> None:
    """The texts of users are confidential, and telemetry is often sent to another company."""
    attributes = attributes_of(fixture, content=False)

    assert not attributes.keys() & STRUCTURED.keys()
    assert attributes.items() <= attributes_of(fixture).items()


@pytest.mark.parametrize("group", MATCHING, ids=lambda group: f"{group[0].kind}-{group[0].stem}")
def test_the_same_conversation_has_the_same_attributes_in_every_format(group: list[Fixture]) -> None:
    """A dashboard compares models of several vendors. Only what one format cannot express may differ."""
    normal = [_normal(attributes_of(fixture)) for fixture in group]

    for name in {name for each in normal for name in each}:
        values = [each[name] for each in normal if name in each]
        assert all(value == values[0] for value in values), name


_FORMAT_SPECIFIC = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.response.id", "openai.")


def _normal(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes without format-specific ones, with the instructions as one list, and the history without its turns.

    Some formats have no media type, no ids of hosted calls, no status and text of their results, and split a text at its citations.
    """
    attributes = _without_details(attributes)
    common = {name: value for name, value in attributes.items() if not name.startswith(_FORMAT_SPECIFIC)}
    history = [(message["role"], part) for message in common.pop("gen_ai.input.messages", []) for part in message["parts"]]
    instructions = common.pop("gen_ai.system_instructions", []) + [
        part for role, part in history if role in ("system", "developer")
    ]
    common["instructions"] = _joined(instructions)
    common["history"] = [part for role, part in history if role not in ("system", "developer")]
    return common


def _without_details(value: Any) -> Any:
    """Return attributes without the details of parts and tools that not all formats have."""
    if isinstance(value, list):
        members = [_without_details(member) for member in value]
        return _joined([each for each in members if not isinstance(each, dict) or not _is_of_one_format(each)])
    if not isinstance(value, dict):
        return value
    left_out = {"mime_type"}
    if str(value.get("type")).startswith("server_tool"):
        left_out.add("id")
    if value.get("parameters") == {"type": "object", "properties": {}}:
        left_out.add("parameters")
    return {key: _without_details(member) for key, member in value.items() if key not in left_out}


def _is_of_one_format(part: dict[str, Any]) -> bool:
    """Return whether a part is the result of a hosted tool, or of a type that only one format has."""
    type = str(part.get("type"))
    return type == "server_tool_call_response" or type.partition(".")[0] in fb.FORMATS


def _joined(members: list[Any]) -> list[Any]:
    """Return a list of parts with consecutive texts as one."""
    joined: list[Any] = []
    for member in members:
        last = joined[-1] if joined else None
        if isinstance(member, dict) and isinstance(last, dict) and member.get("type") == last.get("type") == "text":
            joined[-1] = {**last, "content": last["content"] + member["content"]}
        else:
            joined.append(member)
    return joined


@for_each("fixture", streams())
def test_a_collected_stream_has_the_attributes_of_its_answer(fixture: StreamFixture) -> None:
    """A log keeps streams; the attributes are those of the whole answer, a partial one included."""
    try:
        collected = fb.collect_stream([fixture.data], source=fixture.format)
    except fb.StreamError as error:
        collected = cast("fb.Converted", error.partial)

    attributes = fb.telemetry.genai_attributes(collected, content=True)

    check(attributes)
    assert attributes == fb.telemetry.genai_attributes(collected.json(), source=fixture.format, kind=collected.kind, content=True)


REQUEST = {
    "model": "m-large",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Weather?"}, {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}],
        },
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "rainy"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
    "temperature": 1,
    "top_p": 0.5,
    "max_completion_tokens": 100,
    "stop": "END",
    "seed": 7,
    "n": 2,
    "frequency_penalty": 0.1,
    "presence_penalty": 0,
    "reasoning_effort": "low",
    "response_format": {"type": "json_object"},
    "service_tier": "default",
    "stream": True,
}


def test_all_attributes_of_a_chat_completions_request() -> None:
    """Every attribute of a request, as the conventions show it."""
    assert fb.telemetry.genai_attributes(REQUEST, source="chat_completions", content=True) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "openai.api.type": "chat_completions",
        "openai.request.service_tier": "default",
        "gen_ai.request.model": "m-large",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 1.0,
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.request.seed": 7,
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.frequency_penalty": 0.1,
        "gen_ai.request.presence_penalty": 0.0,
        "gen_ai.request.reasoning.level": "low",
        "gen_ai.output.type": "json",
        "gen_ai.input.messages": [
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {
                "role": "user",
                "parts": [
                    {"type": "text", "content": "Weather?"},
                    {"type": "uri", "modality": "image", "uri": "https://a.test/b.png"},
                ],
            },
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rainy"}]},
        ],
        "gen_ai.tool.definitions": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}],
    }


def test_all_attributes_of_a_messages_answer() -> None:
    """Input tokens include cached ones, as the conventions define them; the vendor reports them separately."""
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-large",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Hello."}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 4},
    }

    assert fb.telemetry.genai_attributes(answer, source="messages", content=True) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "m-large",
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.usage.input_tokens": 18,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 5,
        "gen_ai.usage.cache_write.input_tokens": 3,
        "gen_ai.output.messages": [
            {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Hello."}],
                "finish_reason": "tool_call",
            }
        ],
    }


def test_instructions_outside_the_history_have_a_separate_attribute() -> None:
    """The conventions distinguish a separate field from a message of the chat history."""
    request = {"model": "m", "max_tokens": 5, "system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}

    attributes = fb.telemetry.genai_attributes(request, source="messages", content=True)

    assert attributes["gen_ai.system_instructions"] == [{"type": "text", "content": "Be brief."}]
    assert attributes["gen_ai.input.messages"] == [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]


def test_the_dialect_or_an_argument_names_the_provider() -> None:
    """Many servers use the format of another vendor. Attributes of OpenAI are then left out."""
    request = {**REQUEST, "service_tier": "flex"}
    cases: tuple[tuple[fb.Format | fb.Target, str | None], ...] = (
        ("chat_completions", None),
        (fb.Target("chat_completions", dialect="xai"), None),
        ("chat_completions", "acme"),
    )

    openai, xai, named = (fb.telemetry.genai_attributes(request, source=source, provider=provider) for source, provider in cases)

    assert (openai["gen_ai.provider.name"], xai["gen_ai.provider.name"], named["gen_ai.provider.name"]) == (
        "openai",
        "x_ai",
        "acme",
    )
    assert openai["openai.request.service_tier"] == "flex"
    assert not [name for name in (*xai, *named) if name.startswith("openai.")]


@pytest.mark.parametrize(("dialect", "provider"), [("openrouter", "openrouter"), ("xai", "x_ai"), (None, "openai")])
def test_the_dialect_of_a_converted_request_names_the_provider(dialect: str | None, provider: str) -> None:
    """The result of a conversion has the dialect for which it was written, so that the server needs no second name."""
    target = fb.Target("chat_completions", dialect=dialect)
    other = fb.convert_request(REQUEST, source="chat_completions", target="messages").body
    converted = [
        fb.convert_request(REQUEST, source="chat_completions", target=target),
        fb.convert_request(other, source="messages", target=target),
    ]

    for attributes in map(fb.telemetry.genai_attributes, converted):
        assert attributes["gen_ai.provider.name"] == provider
        assert any(name.startswith("openai.") for name in attributes) is (provider == "openai")


def test_the_result_of_a_conversion_needs_no_other_argument() -> None:
    """A pipeline that converts has the format, the kind and the model of the URL in the result."""
    converted = fb.convert_request(REQUEST, source="chat_completions", target="generate_content")
    failed = fb.convert_error(
        {"error": {"message": "no", "code": "rate_limited"}}, source="chat_completions", target="messages", status=429
    )

    attributes = fb.telemetry.genai_attributes(converted)

    assert attributes["gen_ai.operation.name"] == "generate_content"
    assert (attributes["gen_ai.request.model"], attributes["gen_ai.request.stream"]) == ("m-large", True)
    assert fb.telemetry.genai_attributes(failed)["error.type"] == "rate_limit_error"
    assert fb.telemetry.genai_attributes(converted.parse(), model="m-large", stream=True) == attributes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "source is missing"),
        ({"source": "messages"}, "kind is missing"),
        ({"source": "messages", "kind": "stream"}, "kind is 'stream', expected one of request, response, error"),
        ({"source": "nobody"}, "nobody"),
        ({"source": fb.Target("messages", dialect="nobody")}, "nobody"),
    ],
)
def test_wrong_arguments_are_refused_with_the_expected_values(arguments: Any, message: str) -> None:
    """The mistake is in the calling code, so its error states what to pass."""
    with pytest.raises((fb.ConfigurationError, fb.UnknownFormatError), match=message):
        fb.telemetry.genai_attributes({"x": 1}, **arguments)


def test_models_lists_have_no_attributes() -> None:
    """The conventions have no operation for them."""
    models = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "a"}]}

    with pytest.raises(fb.ConfigurationError, match="kind of the body is models: pass kind="):
        fb.telemetry.genai_attributes(models, source="chat_completions")


def test_simple_attributes_are_names_of_opentelemetry() -> None:
    """A name that differs from OpenTelemetry's packages would be a mistake."""
    names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes", reason="needs opentelemetry-sdk")
    known = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    later = {  # only in the repository of the GenAI conventions, and in opentelemetry-util-genai
        "gen_ai.prompt.version",
        "gen_ai.request.previous_response.id",
        "gen_ai.request.reasoning.level",
        "gen_ai.usage.cache_write.input_tokens",
    }

    ours = {name for name in (*TYPES, *STRUCTURED) if name.startswith("gen_ai.")}

    assert {
        name for name in ours - known - later if not any(f".{modality}." in name for modality in ("text", "image", "audio"))
    } == set()


@for_each("fixture", [*fixtures("request"), *fixtures("response")])
def test_parts_have_the_fields_of_opentelemetrys_types(fixture: Fixture) -> None:
    """A second source for the forms: the classes of OpenTelemetry's instrumentations."""
    types = pytest.importorskip("opentelemetry.util.genai.types", reason="needs opentelemetry-util-genai")
    members: list[Any] = list(vars(types).values())
    parts = [
        each for each in members if getattr(each, "__name__", "").endswith("Part") and isinstance(getattr(each, "type", None), str)
    ]
    classes = {part.type: part for part in parts}
    attributes = attributes_of(fixture)

    messages: list[Any] = [*attributes.get("gen_ai.input.messages", []), *attributes.get("gen_ai.output.messages", [])]
    for part in [part for message in messages for part in message["parts"]]:
        if part["type"] in classes:
            _check_fields(part, classes[part["type"]])


def _check_fields(part: dict[str, Any], cls: Any) -> None:
    from pydantic import TypeAdapter

    fields = cls.__dataclass_fields__
    assert part.keys() - {"is_error"} <= fields.keys(), json.dumps(part)
    TypeAdapter(cls).validate_python(dict.fromkeys(fields) | part)
