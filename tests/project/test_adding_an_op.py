"""CONTRIBUTING.md's guide to adding an op works to the letter, in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("kernels", "devices", "transports", "checkpoint")
STEP = re.compile(r"^\d\. .*?here (?:in|to `CASES` of) `([\w/.]+)`.*?```python\n(.*?)```", re.MULTILINE | re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """The files of the guide, each with what is to be added to it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guide = text.partition("## Adding an op")[2].partition("\n## ")[0]
    return [(file, textwrap.dedent(code)) for file, code in STEP.findall(guide)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project, and its parts as users import them."""
    root = tmp_path / "copy"
    leave_out = shutil.ignore_patterns("__pycache__")
    for folder in ("actorflow", *PARTS, "tools", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=leave_out)
    (root / "docs" / "guides").mkdir(parents=True)
    for file in [ROOT / "pyproject.toml", ROOT / "docs" / "guides" / "gpu.md"]:
        shutil.copy(file, root / file.relative_to(ROOT))
    return root


def run(root: Path, *command: Any) -> str:
    """Runs Python with the copy in the place of the project."""
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


@pytest.mark.timeout(180)
def test_the_guide_makes_an_op_with_its_tests(copy: Path) -> None:
    made = steps()
    assert [file for file, _ in made] == [
        "actorflow/ops/nn/activation.py",
        "kernels/nn/activation.py",
        "tests/ops/nn/rows_activation.py",
    ]
    for file, code in made:
        with (copy / file).open("a", encoding="utf-8") as written:
            written.write(f"\n\n{code}")
    run(copy, "tools/public_names.py")
    assert "squareplus as squareplus" in (copy / "actorflow" / "nn.pyi").read_text(encoding="utf-8")
    for part in PARTS:
        (copy / "actorflow" / part).symlink_to(copy / part)
    where = run(copy, "-c", "import actorflow as af; print(af.nn.squareplus.__wrapped__.__code__.co_filename)")
    assert where.strip() == str(copy / "actorflow" / "ops" / "nn" / "activation.py")
    run(copy, "tests/support/kernel_coverage.py")
    table = Path("docs", "guides", "gpu.md")
    assert (copy / table).read_text(encoding="utf-8") != (ROOT / table).read_text(encoding="utf-8")
    printed = run(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ops/test_table.py", "-k", "Squareplus or every_op"
    )
    assert int(re.findall(r"(\d+) passed", printed)[0]) >= 6, printed
