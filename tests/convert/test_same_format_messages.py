"""Messages and parts of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import USER, convert, convert_chat


def _documents(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "Read."}, *parts]}]}


_BYTES = "JVBERi0xLjQK"
_DATA = f"data:application/pdf;base64,{_BYTES}"
_PARTS: dict[str, dict[str, Any]] = {
    "openai": {"type": "file", "file": {"file_data": _DATA, "filename": "a.pdf"}},
    "mistral": {"type": "document_url", "document_url": _DATA, "document_name": "a.pdf"},
    "perplexity": {"type": "file_url", "file_url": {"url": _BYTES}, "file_name": "a.pdf"},
}


@pytest.mark.parametrize("server", _PARTS)
@pytest.mark.parametrize("sent", _PARTS)
def test_a_document_is_in_the_part_that_the_server_reads(sent: str, server: str) -> None:
    """Three servers have three parts for one PDF, and each rejects the parts of the others."""
    converted = convert_chat(_documents(_PARTS[sent]), server)

    assert converted.body["messages"][0]["content"][1] == _PARTS[server]
    assert list(converted.losses) == []


@pytest.mark.parametrize("server", ["mistral", "perplexity"])
def test_a_document_by_url_reaches_the_servers_that_read_one(server: str) -> None:
    """The caller need not download the document to send it."""
    url = "https://example.com/a.pdf"
    body = {"model": "m", "max_tokens": 9, **_documents({"type": "document", "source": {"type": "url", "url": url}})}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect=server))

    part = converted.body["messages"][0]["content"][1]
    assert part == (
        {"type": "document_url", "document_url": url} if server == "mistral" else {"type": "file_url", "file_url": {"url": url}}
    )


def test_a_document_by_url_is_a_loss_for_a_server_without_such_documents() -> None:
    """The model would answer a question about a document that it never got."""
    converted = convert_chat(_documents({"type": "document_url", "document_url": "https://example.com/a.pdf"}), "openai")

    assert converted.body["messages"][0]["content"] == [{"type": "text", "text": "Read."}]
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/messages/0/content/1", "impossible")]


def test_a_file_of_a_vendor_is_a_loss_for_servers_without_files() -> None:
    """The id refers to storage that only one vendor has."""
    part = {"type": "file", "file": {"file_id": "file-1"}}

    kept, dropped = convert_chat(_documents(part), "openai"), convert_chat(_documents(part), "qwen")

    assert kept.body["messages"][0]["content"][1] == part
    assert [loss.path for loss in dropped.losses] == ["/messages/0/content/1"]


def test_a_document_of_texts_is_text_for_a_server_without_documents() -> None:
    """The model can still read the content, but the server cannot cite it."""
    document = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Adults pay ten."}]}}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}

    converted = convert(body, "minimax", "messages")

    assert converted.body["messages"][0]["content"] == "Adults pay ten."
    assert [loss.code for loss in converted.losses] == ["flattened"]


_IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
_DATA_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}


@pytest.mark.parametrize(
    ("server", "kept", "dropped"),
    [
        ("deepseek", [_IMAGE, _DATA_IMAGE], [_PDF]),
        ("vllm", [_IMAGE, _DATA_IMAGE], [_PDF]),
        ("lmstudio", [_DATA_IMAGE], [_IMAGE, _PDF]),
    ],
)
def test_a_server_gets_the_media_that_it_reads(server: str, kept: list[dict[str, Any]], dropped: list[dict[str, Any]]) -> None:
    """A model that silently gets no image invents its content."""
    text = {"type": "text", "text": "What is this?"}

    converted = convert_chat({"messages": [{"role": "user", "content": [text, *kept, *dropped]}]}, server)

    assert converted.body["messages"][0]["content"] == [text, *kept]
    assert [(loss.before, loss.severity) for loss in converted.losses] == [(part, "impossible") for part in dropped]


def test_a_moved_message_leaves_the_others_unchanged() -> None:
    """Qwen reads instructions only at the start."""
    named = {"role": "user", "name": "bob", "content": "Hi", "unknown": 1}
    messages = [named, {"role": "system", "content": "Be brief."}, USER]

    converted = convert_chat({"messages": messages}, "qwen")

    assert converted.body["messages"] == [messages[1], named, USER]
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/messages/1", "changed")]


def test_mistral_gets_an_assistant_message_after_a_tool_result() -> None:
    """Other servers accept a message of the user directly after a result; Mistral rejects it."""
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result, {"role": "user", "content": "x"}, USER]

    converted = convert_chat({"messages": messages}, "mistral")

    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant", "tool", "assistant", "user", "user"]
    assert [addition.path for addition in converted.additions] == ["/messages/3"]


_DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
    "context": "Valid from May.",
    "citations": {"enabled": True},
}
_SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ferry"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "At nine.", "citations": []},
]


@pytest.mark.parametrize("server", ["vertex", "minimax", "deepseek"])
def test_the_conversation_stays_without_a_later_system_message(server: str) -> None:
    """Servers without system messages in the conversation get them in ``system``."""
    question = {"role": "user", "content": [{"type": "text", "text": "When?", "unknown": 1}]}
    messages = [question, {"role": "assistant", "content": _SEARCHED}, {"role": "system", "content": "Be brief."}, USER]
    kind = {"type": "text", "text": "Be kind.", "unknown": 2}

    converted = convert({"max_tokens": 9, "system": [kind], "messages": messages}, server, "messages")

    assert converted.body["messages"] == [question, messages[1], USER]
    assert converted.body["system"] == [kind, {"type": "text", "text": "Be brief."}]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/2", "moved")]


@pytest.mark.parametrize("dropped", ["first", "last"])
def test_a_message_stays_without_a_part_that_the_server_does_not_read(dropped: str) -> None:
    """The rest of the message is still the question of the caller, with all its fields."""
    text = {"type": "text", "text": "When?", "unknown": 1}
    parts = [_DOCUMENT, text] if dropped == "first" else [text, _DOCUMENT]

    converted = convert({"max_tokens": 9, "messages": [{"role": "user", "content": parts}]}, "minimax", "messages")

    assert converted.body["messages"] == [{"role": "user", "content": [text]}]
    assert [loss.path for loss in converted.losses] == [f"/messages/0/content/{parts.index(_DOCUMENT)}"]


def test_items_of_responses_stay_without_a_part_that_the_server_does_not_read() -> None:
    """Here two fields of an answer that the encoder does not write for other servers."""
    text, file = {"type": "input_text", "text": "When?", "unknown": 1}, {"type": "input_file", "file_id": "file-1"}
    answer = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "At nine.", "annotations": []}],
    }

    converted = convert({"input": [{"role": "user", "content": [text, file]}, answer, USER]}, "ollama", "responses")

    assert converted.body["input"] == [{"role": "user", "content": [text]}, answer, USER]
    assert [loss.path for loss in converted.losses] == ["/input/0/content/1"]


def test_a_message_keeps_its_form_and_its_fields_if_another_one_moves() -> None:
    """Also if two messages have the same text, of which only one has a name."""
    named = {"role": "user", "name": "bob", "content": [{"type": "text", "text": "Hi", "unknown": 1}]}
    system = {"role": "system", "name": "host", "content": "Be brief."}

    answer = {"role": "assistant", "content": "Yes."}

    converted = convert_chat({"messages": [named, answer, USER, system, answer, USER]}, "perplexity")

    assert converted.body["messages"] == [system, named, answer, USER, answer, USER]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/3", "moved")]


def test_a_loss_after_a_removed_item_has_the_pointer_of_the_caller() -> None:
    """A user looks for the value in the request that was passed in, not in the shorter one."""
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0K"}
    program = {"type": "program", "id": "prog_1", "call_id": "c5", "code": "1", "fingerprint": "ZnA="}

    converted = convert({"input": [USER, image, program, USER]}, "ollama", "responses")

    assert converted.body["input"] == [USER, USER]
    assert [(loss.path, loss.before) for loss in converted.losses] == [("/input/1", image), ("/input/2", program)]


def test_joined_messages_keep_the_reasoning_of_each() -> None:
    """Perplexity rejects two messages of one role in a row."""
    first = {"role": "assistant", "content": "One.", "reasoning_content": "Think."}
    second = {"role": "assistant", "content": "Two.", "reasoning_content": "Think again."}

    converted = convert_chat({"messages": [USER, first, second, USER]}, "perplexity")

    joined = converted.body["messages"][1]
    assert joined["content"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert joined["reasoning_content"] == "Think.\n\nThink again."


@pytest.mark.parametrize("system", [[], [{"role": "system", "content": "Be brief."}]])
def test_the_conversation_stays_if_the_encoder_joins_messages(system: list[dict[str, Any]]) -> None:
    """Agents send two messages of the user in a row."""
    marked = {"type": "text", "text": "When?", "cache_control": {"type": "ephemeral"}, "unknown": 1}
    answer = {"role": "assistant", "content": _SEARCHED}
    others = [{"role": "user", "content": "And where?"}, *system, {"role": "user", "content": "Or why?", "unknown": 2}]

    converted = convert(
        {"max_tokens": 9, "messages": [{"role": "user", "content": [marked]}, answer, *others]}, "deepseek", "messages"
    )

    unmarked = {key: value for key, value in marked.items() if key != "cache_control"}
    assert converted.body["messages"] == [{"role": "user", "content": [unmarked]}, answer, others[0], others[-1]]
    assert [loss.path for loss in converted.losses if loss.code != "moved"] == ["/messages/0/content/0/cache_control"]


def test_instructions_and_searches_of_responses_stay_when_a_custom_call_changes() -> None:
    """The model reads the searches of earlier turns, and pays attention to who gave an instruction."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "ferry"}}
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sh", "input": "ls"}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"}
    items = [{"role": "developer", "content": "Be brief."}, search, call, result, {"role": "user", "content": "Hi", "unknown": 1}]

    converted = convert(
        {"instructions": "Be kind.", "input": items, "tools": [{"type": "custom", "name": "sh"}]}, "xai", "responses"
    )

    assert converted.body["instructions"] == "Be kind."
    assert [converted.body["input"][at] for at in (0, 1, 4)] == [items[0], search, items[4]]
    assert [converted.body["input"][at]["type"] for at in (2, 3)] == ["function_call", "function_call_output"]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0", "wrapped")]


