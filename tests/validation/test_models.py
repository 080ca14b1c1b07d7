"""Typed models work in web services, in storage, and as input."""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, cast

import jsonschema  # type: ignore[import-untyped]  # has no types
import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.convert.input import wire_model
from formatbridge.formats.chat_completions import wire as chat_completions
from formatbridge.formats.format import Kind
from formatbridge.formats.messages import wire as messages
from formatbridge.formats.responses import wire as responses
from formatbridge.validation.validators import dict_validator
from tests import corpus
from tests.fixtures import Fixture, check, fixtures
from tests.support import laws
from tests.support.for_each import for_each

REQUESTS = fixtures("request")

WIRES = sorted(Path(formats.__file__).parent.glob("*/wire/*.py"))


def test_web_services_accept_models_as_bodies() -> None:
    """A service declares a route per format; its OpenAPI description must contain each model under a unique name."""
    fastapi = pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()
    for name in formats.FORMATS:
        _add_route(app, name, wire_model(name, "request"), wire_model(name, "response"))

    described = app.openapi()
    schemas = described["components"]["schemas"]
    body = {"model": "m", "messages": [{"role": "user", "content": "hi", "new_field": 1}]}
    answer = testclient.TestClient(app).post("/chat_completions", json=body)
    refused = testclient.TestClient(app).post("/chat_completions", json={"messages": 5})

    assert len([name for name in schemas if name.endswith("__Request")]) == 4
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert refused.status_code == 422
    for fixture in fixtures("request"):
        taken = described["paths"][f"/{fixture.format}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(taken | {"components": described["components"]}).validate(fixture.body)


def _add_route(app: Any, name: str, request: type[BaseModel], response: type[BaseModel]) -> None:
    def route(body: Any) -> Any:
        text = body.messages[0].content if name == "chat_completions" else ""
        message = {"role": "assistant", "content": text}
        return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [{"index": 0, "message": message}]}

    route.__annotations__ = {"body": request, "return": response}
    app.post(f"/{name}", response_model_exclude_unset=True)(route)


def _documented(format: ir.FormatName, kind: str, body: Any) -> Any:
    """Return a body with the documented keys; generate_content also accepts snake_case."""
    return check(body, format, cast(Kind, kind)) if format == "generate_content" else body


@for_each("fixture", [each for each in fixtures() if not each.is_malformed])
def test_a_model_keeps_its_whole_body(fixture: Fixture) -> None:
    """Reading and writing loses nothing, including unknown fields and nulls."""
    model = wire_model(fixture.format, fixture.kind).model_validate(fixture.body)

    written = model.model_dump(mode="json", by_alias=True, exclude_unset=True)

    assert written == _documented(fixture.format, fixture.kind, fixture.body)


MODEL_LISTS: list[dict[str, Any]] = [
    {"data": [{"id": "m"}]},
    {"object": "models", "data": [{"id": "m", "created": 1790000000.5, "name": "M", "context_length": 1}]},
    {"data": [{"id": "m", "created": "now"}]},
    {"data": [{"id": "m", "name": 5}]},
    {"data": [{"id": "m", "context_length": -1}]},
]


