"""A request of the format of its server keeps its conversation: every call has its result, and nothing is moved, repeated or lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

_USER = {"role": "user", "content": "Take a screenshot"}
_IMAGE_URL = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
_FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}}
_VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
_TEXT_ONLY = fb.ModelFacts(inputs=frozenset({"text"}))


def _text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def _calls(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "shot", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _convert(
    body: dict[str, Any], format: Any, dialect: str | None = None, facts: fb.ModelFacts | None = None
) -> fb.ConvertedRequest:
    return fb.convert_request({"model": "m", **body}, source=format, target=fb.Target(format, dialect=dialect, model=facts))


def _chat(messages: list[Any], dialect: str | None = None, facts: fb.ModelFacts | None = None) -> fb.ConvertedRequest:
    return _convert({"messages": messages}, "chat_completions", dialect, facts)


@pytest.mark.parametrize(("dialect", "part"), [("moonshot", _IMAGE_URL), ("ollama", _IMAGE_URL), ("deepseek", _FILE)])
def test_a_result_without_a_readable_part_still_answers_its_call(dialect: str, part: Any) -> None:
    """Servers reject a call without a result, also if they cannot read what the result has."""
    converted = _chat([_USER, _calls("call_1"), _result("call_1", [part]), _USER], dialect)

    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant", "tool", "user"]
    assert converted.body["messages"][2] == _result("call_1", "")
    assert [loss.path for loss in converted.losses] == ["/messages/2/content/0"]


def test_results_with_media_stay_next_to_one_another() -> None:
    """The encoder moves an image to a user message, which between two results would separate the second from its call."""
    cached = [_text("fine", cache_control={"type": "ephemeral"})]
    converted = _chat([_USER, _calls("call_1", "call_2"), _result("call_1", [_IMAGE_URL]), _result("call_2", cached)], "fireworks")

    assert converted.body["messages"][2:] == [_result("call_1", [_IMAGE_URL]), _result("call_2", [_text("fine")])]
    assert [loss.path for loss in converted.losses] == ["/messages/3/content/0/cache_control"]


def test_an_image_of_a_result_with_a_new_id_is_kept() -> None:
    """Mistral accepts ids of nine characters only, so that the ids of the call and the result change."""
    converted = _chat([_USER, _calls("call_1"), _result("call_1", [_IMAGE]), _USER], "mistral")

    assert _IMAGE in [
        part for message in converted.body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]


def test_an_image_of_a_result_is_written_once() -> None:
    """The encoder moves it to a user message, which is joined with the next one."""
    converted = _chat([_USER, _calls("call_1"), _result("call_1", [_text("see image"), _IMAGE]), _USER], "perplexity")

    assert str(converted.body).count("iVBORw0KGgo=") == 1
    assert [loss.path for loss in converted.losses] == ["/messages/2/content/1"]


def test_results_stay_in_the_order_of_the_caller() -> None:
    """Servers that match results by their order would read one as another."""
    results = [_result("call_1", [_text("one"), _VIDEO]), _result("call_2", "two"), _result("call_3", [_FILE, _text("three")])]
    converted = _chat([_USER, _calls("call_1", "call_2", "call_3"), *results, _USER], "deepseek")

    ids = [message.get("tool_call_id") for message in converted.body["messages"]]
    assert ids == [None, None, "call_1", "call_2", "call_3", None]


def test_a_result_without_parts_for_the_model_has_an_empty_text() -> None:
    """Servers reject an empty list of parts."""
    converted = _chat([_USER, _calls("call_1"), _result("call_1", [_IMAGE])], facts=_TEXT_ONLY)

    assert converted.body["messages"][2] == _result("call_1", "")


def test_legacy_calls_and_their_results_stay_legacy() -> None:
    """A server may read both forms, but not the result of one for a call of the other."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "out"}
    user = {"role": "user", "content": "bb"}
    converted = _chat([_USER, call, result, user, {"role": "user", "content": "cc"}], "perplexity")

    assert converted.body["messages"][:3] == [_USER, call, result]
    assert converted.additions == ()


