"""Every request that is converted for the server of a dialect is accepted by that server."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.cli.parser import read_format
from formatbridge.formats.dialects import DIALECTS
from formatbridge.testing import FakeRelay
from formatbridge.testing.vendor_rules import SERVER_RULES, Facts, broken_rules
from tests.corpus import FOLDER, entries, requires_corpus
from tests.laws.test_vendor_rules import agents
from tests.support.laws import RESTATING, Sample, recorded, shipped
from tests.support.pointers import is_at_or_below, leaves
from tests.support.vendor_rules import is_omission

TARGETS = [(name, format) for name, dialect in DIALECTS.items() for format in dialect.rules]
every_target = pytest.mark.parametrize(("name", "target"), TARGETS)


_UNKNOWN = frozenset({"unknown_block", "text_borrowed"})
"""Fixtures with types that no server of their format has. A caller of the same format may send such a type, and it passes unchanged."""


@cache
def _samples(is_recorded: bool) -> tuple[Sample, ...]:
    samples: list[Sample] = []
    for format in fb.FORMATS:
        if is_recorded:
            samples += [*recorded(format, "request"), *agents(format)]
        else:
            samples += shipped(format, "request")
    return tuple(samples)


def _convert(sample: Sample, target: fb.Target) -> fb.ConvertedRequest:
    return fb.convert_request(
        sample.body, source=sample.format, target=target, model=sample.body.get("model") or sample.model or "m"
    )


def _refused(samples: tuple[Sample, ...], name: str, target: Any) -> Iterator[str]:
    for sample in samples:
        try:
            converted = _convert(sample, fb.Target(target, dialect=name))
        except fb.InvalidPayloadError:
            continue
        for rule, failure in broken_rules(target, converted.body, Facts(model=converted.model), name):
            if is_omission(rule.name, sample, converted.losses):
                continue
            is_unmodelled = sample.format == target and (rule.name == "part_type" or any(name in sample.id for name in _UNKNOWN))
            if not is_unmodelled and (sample.format != target or rule in SERVER_RULES[name][target]):
                yield f"{sample}: {rule.name}: {failure.message[:120]}"


@every_target
def test_the_server_of_a_dialect_accepts_every_converted_fixture(name: str, target: fb.Format) -> None:
    """A user names the server to avoid its errors for fields that it does not have."""
    assert list(_refused(_samples(False), name, target)) == []


@requires_corpus
@every_target
def test_the_server_of_a_dialect_accepts_converted_recordings(name: str, target: fb.Format) -> None:
    """Real requests combine fields that no fixture combines."""
    assert list(_refused(_samples(True), name, target)) == []


_RENAMED = RESTATING | {
    "status", "execution", "mode", "name", "namespace", "tool_choice", "effort", "reasoning_effort", "enabled", "enable_thinking",
    "logprobs", "parallel_tool_calls", "external_web_access", "allowed_callers",
}  # fmt: skip
"""Fields whose values are words: a server has other words, or another field, with the same meaning."""


_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "/service_tier": ("auto", "default", "standard_only"),
    "/serviceTier": ("standard",),
    "/speed": ("standard",),
    "/truncation": ("disabled",),
    "/text/verbosity": ("medium",),
    "/modalities/0": ("text",),
    "/prompt_cache_options/mode": ("implicit",),
    "/prompt_cache_options/ttl": ("30m",),
    "/top_k": (-1,),
}
"""Pointers to the values without an effect. A server that does not read the field answers the same."""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unreported(sample: Sample, converted: fb.ConvertedRequest) -> Iterator[str]:
    """Yield the pointers of values that are neither in the converted body nor in its report."""
    known = {_json(value) for _, value in leaves(converted.body)}
    text = _json(converted.body)
    lost = [loss.path for loss in converted.losses]
    for pointer, value in leaves(sample.body):
        # A text may be joined with others, be a member of arguments in JSON text, or be data in another notation.
        inner = _json(value)[1:-1].rpartition(";base64,")[2] if isinstance(value, str) else _json(value)
        is_part = (isinstance(value, str) or "/arguments/" in pointer) and (inner in text or _json(inner)[1:-1] in text)
        is_percent_encoded = isinstance(value, str) and value.startswith("data:") and "%" in value
        if not value or _json(value) in known or is_part or is_percent_encoded or not _RENAMED.isdisjoint(pointer.split("/")[-2:]):
            continue
        is_default = value in _DEFAULTS.get(pointer, ())
        if not (is_default or any(is_at_or_below(pointer, path) or is_at_or_below(path, pointer) for path in lost)):
            yield pointer


def _losses_of_same_format(samples: tuple[Sample, ...], name: str, target: Any) -> Iterator[str]:
    for sample in samples:
        if sample.format == target:
            with suppress(fb.InvalidPayloadError):
                converted = _convert(sample, fb.Target(target, dialect=name))
                yield from (f"{sample}: {pointer}" for pointer in _unreported(sample, converted))


@every_target
def test_every_value_of_a_fixture_of_the_same_format_is_written_or_reported(name: str, target: fb.Format) -> None:
    """A gateway that only adapts requests to a server must not drop a value without a report."""
    assert list(_losses_of_same_format(_samples(False), name, target)) == []


@requires_corpus
@every_target
def test_every_value_of_a_recording_of_the_same_format_is_written_or_reported(name: str, target: fb.Format) -> None:
    """Real requests have fields that this library does not know."""
    assert list(_losses_of_same_format(_samples(True), name, target)) == []


_OF_TOOLS = frozenset({"tools", "tool_choice", "toolConfig", "functions", "function_call", "mcp_servers", "parallel_tool_calls"})
"""Fields that belong together, so that a combined body has those of one sample only."""


_WITHOUT_MEANING = ("/function_call", "/parsed/inhabitants", "/reasoning_details/0/format", "/thoughtSignature")
"""A choice without functions; a text in parsed form; the vendor of reasoning without a token; and a placeholder for a token."""


def _combined(first: Sample, second: Sample) -> Sample:
    """Return a sample with the conversation and the fields of both; a field of both has the value of the first."""
    field = formats.load(first.format).content_fields["request"]
    body = copy.deepcopy(first.body)
    if isinstance(body.get(field), list) and isinstance(second.body.get(field), list):
        body[field] += copy.deepcopy(second.body[field])
    excluded = _OF_TOOLS if not _OF_TOOLS.isdisjoint(body) else frozenset()
    body |= {key: copy.deepcopy(value) for key, value in second.body.items() if key not in body and key not in excluded}
    return replace(first, id=f"{first.id}+{second.id}", body=body, model=first.model or "m")


@every_target
def test_two_fixtures_in_one_request_are_converted_and_accepted(name: str, target: fb.Format) -> None:
    """Rules for one part must not change another: indexes shift when a part is left out, and fields repeat one another."""
    samples = [sample for sample in _samples(False) if sample.format == target and not any(each in sample.id for each in _UNKNOWN)]
    pairs = tuple(_combined(samples[index - 7], sample) for index, sample in enumerate(samples))

    assert list(_refused(pairs, name, target)) == []
    assert [each for each in _losses_of_same_format(pairs, name, target) if not each.endswith(_WITHOUT_MEANING)] == []


RECORDED = {"zai": "zhipu", "alibaba": "qwen", "litellm_proxy": "litellm"}
"""Names in the corpus to names of dialects, where they differ."""


_RESPELLED = {
    ("deepseek", "thinking"),
    ("deepseek", "reasoning_effort"),
    ("vertex", "contents"),
    ("mistral", "messages"),
    ("ollama", "messages"),
    ("openrouter", "messages"),
}
"""Fields that change although the server accepted them: an explicit default; an effort that the server replaces by another one; ids,
which other versions of the server reject; and reasoning, which moves to the documented field."""


def _dialect_samples(format: fb.Format) -> Iterator[tuple[Sample, str]]:
    names = {row["path"]: row["dialect"] for row in map(json.loads, (FOLDER / "index.jsonl").read_text("utf-8").splitlines())}
    refused = {entry.path for entry in entries(format, "request") if entry.was_refused}
    for sample in recorded(format, "request"):
        name = RECORDED.get(names[sample.id], names[sample.id])
        if name in DIALECTS and format in DIALECTS[name].rules and sample.id not in refused:
            yield sample, name


@requires_corpus
@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_recorded_request_passes_to_its_dialect_unchanged(format: fb.Format) -> None:
    """A request that the server accepted needs no change, except for another name of a setting and for fields without an effect."""
    problems = []
    for sample, name in _dialect_samples(format):
        rules = DIALECTS[name].rules[format]
        converted = fb.convert_request(
            sample.body,
            source=format,
            target=fb.Target(format, dialect=name),
            model=sample.body.get("model") or sample.model or "m",
        )
        kept = {key: value for key, value in sample.body.items() if key not in rules.ignores or not rules.omits(key, value)}
        written = {rules.names.get(key, key): value for key, value in kept.items()}
        written |= {"model": converted.body["model"]} if "model" in converted.body else {}
        if converted.body != written:
            keys = {key for key in converted.body.keys() | written.keys() if converted.body.get(key) != written.get(key)}
            if any((name, key) not in _RESPELLED for key in keys):
                problems.append((name, sample.id, sorted(keys)))

    assert problems == []


_STATEFUL = frozenset({
    "unknown_signature", "unknown_token", "call_without_signature", "reasoning_not_stored", "previous_response_not_stored",
    "conversation_not_stored", "no_model",
})  # fmt: skip
"""Rules about tokens, ids and answers of another relay, and about the model, which some servers have in the URL."""
_BY_MODEL = {
    ("openrouter", "strict_schema"): "the models of most vendors accept such a schema",
    ("deepseek", "forced_call"): "models that do not reason accept a forced call",
    ("vertex", "call_id"): "only some versions of the server reject ids",
}
"""Dialects and rules that depend on the model or the version of the server, and why."""


@requires_corpus
@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_strict_relay_accepts_a_recorded_request_that_its_server_accepted(format: fb.Format) -> None:
    """A rule that rejects real requests sends users on a search for a fault that they do not have."""
    accepted = {entry.path for entry in entries(format, "request") if entry.answers and max(entry.answers) < 400}
    problems = [
        (sample.id, rule.name)
        for sample, name in _dialect_samples(format)
        if sample.id in accepted
        for rule, _ in broken_rules(format, sample.body, Facts(model=sample.model or ""), name)
        if rule.name not in _STATEFUL and (name, rule.name) not in _BY_MODEL
    ]

    assert problems == []


def test_a_target_is_accepted_by_bridge_client_gateway_and_command_line() -> None:
    """A user describes the server once and uses the description everywhere."""
    body: dict[str, Any] = {"model": "m-large", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    target = fb.Target("chat_completions", dialect="deepseek")

    assert fb.Bridge("messages", via=target).open(body).request.body["max_tokens"] == 9
    relay = FakeRelay("hi", dialect="deepseek")
    with fb.Client(relay.base_url, "sk-fake", http_client=relay.http_client()) as client:
        client.messages(via=target, **body)
    profile = fb.RelayProfile(base_url=relay.base_url, dialect="deepseek")
    with fb.Client(api_key="sk-fake", profile=profile, http_client=relay.http_client()) as client:
        client.messages(via="chat_completions", **body)

    assert [request.body["max_tokens"] for request in relay.requests] == [9, 9]
    assert read_format("chat_completions@deepseek") == target


@pytest.mark.parametrize("name", ["nowhere", "bedrock", "opnerouter"])
def test_an_unknown_dialect_raises_with_the_known_ones(name: str) -> None:
    """A misspelt server must not become the default one without a message."""
    body = {"model": "m", "messages": []}

    with pytest.raises(fb.ConfigurationError, match=r"expected one of .*openrouter") as caught:
        fb.convert_request(body, source="chat_completions", target=fb.Target("chat_completions", dialect=name))

    assert ("perhaps openrouter; " in str(caught.value)) is (name == "opnerouter")


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"rejects": ["top_k"]}, "rejects of the dialect is .*, expected a set of strings"),
        ({"rejects": frozenset({"messages"})}, "the dialect rejects 'messages', which every request needs"),
        ({"efforts": frozenset({"huge"})}, "efforts of the dialect contains 'huge', expected .*high"),
        ({"ranges": {"tempersture": (0, 1)}}, "ranges of the dialect contains 'tempersture', expected .*temperature"),
        ({"reasoning_control": "dial"}, "reasoning_control of the dialect is 'dial', expected one of "),
        ({"controls_of_models": {"budget": "dial"}}, "controls_of_models of the dialect contains 'dial', expected "),
        ({"controls_of_models": {"much": "none"}}, "controls_of_models of the dialect contains 'much', expected effort, budget, "),
        ({"prefill_field": True}, "prefill_field of the dialect is True, expected text"),
        ({"requires_alternating_turns": "no"}, "requires_alternating_turns of the dialect is 'no', expected True or False"),
        ({"accepts_empty_answers": "no"}, "accepts_empty_answers of the dialect is 'no', expected True or False"),
        ({"accepts_strict": 0}, "accepts_strict of the dialect is 0, expected True or False"),
        ({"has_custom_tools": "no"}, "has_custom_tools of the dialect is 'no', expected True or False"),
        ({"document_part": "pdf"}, "document_part of the dialect is 'pdf', expected one of file, "),
        ({"media": frozenset({"pdf"})}, "media of the dialect contains 'pdf', expected .*document_url"),
        ({"most_tools": True}, "most_tools of the dialect is True, expected a number of 0 or more"),
        ({"most_tools": -1}, "most_tools of the dialect is -1, expected a number of 0 or more"),
        ({"names": {"max_tokens": 1}}, "names of the dialect is .*, expected a mapping of strings to strings"),
        (
            {"ranges": {"temperature": 1}},
            "ranges of the dialect is .*, expected a mapping of settings to the smallest and the largest",
        ),
        (
            {"ranges": {"temperature": (1, 0)}},
            "ranges of the dialect is .*, expected a mapping of settings to the smallest and the",
        ),
        (
            {"names": {"max_tokens": "limit", "max_completion_tokens": "limit"}},
            "names of the dialect maps 'max_completion_tokens' to 'limit', the name of another field",
        ),
        ({"names": {"seed": "n"}}, "names of the dialect maps 'seed' to 'n', the name of another field"),
    ],
)
def test_rules_that_are_invalid_are_rejected_before_a_request_is_converted(rules: dict[str, Any], problem: str) -> None:
    """Rules of a caller have no tests of ours, and a wrong one would change requests without a report."""
    dialect = fb.Dialect(name="own", rules={"chat_completions": fb.DialectRules(server="own", **rules)})

    with pytest.raises(fb.ConfigurationError, match=problem):
        fb.convert_request(
            {"model": "m", "messages": []}, source="chat_completions", target=fb.Target("chat_completions", dialect=dialect)
        )


def test_two_fields_may_exchange_their_names() -> None:
    """No value is lost then."""
    rules = fb.DialectRules(server="own", names={"seed": "n", "n": "seed"})
    target = fb.Target("chat_completions", dialect=fb.Dialect("own", {"chat_completions": rules}))
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 1, "n": 2}

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert (converted.body["n"], converted.body["seed"]) == (1, 2)


def test_every_difference_has_a_source() -> None:
    """A maintainer checks a rule against the documentation of the server when it changes."""
    default = fb.DialectRules(server="")
    for dialect in DIALECTS.values():
        for rules in dialect.rules.values():
            changed = {each.name for each in fields(rules) if getattr(rules, each.name) != getattr(default, each.name)} - {
                "server",
                "sources",
            }
            assert changed == {name.partition(".")[0] for name in rules.sources}, (dialect, rules)


def test_openrouter_gets_cache_marks_and_a_reasoning_budget() -> None:
    """Without the dialect, both are losses."""
    text = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "m",
        "max_tokens": 4096,
        "system": [text],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "messages": [{"role": "user", "content": "hi"}],
    }

    without_dialect = fb.convert_request(body, source="messages", target="chat_completions")
    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect="openrouter"))

    assert without_dialect.losses
    assert list(converted.losses) == []
    assert converted.body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert converted.body["reasoning"] == {"max_tokens": 2048}
    assert list(converted.additions) == []


_SEARCH = {"name": "search", "input_schema": {"type": "object", "properties": {}}}
_FORCED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [_SEARCH],
    "tool_choice": {"type": "tool", "name": "search"},
}


@pytest.mark.parametrize(
    ("name", "format", "field", "off"),
    [
        ("deepseek", "chat_completions", "thinking", {"type": "disabled"}),
        ("deepseek", "messages", "thinking", {"type": "disabled"}),
        ("qwen", "chat_completions", "enable_thinking", False),
        ("moonshot", "chat_completions", "thinking", {"type": "disabled"}),
    ],
)
def test_a_forced_call_turns_reasoning_off(name: str, format: Any, field: str, off: Any) -> None:
    """These servers reason unless the request turns it off, and reject a forced call with reasoning."""
    target = fb.Target(format, dialect=name)

    silent = fb.convert_request(_FORCED, source="messages", target=target)
    reasoning = _FORCED | {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    excluded = fb.convert_request(reasoning, source="messages", target=target)

    assert silent.body[field] == excluded.body[field] == off
    assert [(each.path, each.value) for each in silent.additions] == [(f"/{field}", off)]
    assert list(silent.losses) == []
    assert {(loss.path, loss.code) for loss in excluded.losses} >= {("/thinking/budget_tokens", "with_forced_call")}


@pytest.mark.parametrize("choice", [{"type": "auto"}, {"type": "none"}])
def test_a_free_choice_leaves_reasoning_on(choice: dict[str, str]) -> None:
    """Only a forced call excludes reasoning, and a user pays for the quality of the answer."""
    body = _FORCED | {"tool_choice": choice, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect="deepseek"))

    assert converted.body["reasoning_effort"] == "high"
    assert converted.body["thinking"] == {"type": "enabled"}


def test_a_forced_call_removes_every_reasoning_setting_that_the_server_reads() -> None:
    """Settings of the same format would otherwise stay as the caller wrote them."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "search"}}],
        "tool_choice": {"type": "function", "function": {"name": "search"}},
        "enable_thinking": True,
        "thinking_budget": 100,
    }

    converted = fb.convert_request(body, source="chat_completions", target=fb.Target("chat_completions", dialect="qwen"))

    assert (converted.body["enable_thinking"], "thinking_budget" in converted.body) == (False, False)
    assert {loss.path: loss.kind for loss in converted.losses} == {"/enable_thinking": "changed", "/thinking_budget": "dropped"}