def test_items_of_one_kind_keep_their_order() -> None:
    """Also if some of them are equal without their cache marks."""
    text = {"type": "text", "text": "Hi"}
    marked = text | {"cache_control": {"type": "ephemeral"}}
    parts = [text | {"unknown": 1}, marked | {"unknown": 2}, _DOCUMENT, text | {"unknown": 3}, marked | {"unknown": 4}]

    converted = convert({"max_tokens": 9, "messages": [{"role": "user", "content": parts}]}, "deepseek", "messages")

    assert [part["unknown"] for part in converted.body["messages"][0]["content"]] == [1, 2, 3, 4]


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def test_turns_with_the_same_text_keep_their_places() -> None:
    """Users of agents write "continue" more than once."""
    turns = [_turn("user", "continue"), _turn("user", "continue"), _turn("assistant", "Done."), _turn("user", "continue")]
    messages = [turns[0], _turn("system", "Be brief."), *turns[1:]]
    image = {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]}

    moved = convert({"max_tokens": 9, "messages": messages}, "vertex", "messages")
    dropped = convert({"max_tokens": 9, "messages": [image, *turns[1:]]}, "bedrock", "messages")

    assert moved.body["messages"] == turns
    assert [(loss.path, loss.code) for loss in moved.losses] == [("/messages/1", "moved")]
    assert dropped.body["messages"] == turns[1:]


