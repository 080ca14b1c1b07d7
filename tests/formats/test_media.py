"""Images, documents and audio in unusual fields, without a type or without a name."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

PNG = "iVBORw0KGgoAAAANSUhEUg=="
JPEG = "/9j/4AAQSkZJRg=="
PDF = "JVBERi0xLjQK"


def _asked(part: dict[str, Any], target: fb.Format, source: fb.Format = "chat_completions") -> fb.ConvertedRequest:
    """Convert a request with one turn of one part."""
    if source == "generate_content":
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [part]}]}
    elif source == "responses":
        body = {"model": "m", "input": [{"role": "user", "content": [part]}]}
    else:
        body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": [part]}]}
    return fb.convert_request(body, source=source, target=target, model="m")


def _written(converted: fb.ConvertedRequest) -> Any:
    """Return the only part of the only turn."""
    turns = next(converted.body[name] for name in ("messages", "input", "contents") if name in converted.body)
    return (turns[0].get("content") or turns[0]["parts"])[0]


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("messages", {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}),
        ("generate_content", {"inlineData": {"mimeType": "application/pdf", "data": PDF}}),
    ],
)
def test_a_document_without_a_name_gets_one_and_it_is_reported(source: fb.Format, part: dict[str, Any], target: fb.Format) -> None:
    """Two vendors reject inline files without a name; callers of the others seldom set one."""
    result = _asked(part, target, source)

    written = _written(result)
    pointer = "/messages/0/content/0/file/filename" if target == "chat_completions" else "/input/0/content/0/filename"
    assert (written.get("file") or written)["filename"] == "document.pdf"
    assert [(added.path, added.value) for added in result.additions if added.path != "/store"] == [(pointer, "document.pdf")]


def test_a_document_with_a_name_keeps_it() -> None:
    """A name is added only if there is none."""
    part = {"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}

    result = _asked(part, "chat_completions", "messages")

    assert _written(result)["file"]["filename"] == "a.pdf"
    assert not result.additions


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("messages", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}),
        ("responses", {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}),
        ("generate_content", {"inlineData": {"mimeType": "image/png", "data": PNG}}),
    ],
)
def test_base64_in_the_place_of_an_address_is_an_image(target: fb.Format, expected: dict[str, Any]) -> None:
    """The relay accepts both in this field; as a URL it would be invalid."""
    result = _asked({"type": "image_url", "image_url": {"url": PNG}}, target)

    assert _written(result) == expected
    assert not result.losses


@pytest.mark.parametrize("url", ["https://example.com/a.png", "/9j/a", "img"])
def test_a_url_of_an_image_stays_a_url(url: str) -> None:
    """A value that does not begin like an image is passed on."""
    assert _written(_asked({"type": "image_url", "image_url": {"url": url}}, "messages"))["source"] == {"type": "url", "url": url}


@pytest.mark.parametrize(("source", "target"), [("chat_completions", "responses"), ("responses", "chat_completions")])
def test_a_pdf_sent_as_an_image_becomes_a_document(source: fb.Format, target: fb.Format) -> None:
    """Servers reject it as an image."""
    url = f"data:application/pdf;base64,{PDF}"
    part: dict[str, Any] = {"type": "input_image", "detail": "auto", "image_url": url}
    if source == "chat_completions":
        part = {"type": "image_url", "image_url": {"url": url}}

    written = _written(_asked(part, target, source))

    assert (written.get("file") or written)["file_data"] == url
    assert written["type"] == ("file" if target == "chat_completions" else "input_file")


def test_a_generated_image_without_a_type_has_the_type_of_its_bytes() -> None:
    """A reader of a PNG with the type of a JPEG shows nothing."""
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG}
    body = {"model": "m", "input": [{"role": "user", "content": "draw"}, drawn, {"role": "user", "content": "again"}]}

    converted = fb.convert_request(body, source="responses", target="generate_content")

    assert converted.body["contents"][1]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]


@pytest.mark.parametrize("target", ["messages", "responses", "generate_content"])
def test_a_file_with_bytes_and_an_id_is_sent_as_bytes(target: fb.Format) -> None:
    """The id is valid for one vendor only, and the report has its loss."""
    result = _asked({"type": "file", "file": {"file_data": PDF, "file_id": "file-1", "filename": "a.pdf"}}, target)

    assert PDF in result.json().decode()
    assert [(loss.path, loss.kind) for loss in result.losses] == [("/messages/0/content/0/file/file_id", "dropped")]


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_cloud_storage_url_is_an_impossible_loss_for_other_vendors(target: fb.Format) -> None:
    """Other vendors cannot read ``gs://`` and would reject the whole request."""
    stored = {"type": "image_url", "image_url": {"url": "gs://bucket/a.png"}}

    result = _asked(stored, target)

    assert ("/messages/0/content/0", "impossible", "foreign_id") in [
        (loss.path, loss.severity, loss.code) for loss in result.losses
    ]
    assert _written(_asked(stored, "generate_content"))["fileData"]["fileUri"] == "gs://bucket/a.png"