_WITHOUT_SEARCH = (
    "cerebras", "deepseek", "groq", "huggingface", "llamacpp", "lmstudio", "moonshot", "ollama", "qwen", "sglang", "together", "vllm",
    "xai", "zhipu",
)  # fmt: skip


@pytest.mark.parametrize("name", _WITHOUT_SEARCH)
def test_a_web_search_that_the_server_does_not_run_is_a_loss(name: str) -> None:
    """Most of these servers ignore ``web_search_options``, so that the request succeeds."""
    body = _FORCED | {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "auto"}}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect=name))

    assert "web_search_options" not in converted.body
    assert [(loss.path, loss.severity) for loss in converted.losses if loss.path.startswith("/tools")] == [
        ("/tools/0", "impossible")
    ]


@pytest.mark.parametrize("name", ["llamacpp", "lmstudio", "minimax", "moonshot", "qwen", "xai"])
def test_a_custom_tool_becomes_a_function_where_the_server_has_none(name: str) -> None:
    """Codex sends its editor as a custom tool, which these servers reject."""
    body = {"model": "m", "input": "hi", "tools": [{"type": "custom", "name": "apply_patch"}]}

    converted = fb.convert_request(body, source="responses", target=fb.Target("chat_completions", dialect=name))

    assert [tool["type"] for tool in converted.body["tools"]] == ["function"]


