"""Moving averages of variables and tensors: TensorFlow's values and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from running import Run, start

import actorflow as af
from actorflow.graph.graph import Graph

__all__ = ["start"]

Start = Callable[[Graph], Run]


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


def test_tensorflow_agrees(graph: Graph, start: Start) -> None:
    v, w, n = af.Variable([1.0, 2.0], name="v"), af.Variable(3.0, name="w"), af.Variable(4.0, name="n")
    plain = af.train.ExponentialMovingAverage(0.9)
    apply = plain.apply([v, w])
    assert apply.name == "ExponentialMovingAverage" and plain.name == "ExponentialMovingAverage"
    counted = af.train.ExponentialMovingAverage(0.99, num_updates=n, name="E2")
    apply_counted = counted.apply([v])
    c = af.identity(v * 2.0, name="c")
    debiased = af.train.ExponentialMovingAverage(0.9, zero_debias=True, name="Z")
    apply_debiased = debiased.apply([c, v])
    change = af.group(v.assign_add([1.0, 1.0], read_value=False), w.assign(10.0, read_value=False))
    averages = [plain.average(v), plain.average(w), counted.average(v), debiased.average(c), debiased.average(v)]
    run = start(graph)
    run(af.global_variables_initializer())
    for expected in (
        [[1.1, 2.1], 3.7, [1.6428571, 2.6428571], [4.0, 6.0], [1.1, 2.1]],
        [[1.29, 2.29], 4.33, [2.515306, 3.515306], [5.0526314, 7.0526309], [1.29, 2.29]],
        [[1.561, 2.561], 4.897, [3.4697521, 4.4697523], [6.1402206, 8.1402197], [1.561, 2.561]],
    ):
        run(change)
        for one in (apply, apply_counted, apply_debiased):
            run(one)
        for found, wanted in zip(run(averages), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_names(graph: Graph) -> None:
    v, w = af.Variable([1.0, 2.0], name="v"), af.Variable(3.0, name="w")
    n = af.Variable(4.0, name="n", trainable=False)
    plain = af.train.ExponentialMovingAverage(0.9)
    plain.apply([v])
    assert plain.average(v).name == "v/ExponentialMovingAverage:0" and plain.average(w) is None
    assert plain.average_name(v) == "v/ExponentialMovingAverage"
    assert plain.average_name(w) == "w/ExponentialMovingAverage"
    c = af.identity(v * 2.0, name="c")
    other = af.train.ExponentialMovingAverage(0.9, zero_debias=True, name="Z")
    other.apply([c])
    assert other.average_name(c) == "c/Z"
    assert af.moving_average_variables() == [v]
    restored = plain.variables_to_restore()
    assert sorted(restored) == [
        "c/Z",
        "c/Z/biased",
        "c/Z/local_step",
        "n",
        "v/ExponentialMovingAverage",
        "w/ExponentialMovingAverage",
    ]
    assert restored["v/ExponentialMovingAverage"] is v and restored["n"] is n
    assert sorted(plain.variables_to_restore([w])) == [
        "c/Z",
        "c/Z/biased",
        "c/Z/local_step",
        "n",
        "v",
        "v/ExponentialMovingAverage",
        "w/ExponentialMovingAverage",
    ]


def test_all_trainable_variables_by_default(graph: Graph, start: Start) -> None:
    v, w = af.Variable([1.0, 2.0], name="v"), af.Variable(3.0, dtype=af.float64, name="w")
    average = af.train.ExponentialMovingAverage(0.5)
    apply = average.apply()
    again = average.apply([v])
    assert len(af.global_variables()) == 4
    run = start(graph)
    run(af.global_variables_initializer())
    run([v.assign([3.0, 4.0]), w.assign(5.0)])
    run(apply)
    run(again)
    np.testing.assert_array_equal(run(average.average(v)), [2.5, 3.5])
    assert run(average.average(w)) == 4.0
    with pytest.raises(TypeError, match="must be half, float, or double: Variable:0"):
        average.apply([af.Variable(1)])
