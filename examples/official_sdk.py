"""Run a tool loop with Anthropic's SDK over an endpoint of OpenAI Chat Completions. The SDK's code does not change.

    pip install anthropic
    python examples/official_sdk.py

A fake relay answers, so the program needs no key and no network.
"""

from __future__ import annotations

import anthropic
import httpx2
from anthropic.types import MessageParam, TextBlock, ToolParam, ToolResultBlockParam, ToolUseBlock

import formatbridge as fb
from formatbridge.testing import Answer, FakeRelay, ToolCall

TOOL: ToolParam = {
    "name": "river_length",
    "description": "Return the length of a river in kilometres.",
    "input_schema": {"type": "object", "properties": {"river": {"type": "string"}}, "required": ["river"]},
}
LENGTHS = {"Glomma": 621, "Numedalslågen": 356}


def run_tool(call: ToolUseBlock) -> ToolResultBlockParam:
    """Answer a call of the model."""
    length = LENGTHS.get(str(call.input.get("river")), "unknown")
    return {"type": "tool_result", "tool_use_id": call.id, "content": str(length)}


def ask(client: anthropic.Anthropic, question: str) -> str:
    """Ask a question, run the tools that the model calls, and return its answer."""
    history: list[MessageParam] = [{"role": "user", "content": question}]
    while True:
        message = client.messages.create(model="m-large", max_tokens=200, tools=[TOOL], messages=history)
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        if not calls:
            return "".join(block.text for block in message.content if isinstance(block, TextBlock))
        history.append({"role": "assistant", "content": message.content})
        history.append({"role": "user", "content": [run_tool(call) for call in calls]})


def main() -> None:
    """Ask through the transport."""
    relay = FakeRelay([Answer(tool_calls=[ToolCall("river_length", {"river": "Glomma"})]), "Glomma has 621 km."])
    # for a real relay: fb.transport("https://relay.example", "sk-...", via="chat_completions")
    transport = fb.transport(relay.base_url, relay.api_key, via="chat_completions", inner=relay)
    client = anthropic.Anthropic(api_key="unused", http_client=httpx2.Client(transport=transport))

    print(ask(client, "How long is Glomma?"))
    for request in relay.requests:
        print(f"the endpoint received: POST {request.url}")


if __name__ == "__main__":
    main()