def test_a_system_message_comes_before_a_message_without_text() -> None:
    """Qwen requires it at the start. The encoder does not write the empty message, which keeps its place among the others."""
    system = {"role": "system", "content": "be brief"}
    empty = {"role": "user", "content": ""}
    converted = _chat([empty, _calls("call_1"), _result("call_1", [_IMAGE]), system], "qwen")

    assert converted.body["messages"][:2] == [system, empty]


@pytest.mark.parametrize(
    ("tool", "dialect"),
    [
        ({"type": "custom", "name": "apply_patch"}, "xai"),
        (
            {"type": "namespace", "name": "n", "description": "n", "tools": [{"type": "function", "name": "g", "parameters": {}}]},
            "openrouter",
        ),
    ],
)
def test_tools_of_a_message_are_kept_if_other_tools_change(tool: dict[str, Any], dialect: str) -> None:
    """Coding agents add functions in the conversation, next to tools that some servers do not have."""
    added = {"type": "function", "name": "get_z", "parameters": {"type": "object", "properties": {}}, "strict": False}
    items = [{"type": "additional_tools", "role": "developer", "tools": [added]}, {"role": "user", "content": "hello"}]
    converted = _convert({"input": items, "tools": [tool]}, "responses", dialect)

    assert added in converted.body["tools"]


def test_two_texts_of_a_reasoning_item_are_kept_if_an_earlier_item_is_left_out() -> None:
    """The indexes of later items change, and their texts do not."""
    summary = [{"type": "summary_text", "text": "the summary"}]
    content = [{"type": "reasoning_text", "text": "the text"}]
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": summary, "content": content, "encrypted_content": "token"}
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}
    converted = _convert({"input": [image, reasoning, {"role": "user", "content": "more"}]}, "responses", "vllm", _TEXT_ONLY)

    assert converted.body["input"][0] == {"type": "reasoning", "summary": summary, "content": content}


_CALL = {"role": "model", "parts": [{"functionCall": {"name": "shot", "args": {}}}]}
_QUESTION = {"role": "user", "parts": [{"text": "hi"}]}


def test_a_result_next_to_media_that_the_model_cannot_read_is_kept() -> None:
    """A screenshot next to the result of a tool is what agents send."""
    result = {"functionResponse": {"name": "shot", "response": {"result": "done 42"}}}
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    contents = [_QUESTION, _CALL, {"role": "user", "parts": [result, image]}]
    converted = _convert({"contents": contents}, "generate_content", facts=_TEXT_ONLY)

    assert converted.body["contents"][-1]["parts"][0]["functionResponse"]["response"] == {"result": "done 42"}
    assert [loss.path for loss in converted.losses] == ["/contents/2/parts/1"]


@pytest.mark.parametrize("role", [{}, {"role": "function"}, {"role": "user"}])
def test_a_result_of_any_role_passes_unchanged_with_text(role: dict[str, str]) -> None:
    """``user`` is the default of Gemini, and ``function`` its older role for results."""
    result = {"functionResponse": {"name": "shot", "response": {"output": "warm", "degrees": 4}}}
    contents = [_QUESTION, _CALL, {**role, "parts": [result, {"text": "and now?"}]}]
    converted = _convert({"contents": contents}, "generate_content", "vertex")

    assert converted.body["contents"] == contents
    assert (converted.losses, converted.additions) == ((), ())


def test_the_id_of_a_result_next_to_a_text_is_left_out_for_vertex() -> None:
    """Vertex rejects ids of calls and of results."""
    call = {"role": "model", "parts": [{"functionCall": {"id": "a1", "name": "f", "args": {}}}]}
    result = {"functionResponse": {"id": "a1", "name": "f", "response": {"result": "done"}}}
    converted = _convert(
        {"contents": [_QUESTION, call, {"role": "user", "parts": [result, {"text": "and now?"}]}]}, "generate_content", "vertex"
    )

    assert "a1" not in str(converted.body)
    assert {loss.path for loss in converted.losses} == {
        "/contents/1/parts/0/functionCall/id",
        "/contents/2/parts/0/functionResponse/id",
    }


