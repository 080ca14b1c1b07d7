"""An invalid body is rejected with its format, a pointer and what was expected, quickly and without partial results."""

from __future__ import annotations

import copy
import importlib
import json
import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from pydantic_core import SchemaValidator, core_schema

import formatbridge as fb
from formatbridge.formats.messages.wire import Request, Response
from formatbridge.validation import error_messages
from formatbridge.validation.validators import dicts_of
from tests.support.directions import DIRECTIONS

REQUESTS: dict[str, dict[str, Any]] = {
    "chat_completions": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "messages": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": [{"role": "user", "content": "hi"}]},
    "generate_content": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
"""The smallest request of each format."""


def _convert(body: Any, source: fb.Format = "chat_completions", target: fb.Format = "messages") -> fb.ConvertedRequest:
    return fb.convert_request(body, source=source, target=target, model="m" if source == "generate_content" else None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "is an array, expected an object"),
        (b'"x"', "expected an object"),
        (b"null", "is null, expected an object"),
        (b"\xff\xfe", "is not UTF-8 at byte 0"),
        (b'{"model": NaN}', "/model is nan, expected a finite number"),
        (b'{"model":"m","messages":[],"temperature":Infinity}', "/temperature is inf, expected a finite number"),
    ],
)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_text_that_is_no_json_object_is_rejected(text: bytes, value: str, source: fb.Format) -> None:
    """For example an HTML page of a proxy, a truncated body, or a number that JSON does not have."""
    target = next(name for name in fb.FORMATS if name != source)

    with pytest.raises(fb.InvalidPayloadError) as caught:
        _convert(text, source, target)

    assert value in str(caught.value)
    assert caught.value.format == source


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("/temperature", float("nan"), "is nan, expected a finite number"),
        ("/temperature", 3, "is 3, expected 2.0 or less"),
        ("/temperature", "1", "is the string '1', expected a number"),
        ("/max_tokens", 10**30, "expected 9223372036854775807 or less"),
        ("/max_tokens", -1, "is -1, expected"),
        ("/max_tokens", True, "is true, expected an integer"),
        ("/n", 0, "is 0, expected 1 or more"),
        ("/messages/0/role", "boss", "is the string 'boss', expected one of"),
        ("/messages/0/content", 5, "is 5, expected a string or an array"),
        ("/metadata", {1: "x"}, "has the key 1, expected a string"),
        ("/metadata", {"x": b"x"}, "is a bytes, expected a JSON value"),
        ("/metadata", MappingProxyType({"x": "x"}), "is a mappingproxy, expected a dict"),
    ],
)
def test_the_error_of_a_wrong_value_names_what_was_expected(path: str, value: Any, text: str) -> None:
    """The message is enough to correct the body without the documentation."""
    body = copy.deepcopy(REQUESTS["chat_completions"])
    *parents, last = path.split("/")[1:]
    place: Any = body
    for step in parents:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[last] = value

    with pytest.raises(fb.InvalidPayloadError) as caught:
        _convert(body)

    assert caught.value.problems[0][0] in (path, f"{path}/x")
    assert text in str(caught.value)


def test_the_only_valid_value_is_named_without_a_choice() -> None:
    """``one of 'message'`` looks like a list that was cut."""
    body = {"type": "messag", "role": "assistant", "model": "m", "content": [], "usage": {}}

    assert ("/type", "is the string 'messag', expected 'message'") in error_messages.problems_of(Response, body)


@pytest.mark.parametrize(
    ("source", "wrong", "reported"),
    [
        ("responses", {"tools": [{"type": "function", "function": {"name": "f"}}]}, {"/tools/0/name": "a string"}),
        ("responses", {"tools": [{"type": "custom", "custom": {"name": "f"}}]}, {"/tools/0/name": "a string"}),
        ("responses", {"tool_choice": {"type": "function", "function": {"name": "f"}}}, {"/tool_choice/name": "a string"}),
        (
            "responses",
            {"text": {"format": {"type": "json_schema", "json_schema": {"name": "f", "schema": {}}}}},
            {"/text/format/name": "a string", "/text/format/schema": "an object"},
        ),
        (
            "messages",
            {"tools": [{"type": "custom", "custom": {"name": "f"}}]},
            {"/tools/0/name": "a string", "/tools/0/input_schema": "an object"},
        ),
        (
            "chat_completions",
            {"messages": [{"role": "user", "user": {"content": "x"}}]},
            {"/messages/0/content": "a string or an array"},
        ),
    ],
)
def test_a_structure_of_another_format_is_reported_as_a_missing_key(
    source: fb.Format, wrong: dict[str, Any], reported: dict[str, str]
) -> None:
    """The most common mistake: a tool in the structure of chat completions, whose key is the name of the tool's type."""
    with pytest.raises(fb.InvalidPayloadError) as caught:
        _convert(REQUESTS[source] | wrong, source, "generate_content")

    assert caught.value.problems == tuple((pointer, f"is missing, expected {wanted}") for pointer, wanted in reported.items())


@pytest.mark.parametrize(("problems", "text"), [(3, "3"), (None, "null"), ("x", "the string 'x'"), ([], "an array")])
@pytest.mark.parametrize(
    ("source", "name"),
    [("chat_completions", "messages"), ("messages", "messages"), ("responses", "input"), ("generate_content", "contents")],
)
def test_an_invalid_message_is_reported_at_its_place(source: fb.Format, name: str, problems: Any, text: str) -> None:
    """The pointer must not contain a key of a value without keys."""
    with pytest.raises(fb.InvalidPayloadError) as caught:
        _convert(REQUESTS[source] | {name: [problems]}, source, "responses" if source == "messages" else "messages")

    assert caught.value.problems == ((f"/{name}/0", f"is {text}, expected an object"),)


@pytest.mark.parametrize("key", ["str", "0", "list", "string"])
def test_a_key_named_like_a_json_type_is_not_in_the_pointer(key: str) -> None:
    """An object in place of a string or list: the validator's names of the two types are not keys."""
    body = REQUESTS["messages"] | {"messages": [{"role": "user", "content": {key: 1}}]}

    with pytest.raises(fb.InvalidPayloadError) as caught:
        _convert(body, "messages", "responses")

    assert caught.value.problems == (("/messages/0/content", "is an object, expected a string or an array"),)


