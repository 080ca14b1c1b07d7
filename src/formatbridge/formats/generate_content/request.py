"""Requests of Gemini. The URL has the model and selects a stream."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.content import EncodeContext
from formatbridge.formats.generate_content.conversation import (
    CONTENT,
    decode_message,
    decode_parts,
    encode_instruction,
    encode_message,
)
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import decode_reasoning_config, encode_reasoning_config
from formatbridge.formats.generate_content.schema import (
    decode_audio_output,
    decode_format,
    decode_image_output,
    decode_modalities,
    encode_audio_output,
    encode_format,
    encode_image_output,
    encode_modalities,
)
from formatbridge.formats.generate_content.settings import (
    SETTINGS,
    decode_nested_settings,
    encode_settings,
    encode_top_level_settings,
)
from formatbridge.formats.generate_content.tool_calls import ConversationCalls, add_placeholders
from formatbridge.formats.generate_content.tools import (
    COMBINATION_FLAG,
    combines_tools,
    decode_tool,
    decode_tool_choice,
    encode_tool_choice,
    encode_tools,
)
from formatbridge.formats.shared.settings import decode_flat_settings
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, parse_all_arguments
from formatbridge.formats.shared.tool_results import with_results_in_place
from formatbridge.formats.shared.tool_selection import note_moved
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import note_no_turns, note_prefill
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_REQUEST = frozenset({
    "model", "stream", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "labels", "serviceTier",
})  # fmt: skip
_COMMON = frozenset({"model", "stream", "contents", "systemInstruction", "generationConfig"})
_TOP_LEVEL_SETTINGS = frozenset({"tier", "additional_tier", "metadata"})
_NONE: frozenset[str] = frozenset()
_CONFIG = SETTINGS.canonical.keys() | {
    "responseMimeType", "responseSchema", "responseJsonSchema", "responseFormat", "responseModalities", "speechConfig", "imageConfig",
    "thinkingConfig",
}  # fmt: skip


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Decode a request; ``model`` and ``stream`` of the URL have priority over those in the body."""
    # {"contents": [...], "systemInstruction": {"parts": [{"text": "..."}]}, "tools": [...], "generationConfig": {"topK": 40}}
    named = model or body.get("model")
    # The URL has the collection (``models/m``); other formats have the name alone.
    model = named.removeprefix("models/") if named else named
    messages = _decode_messages(body)
    request = ir.Request("generate_content", model, bool(body.get("stream") if stream is None else stream), messages)
    config, is_flat = body.get("generationConfig"), True
    if config:
        is_flat = decode_flat_settings(config, SETTINGS, request, _NONE)
        # An empty list is the same as no setting, and would be reported as a loss in formats without stop sequences.
        if "stop" in request.settings and not request.settings["stop"]:
            del request.settings["stop"]
    if not is_flat or not _COMMON.issuperset(body):
        _decode_nested_options(body, request)
    return request


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode a request."""
    drop_unheld(request, losses)
    body = _encode_messages(request, losses)
    # Placeholders come last, because only then the first call of each turn is known: adjacent messages are one content.
    if request.has_calls and options.unsigned_calls == "placeholder":
        add_placeholders(body["contents"], losses)
    image_tools: list[ir.HostedTool] = []
    tools = _all_tools(request, image_tools, losses) if request.tools or request.has_added_tools else []
    if tools or request.tool_choice or "parallel_tool_calls" in request.settings:
        body |= _encode_tools(request, tools, losses)
    config = _encode_config(request, image_tools, losses)
    if config:
        body["generationConfig"] = config
    if not _TOP_LEVEL_SETTINGS.isdisjoint(request.settings):
        encode_top_level_settings(request, body, losses)
    return body


def _decode_nested_options(body: JsonObject, request: ir.Request) -> None:
    """Decode the options that are not flat settings."""
    # The tools precede the choice, which concerns functions only and leaves server tools allowed (official SDK, ``FunctionCallingConfig``).
    config, tool_config = body.get("generationConfig") or {}, body.get("toolConfig") or {}
    unread = _decode_config(config, request) if config else None
    unread_fields = decode_nested_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    for index, raw in enumerate(body.get("tools") or ()):
        request.tools += decode_tool(raw, f"/tools/{index}")
    calling_config = tool_config.get("functionCallingConfig")
    if calling_config:
        request.tool_choice = decode_tool_choice(calling_config, request.tools, "/toolConfig/functionCallingConfig")
    request.extra = merge_extra(
        read_extra(body, _REQUEST),
        read_extra(config, _CONFIG, "generationConfig/"),
        read_extra(tool_config, frozenset({"functionCallingConfig"}), "toolConfig/"),
        unread,
        unread_fields,
    )


def _decode_config(config: JsonObject, request: ir.Request) -> JsonObject | None:
    """Decode the objects in ``generationConfig``; return the unread fields of the output format, by pointer."""
    if config.keys() <= SETTINGS.canonical.keys():  # flat settings only
        return None
    request.output_format, unread = decode_format(config)
    thinking, modalities = config.get("thinkingConfig"), config.get("responseModalities")
    speech, image = config.get("speechConfig"), config.get("imageConfig")
    if thinking:
        request.reasoning = decode_reasoning_config(thinking)
    if modalities:
        request.settings["modalities"] = decode_modalities(modalities)
    if speech:
        request.audio = decode_audio_output(speech)
    if image:
        request.image = decode_image_output(image)
    return unread


def _encode_config(request: ir.Request, image_tools: list[ir.HostedTool], losses: Ledger) -> JsonObject:
    """Encode ``generationConfig``. ``image_tools``: the image generation tools, which become a modality."""
    config: JsonObject = {}
    if request.settings:
        encode_settings(request, config, losses)
    if request.reasoning:
        config |= encode_reasoning_config(request.reasoning, losses)
    if request.output_format:
        config |= encode_format(request.output_format, losses)
    if image_tools or "modalities" in request.settings:
        config |= encode_modalities(request, image_tools, losses)
    if request.audio:
        config |= encode_audio_output(request.audio, losses)
    if request.image:
        config |= encode_image_output(request.image, losses)
    return config


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    """Decode the system instruction and the contents.

    Adjacent contents of the model are one message, because the official client stores one content for each event of a stream
    (google-genai, ``chats.py``).
    """
    messages: list[ir.Message] = []
    system, contents = body.get("systemInstruction"), body["contents"]
    calls = ConversationCalls(contents)
    if system:
        messages += _decode_instructions(system, calls)
    last: ir.Message | None = None  # the last message, if the model wrote it
    for index, raw in enumerate(contents):
        message = decode_message(raw, f"/contents/{index}", calls, last)
        # ``decode_message`` returns the last message again if the content continues it.
        if message is not last:
            messages.append(message)
            last = message if message.role == "assistant" else None
    return messages


def _decode_instructions(raw: JsonObject, calls: ConversationCalls) -> list[ir.Message]:
    """Decode the system instruction as one message, if it is not empty."""
    parts, extra = decode_parts(raw.get("parts"), "/systemInstruction", calls), read_extra(raw, CONTENT)
    return [ir.Message("system", parts, "/systemInstruction", extra)] if parts or extra else []


def _encode_messages(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode the system instruction and the contents. Instructions between contents are appended to the system instruction."""
    # Roles are user and model (official SDK, ``Content.role``), and the system instruction is one for the request.
    # So its place in the conversation is lost.
    contents: list[JsonObject] = []
    instructions: list[JsonObject] = []
    is_leading = True
    messages, parsed = request.messages, NOTHING_PARSED
    if request.has_calls:
        messages = with_results_in_place(messages, losses, joins_turns=True)
        parsed = parse_all_arguments(messages)
    context = EncodeContext(messages, parsed=parsed, keeps_media=request.format == "generate_content")
    for message in messages:
        drop_unheld(message, losses)
        if message.effort or message.tools:
            is_leading = False  # the system prompt ends before a change of configuration
            if not message.parts:
                continue
        if message.role in ("system", "developer"):
            before = len(instructions)
            encode_instruction(message, instructions, context, losses)
            if not is_leading and len(instructions) > before:
                losses.changed(message, "", None, "moved")
        else:
            is_leading = False
            encode_message(message, contents, context, losses)
    if request.continues_last_turn:
        note_prefill(request, losses)
    if not contents:
        note_no_turns(request, losses)
    elif contents[0]["role"] == "model":
        _note_first_turn(messages, contents, losses)
    return {"contents": contents, "systemInstruction": {"parts": instructions}} if instructions else {"contents": contents}