def test_an_image_in_a_document_that_becomes_text_is_kept() -> None:
    """The report calls the document changed, so that nothing of it may be lost."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    document = {"type": "document", "source": {"type": "content", "content": [_text("The tower is red."), image]}}
    messages = [{"role": "user", "content": [document, _text("How tall?")]}]
    converted = _convert({"max_tokens": 9, "messages": messages}, "messages", "minimax")

    assert image in converted.body["messages"][0]["content"]


def test_a_list_of_stop_sequences_beyond_the_limit_keeps_the_first() -> None:
    """Zhipu reads one stop sequence. The list is a value, not a list of items that are compared one by one."""
    converted = _convert({"messages": [_USER], "stop": ["a1", "b1", "c1", "d1", "e1"]}, "chat_completions", "zhipu")

    assert converted.body["stop"] == ["a1"]


def test_the_limit_of_a_model_is_written_in_the_field_of_the_caller() -> None:
    """Servers accept both names, so that the report shows one changed value and no other field."""
    converted = _convert({"messages": [_USER], "max_tokens": 500}, "chat_completions", facts=fb.ModelFacts(output_limit=300))

    assert converted.body["max_tokens"] == 300
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/max_tokens", "output_limit")]
    assert "max_completion_tokens" not in converted.body


@pytest.mark.parametrize("dialect", ["deepseek", "moonshot"])
def test_a_text_of_reasoning_in_another_field_is_no_loss(dialect: str) -> None:
    """Histories of OpenRouter have two fields with reasoning."""
    details = [{"type": "reasoning.summary", "summary": "Thought B.", "index": 0}]
    message = {"role": "assistant", "content": "yo", "reasoning": "Thought A.", "reasoning_details": details}
    converted = _chat([_USER, message, _USER], dialect)

    assert converted.body["messages"][1]["reasoning_content"] == "Thought A."
    assert converted.losses == ()


def test_parts_after_a_removed_part_are_no_losses() -> None:
    """Their indexes change, and their values and unknown fields do not."""
    thinking = {"type": "thinking", "thinking": [_text("my thought")]}
    message = {"role": "assistant", "content": [thinking, _text("hello", x_extra="kept")]}
    converted = _chat([_USER, message, _USER], "groq")

    assert converted.body["messages"][1] == {
        "role": "assistant",
        "content": [_text("hello", x_extra="kept")],
        "reasoning": "my thought",
    }
    assert converted.losses == ()


def test_reasoning_next_to_a_refusal_is_kept() -> None:
    """The refusal becomes a text for a server without refusals, and the reasoning moves to the field that it reads."""
    thinking = {"type": "thinking", "thinking": [_text("my thought")]}
    message = {"role": "assistant", "content": [thinking, {"type": "refusal", "refusal": "I cannot"}]}
    converted = _chat([_USER, message, _USER], "cerebras")

    assert converted.body["messages"][1] == {"role": "assistant", "content": [_text("I cannot")], "reasoning": "my thought"}


def test_reasoning_that_is_copied_from_details_is_an_addition() -> None:
    """The details stay, so that the caller did not send the field that the server reads."""
    details = [{"type": "reasoning.text", "text": "Thought B.", "index": 0}]
    converted = _chat([_USER, {"role": "assistant", "content": "yo", "reasoning_details": details}, _USER], "vllm")

    assert [(addition.path, addition.value) for addition in converted.additions] == [("/messages/1/reasoning", "Thought B.")]


def test_additions_have_the_pointers_of_joined_turns() -> None:
    """Perplexity requires alternating turns, so that later messages get smaller indexes."""
    contents = [{"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}, _CALL]
    result = {"functionResponse": {"name": "shot", "response": {"output": "x"}}}
    body = {"model": "m", "contents": [*contents, {"role": "user", "parts": [result]}]}
    target = fb.Target("chat_completions", dialect="perplexity")
    converted = fb.convert_request(body, source="generate_content", target=target)

    paths = [addition.path for addition in converted.additions]
    assert paths == ["/messages/1/tool_calls/0/id", "/messages/2/tool_call_id"]


@pytest.mark.parametrize("content", ["", [_text("")]])
def test_an_empty_instruction_among_the_turns_is_left_out(content: Any) -> None:
    """Bedrock rejects the role, and there is no text to move to the start."""
    system = {"role": "system", "content": content}
    messages = [{"role": "user", "content": "hi"}, system, {"role": "user", "content": "x"}]
    converted = _convert({"max_tokens": 9, "messages": messages}, "messages", "bedrock")

    assert converted.body["messages"] == [messages[0], messages[2]]
    assert [(loss.path, loss.before) for loss in converted.losses] == [("/messages/1", system)]


def test_joined_turns_without_a_text_have_an_empty_text() -> None:
    """Perplexity requires alternating turns, and a message of the user without a content is invalid."""
    empty = {"role": "user", "content": ""}
    rest = [{"role": "assistant", "content": "yo"}, _USER]
    converted = _chat([empty, empty, *rest], "perplexity")

    assert converted.body["messages"] == [empty, *rest]


@pytest.mark.parametrize("text", ["Answer in French.", "Answer in JSON."])
def test_an_instruction_is_kept_if_json_mode_has_another_form(text: str) -> None:
    """The encoder adds an instruction for JSON mode, so that it writes this one in another field."""
    body = {"input": [{"role": "system", "content": text}, _USER], "text": {"format": {"type": "json_object"}}}
    converted = _convert(body, "responses", "ollama")

    assert text in str(converted.body)


def test_reasoning_with_several_summaries_is_sent_once() -> None:
    """The encoder joins the summaries, and a copy would be repeated in each later turn."""
    summary = [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]
    items = [_USER, {"type": "reasoning", "id": "rs_1", "summary": summary}, {"role": "assistant", "content": "yo"}, _USER]
    converted = _convert({"input": items}, "responses", "vllm")

    assert converted.body["input"] == items


def test_results_of_two_turns_are_sent_once() -> None:
    """Vertex has no ids, so the encoder joins the results for the calls of one turn."""

    def result(name: str, value: str, **fields: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": value, "deg": 4}, **fields}}

    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    calls = [{"functionCall": {"name": name, "args": {}}} for name in "ffg"]
    later = {"role": "user", "parts": [result("f", "bb"), result("g", "cc"), {"text": "and?"}]}
    first = {"role": "user", "parts": [result("f", "aa", parts=[image])]}
    converted = _convert(
        {"contents": [_QUESTION, {"role": "model", "parts": calls}, first, later]}, "generate_content", "vertex", _TEXT_ONLY
    )

    assert converted.body["contents"][2:] == [{"role": "user", "parts": [result("f", "aa")]}, later]


@pytest.mark.parametrize("index", [0, 2])
def test_an_instruction_at_either_end_is_moved_if_the_server_has_no_such_role(index: int) -> None:
    """Bedrock rejects the role in a conversation. Between two turns the encoder moves an instruction for this server only."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    messages.insert(index, {"role": "system", "content": "Answer in French."})
    converted = _convert({"max_tokens": 9, "messages": messages}, "messages", "bedrock")

    assert converted.body["system"] == "Answer in French."
    assert "system" not in [message["role"] for message in converted.body["messages"]]


