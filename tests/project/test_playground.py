"""The playground converts in a real browser.

It needs Chromium, playwright and the built site, and is skipped without them. ``python -m docs.playground.build && mkdocs build --strict``
builds the site.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.playground import convert as program

import formatbridge as fb

ROOT = Path(__file__).parents[2]
PAGE, BUILT = ROOT / "docs" / "playground", ROOT / "site" / "playground"
BROWSER = next((path for name in ("chromium", "google-chrome", "chromium-browser") if (path := shutil.which(name))), None)
LOADING = 120_000
"""The time limit of a step in milliseconds, for a busy machine; the longest step is to load Python."""

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Grüße, Ωmega?"}], "seed": 7, "temperature": 1.5}


def _missing() -> str:
    """Return why the browser cannot be tested, or an empty text."""
    if BROWSER is None:
        return "Chromium is not installed"
    if not (BUILT / "bundle" / "manifest.json").exists():
        return "the site or the bundle of the playground is not built"
    for path in (*PAGE.glob("*.js"), *PAGE.glob("*.css"), PAGE / "convert.py"):
        if (BUILT / path.name).read_bytes() != path.read_bytes():
            return f"the built site is older than {path.name}"
    with zipfile.ZipFile(BUILT / "bundle" / "formatbridge.zip") as library:
        names = set(library.namelist())
        sources = {path.relative_to(ROOT / "src").as_posix(): path for path in (ROOT / "src" / "formatbridge").rglob("*.py")}
        if names != sources.keys() or any(library.read(name) != path.read_bytes() for name, path in sources.items()):
            return "the bundle of the playground is older than the library"
    return ""


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if reason := _missing():
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(ROOT / "site"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/playground/"
        server.shutdown()


@pytest.fixture(scope="module")
def playground(browser: Any, address: str) -> Any:
    """Return the loaded page; ``requests`` has its requests, ``faults`` its errors."""
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.set_default_timeout(LOADING)
    page.requests, page.faults = [], []
    page.on("request", lambda request: page.requests.append(request))  # noqa: PLW0108  # playwright sets an attribute of the function
    page.on("pageerror", lambda fault: page.faults.append(fault))  # noqa: PLW0108
    page.goto(address)
    page.wait_for_function("document.getElementById('pg-status').textContent.startsWith('Converted.')")
    return page


def _convert(page: Any, text: str, target: fb.Format, source: str = "", kind: str = "") -> None:
    """Paste a body, choose the formats and convert with the keyboard."""
    page.select_option("#pg-source", source)
    page.select_option("#pg-target", target)
    page.select_option("#pg-kind", kind)
    page.fill("#pg-text", text)
    page.evaluate("document.getElementById('pg-status').textContent = ''")
    page.press("#pg-text", "Control+Enter")
    page.wait_for_function("/^(Converted|Not converted)/.test(document.getElementById('pg-status').textContent)")


def _body(page: Any) -> str:
    """Return the target body without the notes at marked lines."""
    lines = page.eval_on_selector_all("#pg-after .pg-line", "lines => lines.map(line => line.firstChild?.textContent ?? '')")
    return "\n".join(lines)


@pytest.mark.parametrize("target", fb.FORMATS[1:])
def test_the_browser_converts_a_body_as_the_library_does(playground: Any, target: fb.Format) -> None:
    """A user compares the formats before the installation."""
    expected = fb.convert_request(REQUEST, source="chat_completions", target=target)

    _convert(playground, json.dumps(REQUEST), target, source="chat_completions")

    assert json.loads(_body(playground)) == expected.body
    rows = playground.eval_on_selector_all("#pg-report tbody tr", "rows => rows.map(row => row.innerText)")
    assert len(rows) == len(expected.losses) + len(expected.additions)
    assert all(loss.why in row and loss.path in row for loss, row in zip(expected.losses, rows, strict=False))
    assert playground.faults == []


def test_a_conversion_sends_nothing(playground: Any, address: str) -> None:
    """A body may be confidential: the page requests its files, and after that nothing."""
    count = len(playground.requests)

    _convert(playground, json.dumps(REQUEST | {"user": "canary"}), "responses", source="chat_completions")

    assert len(playground.requests) == count
    origin = address.removesuffix("playground/")
    assert {request.method for request in playground.requests} == {"GET"}
    assert [request.url for request in playground.requests if not request.url.startswith((origin, "blob:", "data:"))] == []


def test_a_lost_value_is_marked_with_its_reason(playground: Any) -> None:
    """A reader sees the loss where it is, and not by its colour only."""
    _convert(playground, json.dumps(REQUEST), "messages", source="chat_completions")

    (line,) = playground.query_selector_all("#pg-before .pg-line[data-pointer='/seed']")
    assert "lossy" in line.get_attribute("class").split()
    assert line.inner_text().endswith("lossy: the target has no place for it")
    (added,) = playground.query_selector_all("#pg-after .pg-line.added")
    assert added.get_attribute("data-pointer") == "/max_tokens"


def test_an_invalid_body_is_explained(playground: Any) -> None:
    """Pasted text is often incomplete."""
    _convert(playground, '{"model": 5, "messages": []}', "messages", source="chat_completions", kind="request")

    assert "/model" in playground.inner_text("[role=alert]")
    assert playground.is_hidden("#pg-result")


def test_a_stream_is_converted(playground: Any) -> None:
    """A user pastes the text of an HTTP response."""
    body = {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    }
    text = b"".join(fb.replay_response(body, source="chat_completions")).decode()

    _convert(playground, text, "messages")

    stream = _body(playground) + "\n"
    assert fb.collect_stream([stream.encode()], source="messages").body["content"] == [{"type": "text", "text": "hi"}]


def test_a_link_restores_the_body_and_the_formats(playground: Any, browser: Any) -> None:
    """A user shows a loss to a colleague. The body is in the fragment, which no server gets."""
    _convert(playground, json.dumps(REQUEST), "generate_content", source="chat_completions", kind="request")
    playground.click("#pg-share")
    playground.wait_for_function("location.hash.startsWith('#1.')")
    other = browser.new_context(color_scheme="dark").new_page()
    urls: list[str] = []
    other.on("request", lambda request: urls.append(request.url))

    other.goto(playground.url)
    other.wait_for_function("document.getElementById('pg-text').value !== ''")

    assert json.loads(other.input_value("#pg-text")) == REQUEST
    assert [other.input_value(f"#pg-{name}") for name in ("source", "target", "kind")] == [
        "chat_completions",
        "generate_content",
        "request",
    ]
    assert other.get_attribute("body", "data-md-color-scheme") == "slate"  # the preference of the system
    fragment = playground.url.partition("#")[2]
    assert [url for url in urls if fragment in url.partition("#")[0]] == []
    other.context.close()


def test_the_keyboard_reaches_every_control(playground: Any) -> None:
    """Some users have no mouse."""
    _convert(playground, json.dumps(REQUEST), "messages", source="chat_completions")
    playground.focus("#pg-source")
    reached = ["pg-source"]
    while reached[-1] != "pg-after" and len(reached) < 20:
        playground.keyboard.press("Tab")
        reached.append(playground.evaluate("document.activeElement.id"))

    names = ("source", "target", "kind", "example", "text", "convert", "reverse", "share", "before", "copy", "after")
    assert reached == [f"pg-{name}" for name in names]
    playground.keyboard.press("Tab")
    playground.keyboard.press("Enter")  # the first path of the report
    assert playground.evaluate("document.activeElement.id") == "pg-before"
    first = fb.convert_request(REQUEST, source="chat_completions", target="messages").losses[0]
    assert playground.get_attribute("#pg-before .is-target", "data-pointer") == first.path


def test_a_screen_reader_gets_a_name_for_every_control(playground: Any) -> None:
    """Controls without a name are announced as \"button\" only. The result is announced as a status."""
    tree = playground.context.new_cdp_session(playground).send("Accessibility.getFullAXTree")["nodes"]
    controls = {"button", "combobox", "textbox", "group", "table", "columnheader"}
    nodes = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"] and "role" in node
    ]

    assert {"From", "To", "Kind", "Example", "Source body"} <= {name for role, name in nodes if role in ("combobox", "textbox")}
    assert [role for role, name in nodes if role in controls and not name.strip()] == []
    assert playground.get_attribute("#pg-status", "role") == "status"


_CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((value) => {
    const part = Number(value) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = (text) => { const [r, g, b] = channels(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const background = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\\)$/.test(colour) && element.parentElement ? background(element.parentElement) : colour;
  };
  const checked = ".pg-line, .pg-note, .pg-severity, .pg-path, #playground button, #playground select, #pg-text, #pg-status, .pg-hint";
  return [...document.querySelectorAll(checked)].map((element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(background(element))];
    return [element.className || element.id, Math.round(100 * (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) / 100];
  });
}"""


def test_text_is_readable_in_both_schemes(playground: Any) -> None:
    """The contrast is at least 4.5 to 1 (WCAG 2.2, level AA)."""
    document = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
    turns = [{"role": "user", "content": [document, {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}]
    request = json.dumps({"model": "m", "max_tokens": 9, "top_k": 2, "messages": turns})
    _convert(playground, request, "generate_content", source="messages")

    for button, scheme in (("Dark mode", "slate"), ("Light mode", "default")):
        playground.click(f"label[title='{button}']")
        playground.wait_for_function(f"document.body.dataset.mdColorScheme === '{scheme}'")
        playground.wait_for_function("document.getAnimations().length === 0")  # the theme changes colours in steps
        assert [row for row in playground.evaluate(_CONTRAST) if row[1] < 4.5] == []


@pytest.mark.parametrize("width", [320, 390, 768, 1300])
def test_the_page_fits_the_screen(playground: Any, width: int) -> None:
    """Nothing is outside the screen of a phone, and a finger can press each button (44 pixels)."""
    playground.set_viewport_size({"width": width, "height": 844})
    _convert(playground, json.dumps(REQUEST), "messages", source="chat_completions")

    playground.wait_for_function(f"document.documentElement.scrollWidth === {width}")  # the theme resizes its header in steps
    heights = playground.eval_on_selector_all("#playground :is(button, select)", "all => all.map(one => one.offsetHeight)")
    assert min(heights) >= 44


def test_a_conversion_imports_no_http_library() -> None:
    """The bundle has no HTTP library, and the browser has no sockets."""
    code = (
        "import sys, json; from docs.playground import convert; "
        "examples = json.load(open('docs/playground/examples.json')); "
        "text = lambda body: body if isinstance(body, str) else json.dumps(body); "
        "[convert.convert(text(one['body']), '', one['source'], one['target']) for one in examples]; "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'httpx', 'httpx2', 'httpcore', 'ssl'}))"
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


def test_the_lines_of_a_body_have_its_pointers() -> None:
    """The page marks a loss by its JSON pointer, in which keys are escaped."""
    lines = list(program.lines_of({"a/b": [1, {}], "c~": {"d": None}}))

    assert json.loads("\n".join(line for _, line in lines)) == {"a/b": [1, {}], "c~": {"d": None}}
    assert [pointer for pointer, _ in lines] == ["", "/a~1b", "/a~1b/0", "/a~1b/1", "/a~1b", "/c~0", "/c~0/d", "/c~0", ""]


@pytest.mark.parametrize("example", json.loads((PAGE / "examples.json").read_text(encoding="utf-8")), ids=lambda one: one["title"])
def test_an_example_of_the_page_is_converted(example: dict[str, Any]) -> None:
    """A new user chooses one first."""
    text = example["body"] if isinstance(example["body"], str) else json.dumps(example["body"])

    result = json.loads(program.convert(text, example["kind"], example["source"], example["target"]))

    assert "error" not in result
    assert result["after"]


@pytest.mark.parametrize("text", ["", "{", "[]", "data: {", "data: [DONE]\n\n", '{"a": 1}', "NaN", '{"model": "\\ud800"}'])
def test_text_that_cannot_be_converted_gives_a_message(text: str) -> None:
    """A user may paste any text."""
    assert json.loads(program.convert(text))["error"]
