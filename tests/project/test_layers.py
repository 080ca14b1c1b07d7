"""The layers of the library: no import points up, between formats, or in a cycle."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from formatbridge import FORMATS
from tests.support.for_each import for_each

SOURCE = Path(__file__).parents[2] / "src" / "formatbridge"

BOXES: tuple[str, ...] = (
    "__main__ > cli > testing > __init__",
    "client > telemetry",
    "convert",
    "formats",
    "streaming · validation",
    "options > errors",
    "ir · report",
    "arguments > jsontext · dialect · base_errors · _version",
)
"""From the highest layer to the lowest. ``a > b``: a imports b; ``a · b``: neither imports the other. ``__init__`` has the public names."""

LAYERS = [layer.split(" · ") for box in reversed(BOXES) for layer in reversed(box.split(" > "))]
"""From the lowest layer to the highest; a module may import its package and the layers before it."""

RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(SOURCE.rglob("*.py"))


def _name(path: Path) -> str:
    """Return the name of a file as a module."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {_name(path) for path in MODULES}


@cache
def _imports(path: Path) -> set[str]:
    """Return the modules of the library that a file imports at any level, those for type checkers included."""
    result: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            result |= {name if name in NAMES else node.module or "" for name in names}
        elif isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
    return result & NAMES


def _layer(module: str) -> str:
    """Return the entry of the table for a module: its package, or the module."""
    return module.split(".")[1] if "." in module else "__init__"


def test_the_page_on_architecture_has_the_same_layers() -> None:
    """A user who reads the page first would look for a module in the wrong place."""
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    diagram = page.partition("<!-- layers -->")[2].partition("<!-- end of layers -->")[0]

    assert tuple(re.findall(r"^│ (.*?) *│", diagram, re.MULTILINE)) == BOXES
    assert len(BOXES) <= 8


def test_the_page_on_architecture_lists_every_module_of_the_client() -> None:
    """The largest package needs an overview."""
    events = [name for row in _table("client") for name in re.findall(r"`(\w+)`", row.split("|")[2])]

    assert sorted(events) == sorted(path.stem for path in (SOURCE / "client").glob("*.py") if path.stem != "__init__")


def test_the_page_on_architecture_lists_every_file_of_a_format() -> None:
    """A new reader looks for the subject of a file there first."""
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## A format\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"`(\w+)\.py`", section))
    common = set.intersection(*({path.stem for path in (SOURCE / "formats" / name).glob("*.py")} for name in FORMATS))

    assert sorted(common - listed) == []


def _table(name: str) -> list[str]:
    """Return the rows of a table of the page on architecture."""
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0].strip().splitlines()[2:]


def test_every_module_has_its_layer() -> None:
    """A module that the table lacks could import anything."""
    assert {_layer(name) for name in NAMES} == RANKS.keys()


@for_each("path", MODULES)
def test_imports_are_absolute(path: Path) -> None:
    """The tests here do not see relative imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


@for_each("path", MODULES)
def test_imports_point_down(path: Path) -> None:
    """A module that imports upwards or sideways would join two layers."""
    layer = _layer(_name(path))

    others = {module for module in _imports(path) if _layer(module) != layer and RANKS[_layer(module)] >= RANKS[layer]}

    assert not others, f"{path} imports {others}, which are not below it"


def test_imports_have_no_cycle() -> None:
    """The result would depend on the module that is imported first."""
    TopologicalSorter({_name(path): _imports(path) - {_name(path)} for path in MODULES}).prepare()


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_imports_another_format(format: str) -> None:
    """A format that imports another one would be a translator, of which there would be twelve."""
    others = [name for name in FORMATS if name != format]

    seen = {
        (path.name, module)
        for path in (SOURCE / "formats" / format).rglob("*.py")
        for module in _imports(path)
        if any(module.startswith(f"formatbridge.formats.{other}") for other in others)
    }

    assert not seen


OUTWARD = ("client", "testing", "cli")
"""Modules with access to the outside."""
CLOSED = [path for path in MODULES if path.relative_to(SOURCE).parts[0] not in OUTWARD]


@for_each("path", CLOSED)
def test_no_module_below_the_client_imports_io(path: Path) -> None:
    """No module below the client imports a module for I/O, the time, the environment or random numbers."""
    banned = {"httpx", "httpx2", "socket", "time", "random", "os", "secrets", "uuid", "logging", "urllib.request", "requests"}

    imported = {problems for name in _imported(path) for problems in (name, name.partition(".")[0])}

    assert not imported & banned


@cache
def _imported(path: Path) -> set[str]:
    """Return the modules that a file imports, whole or in part."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return whole | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_only_one_file_imports_the_http_libraries() -> None:
    """A second one would have to support both libraries too."""
    knowing = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for name in _imported(path)
        if name.partition(".")[0] in ("httpx", "httpx2")
    }

    assert {name for name in knowing if not name.startswith("testing")} == {"client/connection_pool.py"}