def test_an_id_that_the_server_does_not_get_is_no_addition() -> None:
    """The encoder generates ids, and Vertex gets none."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    body = {"model": "m", "messages": [_USER, call, {"role": "function", "name": "f", "content": "out"}]}
    converted = fb.convert_request(body, source="chat_completions", target=fb.Target("generate_content", dialect="vertex"))

    assert [addition.path for addition in converted.additions] == ["/contents/1/parts/0/thoughtSignature"]


_HISTORY = [
    {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["cat a.txt"]}, "status": "completed"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["hello"], "results": None},
]


def test_calls_of_server_tools_stay_if_other_items_go() -> None:
    """If two items have the same image, it is uncertain which one the encoder has left out."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    user = {"role": "user", "content": [{"type": "input_text", "text": "hi"}, image]}
    screenshot = {"type": "computer_call_output", "call_id": "call_2", "output": {"type": "computer_screenshot", "image_url": "x"}}
    body = {"input": [user, *_HISTORY, screenshot | {"output": image}, {"role": "user", "content": "Thanks."}]}
    converted = _convert(body, "responses", "openai", _TEXT_ONLY)

    assert [item.get("type") for item in converted.body["input"]] == [
        None, "shell_call", "file_search_call", "computer_call_output", None
    ]  # fmt: skip
    assert [loss.path for loss in converted.losses] == ["/input/0/content/1", "/input/2"]