@pytest.mark.parametrize(("name", "kind"), [("moonshot", "builtin_function"), ("zhipu", "web_search")])
def test_a_tool_that_only_one_server_has_passes_to_it(name: str, kind: str) -> None:
    """A tool of the server itself is no web search of OpenAI."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{"type": kind, kind: {"name": "$web_search"}}]}

    converted = fb.convert_request(body, source="chat_completions", target=fb.Target("chat_completions", dialect=name))

    assert (converted.body, list(converted.losses)) == (body, [])


_CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01A", "name": "search", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_01A", "content": "none"}, {"type": "text", "text": "So?"}],
    },
]


def test_mistral_gets_an_assistant_message_between_a_result_and_the_user() -> None:
    """Anthropic accepts both in one turn. The pointers of additions after the new message include it."""
    calls = [{"role": "assistant", "content": [{"type": "text", "text": "It"}]}]
    body = _FORCED | {"messages": [*_CALLED, *calls]}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect="mistral"))

    assert [message["role"] for message in converted.body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert [(each.path, each.value) for each in converted.additions] == [
        ("/messages/5/prefix", True),
        ("/messages/3", {"role": "assistant", "content": "OK."}),
    ]


def test_mistral_continues_a_final_assistant_message() -> None:
    """As Anthropic does; its server rejects the message without the field."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello, my name"}]
    target = fb.Target("chat_completions", dialect="mistral")

    converted = fb.convert_request(_FORCED | {"messages": messages}, source="messages", target=target)
    again = fb.convert_request(converted.body, source="chat_completions", target=target)

    assert converted.body["messages"][-1] == {"role": "assistant", "content": "Hello, my name", "prefix": True}
    assert [loss for loss in converted.losses if loss.code == "prefill"] == []
    assert (again.body, list(again.additions), list(again.losses)) == (converted.body, [], [])