def test_an_unknown_part_stays_in_its_message() -> None:
    """A server may read a part that is newer than this library."""
    unknown = {"role": "user", "content": [{"type": "pdf_url", "pdf_url": "https://example.com/a.pdf"}]}
    mixed = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "mystery"}]

    apart = convert_chat({"messages": [{"role": "user", "content": mixed[:1]}, _turn("assistant", "Nice."), unknown]}, "ollama")
    together = convert_chat({"messages": [{"role": "user", "content": mixed}]}, "ollama")

    assert apart.body["messages"][1:] == [_turn("assistant", "Nice."), unknown]
    assert together.body["messages"][0]["content"] == mixed[1:]
    assert [loss.path for loss in together.losses] == ["/messages/0/content/0"]


def test_joined_turns_of_a_user_lose_only_the_part_that_the_server_does_not_read() -> None:
    """The encoder joins the turns around a system message that moves."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    first: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, image], "other": 2}
    last = {"role": "user", "content": "And now?", "other": 3}

    converted = convert({"max_tokens": 9, "messages": [first, _turn("system", "Be brief."), last]}, "bedrock", "messages")

    assert converted.body["messages"] == [first | {"content": first["content"][:1]}, last]
    assert {loss.path for loss in converted.losses} == {"/messages/1", "/messages/0/content/1"}


def test_calls_of_one_tool_stay_before_their_results() -> None:
    """Both calls have the same name."""
    items = [
        item
        for number in ("1", "2")
        for item in (
            {"type": "custom_tool_call", "call_id": f"call_{number}", "name": "shell", "input": f"command {number}"},
            {"type": "custom_tool_call_output", "call_id": f"call_{number}", "output": f"output {number}", "unknown": 1},
        )
    ]

    converted = convert({"input": items}, "xai", "responses")

    assert [(item["type"], item["call_id"]) for item in converted.body["input"]] == [
        ("function_call", "call_1"),
        ("function_call_output", "call_1"),
        ("function_call", "call_2"),
        ("function_call_output", "call_2"),
    ]
    assert [item.get("unknown") for item in converted.body["input"]] == [None, 1, None, 1]


@pytest.mark.parametrize("top", [{}, {"system": "Be kind."}])
def test_a_leading_system_message_is_sent_once(top: dict[str, Any]) -> None:
    """A prompt that is sent twice costs twice, and its order has a meaning."""
    messages = [_turn("system", "You are X."), _turn("user", "Hello"), _turn("system", "Be brief.")]

    converted = convert({"max_tokens": 9, "messages": messages, **top}, "bedrock", "messages")

    assert converted.body["messages"] == messages[1:2]
    texts = [part["text"] for part in converted.body["system"]]
    assert texts == [*top.values(), "You are X.", "Be brief."]


def test_a_text_that_the_encoder_joins_or_copies_is_sent_once() -> None:
    """The encoder and the original body both have the text, and one of the two is used."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The contract."}}
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    question = {"type": "text", "text": "What is it?"}
    messages = [_turn("user", "Hello"), {"role": "user", "content": [document]}, {"role": "user", "content": [image, question]}]
    turns = ["Let me check. ", "Calling now."]
    call = {"functionCall": {"id": "c1", "name": "lookup", "args": {"q": "rain"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        *({"role": "model", "parts": [{"text": text}]} for text in turns),
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "lookup", "response": {"output": "sunny"}}}]},
    ]

    joined = convert({"max_tokens": 9, "messages": messages}, "vertex", "messages")
    pieces = convert({"contents": contents}, "vertex", "generate_content")

    assert json.dumps(joined.body).count("The contract.") == 1
    assert json.dumps(pieces.body).count("Calling now.") == 1
    assert "c1" not in json.dumps(pieces.body)


