"""The programs in ``examples`` run unchanged. Those for data sets and the notebook have separate tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import formatbridge as fb
from tests.support.gateway_server import free_port, post_when_ready

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"}
TURN = [{"role": "user", "content": "Which river is the longest?"}]


def _run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)


def test_the_batch_is_converted_and_failed_lines_are_kept_apart(tmp_path: Path) -> None:
    """One invalid line of a million must not stop the others."""
    source, target = tmp_path / "openai.jsonl", tmp_path / "anthropic.jsonl"
    body = {"model": "m-large", "messages": TURN, "seed": 7}
    line = {"custom_id": "river", "method": "POST", "url": "/v1/chat/completions", "body": body}
    source.write_text(json.dumps(line) + "\n{}\n", encoding="utf-8")

    ran = _run("batch.py", str(source), str(target), "--source", "chat_completions", "--target", "messages")

    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.splitlines() == ["/body/seed lossy dropped: the target has no place for it", "1 converted, 1 failed"]
    assert json.loads(target.read_text(encoding="utf-8"))["params"]["messages"] == TURN
    failed = json.loads((tmp_path / "anthropic.jsonl.failed").read_text(encoding="utf-8"))
    assert (failed["line"], failed["custom_id"]) == (2, None)
    assert "no line of a batch file" in failed["reason"]


def test_the_typed_application_answers_and_validates() -> None:
    """FastAPI reads requests into the models and writes responses from them."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    port = free_port()
    code = (EXAMPLES / "fastapi_typed.py").read_text(encoding="utf-8").replace("8402", str(port))
    with subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}/ask"
            reply = post_when_ready(url, {"model": "m-large", "max_tokens": 99, "top_k": 5, "messages": TURN})
            invalid = post_when_ready(url, {"model": "m-large", "max_tokens": "many", "messages": TURN})
        finally:
            process.terminate()

    assert reply.status_code == 200
    assert reply.json()["content"] == [{"type": "text", "text": "Glomma is the longest river of Norway."}]
    assert reply.headers["x-losses"] != "0"
    assert invalid.status_code == 422
    assert invalid.json()["detail"][0]["loc"] == ["body", "max_tokens"]


def test_the_asynchronous_client_streams_from_each_endpoint() -> None:
    """Streams of one client run in parallel."""
    ran = _run("async_stream.py", "Which river?")

    assert (ran.returncode, ran.stderr) == (0, "")
    for via in fb.FORMATS:
        pieces = re.findall(rf"^{via}: '(.*)'$", ran.stdout, re.MULTILINE)
        assert len(pieces) > 1
        assert "".join(pieces) == "Glomma is the longest river of Norway."
        assert f"\n{via}: 9 tokens" in ran.stdout
    assert "\nmessages: /seed dropped (lossy): the target has no place for it" in ran.stdout


def test_the_official_sdk_runs_its_tools_over_another_format() -> None:
    """The call and its result are converted in both directions."""
    pytest.importorskip("anthropic")

    ran = _run("official_sdk.py")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "Glomma has 621 km.",
        *["the endpoint received: POST https://relay.test/v1/chat/completions"] * 2,
    ]
