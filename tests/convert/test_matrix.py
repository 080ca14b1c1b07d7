"""The table of what each format can represent, which the documentation and the command line show."""

from __future__ import annotations

from typing import Any

import pytest

from formatbridge import formats, ir
from formatbridge.convert.input import check
from formatbridge.convert.matrix import cell, matrix_table

REQUESTS: dict[str, dict[str, Any]] = {
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": "hi"},
    "generate_content": {"contents": [{"parts": [{"text": "hi"}]}]},
}

SERVER_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("messages", {"type": "web_search_20250305", "name": "web_search"}),
    ("messages", {"type": "web_fetch_20260318", "name": "web_fetch"}),
    ("messages", {"type": "code_execution_20260521", "name": "code_execution"}),
    ("messages", {"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}),
    ("responses", {"type": "web_search"}),
    ("responses", {"type": "code_interpreter", "container": {"type": "auto"}}),
    ("responses", {"type": "image_generation"}),
    ("responses", {"type": "tool_search"}),
    ("generate_content", {"googleSearch": {}}),
    ("generate_content", {"urlContext": {}}),
    ("generate_content", {"codeExecution": {}}),
]
"""Server tools that several formats share."""


@pytest.mark.parametrize(("format", "tool"), SERVER_TOOLS, ids=str)
def test_a_format_keeps_its_server_tools(format: ir.Format, tool: dict[str, Any]) -> None:
    """Encoders write canonical tools of their format, also if a caller created or stored them."""
    body = check({**REQUESTS[format], "tools": [tool]}, format, "request")
    request = formats.load(format).decode_request(body, model="m", stream=None)

    assert isinstance(request.tools[0], ir.HostedTool)
    assert cell(request, format) == "="


@pytest.mark.parametrize(("source", "row"), [("messages", "tool search of messages"), ("responses", "image generation")])
def test_the_matrix_of_a_source_omits_rows_that_it_cannot_represent(source: ir.Format, row: str) -> None:
    """``formatbridge matrix --source`` omits exactly what the source cannot represent."""
    assert row in matrix_table(source)
