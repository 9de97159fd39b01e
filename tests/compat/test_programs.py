"""TensorFlow 1 programs, written as tutorials write them, learn what they should with one changed import.

The programs of the folder `programs` run under TensorFlow itself with `import tensorflow.compat.v1 as tf` and
`tf.disable_v2_behavior()`, and learn the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ANSWERS = json.loads((Path(__file__).parent / "programs_tf215.json").read_text(encoding="utf-8"))
PROGRAMS = Path(__file__).resolve().parent / "programs"
# BLAS threads spin, which costs all others their time slices where tests share a machine.
ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}


def run(name: str, *arguments: str) -> dict[str, float]:
    """The output of a program, a name and a number on each line; warnings are errors in it."""
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"{name}.py", *arguments],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}


def test_each_program_has_a_test_and_changes_one_import() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for path in PROGRAMS.glob("*.py"):
        assert f'run("{path.stem}"' in text or path.stem in ANSWERS, path
        assert path.read_text(encoding="utf-8").count("actorflow") == 1, path


def test_linear_regression() -> None:
    found = run("linear_regression")
    assert found["slope"] == pytest.approx(3, abs=0.05)
    assert found["intercept"] == pytest.approx(-2, abs=0.05)
    assert found["loss"] < 0.003


def test_flags_change_a_program() -> None:
    found = run("linear_regression", "--epochs=1", "--learning_rate", "1e-9")
    assert found["loss"] > 0.5


def test_softmax_regression_on_digits() -> None:
    found = run("softmax_digits")
    assert found["accuracy"] > 0.92
    assert found["loss"] < 0.4


def test_convolutions_on_digits() -> None:
    found = run("convolutional_digits")
    assert found["flat"] == 2 * 2 * 16
    assert found["accuracy"] > 0.93
    assert found["loss"] < 0.3


def test_word_embeddings() -> None:
    found = run("word2vec")
    assert found["loss"] < 0.8 * found["before"]
    assert found["accuracy"] > 0.9


def test_an_autoencoder_of_digits() -> None:
    found = run("autoencoder")
    assert found["before"] > 0.15
    assert found["loss"] < 0.045
    assert (found["step"], found["code"], found["variables"]) == (700, 12, 4)


@pytest.mark.parametrize("name", ["census", "cnn_estimator", "monitored_servers"])
def test_a_program_of_estimators_and_hooks_prints_what_it_prints_under_tensorflow(name: str) -> None:
    """Metrics, losses, weights, the calls of hooks, checkpoints: `tests/compat/dump_programs.py` has run the same programs."""
    assert run(name) == pytest.approx(ANSWERS[name], rel=1e-5, abs=1e-6)
