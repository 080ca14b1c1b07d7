"""The official SDKs for JavaScript, if node and npm are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

JAVASCRIPT = Path(__file__).parents[1] / "javascript"
INSTALL_SECONDS = 120


def installed(config: pytest.Config, script: str) -> Path:
    """Return a folder with the SDKs and a script that uses them. The SDKs are installed once, into the cache of pytest."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    wanted = (JAVASCRIPT / "package.json").read_bytes()
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent with -p no:cacheprovider
    place = cache.mkdir("javascript") if cache else pytest.skip("pytest has no cache")
    kept = place / "package.json"
    if not kept.exists() or kept.read_bytes() != wanted:
        (place / "installing").mkdir(exist_ok=True)
        (place / "installing" / "package.json").write_bytes(wanted)
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"]
        try:
            done = subprocess.run(command, cwd=place / "installing", capture_output=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm installed nothing in {INSTALL_SECONDS} seconds")
        if done.returncode:
            pytest.skip(f"npm cannot install the SDKs: {done.stderr.decode(errors='replace')[-300:]}")
        shutil.rmtree(place / "node_modules", ignore_errors=True)
        (place / "installing" / "node_modules").rename(place / "node_modules")
        kept.write_bytes(wanted)
    shutil.copy(JAVASCRIPT / script, place)  # node looks for modules in the folder of the script
    return place
