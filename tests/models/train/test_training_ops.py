"""The fused updates that no optimizer of TensorFlow 1 makes, or that need more than a gradient: TensorFlow's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from running import Run, start

import actorflow as af
from actorflow.graph.graph import Graph
from actorflow.graph.ops.state import training

__all__ = ["start"]

Start = Callable[[Graph], Run]
train = af.train
VAR = np.array([[1.0, -2.0], [0.3, 0.4], [0.05, -0.06]], np.float32)
DENSE = np.array([[0.5, -1.0], [0.0, 0.25], [2.0, -0.125]], np.float32)
ROWS = np.array([[0.5, -1.0], [2.0, 0.25], [0.125, -0.5]], np.float32)
THREE = np.int64(3)


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


# The update, the slots' initial values, and what TensorFlow makes of the variable and of them in two runs.
CASES: dict[str, tuple[Callable[..., Any], list[float], list[Any]]] = {
    "AdagradDA": (
        lambda g, *refs: training.adagrad_da.dense(*refs, g, 0.1, 0.05, 0.02, THREE),
        [0.1, 0.2],
        [
            [[-0.11273824, 0.11750962], [-0.0, -0.078113109], [-0.13765155, 0.0]],
            [[1.1, -1.9], [0.1, 0.6], [4.1, -0.15]],
            [[0.7, 2.2], [0.2, 0.325], [8.2, 0.23125]],
        ],
    ),
    "AdagradDA without l1": (
        lambda g, *refs: training.adagrad_da.dense(*refs, g, 0.1, 0.0, 0.02, THREE),
        [0.1, 0.2],
        [
            [[-0.13053901, 0.12758186], [-0.022064652, -0.10415081], [-0.14287883, 0.030808121]],
            [[1.1, -1.9], [0.1, 0.6], [4.1, -0.15]],
            [[0.7, 2.2], [0.2, 0.325], [8.2, 0.23125]],
        ],
    ),
    "SparseAdagradDA": (
        lambda g, *refs: training.adagrad_da.sparse(*refs, ROWS, [2, 0, 1], 0.1, 0.05, 0.02, THREE),
        [0.1, 0.2],
        [
            [[-0.13765156, -0.078113109], [-0.041077495, 0.089003861], [-0.11273823, 0.11750963]],
            [[4.1, 0.6], [0.35, -0.9], [1.1, -1.9]],
            [[8.2, 0.325], [0.23125, 0.7], [0.7, 2.2]],
        ],
    ),
    "AddSign": (
        lambda g, *refs: training.add_sign.dense(*refs, 0.1, 1.5, 0.8, 0.9, g),
        [0.1],
        [
            [[0.77, -1.54], [0.3, 0.285], [-0.87, -0.0425]],
            [[0.17600003, -0.10900005], [0.081, 0.1285], [0.46100008, 0.057249986]],
        ],
    ),
    "PowerSign": (
        lambda g, *refs: training.power_sign.dense(*refs, 0.1, 1.5, 0.8, 0.9, g),
        [0.1],
        [
            [[0.6679883, -1.3359766], [0.3, 0.23399416], [-1.2780468, -0.052470144]],
            [[0.17600003, -0.10900005], [0.081, 0.1285], [0.46100008, 0.057249986]],
        ],
    ),
    "AdaMax": (
        lambda g, *refs: training.ada_max.dense(*refs, 0.9, 0.1, 0.9, 0.99, 0.01, g),
        [0.1, 0.2],
        [
            [[0.38039219, -1.8821782], [-0.52585775, -0.53653836], [-0.32363182, -0.71048158]],
            [[0.17600003, -0.10900005], [0.081, 0.1285], [0.46100008, 0.057249993]],
            [[0.5, 1.0], [0.19602001, 0.25], [2.0, 0.19602001]],
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_tensorflow_agrees(graph: Graph, start: Start, name: str, dtype: str) -> None:
    build, initial, expected = CASES[name]
    kind = af.as_dtype(dtype).numpy_dtype
    refs = [af.Variable(VAR.astype(kind)), *(af.Variable(np.full((3, 2), x, kind)) for x in initial)]
    update = build(DENSE, *refs)
    run = start(graph)
    run(af.global_variables_initializer())
    run(update)
    run(update)
    tolerance = {"float16": 1e-2, "bfloat16": 6e-2}.get(dtype, 3e-6)
    for ref, wanted in zip(refs, expected, strict=True):
        found = run(ref)
        assert found.dtype == kind
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("Sparse")])
def test_large_variables_are_updated_block_by_block(graph: Graph, start: Start, name: str) -> None:
    build, initial, expected = CASES[name]
    copies = 30_000
    refs = [af.Variable(np.tile(VAR, (copies, 1))), *(af.Variable(np.full((3 * copies, 2), x, "f")) for x in initial)]
    update = build(np.tile(DENSE, (copies, 1)), *refs)
    run = start(graph)
    run(af.global_variables_initializer())
    run(update)
    run(update)
    for ref, wanted in zip(refs, expected, strict=True):
        np.testing.assert_allclose(run(ref), np.tile(wanted, (copies, 1)), rtol=3e-6, atol=1e-7)


def test_dual_averaging_counts_steps(graph: Graph, start: Start) -> None:
    count = train.get_or_create_global_step()
    v, t = af.Variable([1.0, -2.0, 3.0]), af.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    g = af.placeholder(af.float32, [3])
    rows = af.IndexedSlices(af.constant([[1.0, -1.0], [0.5, 2.0], [1.0, 1.0]]), af.constant([2, 0, 2]))
    optimizer = train.AdagradDAOptimizer(0.1, count, 0.1, 0.05, 0.02)
    step = optimizer.apply_gradients([(g, v), (rows, t)], global_step=count)
    assert optimizer.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]
    run = start(graph)
    run(af.global_variables_initializer())
    for k in range(3):
        run(step, {g: [0.5 * (k + 1), -1.0, 0.0]})
    np.testing.assert_allclose(run(v), [-0.14973469, 0.16131939, 0.0], rtol=2e-6)
    expected = [[-0.14548127, -0.16788609], [3.0, 4.0], [-0.16788609, 0.0]]
    np.testing.assert_allclose(run(t), expected, rtol=2e-6)


def test_what_optimizers_refuse() -> None:
    for wrong in (
        lambda: train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0),
        lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
        lambda: train.FtrlOptimizer(0.1, l2_regularization_strength=-1.0),
        lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0),
        lambda: train.FtrlOptimizer(0.1, learning_rate_power=0.5),
        lambda: train.ProximalAdagradOptimizer(0.1, 0.0),
        lambda: train.AdagradDAOptimizer(0.1, 0, 0.0),
    ):
        with pytest.raises(ValueError, match=r"positive|negative"):
            wrong()


def test_the_slots_of_ftrl_have_names_of_their_own(graph: Graph) -> None:
    v = af.Variable([1.0], name="v")
    optimizer = train.FtrlOptimizer(0.1, accum_name="a", linear_name="z")
    optimizer.minimize(v * v)
    assert [optimizer.get_slot(v, n).name for n in ("accum", "linear")] == ["v/a:0", "v/z:0"]
