"""A gateway over real sockets: official SDKs for Python and JavaScript, an ASGI server, and a fake relay that listens."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Answer, Recorded, ToolCall, Usage
from formatbridge.testing.relay_server import served as relay_served
from tests.laws.test_vendor_rules import agents, requires_agents
from tests.support import official_sdks
from tests.support.gateway_server import CALLER_KEY, RELAY_KEY, free_port, post_when_ready, served
from tests.support.javascript_sdks import installed
from tests.support.servers import KEY, Peer, Received, Server, framed, stream_of
from tests.testing.test_fake_relay import ANSWER, BODIES, EXPECTED, FORMATS, PATHS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("via", FORMATS)
def test_the_python_sdks_get_the_same_answers(via: fb.Format) -> None:
    """Each SDK, whole and streamed, over one endpoint."""
    with (
        relay_served(ANSWER, api_key=RELAY_KEY) as relay,
        served(fb.Gateway(relay.base_url, RELAY_KEY, via=via)) as url,
        httpx2.Client(trust_env=False) as client,
    ):
        answers = {
            (format, is_streaming): official_sdks.ask(
                format, official_sdks.sdk(format, url, CALLER_KEY, client), is_streaming=is_streaming
            )
            for format in FORMATS
            for is_streaming in (False, True)
        }

    assert answers == dict.fromkeys(answers, EXPECTED)
    assert {request.format for request in relay.requests} == {via}
    assert relay.leaks(CALLER_KEY) == relay.leaks(RELAY_KEY) == []


@pytest.mark.parametrize("via", FORMATS)
def test_the_javascript_sdks_get_the_same_answers(via: fb.Format, pytestconfig: pytest.Config) -> None:
    """The same for programs in JavaScript."""
    place = installed(pytestconfig, "ask_gateway.mjs")

    with relay_served("Rome is sunny.", api_key=RELAY_KEY) as relay, served(fb.Gateway(relay.base_url, RELAY_KEY, via=via)) as url:
        ran = subprocess.run(
            ["node", str(place / "ask_gateway.mjs"), url, CALLER_KEY], capture_output=True, timeout=60, check=False
        )

    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    assert json.loads(ran.stdout) == dict.fromkeys(FORMATS, ["Rome is sunny."] * 2)
    assert relay.leaks(CALLER_KEY) == []


def _answer_ai_sdk(request: Recorded) -> Answer:
    """Answer a question without tools, call the tool of a question with tools, and answer when its result has arrived."""
    if b"sunny in" in request.content:
        return Answer(text="It is sunny in Rome.")
    if b"get_weather" in request.content:
        return Answer(text="I ask.", tool_calls=[ToolCall("get_weather", {"city": "Rome"})])
    return Answer(text="Rome is a city.", usage=Usage(input=12, output=5))


@pytest.mark.parametrize("via", FORMATS)
def test_the_ai_sdk_gets_the_same_answers_and_runs_its_tool(via: fb.Format, pytestconfig: pytest.Config) -> None:
    """The AI SDK has separate clients for the four formats, which check their answers."""
    place = installed(pytestconfig, "ask_gateway_ai_sdk.mjs")

    with (
        relay_served(_answer_ai_sdk, api_key=RELAY_KEY) as relay,
        # its responses provider refers to stored items
        served(fb.Gateway(relay.base_url, RELAY_KEY, via=via, memory=fb.InMemoryStore())) as url,
    ):
        command = ["node", str(place / "ask_gateway_ai_sdk.mjs"), url, CALLER_KEY]
        ran = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    expected = {
        "text": "Rome is a city.",
        "streamed": "I ask.It is sunny in Rome.",
        "calls": [["get_weather", {"city": "Rome"}]],
        "results": ["sunny in Rome"],
        "finish": ["tool-calls", "stop"],
        "usage": [12, 5],
        "errors": [],
    }
    assert json.loads(ran.stdout) == dict.fromkeys(FORMATS, expected)
    assert {request.format for request in relay.requests} == {via}
    assert relay.leaks(CALLER_KEY) == relay.leaks(RELAY_KEY) == []


@requires_agents
@pytest.mark.parametrize("via", FORMATS)
def test_recorded_requests_of_agents_are_served(via: fb.Format) -> None:
    """Agents send long conversations with many tools, and headers of their vendors."""
    # the relay has issued none of the tokens in these conversations, so its rules about tokens do not apply
    with (
        relay_served("Done.", api_key=RELAY_KEY, strict=False) as relay,
        served(fb.Gateway(relay.base_url, RELAY_KEY, via=via, options=fb.Options())) as url,
        httpx.Client(timeout=60) as client,
    ):
        texts = {}
        for format in FORMATS:
            for sample in agents(format):
                path = PATHS[format].replace("/m:generate", f"/{sample.model}:streamGenerate")
                query = {"alt": "sse"} if format == "generate_content" else {}
                body = sample.body | ({} if format == "generate_content" else {"stream": True})
                reply = client.post(url + path, params=query, json=body, headers={"authorization": f"Bearer {CALLER_KEY}"})
                assert reply.status_code == 200, (sample.id, reply.text[:300])
                answer = fb.collect_stream([reply.content], source=format, target="chat_completions").body
                texts[sample.id] = answer["choices"][0]["message"]["content"]

    assert len(texts) > 10
    assert set(texts.values()) == {"Done."}
    assert relay.leaks(CALLER_KEY) == []


def test_a_client_that_leaves_a_stream_aborts_the_call() -> None:
    """An answer without a reader is billed."""
    aborted = threading.Event()

    def answer(peer: Peer, _: Received) -> bool:
        data = stream_of("messages")
        peer.send(framed(data, "chunked", data.index(b"event: content_block_stop")))
        if peer.receive() is None:
            aborted.set()
        return False

    with Server(answer) as relay, served(fb.Gateway(relay.url, KEY, via="messages")) as url, httpx.Client() as client:
        body = BODIES["responses"] | {"stream": True}
        with client.stream("POST", f"{url}/v1/responses", json=body) as response:
            next(response.iter_raw())
        assert aborted.wait(10)


def test_a_client_that_leaves_before_the_answer_aborts_the_call() -> None:
    """The caller's timeout is shorter than the time that the model needs."""
    aborted = threading.Event()

    def answer(peer: Peer, _: Received) -> bool:
        if peer.receive() is None:
            aborted.set()
        return False

    with Server(answer) as relay, served(fb.Gateway(relay.url, KEY, via="messages")) as url:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/v1/responses", json=BODIES["responses"], timeout=0.5)
        assert aborted.wait(10)


