"""A fifth format works everywhere without a change to any other file: a value passed as an argument, or registered by a name."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

import formatbridge as fb
from formatbridge.convert.matrix import matrix_table
from tests.support import judges
from tests.support.laws import (
    Sample,
    nothing_is_silent,
    report_is_precise,
    shipped,
    there_and_back,
    through_itself,
    unchanged_in_its_format,
)
from tests.toy_format import LINES

LINE = {"by": "user", "kind": "text", "text": "Is it sunny in Rome?"}
CALL = {"by": "model", "kind": "call", "text": '{"city":"Rome"}', "id": "c1", "name": "get_weather"}
ANSWER: dict[str, Any] = {
    "id": "a1",
    "model": "m",
    "lines": [
        {"by": "model", "kind": "reasoning", "text": "I look it up.", "seal": "c2VhbA=="},
        {"by": "model", "kind": "text", "text": "One moment."},
        CALL,
    ],
    "stop": "call",
    "tokens": {"read": 9, "written": 7},
}
REQUEST: dict[str, Any] = {
    "model": "m",
    "lines": [
        {"by": "system", "kind": "text", "text": "Be brief."},
        LINE,
        *ANSWER["lines"],
        {"by": "tool", "kind": "result", "text": "sunny", "id": "c1"},
    ],
    "tools": [{"name": "get_weather", "about": "The weather of a city.", "accepts": {"type": "object", "properties": {}}}],
    "limit": 100,
    "temperature": 0.5,
}
BODIES: dict[str, dict[str, Any]] = {
    "request": REQUEST,
    "response": ANSWER,
    "error": {"error": {"reason": "rate_limit", "message": "too many requests"}},
    "models": {"available": [{"id": "m"}, {"id": "m2"}]},
}
SAMPLES = [Sample(f"toy-{kind}", cast(Any, LINES), kind, body, status=429) for kind, body in BODIES.items()]


BY_VALUE = {
    "tool_choice_allowed": "a choice has tools by name, and the request loses the others",
    "billing_forbidden": "a code or a reason decides the kind of an error",
    "authentication": "a code or a reason decides the kind of an error",
    "model_not_found": "a code or a reason decides the kind of an error",
    "reasoning": "the id of an item is part of its seal",
    "cache_prewarm_explicit_only": "a limit of 0 only fills the cache",
    "tools_search_client": "the name of a tool that a search returns is in the result",
    "switch_contradiction": "two fields with one meaning are one loss",
}
"""How the names of some fixtures start in which a value decides about others, and why. They are left out."""
EACH = 6
"""One of so many fixtures is checked."""


@pytest.mark.parametrize("format", fb.FORMATS)
def test_every_loss_of_a_fixture_is_reported_and_every_report_is_true(format: fb.Format) -> None:
    """Laws 1 and 2 for bodies of the built-in formats. Each fixture has the values of one subject."""
    target: Any = LINES
    breaches = [
        f"{sample}: {breach}"
        for sample in [*shipped(format)][::EACH]
        if sample.kind in BODIES and not sample.id.split("-")[1].startswith(tuple(BY_VALUE))
        for breach in [
            *nothing_is_silent(sample.body, target, sample.convert, per_place=1),
            *report_is_precise(sample.body, target, sample.convert),
        ]
    ]

    assert breaches == []


def test_a_request_with_nothing_to_lose_has_no_losses() -> None:
    """The author of a format relies on an empty report to allow a conversion."""
    body = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}

    assert list(fb.convert_request(body, source="messages", target=LINES).losses) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_every_loss_is_reported_and_every_report_is_true(sample: Sample, target: fb.Format) -> None:
    """Laws 1, 2 and 4."""
    breaches = [
        *nothing_is_silent(sample.body, target, sample.convert),
        *report_is_precise(sample.body, target, sample.convert),
        *there_and_back(sample.body, sample, target, sample.convert),
    ]

    assert breaches == []


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_body_of_the_format_stays_as_it_is(sample: Sample) -> None:
    """Law 3, and the same through the canonical model."""
    assert list(unchanged_in_its_format(sample.body, cast(Any, LINES), sample.convert)) == []
    assert through_itself(sample)(sample.body, cast(Any, LINES)).body == sample.body


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.kind != "error"], ids=str)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_official_types_accept_every_conversion(sample: Sample, target: fb.Format) -> None:
    """Law 5."""
    assert judges.problems(target, sample.kind, sample.convert(sample.body, target).body) == []


@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_next_request_has_the_token_of_the_format(target: fb.Format) -> None:
    """A token of the format passes through another format's answer, tagged with the format's name."""
    answer = fb.convert_response(ANSWER, source=LINES, target=target)
    again = fb.convert_response(answer.body, source=target, target=LINES)

    assert again.body["lines"][0]["seal"] == "c2VhbA=="
    assert again.source == target
    assert again.target == "lines"


def stream_of(body: dict[str, Any]) -> bytes:
    """Return an answer as a stream of the same format."""
    return b"".join(fb.replay_response(body, source=LINES))


@pytest.mark.parametrize("target", fb.FORMATS)
def test_streams_have_the_content_of_whole_answers(target: fb.Format) -> None:
    """Law 6, in both directions, and for any split of the bytes."""
    stream = stream_of(ANSWER)
    pieces = [stream[at : at + 7] for at in range(0, len(stream), 7)]
    result = b"".join(fb.convert_stream(pieces, source=LINES, target=target))
    back = b"".join(fb.convert_stream([result], source=target, target=LINES))

    whole = fb.convert_response(ANSWER, source=LINES, target=target)
    collected = fb.collect_stream([stream], source=LINES, target=target)
    assert (collected.body, collected.losses) == (whole.body, whole.losses)
    returned = fb.convert_response(whole.body, source=target, target=LINES).body
    assert fb.collect_stream([back], source=LINES).body["lines"] == returned["lines"]
    assert b"".join(fb.convert_stream([stream], source=LINES, target=LINES)) == stream


def test_a_stream_that_is_cut_or_fails_is_an_error() -> None:
    """Law 9."""
    stream = stream_of(ANSWER)

    with pytest.raises(fb.TruncatedStreamError, match="named end"):
        list(fb.convert_stream([stream[: len(stream) // 2]], source=LINES, target="messages"))
    with pytest.raises(fb.StreamFailedError, match="too many"):
        fb.collect_stream([b'data: {"error": {"reason": "rate_limit", "message": "too many"}}\n\n'], source=LINES)


@pytest.mark.parametrize("name", fb.FORMATS)
def test_a_bridge_joins_the_format_to_another(name: fb.Format) -> None:
    """A caller of the format, and an endpoint of it."""
    exchange = fb.Bridge(LINES, via=name).open(REQUEST)
    answer = exchange.response(fb.convert_response(ANSWER, source=LINES, target=name).body)
    assert answer.body["lines"][-1] | {"text": "", "id": ""} == CALL | {"text": "", "id": ""}
    assert exchange.error(429, {"error": {"message": "no"}}).body["error"]["reason"] == "rate_limit"

    exchange = fb.Bridge(name, via=LINES).open(fb.convert_request(REQUEST, source=LINES, target=name).body, model="m")
    assert exchange.request.path == "/lines"
    assert b"".join([exchange.stream().feed(stream_of(ANSWER))])


def serve(request: httpx.Request) -> httpx.Response:
    """Answer as a server of the format does."""
    if request.method == "GET":
        is_here = request.url.path == "/lines/models"
        return httpx.Response(200 if is_here else 404, json=BODIES["models"] if is_here else {"error": "no such path"})
    assert request.url.path == "/lines"
    assert request.headers["x-lines-key"] == "sk-lines"
    if json.loads(request.content).get("stream"):
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream_of(ANSWER))
    return httpx.Response(200, json=ANSWER)


@pytest.fixture
def client() -> Iterator[fb.Client]:
    profile = fb.RelayProfile(paths={"models": "/lines/models"})
    with (
        httpx.Client(transport=httpx.MockTransport(serve)) as http,
        fb.Client("https://lines.test", "sk-lines", http_client=http, profile=profile) as result,
    ):
        yield result


def test_a_client_uses_the_format_as_source_and_as_target(client: fb.Client) -> None:
    """The format as source and as target, whole and as a stream."""
    request = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Is it sunny in Rome?"}]}

    assert client.send(REQUEST, LINES).body == ANSWER
    assert client.send(request, "messages", LINES).body["content"][-1]["name"] == "get_weather"
    assert client.send(REQUEST, LINES).text() == "One moment."
    with client.stream(request, "messages", LINES) as stream:
        assert "".join(stream.text()) == "One moment."
    with client.stream(REQUEST, LINES) as stream:
        assert [event.event for event in cast(Any, stream)][-1] == "end"


def test_detection_and_the_matrix_accept_the_format() -> None:
    """Formats from outside are considered if they are passed."""
    for kind, body in BODIES.items():
        detection = fb.detect_format(body, formats=[*fb.FORMATS, LINES])
        assert (detection.format, detection.kind) == ("lines", kind)
    assert fb.detect_format(BODIES["models"]).format is None

    table = matrix_table(LINES)
    assert "image" not in table
    assert "lines" in matrix_table(targets=[*fb.FORMATS, LINES])


def test_the_format_stays_the_same_object_in_copies() -> None:
    """A built-in format is pickled by its name; one from outside by its fields, if it has no registered name."""
    result = fb.convert_request(REQUEST, source=LINES, target="messages")

    again = pickle.loads(pickle.dumps(result))
    assert again.target_format is result.target_format
    assert (again.source, again.body, again.losses) == ("lines", result.body, result.losses)
    assert copy.copy(result).target_format is result.target_format


def run(folder: Path, *arguments: str, stdin: object = None) -> subprocess.CompletedProcess[str]:
    """Run the command line with a folder of packages in the path."""
    paths = [str(path) for path in (folder, Path(__file__).parents[2], Path(fb.__file__).parents[1])]
    command = [sys.executable, "-m", "formatbridge", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(command, input=json.dumps(stdin), capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder like that of an installed package, with an entry point that registers the format."""
    metadata = tmp_path / "lines-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lines\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[formatbridge.formats]\nlines = tests.toy_format:LINES\nwrong = json:dumps\n")
    return tmp_path


