"""What the archives of a release contain: ``python -m tests.archives dist`` checks it after ``python -m build``."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
TOP_OF_SDIST = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", ".gitignore", "pyproject.toml", "src"}


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the archives of a folder: one wheel and one source archive."""
    wheels, archives = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        return [f"{len(wheels)} wheels and {len(archives)} source archives, expected one of each"]
    source = _files()
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = set(wheel.namelist())
    with tarfile.open(archives[0]) as archive:
        members = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    in_wheel = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    return [
        *_difference("wheel", in_wheel, source),
        *([] if any(name.endswith(".dist-info/licenses/LICENSE") for name in names) else ["wheel: no license"]),
        *_difference("source archive", {name.removeprefix("src/") for name in members if name.startswith("src/")}, source),
        *_difference("top of the source archive", {name.split("/")[0] for name in members}, TOP_OF_SDIST),
    ]


def _files() -> set[str]:
    """Return the files of the library in the checkout, ``py.typed`` included."""
    package = ROOT / "src" / "formatbridge"
    return {path.relative_to(package.parent).as_posix() for path in (*package.rglob("*.py"), package / "py.typed")}


def _difference(archive: str, names: set[str], expected: set[str]) -> list[str]:
    more = [f"{archive}: {name} is in it" for name in sorted(names - expected)]
    return more + [f"{archive}: {name} is not in it" for name in sorted(expected - names)]


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]))) or None)