@pytest.mark.parametrize("body", MODEL_LISTS)
def test_formats_of_one_endpoint_accept_the_same_list_of_models(body: dict[str, Any]) -> None:
    """One server answers both and cannot distinguish the callers."""
    read = set()
    for format in ("chat_completions", "responses"):
        try:
            read.add(str(check(body, format, "models")))
        except fb.InvalidPayloadError as error:
            read.add(str(error).replace(format, ""))

    assert len(read) == 1


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_model_keeps_the_form_of_numbers(format: fb.Format) -> None:
    """A time must stay an integer, because parsers in other languages reject ``1767225600.0``."""
    changed = []
    for sample in (*laws.shipped(format), *laws.recorded(format)):
        if "-malformed_" in sample.id:
            continue
        model = wire_model(format, cast(Kind, sample.kind)).model_validate(sample.body)

        written = json.loads(model.model_dump_json(exclude_unset=True))

        if _text(written) != _text(_documented(format, sample.kind, sample.body)):
            changed.append(sample.id)
    assert not changed


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("number", [0, 1, 1.0, 0.5])
def test_a_converted_number_keeps_its_form(source: fb.Format, target: fb.Format, number: float) -> None:
    """Logs and caches that compare text find equal text."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": number}
    converted = fb.convert_request(body, source="chat_completions", target=source).body

    result = fb.convert_request(converted, source=source, target=target, model="m").body

    settings = result["generationConfig"] if target == "generate_content" else result
    assert repr(settings["temperature"]) == repr(number)


@pytest.mark.parametrize(("number", "kept"), [(2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), (10**20, 1e20)])
def test_a_64_bit_integer_stays_an_integer(number: int, kept: float) -> None:
    """Larger integers become doubles in most parsers."""
    model: Any = wire_model("responses", "request").model_validate({"model": "m", "input": "hi", "temperature": number})

    assert repr(model.temperature) == repr(kept)


NAMED: list[tuple[type[BaseModel], dict[str, Any], dict[str, Any]]] = [
    (chat_completions.JsonSchema, {"name": "n", "schema_": {}}, {"name": "n", "schema": {}}),
    (messages.JsonSchemaFormat, {"type": "json_schema", "schema_": {}}, {"type": "json_schema", "schema": {}}),
    (
        messages.FallbackBlock,
        {"type": "fallback", "from_": {"model": "m"}, "to": {"model": "n"}},
        {"type": "fallback", "from": {"model": "m"}, "to": {"model": "n"}},
    ),
    (
        messages.MessageStop,
        {"type": "message_stop", "invocation_metrics": {}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": {}},
    ),
    (chat_completions.JsonSchemaFormat, {"type": "json_schema", "schema_": {}}, {"type": "json_schema", "schema": {}}),
    (
        responses.JsonSchemaFormat,
        {"type": "json_schema", "name": "n", "schema_": {}},
        {"type": "json_schema", "name": "n", "schema": {}},
    ),
    (responses.FunctionTool, {"type": "function", "name": "f", "async_": True}, {"type": "function", "name": "f", "async": True}),
    (responses.CustomTool, {"type": "custom", "name": "f", "async_": True}, {"type": "custom", "name": "f", "async": True}),
    (
        responses.FunctionCall,
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", "async_": True},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "", "async": True},
    ),
    (
        responses.CustomToolCall,
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "", "async_": True},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "", "async": True},
    ),
]
"""Models with a field that has another name in Python: how they are created, and what they write."""


@pytest.mark.parametrize(("model", "body", "written"), NAMED, ids=lambda value: getattr(value, "__qualname__", ""))
def test_a_field_is_set_by_its_python_name(model: type[BaseModel], body: dict[str, Any], written: dict[str, Any]) -> None:
    """``JsonSchema(schema_=...)`` writes the schema exactly once."""
    result = model(**body)

    assert result.model_dump(exclude_unset=True) == json.loads(result.model_dump_json(exclude_unset=True)) == written
    assert result.model_dump(by_alias=False, exclude_unset=True) == body
    assert result == model.model_validate(written)
    assert dict_validator(list[model])([written]) == [written]  # type: ignore[valid-type]  # a variable of types


@pytest.mark.parametrize("wire", [chat_completions, messages, responses])
def test_every_renamed_field_is_tested(wire: Any) -> None:
    """A new renamed field would be ignored in a model with another configuration."""
    models = [each for each in vars(wire).values() if isinstance(each, type) and issubclass(each, BaseModel)]

    renamed = {model for model in models if any(field.serialization_alias for field in model.model_fields.values())}

    assert renamed <= {model for model, _, _ in NAMED}


def _fields() -> Iterator[ast.Call]:
    for path in WIRES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Field":
                yield node


def test_a_type_checker_accepts_every_field() -> None:
    """Type checkers treat fields without a default keyword as required and use ``alias`` as the argument name; ``from`` cannot be
    one.
    """
    fields = [(field, {each.arg: each.value for each in field.keywords}) for field in _fields()]

    names = [ast.literal_eval(raw["alias"]) for _, raw in fields if "alias" in raw]

    assert fields
    assert not [ast.unparse(field) for field, _ in fields if field.args]
    assert not [name for name in names if not name.isidentifier() or keyword.iskeyword(name)]


@for_each("fixture", REQUESTS)
def test_a_model_converts_like_its_body(fixture: Fixture) -> None:
    """``source`` is optional for a typed model."""
    target = next(name for name in formats.FORMATS if name != fixture.format)
    model = wire_model(fixture.format, "request").model_validate(fixture.body)

    converted = fb.convert_request(model, target=target, model=fixture.model)

    assert converted.body == fixture.convert(target).body


@pytest.mark.parametrize("fixture", [each for each in fixtures("response", "chat_completions") if not each.is_malformed], ids=str)
def test_an_answer_is_valid_in_the_next_request(fixture: Fixture) -> None:
    """Callers store conversations as typed messages, as with the official SDK."""
    choices = chat_completions.Response.model_validate(fixture.body).choices
    message = [choice.message for choice in choices if choice.message and choice.message.role]
    requested = chat_completions.UserMessage(role="user", content="hi")

    request = chat_completions.Request(model="m", messages=[requested, *message])

    sent = [choice["message"] for choice in fixture.body["choices"] if (choice.get("message") or {}).get("role")]
    kept = fb.convert_request(request, target="chat_completions").body
    assert kept["messages"] == [{"role": "user", "content": "hi"}, *sent]
    assert check(kept, "chat_completions", "request") == kept


class Team(chat_completions.Request):
    """The fields that all requests of one team have."""

    model: str = "m-large"
    temperature: float | None = 0.5
    seed: int | None = None


class Note(chat_completions.TextPart):
    """A text block with a default type and an author."""

    type: Literal["text"] = "text"
    x_by: list[str] = Field(default_factory=lambda: ["me"])


class Owned(chat_completions.Function):
    """A function with an owner."""

    x_owner: str


def _of_the_team() -> Team:
    return Team(
        messages=[chat_completions.UserMessage(role="user", content=[Note(text="hi")])],
        tools=[chat_completions.FunctionTool(type="function", function=Owned(name="f", x_owner="me"))],
    )


def test_fields_of_a_subclass_are_in_the_body() -> None:
    """Teams derive models with additional fields and defaults; a default of None means not set, as in the library's models."""
    kept = fb.convert_request(_of_the_team(), target="chat_completions")
    crossed = fb.convert_request(_of_the_team(), target="messages")

    assert kept.body == {
        "model": "m-large",
        "temperature": 0.5,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "x_by": ["me"]}]}],
        "tools": [{"type": "function", "function": {"name": "f", "x_owner": "me"}}],
    }
    assert crossed.body["temperature"] == 0.5
    assert {loss.path for loss in crossed.losses} == {"/messages/0/content/0/x_by", "/tools/0/function/x_owner"}


