"""Type checkers infer precise types for public calls, and public attributes have docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import formatbridge as fb
from formatbridge import testing

ROOT = Path(__file__).parents[2]
EXPECTED = ROOT / "tests" / "support" / "types_expected.py"
REJECTED = ROOT / "tests" / "support" / "types_rejected.py"
EXAMPLES = ROOT / "examples"
WITHOUT_TYPES = {"convert_partition.py", "dask_convert.py", "ray_convert.py", "spark_convert.py"}
"""Examples that use packages without types, such as pyarrow."""
TYPED_EXAMPLES = sorted(path for path in EXAMPLES.glob("*.py") if path.name not in WITHOUT_TYPES)
CHECKED = [EXPECTED, REJECTED, *TYPED_EXAMPLES]
MARKED = {
    (REJECTED.name, number)
    for number, line in enumerate(REJECTED.read_text(encoding="utf-8").splitlines(), 1)
    if line.endswith("# error")
}
"""The lines with an error for a type checker, all of them in one file."""
CLASSES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (fb, fb.telemetry, testing)
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
"""The public classes by their names. Fields of typed models are documented by the vendors, and nodes of ``ir`` in their class."""


@pytest.fixture(scope="module")
def pyright() -> list[str]:
    """The command of pyright, which the wrapper from the package index downloads at its first use."""
    program = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed; the extra 'dev' has it")
    try:
        works = subprocess.run([program, "--version"], capture_output=True, timeout=120, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        works = False
    if not works:
        pytest.skip("pyright cannot run; its wrapper needs Node.js and access to the npm registry")
    return [program, "--pythonpath", sys.executable]


def test_mypy_infers_the_expected_types_and_rejects_a_misspelt_format() -> None:
    """Each ``assert_type`` fails for a type that is less precise, and each example fails for a value without a type.

    An editor shows the error of a misspelt format before the first call. Only the marked lines have one.
    """
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", *map(str, CHECKED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    assert _places_of_errors(done.stdout, r"([^/\s]+\.py):(\d+): error:") == MARKED, done.stdout


def test_pyright_infers_the_expected_types_and_rejects_a_misspelt_format(pyright: list[str], tmp_path: Path) -> None:
    """Pyright is what most editors use; it resolves overloads by other rules than mypy."""
    for path in CHECKED:
        shutil.copy(path, tmp_path)
    names = [path.name for path in CHECKED]
    settings = {"include": names, "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")

    done = subprocess.run([*pyright, "-p", str(tmp_path)], capture_output=True, text=True, timeout=300, check=False)

    assert _places_of_errors(done.stdout, r"([^/\s]+\.py):(\d+):\d+ - error:") == MARKED, done.stdout


def _places_of_errors(output: str, pattern: str) -> set[tuple[str, int]]:
    """Return the files and the numbers of the lines that a type checker reports."""
    return {(name, int(number)) for name, number in re.findall(pattern, output)}


@pytest.mark.parametrize("value", CLASSES.values(), ids=CLASSES)
def test_public_attributes_have_docstrings(value: type) -> None:
    """An editor shows the string below an attribute when the pointer is over its name."""
    tree = ast.parse(inspect.getsource(importlib.import_module(value.__module__)))
    node = next(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == value.__name__)

    assert _undocumented(node) == []


def _undocumented(node: ast.ClassDef) -> list[str]:
    """Return the public attributes of a class, and of its ``__init__``, that no string follows, and methods without docstrings."""
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    initial = [each for each in functions if each.name == "__init__" and not _is_overload(each)]
    missing = [name for body in (node.body, *(each.body for each in initial)) for name in _attributes_without_docstring(body)]
    missing += [
        each.name
        for each in functions
        if not each.name.startswith("_") and not _is_overload(each) and ast.get_docstring(each) is None
    ]
    return missing


def _attributes_without_docstring(body: list[ast.stmt]) -> list[str]:
    missing = []
    for statement, following in zip(body, [*body[1:], None], strict=True):
        name = _attribute(statement)
        is_string = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if name and not name.startswith("_") and not is_string:
            missing.append(name)
    return missing


def _attribute(statement: ast.stmt) -> str | None:
    """Return the attribute that a statement sets or declares."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Attribute(attr=name, value=ast.Name(id="self"))):
            return name
        case ast.Assign(targets=[ast.Attribute(attr=name, value=ast.Name(id="self"))]):
            return name
    return None


def _is_overload(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in function.decorator_list)
