"""Copies of the project, and Python over a copy in the place of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("kernels", "devices", "transports", "checkpoint")


def copied(root: Path) -> Path:
    """Copies the five parts, the tools and the tests below `root`, and links the parts to where users import them from."""
    for folder in ("actorflow", *PARTS, "tools", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for part in PARTS:
        (root / "actorflow" / part).symlink_to(root / part)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def run(root: Path, *command: Any) -> str:
    """The text that Python prints for a command over the copy. A command that fails fails the test."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout
