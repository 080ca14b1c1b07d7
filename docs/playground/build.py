"""Build the bundle of the playground: ``python -m docs.playground.build``.

The bundle is Pyodide from npm, wheels of pydantic for it from PyPI, and the library itself. The page loads nothing else.
The bundle is not part of the repository. The script needs ``npm`` and ``pip`` and takes a few seconds.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PYODIDE = "314.0.7"
"""The version of Pyodide. Its first number is the version of Python: 314 is Python 3.14."""

FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""What a browser needs of the npm package."""

BUNDLE = Path(__file__).parent / "bundle"
PACKAGE = Path(__file__).parents[2] / "src" / "formatbridge"


def build(bundle: Path = BUNDLE) -> None:
    """Write the bundle; the manifest is last, so that a bundle with a manifest is complete."""
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        _fetch_pyodide(Path(folder), bundle)
    lock = json.loads((bundle / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    _fetch_wheels(f"pyemscripten_{lock['abi_version']}_wasm32", lock["python"], bundle)
    _pack_library(bundle / "formatbridge.zip")
    sizes = {path.name: path.stat().st_size for path in sorted(bundle.iterdir())}
    manifest = {"pyodide": PYODIDE, "wheels": [name for name in sizes if name.endswith(".whl")], "sizes": sizes}
    (bundle / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _fetch_pyodide(folder: Path, bundle: Path) -> None:
    subprocess.run(["npm", "pack", "--silent", f"pyodide@{PYODIDE}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        for name in FILES:
            content = tar.extractfile(f"package/{name}")
            assert content is not None, name
            (bundle / name).write_bytes(content.read())


def _fetch_wheels(platform: str, python: str, bundle: Path) -> None:
    """Download pydantic and what it depends on, for the platform of this Pyodide."""
    version = ".".join(python.split(".")[:2])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    tags = ["--platform", platform, "--python-version", version, "--implementation", "cp", "--abi", f"cp{version.replace('.', '')}"]
    subprocess.run([*command, *tags, "--dest", str(bundle), "pydantic>=2.10", "typing-extensions>=4.12"], check=True)


def _pack_library(archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(PACKAGE.rglob("*.py")):
            target.write(path, path.relative_to(PACKAGE.parent))


if __name__ == "__main__":
    build()
