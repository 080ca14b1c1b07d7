"""The four format packages have the same files, with the same public functions in the same order.

A reader who knows one package then finds each subject in the others. Differences are listed here with their reasons.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pytest

from formatbridge import FORMATS, formats

PACKAGES: dict[str, Path] = {name: Path(formats.__file__).parent / name for name in FORMATS}

FILES_OF_SOME_PACKAGES = {
    "beta_headers": "messages: only Anthropic's server reads headers that name the fields of a body",
    "item_ids": "responses: only OpenAI Responses requires an id with a prefix on each output item",
    "reasoning_control": "chat_completions: only its servers have different fields for the settings of reasoning",
    "stream_items": "responses: only here a stream sends output items, with events for each step",
    "stream_reasoning": "chat_completions: reasoning is in three fields that repeat one another",
}

DIFFERENCES: dict[str, dict[str, str]] = {
    "stream_decoder": {
        "messages, responses: an error event may have another type, or none": "is_error_event",
        "responses: a finished item repeats the deltas": "unknown_fields",
    },
    "request": {"messages: the server rejects calls without results": "repair_history"},
    "citations": {
        "chat_completions: offsets count from the start of all texts of an answer, which are one string": (
            " separates_texts TextSeparators"
        ),
        "messages: a citation belongs to a text block and may have no offsets": "set_citation_spans can_cite",
        "responses: offsets count from the start of a text, also if texts are joined": "shift_citations shift_annotations",
        "messages: a stream sends single citations, and search results are cited with their text": (
            " decode_citation encode_citation encode_citations encode_cited_text"
        ),
    },
    "content": {
        "messages: a cache mark has one of two lifetimes, and content is a string if it is one text": "supported_ttl simplify_content",
        "responses: a cache mark of a message is on its last part; a result may be text only": "mark_last_part text_of",
        "responses: parts of an answer have fields that parts of a request lack": "output_message output_refusal output_text",
        "generate_content: parts of a function response have fewer fields, and are not validated": "decode_response_part",
        "chat_completions: images and audio of a response are fields of the message": (
            "is_image is_audio is_samples AudioJoiner media_of_url"
        ),
        "generate_content: content is a list of parts, decoded by conversation.py": "decode_content encode_content",
        "generate_content: parts have no cache marks": "encode_cache",
        "generate_content: a result must have the name of its call": "EncodeContext",
        "chat_completions: many servers accept the cache marks of messages, too": "encode_cache_mark_of_messages",
        "messages: documents contain blocks, and assistant turns and hosted tools have other rules": (
            "decode_unknown decode_inner_media encode_text"
        ),
    },
    "conversation": {
        "chat_completions: content, reasoning and calls of a turn are fields, so their order is lost": "note_order",
        "responses: a turn is several items, which belong together": "item_type end_assistant_message token_as_text",
        "generate_content: a signature belongs to the part with it or to the next one": "belongs_to_next",
        "messages: turns alternate, so the encoding of a message depends on those before it": "TurnEncoder encode_message",
        "messages: a stream sends single blocks": "decode_block",
        "messages, generate_content: instructions have a separate field in the request": "encode_instruction",
        "chat_completions: images of an answer are a field of the message": "decode_images",
        "responses: a turn is several items": "decode_item decode_parts",
        "generate_content: a candidate and a message have the same parts": "encode_parts",
    },
    "other_endpoints": {
        "chat_completions: the vendor's server counts tokens in the format of Responses only": "decode_count encode_count",
        "generate_content: a count request contains a whole request": "encode_count_request",
    },
    "errors": {
        "chat_completions: servers send errors in several shapes": "find_error",
        "responses: an answer with a failure has an error, and so has a stream": "move_request_id is_bare_cancellation",
        "messages: a rejected request has a separate message": "encode_rejection",
        "a stream or an answer can contain the error that ended it": (
            " encode_error_event decode_error_event decode_failure encode_failure encode_sdk_error"
        ),
    },
    "hosted_tools": {
        "each vendor has other names for the tools that its server runs, and for their results": (
            " hosted_name hosted_type has_output_item python_runs"
        ),
        "chat_completions: messages have no calls of hosted tools, and requests no MCP servers": (
            " decode_hosted encode_hosted decode_server encode_server"
        ),
        "chat_completions: OpenRouter has a tool for the search that other servers have in a field": "decode_search_tool",
        "responses: an image of the model is the result of a hosted tool": "encode_generated_image",
        "responses: a tool choice repeats the label of an MCP server": "legal_label",
    },
    "reasoning": {
        "chat_completions: fields of reasoning that repeat one another are read once": (
            " reasoning_text texts_in is_join_of detail_index details_repeat_blocks"
        ),
        "generate_content: names of enumerations may be numbers or in lower case": "enum_name",
        "messages, responses: a token of a call or a text is a separate reasoning item": "encode_carried_token encode_reasoning_item",
        "generate_content: reasoning is the same in requests and responses": "encode_answer_reasoning",
        "chat_completions: proxies send thinking blocks in a separate field": "decode_thinking_blocks decode_thinking_block",
        "chat_completions: a message, a call and an image have one field each for Google's token": (
            " decode_extra_content encode_extra_content decode_message_signature has_message_signature encode_message_signature"
            " separate_bound_token encode_answer_signature"
        ),
        "generate_content: any part may have a signature, and the order of parts shows what it signs": (
            " decode_signature encode_signature signs_earlier_reasoning ends_in_unsigned_reasoning belongs_to_earlier_reasoning"
            " has_carried_token accepts_token"
        ),
        "messages: an effort is a field apart from the budget, which some servers do not read": "encode_effort has_budgets",
        "messages: only here reasoning excludes a forced call and settings of sampling": "excludes_settings",
    },
    "response": {
        "responses: the status of an answer and of its items depend on one another": (
            " add_message_to_response refusal_of last_item_status"
        ),
        "generate_content: log probabilities have an average": "AverageLogprob",
        "responses: the first event of a stream has a whole response": "encode_head",
        "log probabilities belong to a choice in chat_completions and generate_content": "encode_logprobs decode_logprobs",
        "generate_content: a blocked prompt has an answer without candidates": "decode_blocked",
    },
    "schema": {
        "messages: the server rejects recursive schemas": "is_recursive",
        "chat_completions and generate_content can answer with audio or images": (
            " encode_modalities decode_modalities decode_audio_output encode_audio_output decode_image_output encode_image_output"
        ),
        "messages and generate_content have different dialects of JSON Schema": "encode_schema decode_schema",
        "messages: JSON mode is an instruction": "encode_json_mode",
        "responses: format and verbosity are one object": "encode_text_config",
    },
    "settings": {
        "chat_completions: a count of log probabilities requires a switch; streams have options": (
            " decode_counted_logprobs encode_streaming"
        ),
        "messages: a limit is required": "encode_limit",
        "generate_content: most settings are in generationConfig, some next to it": ("encode_top_level_settings"),
    },
    "stream_fold": {
        "generate_content: citations of a chunk belong to one part, in a fold and in a decoded stream": "Citations",
        "generate_content: arguments of calls arrive in parts with a JSON path": "PartialCalls",
    },
    "stream_state": {
        "the open parts of a stream: deltas of choices, content blocks, output items, or parts": (
            " Choice CallState StreamedCalls Blocks Slot Item Items PartEmitter"
        ),
        "chat_completions: calls have deltas of arguments": "arguments_of kind_of_call",
        "messages: an event of a block has its type and its fields without values": "with_type without_nulls",
        "responses: the events of an item repeat its fields": "as_opened has_citations text_length pending_events",
        "responses: events of annotations and of parts have a separate state": "decode_annotation_event decode_opening_part",
    },
    "tool_calls": {
        "chat_completions: ids are not unique, and results have no media": "flush_media generated_id_prefix",
        "responses: tools that a search returns are not repeated": "remove_repeated_tools",
        "generate_content: calls have no ids, or results come in another order; arguments are an object": (
            " add_placeholders ConversationCalls"
        ),
        "generate_content: a call in an answer is written as in a request": "encode_answer_call",
        "chat_completions: the deprecated function_call": "decode_legacy_call",
        "chat_completions, messages: media of some results go into a user message": "encode_result_media",
        "messages: a stream sends the start of a call": "encode_call_start",
        "responses: the output of a tool search is a result with tools": "decode_search_output",
    },
    "tools": {
        "messages: MCP servers are a field of the request": "server_tools_of",
        "responses: tools that a search finds require that search": "adapt_tool_search",
        "generate_content: functions and server tools require a flag together": "combines_tools",
        "messages: system messages add single tools": "encode_tool",
    },
}
"""Functions that not all four packages have: by file, the reason and the names."""


@cache
def functions_of(format: str, file: str) -> list[str]:
    """Return the public functions and classes of a file, in their order."""
    path = PACKAGES[format] / f"{file}.py"
    statements = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
    names = [each.name for each in statements if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    return [name for name in names if not name.startswith("_")]


@cache
def files_of(format: str) -> frozenset[str]:
    return frozenset(path.stem for path in PACKAGES[format].glob("*.py"))


def packages_with(file: str) -> list[str]:
    """Return the packages that have a file which is not in all packages."""
    return FILES_OF_SOME_PACKAGES[file].split(":")[0].split(", ")


FILES = sorted(frozenset[str]().union(*map(files_of, FORMATS)) - FILES_OF_SOME_PACKAGES.keys())


@pytest.mark.parametrize("format", FORMATS)
def test_packages_have_the_same_files(format: str) -> None:
    """A subject that only some packages have is named in the docstring of the package, with the reason."""
    docstring = inspect.getdoc(import_module(f"formatbridge.formats.{format}")) or ""
    extra = files_of(format) - set(FILES)

    assert [file for file in extra if format not in packages_with(file)] == []
    assert [file for file in sorted(extra) if file not in docstring] == []
    assert set(FILES) - files_of(format) == set()


@pytest.mark.parametrize("file", FILES)
def test_packages_have_the_same_functions(file: str) -> None:
    """A function that a package lacks, or that only one has, is listed above with its reason."""
    packages: list[set[str]] = [set(functions_of(format, file)) for format in FORMATS if file in files_of(format)]
    listed = {name for names in DIFFERENCES.get(file, {}).values() for name in names.split()}

    assert sorted(set[str]().union(*packages) - set[str].intersection(*packages) - listed) == []


@pytest.mark.parametrize("file", DIFFERENCES)
def test_every_listed_function_is_a_difference(file: str) -> None:
    """A reason is removed together with the last function that it explains."""
    packages: list[set[str]] = [set(functions_of(format, file)) for format in FORMATS if file in files_of(format)]
    differences = set[str]().union(*packages) - set[str]().union(*packages).intersection(*packages)

    assert [name for names in DIFFERENCES[file].values() for name in names.split() if name not in differences] == []


@pytest.mark.parametrize("file", FILES_OF_SOME_PACKAGES)
def test_every_listed_file_is_in_its_packages(file: str) -> None:
    """A reason is removed together with the file that it explains."""
    assert sorted(format for format in FORMATS if file in files_of(format)) == packages_with(file)


@pytest.mark.parametrize("file", FILES)
def test_functions_have_the_same_order(file: str) -> None:
    """A diff of two packages then shows what differs between the formats, and nothing else."""
    for first, second in combinations(FORMATS, 2):
        one, other = functions_of(first, file), functions_of(second, file)

        assert [name for name in one if name in other] == [name for name in other if name in one]


@pytest.mark.parametrize("format", FORMATS)
def test_every_wire_model_is_a_public_name(format: str) -> None:
    """Type checkers find a model through a star import; without its name in the table, a program could not import it."""
    wire = import_module(f"formatbridge.formats.{format}.wire")
    modules = [import_module(f"{wire.__name__}.{path.stem}") for path in (PACKAGES[format] / "wire").glob("[!_]*.py")]

    models = {
        name
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    }

    assert sorted(models - {*wire.__all__}) == []
    assert all(getattr(wire, name) is not None for name in wire.__all__)
