"""The HTML that notebooks show."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from typing import Any

import formatbridge as fb
from formatbridge.report import html
from formatbridge.testing import FakeRelay
from tests.fixtures import Fixture, fixtures
from tests.support.for_each import for_each

VOID = {"br"}
ATTACK = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


class _Page(HTMLParser):
    """Reads a fragment: its tags must be balanced. ``lines``: the text of each line of a body, by the colour of the line."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.lines: list[tuple[str, str]] = []
        self.feed(fragment)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        classes = (dict(attrs).get("class") or "").split()
        if "fb-line" in classes:
            self.lines.append((" ".join(classes[1:]), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data
            if self.lines:
                self.lines[-1] = (self.lines[-1][0], self.lines[-1][1] + data)


def shown(value: Any) -> _Page:
    return _Page(value._repr_html_())


def converted(body: dict[str, Any], target: fb.Format = "messages") -> fb.ConvertedRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]} | body
    return fb.convert_request(body, source="chat_completions", target=target)


def test_losses_are_marked_in_the_source_and_additions_in_the_target() -> None:
    """A reader sees at the value what happened to it and why."""
    lines = shown(converted({"seed": 7, "n": 2, "temperature": 1.5})).lines

    assert ("fb-lossy", '"seed": 7,lossy dropped: the target has no place for it') in lines
    assert ("fb-impossible", '"n": 2,impossible dropped: the target returns one answer only') in lines
    assert any(colour == "fb-lossy" and "changed to 1.0: outside" in text for colour, text in lines)
    assert any(colour == "fb-added" and text.startswith('"max_tokens": 4096,') for colour, text in lines)
    assert ("", '"model": "m",') in lines


def test_every_line_of_a_marked_object_has_its_colour() -> None:
    """A reader sees where a dropped object ends."""
    lines = shown(converted({"logit_bias": {"5": 1}})).lines

    assert [colour for colour, text in lines if '"5": 1' in text] == ["fb-lossy"]


@for_each("fixture", fixtures())
def test_each_loss_and_addition_is_visible(fixture: Fixture) -> None:
    """A notebook never hides a part of the report: it is marked, or listed below the body."""
    for target in fb.FORMATS:
        result = fixture.convert(target)

        page = shown(result)

        assert not page.tags & {"script", "iframe", "img", "link", "button"}
        assert page.text.count(" dropped: ") + page.text.count(" changed") >= len(result.losses)
        notes = " ".join(page.text.split())
        assert all(why in notes for why in [*(loss.why for loss in result.losses), *(added.why for added in result.additions)])


def test_texts_of_a_body_are_escaped() -> None:
    """Bodies come from other people; a notebook runs the HTML that it shows."""
    body = {"model": ATTACK, "user": ATTACK, ATTACK: ATTACK, "metadata": {ATTACK: ATTACK}, "stop": [ATTACK]}

    result = converted(body, "responses")

    for value in (result, result.losses, *result.losses, *fb.summarize(result.losses)):
        page = shown(value)
        assert not page.tags & {"script", "img"}
        assert not {name for name in page.attributes if name.startswith("on")}


def test_a_report_with_a_lone_surrogate_can_be_shown() -> None:
    """A notebook is stored in UTF-8, which has no such character."""
    shown(fb.Loss("/\ud800", "dropped", "info", "c", "w", "\udc00")).text.encode()
    html.side("\ud800", {"\ud800": "\udc00"}, {}).encode()


def test_a_long_body_is_collapsed_around_its_marks() -> None:
    """A conversation of thousands of turns neither fills the notebook nor hides a loss."""
    turns = [{"role": "user", "content": f"Question {index}"} for index in range(20_000)]
    turns[15_000] = turns[15_000] | {"name": "bob"}

    result = converted({"messages": turns, "seed": 1})
    page = shown(result)

    assert len(result._repr_html_()) < 30_000
    assert any(colour == "fb-info" and '"name": "bob"' in text for colour, text in page.lines)
    assert any(colour == "fb-lossy" and text.startswith('"seed": 1') for colour, text in page.lines)
    assert "The body is long: values without marks are collapsed." in page.text


def test_many_losses_of_one_pattern_are_marked_three_times_and_counted() -> None:
    """The marks of other losses stay visible between thousands of equal ones."""
    turns = [{"role": "user", "content": "Hi", "name": "bob"}] * 3000

    page = shown(converted({"messages": turns, "seed": 1}))

    assert sum(colour == "fb-info" for colour, _ in page.lines) == 3
    assert "2,997 more losses of the same patterns are not marked." in page.text
    assert "/messages/*/name3000dropped" in page.text