def test_a_body_over_the_limit_gets_its_error() -> None:
    """The client still sends while the gateway answers."""
    with (
        relay_served(ANSWER, api_key=RELAY_KEY) as relay,
        served(fb.Gateway(relay.base_url, RELAY_KEY, limits=fb.Limits(max_request_bytes=100_000))) as url,
    ):
        reply = httpx.post(f"{url}/v1/messages", content=b" " * 5_000_000)
        after = httpx.post(f"{url}/v1/messages", json=BODIES["messages"])

    assert (reply.status_code, reply.json()["type"]) == (413, "error")
    assert (after.status_code, len(relay.requests)) == (200, 1)


def test_connections_to_the_relay_are_used_again() -> None:
    """A new connection costs more than the conversion."""
    with Server(_events) as relay, served(fb.Gateway(relay.url, KEY, via="messages")) as url, httpx.Client() as client:
        for _ in range(5):
            body = BODIES["chat_completions"] | {"stream": True}
            assert client.post(f"{url}/v1/chat/completions", json=body).text.endswith("data: [DONE]\n\n")

    assert relay.connections == 1


def _events(peer: Peer, _: Received) -> bool:
    peer.send(framed(stream_of("messages"), "chunked"))
    return True


def test_many_streams_at_once_are_kept_apart() -> None:
    """One process serves many callers."""
    import asyncio

    async def ask(url: str) -> list[str]:
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=100)) as client:

            async def one(number: int) -> str:
                body = {"model": f"m{number}", "messages": [{"role": "user", "content": "hi"}], "stream": True}
                reply = await client.post(f"{url}/v1/chat/completions", json=body, timeout=60)
                model: str = fb.collect_stream([reply.content], source="chat_completions").body["model"]
                return model

            return list(await asyncio.gather(*map(one, range(60))))

    with relay_served(ANSWER, api_key=RELAY_KEY) as relay, served(fb.Gateway(relay.base_url, RELAY_KEY, via="messages")) as url:
        assert asyncio.run(ask(url)) == [f"m{number}" for number in range(60)]


@pytest.fixture
def relay_process() -> Any:
    """Run ``python -m formatbridge.testing``, and yield its base URL and what it printed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "formatbridge.testing", "--port", "0", "--key", RELAY_KEY, "--answer", "Rome is sunny."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        usage = first + "".join(process.stdout.readline() for _ in range(5))
        try:
            match = re.search(r"http://[\d.:]+", first)
            assert match is not None
            yield match[0], usage
        finally:
            process.kill()


def test_the_printed_commands_of_the_fake_relay_run(relay_process: tuple[str, str]) -> None:
    """A new user has no key and copies the commands."""
    url, usage = relay_process
    _, _, exports, *commands = usage.splitlines()
    lines = [line.replace("python ", f"{sys.executable} ") for line in commands if "-m formatbridge" in line]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}

    ran = [
        subprocess.run(["bash", "-c", f"{exports}\n{line}"], capture_output=True, text=True, env=environment, check=False)
        for line in lines
    ]

    assert url in exports
    assert [each.returncode for each in ran] == [0, 0], [each.stderr for each in ran]
    assert "m-large" in ran[0].stdout
    assert "Rome is sunny." in ran[1].stdout


def test_the_example_runs(relay_process: tuple[str, str]) -> None:
    """A new user starts this program first."""
    pytest.importorskip("uvicorn")
    url, _ = relay_process
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "FORMATBRIDGE_BASE_URL": url,
        "FORMATBRIDGE_API_KEY": RELAY_KEY,
        "PYTHONUNBUFFERED": "1",
    }
    port = free_port()
    code = (ROOT / "examples" / "gateway.py").read_text(encoding="utf-8").replace("8401", str(port))
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            reply = post_when_ready(f"http://127.0.0.1:{port}/v1/messages", {**BODIES["messages"], "top_k": 5})
        finally:
            process.terminate()
        printed = process.stdout.read() if process.stdout is not None else ""

    assert reply.json()["content"][0]["text"] == "Rome is sunny."
    assert "messages to chat_completions: " in printed
    assert "/top_k" in printed
    assert RELAY_KEY not in printed


def test_an_occupied_port_is_a_short_error() -> None:
    """The fake relay already runs in another terminal."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        ran = subprocess.run(
            [sys.executable, "-m", "formatbridge.testing", "--port", port],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )

    assert ran.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ran.stderr
