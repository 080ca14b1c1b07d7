"""The layers of the library as a table: imports point down, never up, never sideways between formats, and in no circle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "formatbridge"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("ir", "errors"),
    ("given",),
    ("options",),
    ("losses",),
    ("_codec",),
    ("streaming",),
    ("formats",),
    ("convert", "detect"),
    ("own_fields", "stream_source"),
    ("streams",),
    ("bridge", "matrix"),
    ("relay",),
    ("cli", "demo", "testing"),
    ("__init__", "__main__"),
)
"""From the ground up; a module may import its own package and the layers below it."""

FORMATS = ("chat_completions", "messages", "responses", "generate_content")
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(SOURCE.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    """Return the modules of the library that a file imports at any level, but those for type checkers alone."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    hidden = {id(inner) for node in checking for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("formatbridge"):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {node.module or ""} | names
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("formatbridge")}
    return found


def _layer(module: str) -> str | None:
    steps = module.split(".")
    return next((step for step in steps[1:2] if step in RANKS), None)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    """A module that reaches up would make two layers one."""
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return

    above = {module for module in _imports(path) if RANKS.get(_layer(module) or "", -1) > RANKS[own]}

    assert not above, f"{path} imports {above} from above"


@pytest.mark.parametrize("format", FORMATS)
def test_formats_are_blind_to_one_another(format: str) -> None:
    """A format that knows another one would be a translator, of which there would be twelve."""
    others = [name for name in FORMATS if name != format]

    seen = {
        (path.name, module)
        for path in (SOURCE / "formats" / format).rglob("*.py")
        for module in _imports(path)
        if any(module.startswith(f"formatbridge.formats.{other}") for other in others)
    }

    assert not seen


OUTWARD = ("relay", "testing", "cli.py")
"""Where the world may be reached from."""
CLOSED = [path for path in MODULES if path.relative_to(SOURCE).parts[0] not in OUTWARD]


@pytest.mark.parametrize("path", CLOSED, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_conversion_can_reach_the_world(path: Path) -> None:
    """No module below the client imports what does I/O, tells the time, reads the environment or draws a random number."""
    banned = {"httpx", "httpx2", "socket", "time", "random", "os", "secrets", "uuid", "logging", "urllib.request", "requests"}

    imported = {found for name in _imported(path) for found in (name, name.partition(".")[0])}

    assert not imported & banned


def _imported(path: Path) -> set[str]:
    """Return the modules that a file imports, whole or in part."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_one_file_knows_the_http_libraries() -> None:
    """A second one would have to learn both libraries, too."""
    knowing = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for name in _imported(path)
        if name.partition(".")[0] in ("httpx", "httpx2")
    }

    assert {name for name in knowing if not name.startswith("testing")} == {"relay/http.py"}