def test_fields_of_a_subclass_in_an_unknown_field_are_in_the_body() -> None:
    """Unknown fields are kept whole, including models of callers in them."""
    result = chat_completions.Request.model_validate({"model": "m", "messages": [], "tomorrow": {"said": [Note(text="hi")]}})

    assert fb.convert_request(result, target="chat_completions").body["tomorrow"] == {
        "said": [{"type": "text", "text": "hi", "x_by": ["me"]}]
    }


def test_python_values_in_a_model_are_treated_as_in_a_dict() -> None:
    """A schema field accepts any value: members of an enumeration become strings, a class is rejected."""

    class Colour(StrEnum):
        RED = "red"

    def request(value: Any) -> chat_completions.Request:
        schema = {"type": "object", "properties": {"colour": {"enum": [value]}}}
        function = chat_completions.Function(name="f", parameters=schema)
        return chat_completions.Request(
            model="m", messages=[], tools=[chat_completions.FunctionTool(type="function", function=function)]
        )

    converted = fb.convert_request(request(Colour.RED), target="messages")

    assert converted.body["tools"][0]["input_schema"]["properties"]["colour"] == {"enum": ["red"]}
    with pytest.raises(fb.InvalidPayloadError, match="JSON"):
        fb.convert_request(request(Colour), target="messages")


def test_fields_of_a_subclass_are_kept_however_it_was_created() -> None:
    """By validation, alone or nested, without validation, or by a copy."""

    class Log(chat_completions.Unknown):
        calls: list[Team]

    result = _of_the_team()
    converted = fb.convert_request(result, target="chat_completions").body
    bodies = [
        Team.model_validate({key: converted[key] for key in ("messages", "tools")}),
        Team.model_construct(messages=result.messages, tools=result.tools),
        Log.model_validate({"calls": [{key: converted[key] for key in ("messages", "tools")}]}).calls[0],
        result.model_copy(),
    ]

    assert all(fb.convert_request(each_body, target="chat_completions").body == converted for each_body in bodies)
    assert "model" not in Team.model_construct({"messages"}, messages=[]).model_fields_set


