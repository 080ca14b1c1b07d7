"""The grammar of each format's streams, as tables: which event may follow which in streams that the library writes.

Decoders accept more. A stream is a state machine, and so is each numbered object in it: choices and their calls, blocks, items. The tests
compare written streams with these tables, and ``docs/streaming.md`` is generated from them. Source: the event types of the official
clients, and the streams that those clients reject when executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from formatbridge.ir.parts import Format

Moves = Mapping[str, Mapping[str, str]]
"""State to the possible events in it, and the state after each. The first state is the one before any event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Objects of one name in a stream, numbered from 0 without gaps.

    ``kinds``: the machine of each kind of object; that of the kind ``*`` is for all others. ``within``: the series in whose objects the
    numbers begin again. ``one_at_a_time``: the next opens only when the one before is closed. ``over``: the state in which an object is
    closed. ``in_order``: they open in the order of their numbers; otherwise in any order.
    """

    name: str
    kinds: Mapping[str, Moves]
    within: str | None = None
    one_at_a_time: bool = False
    over: str = "done"
    in_order: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The streams of one format; each ends in the state ``done`` or ``failed``.

    ``is_named``: each event has an event line with its type. ``line_end``: the end of a line. ``constant``: members that are the same in
    all events that have them. ``repeats``: kind of event to the member that repeats the deltas before it.
    """

    format: Format
    stream: Moves
    series: tuple[Series, ...]
    is_named: bool = False
    line_end: bytes = b"\n"
    constant: tuple[str, ...] = ()
    repeats: Mapping[str, str] = field(default_factory=dict)


def _then(end: Mapping[str, str], *words: str) -> Mapping[str, str]:
    """Return transitions of which all except ``end`` stay in the state ``open``."""
    return {**dict.fromkeys(words, "open"), **end}


CHAT_COMPLETIONS: Final = Grammar(
    format="chat_completions",
    stream={
        "before": {"chunk": "open", "error": "failed"},
        "open": {"chunk": "open", "usage": "counted", "[DONE]": "done", "error": "failed"},
        "counted": {"[DONE]": "done", "error": "failed"},
        "done": {},
        "failed": {},
    },
    series=(
        Series(
            name="choice",
            kinds={
                "*": {
                    "before": {"role": "open"},
                    "open": _then(
                        {"annotations": "cited", "finish_reason": "done"},
                        *(
                            "content",
                            "reasoning_content",
                            "reasoning_details",
                            "refusal",
                            "tool_calls",
                            "images",
                            "audio",
                            "extra_content",
                            "logprobs",
                        ),
                    ),
                    "cited": {"finish_reason": "done"},
                    "done": {},
                }
            },
        ),
        Series(
            name="call",
            within="choice",
            over="open",
            kinds={"*": {"before": {"id, type and name": "open"}, "open": {"arguments": "open", "extra_content": "open"}}},
        ),
        Series(name="image", within="choice", kinds={"*": {"before": {"image_url": "done"}, "done": {}}}),
        Series(name="detail", within="choice", kinds={"*": {"before": {"type": "done"}, "done": {}}}),
    ),
    constant=("id", "object", "created", "model"),
)

_ARGUMENTS: Final[Moves] = {
    "before": {"content_block_start": "open"},
    "open": {"input_json_delta": "filled"},
    "filled": {"input_json_delta": "filled", "content_block_stop": "done"},
    "done": {},
}

MESSAGES: Final = Grammar(
    format="messages",
    stream={
        "before": {"message_start": "open", "error": "failed"},
        "open": {"block": "open", "ping": "open", "message_delta": "stopped", "error": "failed"},
        "stopped": {"ping": "stopped", "message_stop": "done", "error": "failed"},
        "done": {},
        "failed": {},
    },
    series=(
        Series(
            name="block",
            one_at_a_time=True,
            kinds={
                "text": {
                    "before": {"content_block_start": "open"},
                    "open": _then({"content_block_stop": "done"}, "text_delta", "citations_delta"),
                    "done": {},
                },
                "thinking": {
                    "before": {"content_block_start": "open"},
                    "open": {"thinking_delta": "open", "signature_delta": "signed"},
                    "signed": {"content_block_stop": "done"},
                    "done": {},
                },
                "tool_use": _ARGUMENTS,
                "server_tool_use": _ARGUMENTS,
                "mcp_tool_use": _ARGUMENTS,
                "*": {"before": {"content_block_start": "open"}, "open": {"content_block_stop": "done"}, "done": {}},
            },
        ),
    ),
    is_named=True,
)

_ADDED: Final = {"output_item.added": "added"}
_DONE: Final = {"output_item.done": "done"}


