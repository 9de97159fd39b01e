"""Writes `tests/compat/programs_tf215.json`: what TensorFlow 2.15 prints for the programs of Estimators and sessions with hooks.

python tests/compat/dump_programs.py      with tensorflow-cpu==2.15.1 and scikit-learn, under Python 3.11

Variables are resources, whose reads have an order; other than with reference variables, the answers are the same each time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("census", "cnn_estimator", "monitored_servers")
IMPORT = "import actorflow.compat.v1 as tf\n"
THEIRS = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntf.enable_resource_variables()\n"


def answers(name: str) -> dict[str, float]:
    """The names and numbers that a program prints under TensorFlow."""
    source = (HERE / "programs" / f"{name}.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(source.replace(IMPORT, THEIRS), encoding="utf-8")
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        printed = subprocess.run([sys.executable, path], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[0]: float(line.split()[1]) for line in printed.stdout.splitlines()}


if __name__ == "__main__":
    found = {name: answers(name) for name in PROGRAMS}
    (HERE / "programs_tf215.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