@pytest.mark.parametrize("server", ["cerebras", "groq", "perplexity"])
def test_a_refusal_that_becomes_a_text_is_sent_once(server: str) -> None:
    """These servers have no refusals in the history; the model must read the refusal once."""
    refused = {"role": "assistant", "content": "Well.", "refusal": "I cannot help with it."}

    converted = convert_chat({"messages": [USER, refused, USER]}, server)

    assert json.dumps(converted.body).count("I cannot help with it.") == 1
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/1/refusal", "flattened")]


@pytest.mark.parametrize(
    ("answer", "severity"),
    [
        ({"content": ""}, "info"),
        ({"content": None}, "info"),
        ({"content": [{"type": "text", "text": ""}]}, "info"),
        ({"content": None, "audio": {"id": "audio_1"}}, "lossy"),
    ],
)
def test_an_answer_without_content_is_left_out_for_mistral(answer: dict[str, Any], severity: str) -> None:
    """Its server rejects the request, while OpenAI's accepts an empty answer in the history."""
    converted = convert_chat({"messages": [USER, {"role": "assistant", **answer}, USER], "x_id": 7}, "mistral")

    assert converted.body["messages"] == [USER, USER]
    assert converted.body["x_id"] == 7
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses] == [
        ("/messages/1", "dropped", severity, "empty")
    ]


@pytest.mark.parametrize("answer", [{"content": "", "reasoning_content": "hm"}, {"content": None, "refusal": "no"}])
def test_an_answer_of_reasoning_or_a_refusal_stays_for_mistral(answer: dict[str, Any]) -> None:
    """Both become content there."""
    converted = convert_chat({"messages": [USER, {"role": "assistant", **answer}, USER]}, "mistral")

    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant", "user"]
    assert converted.body["messages"][1]["content"]


def test_an_answer_whose_content_is_lost_is_left_out_for_mistral() -> None:
    """A generated image has no place in the history of another server."""
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}
    target = fb.Target("chat_completions", dialect="mistral")

    converted = fb.convert_request({"model": "m", "input": [USER, image, USER]}, source="responses", target=target)

    assert converted.body["messages"] == [USER, USER]
    assert {loss.path.rpartition("/input/1")[1] for loss in converted.losses} == {"/input/1"}