def test_a_data_url_without_a_type_has_that_of_its_first_bytes() -> None:
    """By the standard it is text, which no server accepts as an image."""
    result = _asked({"type": "image_url", "image_url": {"url": f"data:;base64,{JPEG}"}}, "messages")

    assert _written(result)["source"] == {"type": "base64", "media_type": "image/jpeg", "data": JPEG}


def test_parameters_of_the_type_of_a_generated_image_are_reported() -> None:
    """The item of responses has a word for the format, without parameters."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;colors=16;base64,{PNG}"}}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "", "images": [image]}}
    body = {"id": "a", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    converted = fb.convert_response(body, source="chat_completions", target="responses")

    assert converted.body["output"][0]["output_format"] == "png"
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/choices/0/message/images/0/image_url/url", "changed")]


@pytest.mark.parametrize("head", ["data:text/plain;;base64,", "data:TEXT/plain; base64 ,", "data:text/plain;base64,"])
def test_a_data_url_without_parameters_has_a_media_type_without_them(head: str) -> None:
    """An empty parameter has no meaning, and the mark of base64 is none."""
    result = _asked({"type": "file", "file": {"filename": "a.txt", "file_data": f"{head}YQ=="}}, "generate_content")

    assert _written(result)["inlineData"] == {"mimeType": "text/plain", "data": "YQ==", "displayName": "a.txt"}


def test_image_jpg_becomes_image_jpeg() -> None:
    """Servers list ``image/jpeg`` only; callers write both."""
    raw = {"type": "image_url", "image_url": {"url": f"data:image/jpg;base64,{JPEG}"}}

    assert _written(_asked(raw, "generate_content"))["inlineData"]["mimeType"] == "image/jpeg"


def test_a_file_without_name_or_type_has_the_type_of_its_first_bytes() -> None:
    """The server requires a data URL, which has a type."""
    result = _asked({"type": "file", "file": {"file_data": PDF}}, "responses")

    assert _written(result)["file_data"] == f"data:application/pdf;base64,{PDF}"


def test_media_of_results_are_in_one_turn_after_them_labelled_with_the_call() -> None:
    """Results of chat are text; many servers reject two user turns in a row."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    calls: list[dict[str, Any]] = [{"type": "tool_use", "id": name, "name": "draw", "input": {}} for name in ("a", "b")]
    results = [{"type": "tool_result", "tool_use_id": name, "content": [image]} for name in ("a", "b")]
    turns = [{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    body = {"model": "m", "max_tokens": 99, "messages": turns}

    converted = fb.convert_request(body, source="messages", target="chat_completions").body["messages"]

    assert [turn["role"] for turn in converted] == ["user", "assistant", "tool", "tool", "user"]
    assert [part.get("text", part["type"]) for part in converted[-1]["content"]] == [
        "[tool result a]", "image_url", "[tool result b]", "image_url",
    ]  # fmt: skip


def _moved_in_a_result(content: list[dict[str, Any]]) -> tuple[Any, set[tuple[str, Any]]]:
    """Return the content of a result in generate_content, and the index and severity of each part that is reported as moved."""
    call = {"type": "tool_use", "id": "t1", "name": "shot", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    converted = fb.convert_request(
        {"model": "m", "max_tokens": 99, "messages": turns}, source="messages", target="generate_content"
    )
    moved = {
        (loss.path.removeprefix("/messages/2/content/0/content/"), loss.severity)
        for loss in converted.losses
        if loss.code == "moved"
    }
    return converted.body["contents"][2]["parts"][0]["functionResponse"], moved


def test_text_after_media_of_a_result_is_reported_as_moved() -> None:
    """The response of a function precedes its parts; words such as "the picture above" mean something else there."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    first, second = {"type": "text", "text": "before"}, {"type": "text", "text": "after"}

    written, moved = _moved_in_a_result([first, picture, second, picture])

    assert (written["response"], len(written["parts"])) == ({"output": "before\nafter"}, 2)
    assert moved == {("2", "lossy")}
    assert _moved_in_a_result([picture, first, second])[1] == {("1", "lossy"), ("2", "lossy")}


def test_a_result_in_unchanged_order_is_not_reported_as_moved() -> None:
    """Texts before all media are there already, and media that are not written have nothing after them."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    stored = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    words = {"type": "text", "text": "words"}

    nothing = {"type": "text", "text": ""}
    kept: list[list[dict[str, Any]]] = [[words, words, picture, picture], [picture, picture], [stored, words], [picture, nothing]]

    for content in kept:
        assert _moved_in_a_result(content)[1] == set()


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("chat_completions", {"type": "file", "file": {"filename": "a.mp4", "file_data": "gs://bucket/a.mp4"}}),
        ("chat_completions", {"type": "file", "file": {"file_data": "GS://bucket/a.mp4"}}),
        ("chat_completions", {"type": "video_url", "video_url": {"url": "gs://bucket/a.mp4"}}),
        ("responses", {"type": "input_file", "filename": "a.mp4", "file_data": "gs://bucket/a.mp4"}),
        ("responses", {"type": "input_file", "file_url": "gs://bucket/a.mp4"}),
    ],
)
def test_a_cloud_storage_url_is_a_url_in_every_field(source: fb.Format, part: dict[str, Any]) -> None:
    """Callers of Google's models also put one into ``file_data``; as base64 it would be invalid."""
    stored = _asked(part, "generate_content", source)
    elsewhere = _asked(part, "messages", source)

    written = _written(stored)["fileData"]
    assert (written["fileUri"].lower(), written["mimeType"]) == ("gs://bucket/a.mp4", "video/mp4")
    assert stored.losses == ()
    assert [(loss.severity, loss.code) for loss in elsewhere.losses][:1] == [("impossible", "foreign_id")]


@pytest.mark.parametrize("kind", ["image", "document"])
def test_an_address_in_cloud_storage_in_messages_is_one_too(kind: str) -> None:
    """Other vendors cannot read it."""
    part = {"type": kind, "source": {"type": "url", "url": "gs://bucket/a.png"}}

    assert _written(_asked(part, "generate_content", "messages"))["fileData"]["fileUri"] == "gs://bucket/a.png"
    assert ("impossible", "foreign_id") in [(loss.severity, loss.code) for loss in _asked(part, "responses", "messages").losses]


def test_a_web_address_in_the_file_data_of_responses_is_an_address() -> None:
    """As in chat_completions."""
    part = {"type": "input_file", "filename": "a.pdf", "file_data": "https://example.com/a.pdf"}

    assert _written(_asked(part, "messages", "responses"))["source"] == {"type": "url", "url": "https://example.com/a.pdf"}


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}], "responseId": "r"}