@pytest.mark.parametrize("name", ["lines", "tests.toy_format:LINES"])
def test_the_command_line_accepts_the_format(installed: Path, name: str) -> None:
    """By the name of an entry point, or by module and attribute."""
    result = run(installed, "convert", "--from", name, "--to", "messages", "--kind", "request", stdin=REQUEST)
    assert json.loads(result.stdout) == fb.convert_request(REQUEST, source=LINES, target="messages").body

    back = run(installed, "convert", "--from", "messages", "--to", name, "--kind", "request", stdin=json.loads(result.stdout))
    assert json.loads(back.stdout)["lines"][1] == LINE
    assert json.loads(run(installed, "detect", "--format", name, stdin=REQUEST).stdout)["format"] == "lines"
    assert "lines" in run(installed, "matrix", "--format", name).stdout


def test_a_name_that_is_not_registered_is_refused_with_those_that_are(installed: Path) -> None:
    """A misspelt name, and an entry point that is no format."""
    assert "lines" in run(installed, "convert", "--from", "linse", "--to", "messages", stdin=REQUEST).stderr
    wrong = run(installed, "convert", "--from", "wrong", "--to", "messages", "--kind", "request", stdin=REQUEST).stderr
    assert "expected a FormatSpec" in wrong


def test_the_page_on_formats_runs_as_written() -> None:
    """Authors of a format copy its blocks."""
    page = (Path(__file__).parents[2] / "docs" / "adding-a-format.md").read_text(encoding="utf-8")

    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, {})


def test_a_request_for_a_server_keeps_its_unknown_fields() -> None:
    """The format names the fields by which the items of the caller are recognized: ``by``, ``kind`` and ``id``."""
    server = fb.Dialect("mine", {"lines": fb.DialectRules(server="Mine", most_tools=1, call_id_length=9)})
    call, result = CALL | {"color": "red"}, {"by": "tool", "kind": "result", "text": "sunny", "id": "c1", "color": "blue"}
    tools = [{"name": "get_time", "accepts": {}}, *REQUEST["tools"]]

    body = fb.convert_request(
        REQUEST | {"lines": [LINE, call, result], "tools": tools}, source=LINES, target=fb.Target(LINES, dialect=server)
    ).body

    assert [line.get("color") for line in body["lines"]] == [None, "red", "blue"]
    assert body["lines"][1]["id"] == body["lines"][2]["id"] != "c1"
    assert [tool["name"] for tool in body["tools"]] == ["get_time"]