def _note_first_turn(messages: list[ir.Message], contents: list[JsonObject], losses: Ledger) -> None:
    """Note that the conversation begins with calls. No turn is added before them."""
    # "function call turn comes immediately after a user turn" (google-gemini/gemini-cli#26486, diegosouzapw/OmniRoute#13573).
    if any("functionCall" in part for part in contents[0]["parts"]):
        first = next(message for message in messages if message.role == "assistant")
        losses.changed(first, "", contents[0]["parts"], "first_turn")


def _all_tools(request: ir.Request, image_tools: list[ir.HostedTool], losses: Ledger) -> list[ir.Tool]:
    """Return all tools of the request, with those that later messages add; image generation tools are appended to ``image_tools``."""
    # Image generation is no tool here but an output modality, and the tools are one list for the request.
    tools = _without_image_tools(request.tools, image_tools)
    for message in request.messages:
        if message.tools:
            added = _without_image_tools(message.tools, image_tools)
            note_moved(added, losses)
            tools += added
    return tools


def _without_image_tools(tools: list[ir.Tool], image_tools: list[ir.HostedTool]) -> list[ir.Tool]:
    """Return the tools without the image generation tools, which are appended to ``image_tools``."""
    others: list[ir.Tool] = []
    for tool in tools:
        if type(tool) is ir.HostedTool and tool.family == "image_generation":
            image_tools.append(tool)
        else:
            others.append(tool)
    return others


def _encode_tools(request: ir.Request, tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode the tools and the tool choice, which the server accepts with functions only. Parallel calls cannot be disabled."""
    # "Function calling config is set without function_declarations" (pydantic/pydantic-ai#5791).
    choice, parallel = request.tool_choice, request.settings.get("parallel_tool_calls")
    body = encode_tools(tools, losses)
    rejected = losses.dialect.rejects_nested if losses.dialect is not None else ()
    is_combined = combines_tools(body.get("tools", ())) and f"toolConfig/{COMBINATION_FLAG}" not in rejected
    if ir.FunctionTool not in map(type, tools):
        drop_choice(request, losses)
        return body
    # Without calls nothing runs in parallel, so this loss does not change the answer.
    if parallel is False and choice and choice.mode == "none":
        losses.dropped(request, "parallel_tool_calls", "excluded", severity="info")
    elif parallel is False:
        losses.dropped(request, "parallel_tool_calls")
    if choice and (config := encode_tool_choice(choice, losses, is_combined=is_combined)):
        body["toolConfig"] = {"functionCallingConfig": config}
    if is_combined:
        flag = losses.added(f"/toolConfig/{COMBINATION_FLAG}", True)
        body["toolConfig"] = body.get("toolConfig", {}) | {COMBINATION_FLAG: flag}
    return body