@pytest.mark.parametrize(("first", "is_reported"), [("inlineData", True), ("text", False)])
def test_media_moved_after_text_is_reported(first: str, is_reported: bool) -> None:
    """The message has its images after its text, whatever the order was."""
    parts: list[dict[str, Any]] = [{"inlineData": {"mimeType": "image/png", "data": "aaaa"}}, {"text": "below"}]
    body = _candidate(*sorted(parts, key=lambda part: first not in part))

    converted = fb.convert_response(body, source="generate_content", target="chat_completions")

    assert ("position_lost" in {loss.code for loss in converted.losses}) is is_reported


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_a_lost_fraction_of_a_second_is_reported(target: fb.Format) -> None:
    """Lists of models have whole seconds; the fraction is a value of the source."""
    model = {"type": "model", "id": "m", "display_name": "M", "created_at": "2026-01-01T00:00:00.500Z"}
    body = {"data": [model], "has_more": False, "first_id": None, "last_id": None}

    converted = fb.convert_models(body, source="messages", target=target)

    assert converted.body["data"][0]["created"] == 1_767_225_600
    assert ("/data/0/created_at", "changed", 1_767_225_600) in [(loss.path, loss.kind, loss.after) for loss in converted.losses]


def test_a_transcript_of_audio_is_reported_as_flattened() -> None:
    """The transcript returns as text next to the audio, so an application would show it twice."""
    audio = {"id": "a", "data": "UklGRgAAAAA=", "expires_at": 9, "transcript": "Hello"}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "audio": audio}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    converter = fb.StreamConverter(source="chat_completions", target="generate_content")

    whole = fb.convert_response(body, source="chat_completions", target="generate_content")
    converter.feed(b"".join(fb.replay_response(body, source="chat_completions")))
    converter.finish()

    for losses in (whole.losses, converter.losses):
        assert [loss.code for loss in losses if loss.path.endswith("/transcript")] == ["flattened"]


@pytest.mark.parametrize(
    ("mime", "severity"), [("audio/L16;codec=pcm;rate=24000", "lossy"), ("audio/pcm", "lossy"), ("audio/wav", "info")]
)
def test_the_type_of_raw_audio_is_a_more_severe_loss_than_that_of_a_file(mime: str, severity: str) -> None:
    """A file has its format in its first bytes; raw samples cannot be played without their rate."""
    parts = [{"inlineData": {"mimeType": mime, "data": "AAAA"}}]
    body = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}]}

    converted = fb.convert_response(body, source="generate_content", target="chat_completions")

    assert [loss.severity for loss in converted.losses if loss.path.endswith("/mimeType")] == [severity]


@pytest.mark.parametrize(
    ("mime", "is_read"), [("image/heic", True), ("image/jpg", True), ("image/bmp", False), ("image/avif", False)]
)
def test_gemini_reads_the_images_that_its_documentation_lists(mime: str, is_read: bool) -> None:
    """The server answers any other type with an error, on both clouds."""
    part = {"type": "input_image", "detail": "auto", "image_url": f"data:{mime};base64,AAAA"}

    converted = fb.convert_request(
        {"model": "m", "input": [{"role": "user", "content": [part, {"type": "input_text", "text": "x"}]}]},
        source="responses",
        target="generate_content",
    )

    assert ("inlineData" in converted.body["contents"][0]["parts"][0]) is is_read
    assert [loss.code for loss in converted.losses] == ([] if is_read else ["unsupported_media"])