def test_mistral_gets_a_complete_conversation_of_the_same_format_with_all_its_fields() -> None:
    """The server requires a message of the assistant between a result and the user; the other messages are those of the caller."""
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefgh1", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "abcdefgh1", "content": "none"},
            {"role": "user", "content": "So?", "own": 1},
        ],
    }

    converted = fb.convert_request(body, source="chat_completions", target=fb.Target("chat_completions", dialect="mistral"))

    between = {"role": "assistant", "content": "OK."}
    assert converted.body["messages"] == [*body["messages"][:3], between, *body["messages"][3:]]
    assert [(each.path, each.value) for each in converted.additions] == [("/messages/3", between)]


def test_mistral_rejects_an_unconverted_request_as_its_server_does() -> None:
    """A test against the fake server must fail where the request would fail in production."""
    relay = FakeRelay("hi", dialect="mistral")
    body: dict[str, Any] = {"model": "m-large", "messages": [{"role": "user", "content": "hi"}], "store": False}
    with fb.Client(relay.base_url, "sk-fake", http_client=relay.http_client()) as client:
        with pytest.raises(fb.APIStatusError) as caught:
            client.chat_completions(**body)
        client.chat_completions(via=fb.Target("chat_completions", dialect="mistral"), **body)

    assert caught.value.status == 422
    assert "store" not in relay.requests[-1].body


def test_each_dialect_has_a_fake_server() -> None:
    """A user of any dialect can test an application without the real server."""
    assert {name: set(formats) for name, formats in SERVER_RULES.items()} == {
        name: set(dialect.rules) for name, dialect in DIALECTS.items()
    }


def test_the_strict_relay_rejects_an_instruction_after_the_first_turn_for_perplexity() -> None:
    """Its server has the same error for it as for two turns of the user in sequence."""
    later = [{"role": "user", "content": "hi"}, {"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]

    broken = broken_rules("chat_completions", {"model": "m", "messages": later}, Facts(), "perplexity")

    assert [rule.name for rule, _ in broken] == ["turns"]