def test_a_replaced_conversation_keeps_the_items_of_its_format() -> None:
    """A conversation that adds tools is replaced as a whole, with the calls that the server has run."""
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    converted = _convert({"input": [{"role": "user", "content": "hi"}, *_HISTORY, tools]}, "responses", "xai")

    assert converted.body["input"][1:] == _HISTORY
    assert [tool["name"] for tool in converted.body["tools"]] == ["f"]


def test_a_document_of_blocks_loses_only_the_images_that_the_server_cannot_read() -> None:
    """The image was in the report as lost and still in the document, or was written a second time next to it."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    document = {"type": "document", "source": {"type": "content", "content": [_text("words"), image]}, "x_unknown": 1}
    converted = _convert({"max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}, "messages", "bedrock")

    content = converted.body["messages"][0]["content"]
    assert content == [document | {"source": {"type": "content", "content": [_text("words")]}}]
    assert [loss.path for loss in converted.losses] == ["/messages/0/content/0/source/content/1"]


def test_a_document_of_images_only_becomes_its_title() -> None:
    """Anthropic rejects a document without blocks."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    document = {"type": "document", "title": "Fares", "source": {"type": "content", "content": [image]}}
    content = [document, _text("What is the fare?")]
    converted = _convert({"max_tokens": 9, "messages": [{"role": "user", "content": content}]}, "messages", "bedrock")

    assert [part["type"] for part in converted.body["messages"][0]["content"]] == ["text", "text"]
    assert converted.body["messages"][0]["content"][0]["text"].strip() == "Fares"


def test_a_document_without_its_cache_mark_stays_a_document() -> None:
    """The server reads no cache marks. The conversation was replaced, and the mark was still in it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    search = {"type": "search_result", "source": "https://example.com", "title": "Times", "content": [_text("At nine.", **mark)]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}, "x_unknown": 1}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [search]}]}
    rules = fb.DialectRules(server="own", cache_marks="none", accepts_later_instructions=False)
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}, call, result]}
    converted = fb.convert_request(
        body, source="messages", target=fb.Target("messages", dialect=fb.Dialect("own", {"messages": rules}))
    )

    assert converted.body["messages"][1] == call
    assert converted.body["messages"][2]["content"][0]["content"] == [search | {"content": [_text("At nine.")]}]


def test_added_tools_come_without_the_toolsets_of_servers_that_the_caller_configured() -> None:
    """The encoder writes a toolset for each server, which contradicts the configuration in the server itself."""
    servers = [{"type": "url", "name": "wiki", "url": "https://example.com", "tool_configuration": {"enabled": False}}]
    definition = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}
    messages = [{"role": "user", "content": "a"}, {"role": "system", "content": [addition]}]
    cloud = fb.Dialect("own", {"messages": fb.DialectRules(server="own", accepts_later_instructions=False)})
    body = {"model": "m", "max_tokens": 9, "messages": messages, "mcp_servers": servers}
    converted = fb.convert_request(body, source="messages", target=fb.Target("messages", dialect=cloud))

    assert converted.body["tools"] == [definition]
    assert converted.body["mcp_servers"] == servers


@pytest.mark.parametrize("dialect", ["lmstudio", "perplexity"])
def test_functions_become_tools_if_the_server_gets_only_some_of_them(dialect: str) -> None:
    """A request with functions and tools calls either. The server has no choice of one function, so it gets only this one."""
    functions = [{"name": name, "description": "d", "parameters": {"type": "object", "properties": {}}} for name in "fg"]
    body = {"messages": [_USER], "functions": functions, "function_call": {"name": "f"}}
    converted = _convert(body, "chat_completions", dialect)

    assert converted.body.keys() == {"model", "messages", "tools", "tool_choice"}
    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["f"]
    assert [loss.path for loss in converted.losses] == ["/functions/1"]


def test_unknown_members_of_removed_settings_are_in_the_report() -> None:
    """The setting is removed as a whole, and only its known members were reported."""
    thinking = {"type": "enabled", "budget_tokens": 2000, "x_unknown": 1}
    body = {"max_tokens": 4000, "messages": [{"role": "user", "content": "a"}], "thinking": thinking}
    converted = _convert(body, "messages", "anthropic", fb.ModelFacts(reasoning="none"))

    assert "thinking" not in converted.body
    assert "/thinking/x_unknown" in {loss.path for loss in converted.losses}


def test_a_message_without_a_readable_image_has_no_empty_list() -> None:
    """Servers reject empty lists of calls and of images."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    answer = {"role": "assistant", "content": "Here it is.", "images": [image]}
    converted = _chat([_USER, answer, _USER], "cerebras", _TEXT_ONLY)

    assert converted.body["messages"][1] == {"role": "assistant", "content": "Here it is."}


