"""The distribution `actorflow-tensorflow`: one import, and no TensorFlow beside."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from actorflow.compat.door.finder import PEERS

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, [ROOT / "src", *folders, ROOT.parents[1]]))
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


def test_tensorflow_is_the_module_of_compat() -> None:
    done = python(
        "import tensorflow as tf\n"
        "import tensorflow.compat.v1 as v1\n"
        "import actorflow.compat.v1 as ours\n"
        "from tensorflow.python.framework import ops\n"
        "print(tf is ours, v1 is ours, ops.Graph is tf.Graph, tf.__version__)"
    )
    assert (done.stdout, done.stderr) == ("True True True 1.15.5\n", "")


def test_the_version_is_tensorflows() -> None:
    import actorflow.compat.v1 as tf

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == tf.__version__


@pytest.mark.parametrize("peer", PEERS)
def test_it_refuses_to_live_beside_tensorflow(peer: str, tmp_path: Path) -> None:
    metadata = tmp_path / f"{peer.replace('-', '_')}-2.15.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {peer}\nVersion: 2.15.0\n")
    done = python("import tensorflow", tmp_path)
    assert done.returncode == 1
    assert f"ImportError: actorflow-tensorflow does not live beside {peer}:" in done.stderr
    assert f"pip uninstall {peer}" in done.stderr