def test_responses_errors_and_lists_of_a_subclass_keep_its_fields() -> None:
    """Test servers derive such models."""

    class Answer(chat_completions.Response):
        id: str | None = "r1"

    class Broken(chat_completions.Error):
        x_trace: str = "t"

    class One(chat_completions.Model):
        object: str | None = "model"

    answer = fb.convert_response(Answer(choices=[]), target="chat_completions").body
    error = fb.convert_error(Broken.model_validate({"error": {"message": "no"}}), target="chat_completions", status=500).body
    listed = fb.convert_models(chat_completions.ModelList(data=[One(id="m")]), target="chat_completions").body

    assert answer["id"] == "r1"
    assert error["x_trace"] == "t"
    assert listed["data"][0]["object"] == "model"


CANONICAL: dict[str, Any] = {
    "request": TypeAdapter(ir.Request),
    "response": TypeAdapter(ir.Response),
    "error": TypeAdapter(ir.Error),
    "models": TypeAdapter(ir.ModelList),
}
"""Kind of document to the adapter that stores its canonical form."""


def _canonical(sample: laws.Sample) -> Any:
    format, checked = formats.load(sample.format), check(sample.body, sample.format, cast(Kind, sample.kind))
    match sample.kind:
        case "request":
            return format.decode_request(checked, model=sample.model, stream=None)
        case "response":
            return format.decode_response(checked)
        case "models":
            return format.decode_models(checked)
        case _:
            return format.decode_error(checked, status=sample.status)


@for_each("sample", laws.shipped())
def test_canonical_objects_survive_storage(sample: laws.Sample) -> None:
    """Callers store conversations in canonical form; numbers keep their form, and settings their order."""
    raw, adapter = _canonical(sample), CANONICAL[sample.kind]

    again = adapter.validate_json(adapter.dump_json(raw), strict=True)

    assert again == raw
    assert repr(again) == repr(raw)


def _by_hand(**fields: Any) -> ir.Request:
    body: dict[str, Any] = {"messages": [ir.Message("user", [ir.Text("hi")])], **fields}
    return ir.Request(format="chat_completions", model="m", stream=False, **body)


MISTAKES: dict[str, dict[str, Any]] = {
    "a part that is text": {"messages": [ir.Message("user", ["hi"])]},  # type: ignore[list-item]
    "parts that are text": {"messages": [ir.Message("user", "hi")]},  # type: ignore[arg-type]
    "a role": {"messages": [ir.Message("usr", [ir.Text("hi")])]},  # type: ignore[arg-type]
    "a message that is an object": {"messages": [{"role": "user", "parts": []}]},
    "a kind of media": {"messages": [ir.Message("user", [ir.Media(kind="img", url="http://x")])]},  # type: ignore[arg-type]
    "a token": {"messages": [ir.Message("assistant", [ir.Reasoning("t", signature="abc")])]},  # type: ignore[arg-type]
    "a tool that is an object": {"tools": [{"name": "f"}]},
    "a choice that is a word": {"tool_choice": "auto"},
    "a setting's name": {"settings": {"temprature": 1}},
    "a setting's type": {"settings": {"max_tokens": "9"}},
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_canonical_objects_can_be_validated(mistake: dict[str, Any]) -> None:
    """Encoders do not check nodes, so callers that create nodes validate them with pydantic, as documented."""
    requests, audio, wrong = CANONICAL["request"], _by_hand(), _by_hand(**mistake)

    try:
        is_valid = requests.validate_json(requests.dump_json(wrong, warnings=False), strict=True) == wrong
    except ValidationError:
        is_valid = False

    assert not is_valid
    assert requests.validate_json(requests.dump_json(audio, warnings=False), strict=True) == audio


@corpus.requires_corpus
@pytest.mark.parametrize("kind", CANONICAL)
def test_recorded_bodies_survive_storage_in_canonical_form(kind: str) -> None:
    """Real requests have settings without a fixture, such as a compaction without a threshold."""
    adapter, lost = CANONICAL[kind], []
    for sample in laws.recorded(kind=kind):
        raw = _canonical(sample)

        again = adapter.validate_json(adapter.dump_json(raw))

        if repr(again) != repr(raw):
            lost.append(sample.id)
    assert not lost


def test_a_converted_body_parses_as_a_model() -> None:
    """``parse`` returns attributes instead of keys."""
    converted = fb.convert_request(
        {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, source="chat_completions", target="messages"
    )

    parsed = converted.parse()

    assert parsed.max_tokens == 4096
    converted.body["messages"] = 5
    with pytest.raises(fb.InvalidPayloadError, match="/messages is 5, expected an array"):
        converted.parse()