def _filled_by(stem: str) -> Mapping[str, str]:
    """Return the transitions of an object that grows by deltas, which its done event repeats."""
    return {f"{stem}.delta": "open", f"{stem}.done": "filled"}


def _call(stem: str) -> Moves:
    """Return the transitions of a call of one of the caller's tools."""
    return {"before": {"output_item.added": "open"}, "open": _filled_by(stem), "filled": _DONE, "done": {}}


def _runs(kind: str, moves: Moves) -> Moves:
    """Return the transitions of a call that the server runs, with events for its progress."""
    started = {"before": _ADDED, "added": {f"{kind}.in_progress": "open"}}
    return {**started, **moves, "ended": _DONE, "done": {}}


RESPONSES: Final = Grammar(
    format="responses",
    stream={
        "before": {"created": "created"},
        "created": {"in_progress": "open"},
        "open": {"item": "open", "completed": "done", "incomplete": "done", "failed": "failed", "error": "failing"},
        "failing": {"failed": "failed", "incomplete": "failed"},
        "done": {},
        "failed": {},
    },
    series=(
        Series(
            name="item",
            kinds={
                "message": {
                    "before": _ADDED,
                    "added": {"content_part.added": "part", **_DONE},
                    "part": {
                        "output_text.delta": "text", "output_text.annotation.added": "cited", "output_text.done": "whole",
                        "refusal.delta": "refusal", "refusal.done": "whole",
                    },
                    "text": {"output_text.delta": "text", "output_text.annotation.added": "cited", "output_text.done": "whole"},
                    "cited": {"output_text.annotation.added": "cited", "output_text.done": "whole"},
                    "refusal": {"refusal.delta": "refusal", "refusal.done": "whole"},
                    "whole": {"content_part.done": "added"},
                    "done": {},
                },
                "reasoning": {
                    "before": _ADDED,
                    "added": {"reasoning_summary_part.added": "open", **_DONE},
                    "open": _filled_by("reasoning_summary_text"),
                    "filled": {"reasoning_summary_part.done": "added"},
                    "done": {},
                },
                "function_call": _call("function_call_arguments"),
                "custom_tool_call": _call("custom_tool_call_input"),
                "mcp_call": _runs(
                    "mcp_call",
                    {
                        "open": _filled_by("mcp_call_arguments"),
                        "filled": {"mcp_call.completed": "ended", "mcp_call.failed": "ended", **_DONE},
                    },
                ),
                "code_interpreter_call": _runs(
                    "code_interpreter_call",
                    {
                        "open": _filled_by("code_interpreter_call_code"),
                        "filled": {"code_interpreter_call.interpreting": "working"},
                        "working": {"code_interpreter_call.completed": "ended", **_DONE},
                    },
                ),
                "web_search_call": _runs(
                    "web_search_call",
                    {
                        "open": {"web_search_call.searching": "working", **_DONE},
                        "working": {"web_search_call.completed": "ended", **_DONE},
                    },
                ),
                "image_generation_call": _runs(
                    "image_generation_call",
                    {
                        "open": {"image_generation_call.generating": "working"},
                        "working": {"image_generation_call.completed": "ended"},
                    },
                ),
                "*": {"before": _ADDED, "added": _DONE, "done": {}},
            },
        ),
    ),
    is_named=True,
    constant=("response.id",),
    repeats={
        "output_text.done": "text",
        "refusal.done": "refusal",
        "reasoning_summary_text.done": "text",
        "function_call_arguments.done": "arguments",
        "custom_tool_call_input.done": "input",
        "mcp_call_arguments.done": "arguments",
        "code_interpreter_call_code.done": "code",
    },
)  # fmt: skip

GENERATE_CONTENT: Final = Grammar(
    format="generate_content",
    stream={
        "before": {"event": "open", "last event": "done", "error": "failed"},
        "open": {"event": "open", "last event": "done", "error": "failed"},
        "done": {},
        "failed": {},
    },
    series=(
        Series(
            name="candidate",
            in_order=False,
            kinds={
                "*": {
                    "before": {"parts": "open", "logprobsResult": "open", "finishReason": "done"},
                    "open": {"parts": "open", "logprobsResult": "open", "finishReason": "done"},
                    "done": {},
                }
            },
        ),
    ),
    line_end=b"\r\n",
    constant=("responseId", "modelVersion", "createTime"),
)

GRAMMARS: Final[Mapping[str, Grammar]] = {
    grammar.format: grammar for grammar in (CHAT_COMPLETIONS, MESSAGES, RESPONSES, GENERATE_CONTENT)
}
