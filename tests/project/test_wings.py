"""The wings can be taken out: a copy of the project without a wing passes tests of the core."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("kernels", "devices", "transports", "checkpoint")
WINGS = {
    "estimators": ("actorflow/training/estimator", "actorflow/compat/estimator", "actorflow/compat/contrib/tpu.py"),
    "onnx": ("actorflow/exchange/onnx",),
    "serving": ("actorflow/frontends/serving",),
    "dashboard": ("actorflow/frontends/dashboard",),
    "export to numpy": ("actorflow/exchange/export/numpy_module",),
    "cuda": ("devices/cuda", "kernels/cuda", "kernels/cudnn"),
}
ALL = "all of them"
QUICK = ("tests/graph/test_graph.py",)
CORE = (
    *QUICK,
    "tests/flow/test_while.py",
    "tests/session/test_session.py",
    "tests/cluster/test_local_cluster.py",
    "tests/train/test_monitored_session.py",
)
IMPORT_ALL = """
import importlib, pkgutil, actorflow
for module in pkgutil.walk_packages(actorflow.__path__, "actorflow."):
    if not module.name.endswith(("__main__", "pyinstaller.hook-actorflow")):
        importlib.import_module(module.name)
"""


def run(root: Path, *command: Any) -> None:
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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project, with its parts as users import them."""
    root = tmp_path / "copy"
    leave_out = shutil.ignore_patterns("__pycache__")
    for folder in ("actorflow", "tools", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=leave_out)
    for folder in PARTS:
        shutil.copytree(ROOT / folder, root / "actorflow" / folder, ignore=leave_out)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def take_out(root: Path, folders: tuple[str, ...]) -> None:
    """Removes the folders of a wing, the entry points that name its modules, and its public names."""
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    for folder in folders:
        below = folder if folder.startswith("actorflow/") else f"actorflow/{folder}"
        if below.endswith(".py"):
            (root / below).unlink()
        else:
            shutil.rmtree(root / below)
        module = re.escape(below.removesuffix(".py").replace("/", "."))
        project = re.sub(rf'^[\w-]+ = "{module}[.:"].*\n', "", project, flags=re.MULTILINE)
    (root / "pyproject.toml").write_text(project, encoding="utf-8")
    run(root, "tools/public_names.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wing", [*WINGS, ALL])
def test_the_core_stands_without_a_wing(wing: str, copy: Path) -> None:
    folders = WINGS.get(wing) or tuple(folder for folders in WINGS.values() for folder in folders)
    take_out(copy, folders)
    run(copy, "-c", IMPORT_ALL)
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *(CORE if wing == ALL else QUICK))
