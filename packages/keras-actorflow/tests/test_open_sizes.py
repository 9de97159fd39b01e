"""Batches of several sizes share a trace, and give the values that each would give alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

ALONE = """
import runpy, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("jax", "tensorflow", "torch"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

pytestmark = [pytest.mark.extras, pytest.mark.timeout(600)]  # Keras is installed with the extras only


def printed(path: Path, arguments: list[str], tmp_path: Path) -> list[str]:
    """The lines that a program prints in a process of its own, without any other framework that is installed."""
    folders = os.pathsep.join(map(str, [ROOT / "src", ROOT.parents[1]]))
    environment = os.environ | {"PYTHONPATH": folders, "KERAS_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(path), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout, done.stderr
    return done.stdout.strip().splitlines()


def test_a_function_that_reads_sizes_gives_the_same_values_where_they_are_open(tmp_path: Path) -> None:
    *differences, count = printed(ROOT / "tests" / "open_sizes.py", [], tmp_path)
    assert not differences, "\n".join(differences)
    assert count.startswith("0 of "), count


@pytest.mark.parametrize("part", range(3))
def test_models_take_batches_of_all_sizes_with_a_trace(part: int, tmp_path: Path) -> None:
    program = ROOT / "tests" / "open_models.py"
    names = printed(program, ["--list"], tmp_path)[-1].split(", ")[part::3]
    lines = printed(program, names, tmp_path)
    assert lines == [f"{name}: the same values, a trace for each of fit, evaluate and predict" for name in names]


@pytest.mark.parametrize(
    ("layer", "traces"),
    [
        ("keras.layers.GlobalMaxPooling1D()", 3),  # the size of the first batch, other lengths, and other numbers
        ("keras.layers.LSTM(4)", 4),  # it goes through the moments one by one: a trace for each length
        ("Reader()", 5),  # it reads the number of examples as a number of Python: a trace for each length of the second
    ],
)
def test_other_sizes_than_the_number_of_examples_are_open_where_the_model_lets_them(
    layer: str, traces: int, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"""
import keras_actorflow
import keras, numpy as np
class Reader(keras.layers.Layer):
    def call(self, x):
        return keras.ops.sum(x, 1) * float(x.shape[0] // 2)
    def compute_output_shape(self, shape):
        return (shape[0], shape[2])
net = keras.Sequential([keras.Input((None, 8)), {layer}, keras.layers.Dense(4)])
net.compile("sgd", "mse")
for number in (4, 6):
    for length in (5, 7, 9):
        net.train_on_batch(np.ones((number, length, 8), "float32"), np.ones((number, 4), "float32"))
print(net.train_function.trace_count)
""")
    assert printed(program, [], tmp_path)[-1] == str(traces)


def test_correlations_are_those_of_numpy_whichever_input_is_longer(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import keras_actorflow
import keras, numpy as np
rng = np.random.default_rng(0)
for first in range(1, 7):
    for second in range(1, 7):
        for mode in ("same", "valid", "full"):
            x, y = rng.normal(size=first), rng.normal(size=second)
            result = keras.ops.convert_to_numpy(keras.ops.correlate(x, y, mode))
            np.testing.assert_allclose(result, np.correlate(x, y, mode), 1e-6, 1e-9, err_msg=f"{first} {second} {mode}")
print("done")
""")
    assert printed(program, [], tmp_path)[-1] == "done"
