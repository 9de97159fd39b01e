"""The wings can be taken out: a copy of the project without a wing passes tests of the core."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from project_copies import copied, run

WINGS = {
    "estimators": ("actorflow/training/estimator", "actorflow/compat/estimator", "actorflow/compat/contrib/tpu.py"),
    "onnx": ("actorflow/exchange/onnx",),
    "serving": ("actorflow/frontends/serving", "actorflow/frontends/generation", "actorflow/frontends/grpc"),
    "grpc": ("actorflow/frontends/grpc",),
    "generation": ("actorflow/frontends/generation",),
    "dashboard": ("actorflow/frontends/dashboard",),
    "export to numpy": ("actorflow/exchange/export/numpy_module",),
    "cuda": ("devices/cuda", "kernels/cuda", "kernels/cudnn"),
}
ALL = "all of them"
QUICK = ("tests/graph/test_graph.py",)
CORE = (
    *QUICK,
    "tests/graph/control_flow/test_while.py",
    "tests/engine/session/test_session.py",
    "tests/cluster/test_local_cluster.py",
    "tests/models/train/test_monitored_session.py",
)
IMPORT_ALL = """
import importlib, pkgutil, actorflow
for module in pkgutil.walk_packages(actorflow.__path__, "actorflow."):
    if not module.name.endswith(("__main__", "pyinstaller.hook-actorflow")):
        importlib.import_module(module.name)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project."""
    return copied(tmp_path / "copy")


def take_out(root: Path, folders: tuple[str, ...]) -> None:
    """Removes the folders of a wing, the entry points that name its modules, and its public names."""
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    for folder in folders:
        if folder.endswith(".py"):
            (root / folder).unlink()
        else:
            shutil.rmtree(root / folder)
        module = re.escape(f"actorflow.{folder.removeprefix('actorflow/').removesuffix('.py').replace('/', '.')}")
        project = re.sub(rf'^[\w-]+ = "{module}[.:"].*\n', "", project, flags=re.MULTILINE)
    (root / "pyproject.toml").write_text(project, encoding="utf-8")
    run(root, "tools/public_names.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wing", [*WINGS, ALL])
def test_the_core_stands_without_a_wing(wing: str, copy: Path) -> None:
    every = dict.fromkeys(folder for folders in WINGS.values() for folder in folders)  # a wing may be a part of another
    folders = WINGS.get(wing) or tuple(every)
    take_out(copy, folders)
    run(copy, "-c", IMPORT_ALL)
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *(CORE if wing == ALL else QUICK))
