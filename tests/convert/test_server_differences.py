"""What single servers ignore or read in another form is in the report, and the request keeps what it can."""

from __future__ import annotations

from typing import Any

import formatbridge as fb

_USER: dict[str, Any] = {"role": "user", "content": "hi"}
_NOW = {"type": "function", "function": {"name": "now"}}


def _convert(body: dict[str, Any], source: fb.Format, target: fb.Format, dialect: str) -> fb.ConvertedRequest:
    return fb.convert_request({"model": "m", **body}, source=source, target=fb.Target(target, dialect=dialect))


def test_a_function_with_a_name_of_another_format_gets_the_fields_that_the_server_requires() -> None:
    """Mistral rejects a function without ``parameters``, whatever its name is."""
    tools = [{"type": "function", "function": {"name": "a.b"}}, _NOW]

    converted = _convert({"messages": [_USER], "tools": tools}, "chat_completions", "chat_completions", "mistral")

    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["a.b", "now"]
    assert [addition.path for addition in converted.additions] == ["/tools/0/function/parameters", "/tools/1/function/parameters"]
