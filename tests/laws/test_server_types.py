"""The request types of servers' SDKs accept what is written for the dialects of these servers.

An SDK may lack a field that its server reads, so some fields are exempt, each with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pydantic import ValidationError

import formatbridge as fb
from tests.corpus import requires_corpus
from tests.laws.test_vendor_rules import agents
from tests.support.judges import lines_of, shape
from tests.support.laws import Sample, recorded, shipped
from tests.support.sdk_validators import validator

TYPES = {
    "cerebras": ("cerebras.cloud.sdk.types.chat.completion_create_params", "CompletionCreateParams"),
    "fireworks": ("fireworks.types.chat.completion_create_params", "CompletionCreateParams"),
    "groq": ("groq.types.chat.completion_create_params", "CompletionCreateParams"),
    "mistral": ("mistralai.client.models", "ChatCompletionRequest"),
    "perplexity": ("perplexity.types.chat.completion_create_params", "CompletionCreateParams"),
    "together": ("together.types.chat.completion_create_params", "CompletionCreateParams"),
}
"""A dialect to the module and the name of its request type."""
_EXEMPT = {
    "/stream_options unknown key": "the servers send the usage of a stream with it; recorded traffic of Groq and Together has it",
    "/messages/*/content/*/image_url/detail unknown key": "a level of detail is a hint, which a server may ignore",
    "/messages/*/content/*/image_url/detail unknown word 'original'": "a level of detail is a hint, which a server may ignore",
    "/messages/*/user/content/*/image_url/detail unknown word 'original'": "a level of detail is a hint, which a server may ignore",
    "/stream_options/include_obfuscation unknown key": "only the padding of a stream depends on it",
    "/messages/*/tool_calls/*/index missing": "Together: the type is also that of a delta",
    "/tool_choice/index missing": "Together: the type is that of a call",
    "/tool_choice/id missing": "Together: the type is that of a call",
    "/tool_choice/function/arguments missing": "Together: the type is that of a call",
    "/messages/*/content string_type, not array": "Together: content in parts is in its documentation of images",
    "/web_search_options/user_location/type unknown key": "Perplexity: the form of OpenAI, of which the server reads the members",
    "/web_search_options/user_location/approximate unknown key": "Perplexity: the form of OpenAI",
    "/messages/*/reasoning_content unknown key": "Perplexity: no report of a rejection is known, and other servers ignore it",
    "/messages/*/user/content/*/type unknown word 'input_audio'": "Mistral: its server accepted recorded requests with this form of audio",
    "/messages/*/content/*/input_audio/format unknown word 'mp3'": "Together: the model decides which audio it decodes",
    "/top_k int_type, not number": "40.0 is a whole number in JSON",
}
"""Shapes of problems that are no fault of a request, and why."""
_EXEMPT_OF_SERVER = {
    "fireworks": {
        f"/reasoning_effort unknown word '{word}'": "a tier of its server (docs.fireworks.ai/guides/reasoning, anomalyco/models.dev#6237)"
        for word in ("xhigh", "max")
    }
}
"""A dialect to the same for its server only."""
_KEYWORDS = "/tools/*/function/parameters/"
"""Perplexity's type of a JSON Schema has five keywords. A schema with others is valid JSON Schema."""


def _samples(is_recorded: bool) -> Iterator[Sample]:
    for format in fb.FORMATS:
        if format != "chat_completions":
            yield from (*recorded(format, "request"), *agents(format)) if is_recorded else shipped(format, "request")


def _problems(name: str, is_recorded: bool) -> list[str]:
    module, root = TYPES[name]
    judge = validator(getattr(pytest.importorskip(module), root))
    target: Any = fb.Target("chat_completions", dialect=name)
    problems = []
    for sample in _samples(is_recorded):
        try:
            converted = fb.convert_request(sample.body, source=sample.format, target=target, model=sample.model or "m")
        except fb.InvalidPayloadError:
            continue
        try:
            judge.validate_python(converted.body)
        except ValidationError as error:
            lines = {shape(line) for line in lines_of(error)}
            lines -= _EXEMPT.keys() | _EXEMPT_OF_SERVER.get(name, {}).keys()
            problems += [f"{sample}: {line}" for line in lines if not line.startswith(_KEYWORDS)]
    return problems


@pytest.mark.parametrize("name", TYPES)
def test_the_request_type_of_a_server_accepts_every_converted_fixture(name: str) -> None:
    """The SDK or the source code of the server has the exact types, independent of our table of rules."""
    assert _problems(name, is_recorded=False) == []


@requires_corpus
@pytest.mark.parametrize("name", TYPES)
def test_the_request_type_of_a_server_accepts_converted_recordings(name: str) -> None:
    """Applications send combinations of fields that the fixtures do not have."""
    assert _problems(name, is_recorded=True) == []


def test_every_request_type_is_installed() -> None:
    """They are dependencies for development, so that no run skips them."""
    for module, root in TYPES.values():
        assert hasattr(import_module(module), root)
