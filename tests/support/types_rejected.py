"""Calls that a type checker rejects: each line with ``# error`` has a misspelt format. ``test_types`` checks this file; nothing runs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx

import formatbridge as fb


def conversions(body: bytes, name: str) -> None:
    """A misspelt name, the name of a vendor, and a text that is not marked as a name."""
    fb.convert_request(body, target="mesages")  # error
    fb.convert_request(body, source="openai", target="messages")  # error
    fb.convert_request(body, target=name)  # error
    fb.convert_response(body, target="response")  # error
    fb.convert_error(body, target="gemini", status=400)  # error
    fb.convert_models(body, target="chat")  # error
    fb.detect_format(body, formats=["mesages"])  # error
    fb.explain(body, target="mesages")  # error


def streams(chunks: Iterable[bytes]) -> None:
    """The same for streams."""
    fb.StreamConverter(source="messages", target="mesages")  # error
    fb.convert_stream(chunks, source="mesages", target="messages")  # error
    fb.collect_stream(chunks, source="mesages")  # error
    fb.iter_events(chunks, format="mesages")  # error


def targets_and_bridges() -> None:
    """The same for targets and for both ends of a bridge."""
    fb.Target("mesages")  # error
    fb.Bridge("mesages", via="responses")  # error
    fb.Bridge("messages", via="mesages")  # error


def tables_and_transports(payloads: list[bytes], table: Any) -> None:
    """Payloads without a table, a status that is no number, and a client in place of its transport."""
    fb.convert_table(payloads, column="body", target="messages")  # error
    fb.convert_table(payloads[0], column="body", target="messages")  # error
    fb.convert_table(table, column="body", kind="error", target="messages", status=fb.Column("code", {"busy": "503"}))  # error
    fb.load_model_facts(payloads)  # error
    fb.transport(via="messages", inner=httpx.Client())  # error


def clients(client: fb.Client, body: dict[str, object]) -> None:
    """The same for the calls of a client."""
    client.send(body, "mesages")  # error
    client.send(body, "messages", via="mesages")  # error
    client.messages(model="m", messages={"Hi"})  # error
