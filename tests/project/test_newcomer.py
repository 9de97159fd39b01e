"""The path of a newcomer: a fresh clone, an environment of its own, and each tutorial from its top to its bottom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(path.name for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")
SECONDS = 900

pytestmark = pytest.mark.extras  # it installs packages


def call(*command: object, cwd: Path) -> str:
    """Runs a command, which sees nothing of the environment of the tests, and gives its output."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ACTORFLOW", "VIRTUAL"))
    }
    done = subprocess.run([*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed, with an environment as the first tutorial makes it."""
    folder = tmp_path_factory.mktemp("newcomer")
    call("git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), "actorflow", cwd=folder)
    call(sys.executable, "-m", "venv", "env", cwd=folder)
    call("env/bin/pip", "install", "--quiet", folder / "actorflow", cwd=folder)
    return folder


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_each_tutorial_runs_from_a_fresh_clone(clone: Path, tutorial: str) -> None:
    page = clone / "actorflow" / "docs" / "tutorials" / tutorial
    runner = clone / "actorflow" / "tools" / "docsite" / "running.py"
    printed = call(clone / "env" / "bin" / "python", runner, page, cwd=clone)
    assert "examples" in printed and " 0 examples" not in printed
