"""Lists of models: empty lists, limits, and the report of lost fields."""

from __future__ import annotations

import re

import httpx
import pytest

import formatbridge as fb
from tests.support.directions import DIRECTIONS
from tests.support.laws import recorded, shipped

FORMATS: list[fb.Format] = ["chat_completions", "responses", "messages", "generate_content"]
NULL = {"data": None, "object": "list", "success": True}


def asked(body: object, profile: str | None = None) -> list[str]:
    """Return the ids that the client reads in a list of models."""
    answer = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    with fb.Client("http://relay", "key", retry=0, profile=profile, http_client=httpx.Client(transport=answer)) as client:
        return [model.id for model in client.models()]


@pytest.mark.parametrize("source", ["chat_completions", "responses", "messages"])
@pytest.mark.parametrize("target", FORMATS)
def test_a_list_that_is_null_is_empty(source: fb.Format, target: fb.Format) -> None:
    """Relays written in Go send null if there are no models, and the SDKs accept it. In the same format it is unchanged."""
    converted = fb.convert_models(NULL, source=source, target=target)

    assert converted.body.get("data", converted.body.get("models")) == (None if source == target else [])
    converted.parse()


@pytest.mark.parametrize("profile", [None, "chat_completions", "messages"])
def test_the_client_reads_a_list_that_is_null_as_empty(profile: str | None) -> None:
    """A program that offers the models in a menu must not fail on a new server."""
    assert asked(NULL, profile) == []


NO_LISTS: list[tuple[object, str]] = [
    ({"message": "maintenance"}, "200: maintenance"),
    ({"models": None, "message": "maintenance"}, "200: maintenance"),
    ({"detail": "x"}, "200: x"),
    ({"foo": 1}, "is no list of models: generate_content models: /models is missing"),
    ({"candidates": []}, "is no list of models"),
    ({"id": "msg_1", "type": "message", "role": "assistant", "content": []}, "is no list of models"),
]


@pytest.mark.parametrize(("body", "text"), NO_LISTS)
def test_an_object_with_nothing_of_a_list_is_no_empty_list(body: object, text: str) -> None:
    """One format requires no field of a list; a server that sends this page sent no list."""
    with pytest.raises(fb.UnexpectedResponseError, match=text):
        asked(body)


@pytest.mark.parametrize(
    "body", [{}, {"models": []}, {"models": None}, {"nextPageToken": ""}, {"tuned_models": [], "new": 1}], ids=repr
)
def test_an_empty_list_of_models_is_converted(body: object) -> None:
    """A local server that has loaded no model sends such a list."""
    assert asked(body) == []


LIMITS = [
    ({"context_window": 8192, "max_completion_tokens": 4096}, 8192, 4096),
    ({"context_length": 8192, "top_provider": {"context_length": 8192, "max_completion_tokens": 4096}}, 8192, 4096),
    ({"context_length": 8192, "top_provider": {"context_length": 4096, "max_completion_tokens": None}}, 8192, None),
    ({"max_context_length": 8192}, 8192, None),
    ({"max_model_len": 8192}, 8192, None),
    ({"max_input_tokens": 8192, "max_output_tokens": 4096}, 8192, 4096),
    ({"context_length": 0, "context_window": 8192}, 8192, None),
    ({"context_length": 8192, "context_window": 4096}, 8192, None),
    ({"context_window": "8k", "max_completion_tokens": True, "top_provider": "example"}, None, None),
    ({"context_window": -1, "max_completion_tokens": 1.5, "top_provider": []}, None, None),
]


@pytest.mark.parametrize(("fields", "longest_input", "longest_output"), LIMITS)
@pytest.mark.parametrize("source", ["chat_completions", "responses"])
def test_the_limits_of_compatible_servers_are_read(
    source: fb.Format, fields: dict[str, object], longest_input: int | None, longest_output: int | None
) -> None:
    """Groq, OpenRouter, Mistral, vLLM and LiteLLM have different names for one limit."""
    body = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x", **fields}]}

    messages = fb.convert_models(body, source=source, target="messages")
    generate_content = fb.convert_models(body, source=source, target="generate_content")

    model, other = messages.body["data"][0], generate_content.body["models"][0]
    assert (model.get("max_input_tokens"), model.get("max_tokens")) == (longest_input, longest_output)
    assert (other.get("inputTokenLimit"), other.get("outputTokenLimit")) == (longest_input, longest_output)
    for value in (longest_input, longest_output):
        assert value is None or value not in [loss.before for loss in messages.losses]
    assert [loss for loss in messages.losses if loss.before in (4096, "8k", -1)] or longest_input == 8192


@pytest.mark.parametrize("kind", ["unknown field", "known field"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_loss_of_a_model_list_has_severity_info(source: fb.Format, target: fb.Format, kind: str) -> None:
    """No model reads a list of models, whichever format it is in."""
    names = {"chat_completions": "data", "responses": "data", "messages": "data", "generate_content": "models"}
    known = {
        "owned_by": "x",
        "display_name": "M",
        "displayName": "M",
        "description": "d",
        "version": "1",
        "line": "m",
        "thinking": True,
    }
    fields = {"tomorrow": {"a": [1]}, "another": "x"} if kind == "unknown field" else known
    model = {"name" if source == "generate_content" else "id": "m", **fields}
    body = {names[source]: [model, model], **({"tomorrow": 1} if kind == "unknown field" else {})}

    losses = fb.convert_models(body, source=source, target=target).losses

    assert losses != ()
    assert {loss.severity for loss in losses} == {"info"}


def test_a_field_of_many_models_is_reported_once() -> None:
    """A list of 353 models had 3,527 losses of 11 fields, which no user read."""
    models = [
        {"id": f"m{number}", "created": 1, "owned_by": "x" if number else None, "pricing": {"prompt": "0"}} for number in range(100)
    ]
    models[7]["tomorrow"] = 1

    losses = fb.convert_models({"object": "list", "data": models}, source="chat_completions", target="messages").losses

    assert [loss.path for loss in losses] == ["/data/0/pricing", "/data/1/owned_by", "/data/7/tomorrow"]


def test_different_losses_of_one_field_are_each_reported() -> None:
    """The time of one model is rounded, that of another cannot be written."""
    body = {"data": [{"id": "a", "created": 1}, {"id": "b", "created": 10**15}, {"id": "c", "created": 10**15}]}

    losses = fb.convert_models(body, source="chat_completions", target="messages").losses

    assert [(loss.path, loss.code) for loss in losses] == [("/data/1/created", "out_of_range")]


def test_the_full_report_has_the_losses_of_every_model() -> None:
    """The short report leaves out only losses that an earlier model has for the same reason."""
    for sample in (*shipped(None, "models"), *recorded(None, "models")):
        if not isinstance(sample.body.get("data") or sample.body.get("models"), list):
            continue
        for target in FORMATS:
            converted = sample.convert(sample.body, target)
            shown = converted.losses
            converted._ledger.is_list = False
            full = converted._ledger.losses
            fields = [(re.sub(r"^(/[^/]+)/\d+/", r"\1/*/", loss.path), loss.kind, loss.severity, loss.code) for loss in full]
            assert list(shown) == [loss for at, loss in enumerate(full) if fields[at] not in fields[:at]], sample
