"""The loops of the official SDKs run over any endpoint."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Answer, FakeRelay, ToolCall
from tests.support import official_sdks


def get_weather(city: str) -> str:
    """Return the weather.

    Args:
        city: where
    """
    return f"sunny in {city}"


def _relay() -> FakeRelay:
    return FakeRelay([Answer(tool_calls=[ToolCall("get_weather", {"city": "Rome"})]), "It is sunny."])


def _client(format: fb.Format, relay: FakeRelay, via: fb.Format) -> Any:
    transport = fb.transport(relay.base_url, relay.api_key, via=via, inner=relay)
    return official_sdks.sdk(format, "https://vendor.test", "k", httpx2.Client(transport=transport))


def _results(relay: FakeRelay, via: fb.Format) -> list[Any]:
    request = fb.convert_request(relay.requests[-1].body, source=via, target="chat_completions", model="m").body
    return [turn["content"] for turn in request["messages"] if turn["role"] == "tool"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("via", fb.FORMATS)
def test_the_tool_runner_of_messages_runs(via: fb.Format) -> None:
    """It requests a thread on the server, and sends the whole conversation if the server has none."""
    relay = _relay()
    tool = official_sdks.anthropic.beta_tool(get_weather)
    turns: list[Any] = [{"role": "user", "content": "How is the weather in Rome?"}]

    received = list(
        _client("messages", relay, via).beta.messages.tool_runner(model="m", max_tokens=99, messages=turns, tools=[tool])
    )

    assert received[-1].content[0].text == "It is sunny."
    assert _results(relay, via) == ["sunny in Rome"]


@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_automatic_function_calling_of_generate_content_runs(via: fb.Format, streams: bool) -> None:
    """It keeps each event of a stream as a separate content."""
    relay = _relay()
    models = _client("generate_content", relay, via).models
    config = official_sdks.genai.types.GenerateContentConfig(tools=[get_weather])
    ask = models.generate_content_stream if streams else models.generate_content

    received = ask(model="m", contents="How is the weather in Rome?", config=config)

    text = "".join(event.text or "" for event in received) if streams else received.text
    assert text == "It is sunny."
    assert _results(relay, via) == ['{"result":"sunny in Rome"}']