def _nodes(schema: Any) -> Iterator[Any]:
    """Yield the objects of a core schema."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list | tuple) else ():
        yield from _nodes(value)
    if isinstance(schema, dict):
        yield schema


def _unions() -> Iterator[Any]:
    """Yield the tagged unions of all formats, each as a core schema with its key and the fields of its members by tag."""
    for name in fb.FORMATS:
        wire = importlib.import_module(f"formatbridge.formats.{name}.wire")
        seen: set[Any] = set()
        for shape in (wire.Request, wire.Response, wire.Error, wire.ModelList, wire.StreamEvent):
            whole = dicts_of(shape)
            definitions = whole.get("definitions", [])
            for union in _nodes(whole):
                reported = (union["type"], *union["choices"]) if union.get("type") == "tagged-union" else None
                if reported and reported not in seen:
                    seen.add(reported)
                    tag = union["discriminator"]
                    members = {label: _fields(member, definitions) for label, member in union["choices"].items()}
                    key = tag if isinstance(tag, str) else tag.__name__
                    yield pytest.param(
                        error_messages.labelled(core_schema.definitions_schema(union, definitions)),
                        key,
                        members,
                        id=f"{name}-{next(iter(members))}",
                    )


def _fields(member: Any, definitions: list[Any]) -> set[str]:
    """Return the field names of the outermost object of a schema."""
    while "fields" not in member:
        named = [each for each in definitions if each["ref"] == member.get("schema_ref")]
        member = named[0] if named else member["schema"]
    return set(member["fields"])


@pytest.mark.parametrize(("union", "key", "members"), list(_unions()))
def test_a_key_named_like_a_union_tag_is_not_in_the_pointer(union: Any, key: str, members: dict[str, set[str]]) -> None:
    """Any part, item, tool or event may have a key that is named like its type, from another format or as an unknown field."""
    validate = SchemaValidator(union).validate_python
    for tag, fields in members.items():
        decoy = {} if tag in fields else {tag: dict.fromkeys(fields, "x")}
        for faulty in ({key: tag}, dict.fromkeys(fields, ((),)) | {key: tag}):
            assert error_messages.problems_with(validate, faulty | decoy) == error_messages.problems_with(validate, faulty)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_hundred_thousand_levels_of_nesting_are_rejected(source: fb.Format, target: fb.Format) -> None:
    """An attacker may send deep nesting as a schema, as metadata or as an unknown field."""
    for text in (_nested(100_000), _nested(600)):
        body = json.dumps(REQUESTS[source]).encode()[:-1] + b',"metadata":' + text + b"}"
        with pytest.raises(fb.InvalidPayloadError, match="levels deep"):
            _convert(body, source, target)


@pytest.mark.parametrize(
    "extra", ["plain", "🙂", "🙂" * 2_000, "a" * 240, "a🙂" * 9_000 + "a" * 90_000, "a" * 300_000, [[0] * 400] * 400]
)
@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_number_too_large_is_rejected_next_to_any_text(extra: str | list[Any], number: str) -> None:
    """``1e400`` is parsed as infinity, which JSON cannot represent; text must not mislead the search for it."""
    body = json.dumps(REQUESTS["chat_completions"] | {"x_beside": extra}, ensure_ascii=False)[:-1] + f',"x_rate":{number}}}'

    with pytest.raises(fb.InvalidPayloadError, match=r"/x_rate is -?inf, expected a finite number"):
        _convert(body.encode())


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "chat_completions"])
@pytest.mark.parametrize("kind", ["function", "custom", "zork", None, 3, [], {}])
@pytest.mark.parametrize("tool", ["f", 3, True, 1.5, ["f"], {"name": 3}, {"name": []}])
def test_a_tool_choice_without_a_valid_name_is_reported(tool: Any, kind: Any, target: fb.Format) -> None:
    """The members of a choice are not validated, and no value may raise an exception of another library."""
    named = {"type": kind, "function": tool, "custom": tool}
    body = REQUESTS["chat_completions"] | {"tools": [{"type": "function", "function": {"name": "f"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named]}}

    converted = _convert(body | {"tool_choice": choice}, target=target)

    assert any(loss.path.startswith("/tool_choice") for loss in converted.losses)


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "chat_completions"])
@pytest.mark.parametrize(
    "arguments", ['{"a":' * 100_000, _nested(100_000).decode(), "[1]", '"x"', "null", '{"a":NaN}', '{"a":1e400}']
)
def test_arguments_that_are_no_object_are_kept_as_text_and_reported(arguments: str, target: fb.Format) -> None:
    """A truncated or invalid call of a model is reported and not repaired silently."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]

    converted = _convert({"model": "m", "messages": messages}, target=target)

    if target == "responses":
        assert converted.body["input"][1]["arguments"] == arguments
    else:
        assert json.dumps({"raw_arguments": arguments}) in json.dumps(converted.body)
        assert any(loss.path.endswith("/function/arguments") for loss in converted.losses)


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_repeated_keys_in_arguments_are_reported(target: fb.Format) -> None:
    """The last value of a key counts, and the report lists the others."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a":1,"a":2}'}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]

    converted = _convert({"model": "m", "messages": messages}, target=target)

    assert [loss.code for loss in converted.losses if loss.path.endswith("/arguments")] == ["duplicate_keys"]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_inputs_are_not_modified(source: fb.Format, target: fb.Format) -> None:
    """Callers send the same history repeatedly."""
    body = REQUESTS[source]
    before = copy.deepcopy(body)

    converted = _convert(body, source, target)
    converted.body["x"] = 1

    assert body == before


def test_a_source_is_required_unless_the_body_is_a_model() -> None:
    """Automatic detection would be a hidden default."""
    with pytest.raises(fb.ConfigurationError, match="source is missing"):
        fb.convert_request(REQUESTS["messages"], target="responses")
    with pytest.raises(fb.UnknownFormatError, match="unknown format 'chat'"):
        fb.convert_request(REQUESTS["messages"], source=fb.RegisteredName("chat"), target="responses")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("chat", "chat_completions"), ("message", "messages"), ("Responses", "responses"), ("generateContent", "generate_content")],
)
def test_the_error_for_an_unknown_format_suggests_similar_names(name: str, expected: str) -> None:
    """URL paths, names of libraries and typing errors; other names get the list of formats."""
    for raw, event in (
        (name, f"perhaps {expected}; expected one of"),
        ("yaml", "'yaml': expected one of"),
        ("m" * 99, "': expected"),
    ):
        with pytest.raises(fb.UnknownFormatError, match=event):
            fb.StreamConverter(source=fb.RegisteredName(raw), target="messages")


@pytest.mark.parametrize(
    ("vendor", "expected"),
    [
        ("openai", "chat_completions or responses"), ("OpenAI", "chat_completions or responses"), ("openai-responses", "responses"),
        ("anthropic", "messages"), ("gemini", "generate_content"), ("google", "generate_content"),
    ],
)  # fmt: skip
def test_the_error_for_the_name_of_a_vendor_suggests_its_formats(vendor: str, expected: str) -> None:
    """Other libraries name formats after vendors, and OpenAI has two formats."""
    with pytest.raises(fb.UnknownFormatError, match=f"unknown format '{vendor}': perhaps {expected}; expected one of"):
        fb.convert_request(REQUESTS["messages"], source="messages", target=fb.RegisteredName(vendor))


@pytest.mark.parametrize("name", ["chat_completions@groq", "openai@groq"])
def test_the_error_for_a_format_with_a_dialect_has_the_target_for_it(name: str) -> None:
    """The command line names a server so, and the library has an object for it."""
    expected = r"use formatbridge.Target\('chat_completions', dialect='groq'\); expected one of"
    with pytest.raises(fb.UnknownFormatError, match=expected):
        fb.convert_request(REQUESTS["messages"], source="messages", target=fb.RegisteredName(name))


def test_keys_named_like_python_attributes_are_data() -> None:
    """A key is never used as an attribute name."""
    body = {**REQUESTS["chat_completions"], "__class__": "x", "model_config": {"extra": 1}, "": "y", "self": 1, "copy": 2}

    returned = fb.convert_request(body, source="chat_completions", target="chat_completions")
    there = _convert(body)

    assert returned.body == body
    assert {loss.path for loss in there.losses} >= {"/__class__", "/model_config", "/", "/self", "/copy"}


def test_a_large_body_is_shared_and_not_copied() -> None:
    """A data URL of 100 MB is not decoded, and its text is not copied."""
    text = "x" * 100_000_000

    converted = _convert({"model": "m", "messages": [{"role": "user", "content": text}]})

    assert converted.body["messages"][0]["content"] is text


def _deep(levels: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for _ in range(levels):
        body = {"items": body}
    return body


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"minimum": float("-inf")}, "/tools/0/input_schema/minimum is -inf, expected a finite number"),
        ({"default": object()}, "expected a JSON value"),
        ({"default": b"\xff"}, "expected a JSON value"),
        (_deep(5_000), "nested more than"),
    ],
    ids=["infinity", "object", "bytes", "deep"],
)
@pytest.mark.parametrize("target", ["messages", "chat_completions"])
def test_a_typed_model_with_other_values_than_json_is_rejected(schema: dict[str, Any], text: str, target: fb.Format) -> None:
    """Schema fields of models accept any value; values that are not JSON would become null or fail later."""
    model = Request.model_validate(REQUESTS["messages"] | {"tools": [{"name": "f", "input_schema": schema}]})

    with pytest.raises(fb.InvalidPayloadError, match=re.escape(text)):
        fb.convert_request(model, target=target)


def test_a_typed_model_may_be_nested_as_deep_as_a_dict() -> None:
    """A schema of 300 levels is valid in both."""
    model = Request.model_validate(REQUESTS["messages"] | {"tools": [{"name": "f", "input_schema": _deep(300)}]})

    assert fb.convert_request(model, target="messages").losses == ()


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("kind", [{}, {"type": "novel"}], ids=["no type", "unknown"])
@pytest.mark.parametrize("raw", [5, "x", [1], {"google": 5}, {"google": [1]}, {"google": {"thought_signature": 5}}], ids=str)
def test_any_value_in_place_of_an_image_signature_is_accepted(raw: Any, kind: dict[str, Any], target: fb.Format) -> None:
    """An image part without a known type is not validated, and no value may raise an exception of another library."""
    image = {**kind, "image_url": {"url": "https://img.test/a.png"}, "extra_content": raw}
    turn = {"role": "assistant", "content": "y", "images": [image]}
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}, turn, {"role": "user", "content": "z"}]}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    stream = [head | {"choices": [{"index": 0, "delta": turn, "finish_reason": "stop"}]}]

    collected = [
        fb.convert_request(request, source="chat_completions", target=target),
        fb.collect_stream(
            [f"data: {json.dumps(event)}\n\n".encode() for event in stream], source="chat_completions", target=target
        ),
    ]

    is_same_format = target == "chat_completions"
    assert all(is_same_format or any("/images/0" in loss.path for loss in each.losses) for each in collected)


@pytest.mark.parametrize("mark", ["x", 1, True, [1], {"ttl": 1}, {"ttl": {"a": 1}}, {"ttl": []}, {"type": {"b": 1}}], ids=str)
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "chat_completions"])
def test_any_value_in_place_of_a_cache_mark_is_accepted(target: fb.Format, role: str, mark: Any) -> None:
    """Only tool messages validate this field; other values are reported as unmodelled fields."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]
    marked = [message | ({"cache_control": mark} if message["role"] == role else {}) for message in messages]

    converted = _convert({"model": "m", "messages": marked}, target=target)

    assert any("/cache_control" in loss.path for loss in converted.losses)
