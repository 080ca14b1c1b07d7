"""Messages and parts of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.same_format import convert_chat


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


def test_an_unknown_part_stays_in_its_message() -> None:
    """A server may read a part that is newer than this library. The strict relay does not, so there is no file for it."""
    unknown = {"role": "user", "content": [{"type": "pdf_url", "pdf_url": "https://example.com/a.pdf"}]}
    mixed = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "mystery"}]
    answer = {"role": "assistant", "content": "Nice."}

    apart = convert_chat({"messages": [{"role": "user", "content": mixed[:1]}, answer, unknown]}, "ollama")
    together = convert_chat({"messages": [{"role": "user", "content": mixed}]}, "ollama")

    assert apart.body["messages"][1:] == [answer, unknown]
    assert together.body["messages"][0]["content"] == mixed[1:]
    assert [loss.path for loss in together.losses] == ["/messages/0/content/0"]