def test_a_long_text_is_truncated_with_its_length() -> None:
    """An image in base64 takes one line."""
    page = shown(converted({"messages": [{"role": "user", "content": "x" * 5_000_000}]}))

    assert "… (5,000,000 characters)" in page.text
    assert len(page.text) < 5000


def test_a_deep_body_can_be_shown() -> None:
    """Depth is limited, because the interpreter limits the depth of calls."""
    deep: Any = "end"
    for _ in range(sys.getrecursionlimit() * 2):
        deep = {"a": deep}

    page = _Page(html.side("deep", deep, {"/a" * 1500: [html.Mark("lossy", "too deep to see")]}))

    assert "{ … 1 member }" in page.text
    assert "Not visible above:" in page.text
    assert "too deep to see" in page.text


def test_marks_without_a_value_in_the_body_are_listed_below_it() -> None:
    """The first of two equal keys is lost, but the body has only the second."""
    page = _Page(html.side("source", {"a": 1}, {"/b": [html.Mark("lossy", "gone")], "": [html.Mark("info", "whole")]}))

    assert page.lines[0] == ("fb-info", "{info whole")
    assert "Not visible above:lossy/bgone" in page.text


def test_a_collected_stream_shows_its_source() -> None:
    """The body of a stream is assembled when the report is read."""
    answer = next(each.body for each in fixtures("response", "chat_completions") if each.stem == "tools_parallel")
    stream = list(fb.replay_response(answer, source="chat_completions"))

    result = fb.collect_stream(stream, source="chat_completions", target="messages")

    assert "source: chat_completions" in shown(result).text
    assert shown(result).lines


def test_a_result_without_a_source_shows_its_report() -> None:
    """Partial answers of masked errors keep no source."""
    result = fb.convert_error({"error": {"message": "no", "code": 7, "x": 1}}, source="messages", target="responses", status=400)
    masked = _masked(result)

    page = shown(masked)

    assert masked.source_body is None
    assert "The body is not available." in page.text
    assert all(loss.why in page.text for loss in masked.losses)


def _masked(result: fb.ConvertedError) -> fb.ConvertedError:
    from formatbridge.convert.masking import Mask, Secret

    masked = Mask([Secret("sk-secret-key")]).whole(result)
    assert isinstance(masked, fb.ConvertedError)
    return masked


def test_a_reply_shows_the_call_and_no_secret() -> None:
    """Notebooks are published."""
    key = "sk-canary-0123456789"
    relay = FakeRelay("Hello <b>you</b>", api_key=key)
    headers = {"x-session-token": "canary-header-value"}
    with fb.Client("https://relay.test", key, headers=headers, http_client=relay.http_client()) as client:
        request = {"model": "m", "max_tokens": 9, "top_k": 4, "messages": [{"role": "user", "content": "Hi"}]}
        reply = client.send(request, "messages", via="chat_completions")

    page = shown(reply)

    assert json.loads(json.dumps(reply.to_dict()))["answer"]["body"] == reply.body
    assert "canary" not in reply._repr_html_()
    assert "messages via chat_completions" in page.text
    assert "Hello <b>you</b>" in page.text
    assert any(colour == "fb-lossy" and text.startswith('"top_k": 4') for colour, text in page.lines)
    assert f"request id{reply.request_id}" in page.text


def test_a_detection_shows_its_evidence() -> None:
    """The evidence explains an unexpected format."""
    page = shown(fb.detect_format({"model": "m", "messages": [], "seed": 1}))

    assert "formatchat_completions" in page.text
    assert "has seed" in page.text
    assert "formatunknown" in shown(fb.detect_format({})).text


def test_the_colours_suit_dark_and_light_pages() -> None:
    """The style sets no colour of text but white on badges, and only translucent backgrounds besides those."""
    style = converted({})._repr_html_().partition("</style>")[0]

    rules = re.findall(r"([^{}]+)\{([^}]*)\}", style)
    for selector, rule in rules:
        if "fb-badge" not in selector:
            assert not re.search(r"(?<!-)color:(?!inherit)", rule)
            assert not re.search(r"background:(?!rgba|none)", rule)


def test_without_losses_no_table_is_shown() -> None:
    """An empty table looks like an error."""
    result = fb.convert_response(
        next(each.body for each in fixtures("response", "messages") if each.stem == "text_plain"),
        source="messages",
        target="messages",
    )

    assert shown(result.losses).text == "No losses."
    assert "no losses, no additions" in shown(result).text