def test_an_empty_turn_goes_if_turns_must_alternate() -> None:
    """The encoder leaves it out, and next to a moved instruction the caller's empty turn stayed."""
    messages = [_USER, {"role": "assistant", "content": None}, {"role": "system", "content": "Be brief."}, _USER, _calls("call_1")]
    converted = _chat([*messages, _result("call_1", "x")], "perplexity")

    assert [message["role"] for message in converted.body["messages"]] == ["system", "user", "assistant", "tool"]


def test_facts_about_the_model_do_not_change_the_conversation_a_second_time() -> None:
    """The body is adapted again with facts, because several fields may set the same. Unknown fields of parts were lost in this."""
    part = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,Q2Fm"}, "x_unknown": 1}
    messages = [{"role": "user", "content": [_text("hi"), part, _IMAGE]}, {"role": "system", "content": ""}, _USER]
    converted = _chat(messages, "perplexity", fb.ModelFacts(refuses=frozenset({"tools"})))

    assert '"x_unknown": 1' in json.dumps(converted.body)
    assert converted.losses == ()


def test_tools_and_functions_together_become_tools_once() -> None:
    """This raised an exception: the changes of the caller's list of tools were applied to the shorter one of the encoder."""
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("f", "g")]
    only = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
    }
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    body = {"messages": [_USER, call, {"role": "function", "name": "f", "content": "x"}], "tools": tools, "tool_choice": only}
    converted = _convert(body, "chat_completions", "cerebras")

    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["f"]
    assert [loss.path for loss in converted.losses] == ["/tools/1"]


def test_an_unknown_effort_in_the_conversation_removes_no_other_message() -> None:
    """The index of the removed message was applied to the conversation that had replaced the caller's, and the answer was lost."""
    definition = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    messages = [
        turns[0],
        {"role": "system", "output_config": {"effort": "newest"}},
        *turns[1:],
        {"role": "system", "content": [addition]},
    ]
    converted = _convert({"max_tokens": 9, "messages": messages}, "messages", "bedrock")

    assert converted.body["messages"] == turns
    assert {loss.path for loss in converted.losses} == {"/messages/1/output_config/effort", "/messages/4/content/0"}


def test_a_choice_of_a_function_next_to_tools_becomes_a_choice_of_the_tool() -> None:
    """Servers reject ``function_call`` without ``functions``. It was left out without a loss, so that the model did not have to call."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}, "cache_control": {"type": "ephemeral"}}]
    converted = _convert({"messages": [_USER], "tools": tools, "function_call": {"name": "f"}}, "chat_completions", "groq")

    assert converted.body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert "function_call" not in converted.body
    assert [loss.path for loss in converted.losses] == ["/tools/0/cache_control"]
