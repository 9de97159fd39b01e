"""Optimizers: against TensorFlow's answers and formulas in numpy, on dense gradients and on rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from running import Run, interpreted, start

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.graph import Graph
from actorflow.graph.ops.state import training

__all__ = ["start"]

Start = Callable[[Graph], Run]
train = af.train


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "GradientDescent": lambda: train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adagrad": lambda: train.AdagradOptimizer(0.1),
    "RMSProp": lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda: train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    "Adam": lambda: train.AdamOptimizer(0.1),
    "Adadelta": lambda: train.AdadeltaOptimizer(0.5, 0.9, 1e-3),
    "ProximalGradientDescent": lambda: train.ProximalGradientDescentOptimizer(0.1, 0.05, 0.02),
    "ProximalAdagrad": lambda: train.ProximalAdagradOptimizer(0.1, 0.1, 0.05, 0.02),
    "Ftrl": lambda: train.FtrlOptimizer(0.1, -0.5, 0.1, 0.05, 0.02),
    "FtrlPower": lambda: train.FtrlOptimizer(0.1, -0.3, 0.1, 0.05, 0.02),
    "FtrlShrinkage": lambda: train.FtrlOptimizer(
        0.1, l2_regularization_strength=0.02, l2_shrinkage_regularization_strength=0.3
    ),
}

# TensorFlow's values of two variables after three steps; the second gets rows, of which two have one index.
TENSORFLOW: dict[str, tuple[Any, Any]] = {
    "GradientDescent": ([0.7, -1.7, 3.0], [[0.85, 1.4], [3.0, 4.0], [4.4, 6.0]]),
    "Momentum": ([0.5244999, -1.439, 3.0], [[0.7195, 0.878], [3.0, 4.0], [3.878, 6.0]]),
    "Nesterov": ([0.27205, -1.1951, 3.0], [[0.59755, 0.3902], [3.0, 4.0], [3.3902, 6.0]]),
    "Adagrad": ([0.7503613, -1.7788510, 3.0], [[0.7967022, 1.7734582], [3.0, 4.0], [4.7734580, 6.0]]),
    "RMSProp": ([0.6082860, -1.575, 3.0], [[0.7720138, 1.3050679], [3.0, 4.0], [4.3050681, 6.0]]),
    "CenteredRMSProp": ([0.6006891, -1.5674477, 3.0], [[0.7708043, 1.2746737], [3.0, 4.0], [4.2746739, 6.0]]),
    "Adam": ([0.7076827, -1.7000011, 3.0], [[0.7000012, 1.7000010], [3.0, 4.0], [4.7000012, 6.0]]),
    "ProximalGradientDescent": (
        [0.68008083, -1.6743037, 2.9671314],
        [[0.82968181, 1.3754996], [3.0, 4.0], [4.3575721, 5.949204]],
    ),
    "ProximalAdagrad": (
        [0.72974783, -1.7596653, 2.8969512],
        [[0.76950204, 1.7636255], [3.0, 4.0], [4.7568393, 5.8407431]],
    ),
    "Adadelta": ([0.81194723, -1.8472894, 3.0], [[0.84955716, 1.8467066], [3.0, 4.0], [4.8467064, 6.0]]),
    "Ftrl": ([0.2053472, -1.1664524, 0.0], [[0.25179243, 1.4556782], [3.0, 4.0], [3.9821663, 0.0]]),
    "FtrlPower": ([0.043702058, -0.76945752, 0.0], [[0.12633425, 1.0051112], [3.0, 4.0], [3.0151863, 0.0]]),
    "FtrlShrinkage": (
        [0.093110584, -0.97217447, -0.37119558],
        [[0.12560785, 1.3423183], [3.0, 4.0], [3.687649, -0.74239117]],
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_tensorflow_agrees(graph: Graph, start: Start, name: str) -> None:
    v, t = af.Variable([1.0, -2.0, 3.0]), af.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    g = af.placeholder(af.float32, [3])
    rows = af.IndexedSlices(
        af.constant([[1.0, -1.0], [0.5, 2.0], [1.0, 1.0]]), af.constant([2, 0, 2]), af.constant([3, 2])
    )
    step = OPTIMIZERS[name]().apply_gradients([(g, v), (rows, t)])
    run = start(graph)
    run(af.global_variables_initializer())
    for k in range(3):
        assert run(step, {g: [0.5 * (k + 1), -1.0, 0.0]}) is None
    for found, expected in zip(run([v, t]), TENSORFLOW[name]):
        np.testing.assert_allclose(found, expected, rtol=2e-6)


# ---- the formulas once more, at float64 and with other parameters


class Formula:
    """An optimizer in numpy, as its docstring has it. `slots` are made with the first gradient."""

    def __init__(self, step: Callable[..., Any], **initial: float) -> None:
        self.step = step
        self.initial = initial
        self.slots: dict[str, Any] = {}
        self.t = 0

    def __call__(self, w: Any, g: Any) -> Any:
        self.t += 1
        if not self.slots:
            self.slots = {name: np.full_like(w, value) for name, value in self.initial.items()}
        return w - self.step(self.slots, g, self.t)


def _momentum(nesterov: bool) -> Callable[..., Any]:
    def step(s: Any, g: Any, t: int) -> Any:
        s["a"] = 0.8 * s["a"] + g
        return 0.05 * (g + 0.8 * s["a"]) if nesterov else 0.05 * s["a"]

    return step


def _adagrad(s: Any, g: Any, t: int) -> Any:
    s["a"] = s["a"] + g**2
    return 0.05 * g / np.sqrt(s["a"])


def _rms(centered: bool) -> Callable[..., Any]:
    def step(s: Any, g: Any, t: int) -> Any:
        s["rms"] = 0.7 * s["rms"] + 0.3 * g**2
        s["mg"] = 0.7 * s["mg"] + 0.3 * g
        under = s["rms"] - s["mg"] ** 2 if centered else s["rms"]
        s["mom"] = 0.4 * s["mom"] + 0.05 * g / np.sqrt(under + 1e-3)
        return s["mom"]

    return step


def _adam(s: Any, g: Any, t: int) -> Any:
    s["m"] = 0.8 * s["m"] + 0.2 * g
    s["v"] = 0.95 * s["v"] + 0.05 * g**2
    return 0.05 * np.sqrt(1 - 0.95**t) / (1 - 0.8**t) * s["m"] / (np.sqrt(s["v"]) + 1e-3)


def _adadelta(s: Any, g: Any, t: int) -> Any:
    s["a"] = 0.8 * s["a"] + 0.2 * g**2
    step = np.sqrt(s["u"] + 1e-2) / np.sqrt(s["a"] + 1e-2) * g
    s["u"] = 0.8 * s["u"] + 0.2 * step**2
    return 0.05 * step


class Whole(Formula):
    """An optimizer whose step is no difference: `step` gives the new weights."""

    def __call__(self, w: Any, g: Any) -> Any:
        self.t += 1
        if not self.slots:
            self.slots = {name: np.full_like(w, value) for name, value in self.initial.items()}
        return self.step(self.slots, g, w)


def _nearest(near: Any, rate: Any) -> Any:
    return np.sign(near) * np.maximum(np.abs(near) - rate * 0.3, 0) / (1 + rate * 0.2)


def _proximal(s: Any, g: Any, w: Any) -> Any:
    return _nearest(w - 0.05 * g, 0.05)


def _proximal_adagrad(s: Any, g: Any, w: Any) -> Any:
    s["a"] = s["a"] + g**2
    return _nearest(w - 0.05 / np.sqrt(s["a"]) * g, 0.05 / np.sqrt(s["a"]))


def _ftrl(power: float, shrinkage: float) -> Callable[..., Any]:
    def step(s: Any, g: Any, w: Any) -> Any:
        before, after = s["a"] ** power, (s["a"] + g**2) ** power
        s["z"] = s["z"] + g + 2 * shrinkage * w - (after - before) / 0.05 * w
        s["a"] = s["a"] + g**2
        found = (np.sign(s["z"]) * 0.3 - s["z"]) / (after / 0.05 + 2 * 0.2)
        return np.where(np.abs(s["z"]) > 0.3, found, 0)

    return step


FORMULAS: dict[str, tuple[Callable[[], Any], Callable[[], Formula], bool]] = {
    "GradientDescent": (lambda: train.GradientDescentOptimizer(0.05), lambda: Formula(lambda s, g, t: 0.05 * g), True),
    "Momentum": (lambda: train.MomentumOptimizer(0.05, 0.8), lambda: Formula(_momentum(False), a=0.0), True),
    "Nesterov": (
        lambda: train.MomentumOptimizer(0.05, 0.8, use_nesterov=True),
        lambda: Formula(_momentum(True), a=0.0),
        True,
    ),
    "Adagrad": (lambda: train.AdagradOptimizer(0.05, 0.3), lambda: Formula(_adagrad, a=0.3), True),
    "RMSProp": (
        lambda: train.RMSPropOptimizer(0.05, 0.7, 0.4, 1e-3),
        lambda: Formula(_rms(False), rms=1.0, mg=0.0, mom=0.0),
        True,
    ),
    "CenteredRMSProp": (
        lambda: train.RMSPropOptimizer(0.05, 0.7, 0.4, 1e-3, centered=True),
        lambda: Formula(_rms(True), rms=1.0, mg=0.0, mom=0.0),
        True,
    ),
    "Adadelta": (
        lambda: train.AdadeltaOptimizer(0.05, 0.8, 1e-2),
        lambda: Formula(_adadelta, a=0.0, u=0.0),
        True,
    ),
    "ProximalGradientDescent": (
        lambda: train.ProximalGradientDescentOptimizer(0.05, 0.3, 0.2),
        lambda: Whole(_proximal),
        True,
    ),
    "ProximalAdagrad": (
        lambda: train.ProximalAdagradOptimizer(0.05, 0.4, 0.3, 0.2),
        lambda: Whole(_proximal_adagrad, a=0.4),
        True,
    ),
    "Ftrl": (
        lambda: train.FtrlOptimizer(0.05, -0.5, 0.4, 0.3, 0.2),
        lambda: Whole(_ftrl(0.5, 0.0), a=0.4, z=0.0),
        True,
    ),
    "FtrlV2": (
        lambda: train.FtrlOptimizer(0.05, -0.7, 0.4, 0.3, 0.2, l2_shrinkage_regularization_strength=0.6),
        lambda: Whole(_ftrl(0.7, 0.6), a=0.4, z=0.0),
        True,
    ),
    # Adam moves all rows, whichever occur.
    "Adam": (lambda: train.AdamOptimizer(0.05, 0.8, 0.95, 1e-3), lambda: Formula(_adam, m=0.0, v=0.0), False),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("shape", [(), (3,), (4, 5), (0, 2), (700, 100)])
def test_dense_formulas(graph: Graph, name: str, shape: tuple[int, ...]) -> None:
    optimizer, formula, _ = FORMULAS[name]
    rng = np.random.default_rng(len(shape))
    w = rng.standard_normal(shape)
    v = af.Variable(w)
    g = af.placeholder(af.float64, shape)
    step = optimizer().apply_gradients([(g, v)])
    run, expected = interpreted(graph), formula()
    run(af.global_variables_initializer())
    for _ in range(4):
        gradient = rng.standard_normal(shape)
        run(step, {g: gradient})
        w = expected(w, gradient)
    np.testing.assert_allclose(run(v), w, rtol=1e-6, atol=1e-7)  # the parameters are float32 constants


@pytest.mark.parametrize("name", FORMULAS)
def test_sparse_formulas(graph: Graph, name: str) -> None:
    """Rows that occur change as with the dense gradient, the sum over equal indices; others not at all."""
    optimizer, formula, only_those = FORMULAS[name]
    rng = np.random.default_rng(7)
    w = rng.standard_normal((6, 3))
    v = af.Variable(w)
    values, indices = af.placeholder(af.float64, [None, 3]), af.placeholder(af.int64, [None])
    step = optimizer().apply_gradients([(af.IndexedSlices(values, indices), v)])
    run = interpreted(graph)
    run(af.global_variables_initializer())
    whole = formula()
    by_row = [formula() for _ in range(6)]
    for at in ([1, 4, 1], [4], [], [5, 5, 5, 0]):
        rows = rng.standard_normal((len(at), 3))
        run(step, {values: rows, indices: np.array(at, np.int64)})
        gradient = np.zeros((6, 3))
        np.add.at(gradient, at, rows)
        if only_those:
            for row in set(at):
                w[row] = by_row[row](w[row], gradient[row])
        else:
            w = whole(w, gradient)
    np.testing.assert_allclose(run(v), w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_types(graph: Graph, start: Start, name: str, dtype: str) -> None:
    v = af.Variable(np.ones(4, dtype))
    step = OPTIMIZERS[name]().minimize(af.reduce_sum(v * v))
    run = start(graph)
    run(af.global_variables_initializer())
    run([step])
    assert run(v).dtype == np.dtype(dtype) and np.all(run(v) < 1)


def test_variants_of_the_ops(graph: Graph, start: Start) -> None:
    """The variants that no optimizer asks for: Adam with Nesterov's momentum, Adagrad that leaves its accumulator."""
    v, m, s = (af.Variable([x], dtype=af.float64) for x in (1.0, 0.5, 0.25))
    g = 2.0
    adam = training.adam.dense(v, m, s, 0.8, 0.9, 0.1, 0.8, 0.9, 1e-8, [g], use_nesterov=True)
    w, a = af.Variable([1.0, 2.0]), af.Variable([4.0, 9.0])
    dense = training.adagrad.dense(w, a, 0.5, [2.0, 3.0], update_slots=False)
    rows = training.adagrad.sparse(w, a, 0.5, [1.0, 1.0], [1, 1], update_slots=False)
    run = start(graph)
    run(af.global_variables_initializer())
    run([adam, dense])
    mean, square = 0.8 * 0.5 + 0.2 * g, 0.9 * 0.25 + 0.1 * g**2
    rate = 0.1 * np.sqrt(0.1) / 0.2
    moved = 1.0 - rate * (0.8 * mean + 0.2 * g) / (np.sqrt(square) + 1e-8)
    np.testing.assert_allclose(run([v, m, s]), [[moved], [mean], [square]])
    run(rows)
    np.testing.assert_allclose(run(w), [0.5, 1.5 - 0.5 * 2.0 / 3.0])
    np.testing.assert_array_equal(run(a), [4.0, 9.0])


# ---- what an optimizer makes


def test_minimize(graph: Graph, start: Start) -> None:
    v, fixed = af.Variable([2.0, -3.0], name="v"), af.Variable([1.0, 1.0], trainable=False)
    count = train.get_or_create_global_step()
    optimizer = train.GradientDescentOptimizer(0.25)
    step = optimizer.minimize(af.reduce_sum(af.square(v) * fixed), global_step=count)
    assert step.name == "GradientDescent" and step.type == "AssignAddVariableOp"
    assert af.get_collection(af.GraphKeys.TRAIN_OP) == [step]
    (update,) = [n for n in graph.nodes.values() if n.op == "ApplyGradientDescent"]
    assert update.name == "GradientDescent/update_v/ApplyGradientDescent" and update.colocate == ("v",)
    run = start(graph)
    run(af.global_variables_initializer())
    run(step)
    np.testing.assert_array_equal(run(v), [1.0, -1.5])
    run(step)
    assert run(count) == 2 and run(fixed).tolist() == [1.0, 1.0]


def test_slots(graph: Graph, start: Start) -> None:
    with graph.device("/job:localhost"):
        v = af.Variable([1.0, 2.0], name="v")
    w = af.Variable(3.0, name="scope/w")
    made = [train.AdamOptimizer(), train.AdamOptimizer(), train.RMSPropOptimizer(0.1, centered=True)]
    made += [train.MomentumOptimizer(0.1, 0.9), train.AdagradOptimizer(0.1), train.GradientDescentOptimizer(0.1)]
    with graph.name_scope("training"), graph.control_dependencies([af.no_op()]):
        steps = [optimizer.minimize(af.reduce_sum(v) * w) for optimizer in made]
    names = [variable.name for variable in af.global_variables()]
    for owner in ("v", "scope/w"):
        expected = [f"Adam{s}" for s in ("", "_1", "_2", "_3")] + [f"RMSProp{s}" for s in ("", "_1", "_2")]
        assert [n for n in names if n.startswith(f"{owner}/")] == [
            f"{owner}/{slot}:0" for slot in (*expected, "Momentum", "Adagrad")
        ]
    assert [n for n in names if "power" in n] == [
        "training/beta1_power:0",
        "training/beta2_power:0",
        "training/beta1_power_1:0",
        "training/beta2_power_1:0",
    ]
    assert len(af.trainable_variables()) == 2
    with af.variable_scope("vs"):
        scoped = train.MomentumOptimizer(0.1, 0.9)
        scoped.minimize(v)
    assert scoped.get_slot(v, "momentum").name == "vs/v/Momentum:0"
    assert [o.get_slot_names() for o in made] == [
        ["m", "v"],
        ["m", "v"],
        ["mg", "momentum", "rms"],
        ["momentum"],
        ["accumulator"],
        [],
    ]
    first = made[0].get_slot(v, "m")
    assert first.name == "v/Adam:0" and first.device == "/job:localhost" and first.op.node.colocate == ("v",)
    assert made[0].get_slot(v, "none") is None and made[0].get_slot(first, "m") is None
    assert len(made[0].variables()) == 6 and made[0].get_name() == "Adam"
    assert all(variable.initializer.control_inputs == [] for variable in af.global_variables())
    run = start(graph)
    run(af.global_variables_initializer())
    run(steps)
    assert run(made[4].get_slot(w, "accumulator")) > 0.1


def test_the_powers_of_adam(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0])
    optimizer = train.AdamOptimizer(0.1, beta1=lambda: 0.5)
    step = optimizer.minimize(v * v)
    run = start(graph)
    run(af.global_variables_initializer())
    for _ in range(3):
        run(step)
    assert run(af.global_variables()[1]) == 0.5**4


def test_parameters_may_be_tensors_and_functions(graph: Graph, start: Start) -> None:
    rate = af.placeholder(af.float32, [])
    v, w = af.Variable([1.0]), af.Variable([1.0], dtype=af.float64)
    steps = [
        train.GradientDescentOptimizer(rate).apply_gradients([([1.0], v)]),
        train.GradientDescentOptimizer(lambda: 0.5).apply_gradients([([1.0], v), ([1.0], w)]),
    ]
    run = start(graph)
    run(af.global_variables_initializer())
    run(steps[0], {rate: 0.25})
    run(steps[1])
    assert run([v, w]) == [[0.25], [0.5]]


def test_compute_then_apply(graph: Graph, start: Start) -> None:
    v, w, unused = af.Variable([3.0]), af.Variable([4.0]), af.Variable([1.0])
    optimizer = train.GradientDescentOptimizer(1.0)
    loss = v * 10.0 + w * 20.0
    pairs = optimizer.compute_gradients(
        loss, [v, w, unused], gate_gradients=optimizer.GATE_GRAPH, grad_loss=af.constant([0.5])
    )
    assert [p[1] for p in pairs] == [v, w, unused] and pairs[2][0] is None
    assert pairs[0][0].op.control_inputs == pairs[1][0].op.control_inputs != []
    step = optimizer.apply_gradients([(None if g is None else g * 0.1, x) for g, x in pairs], name="mine")
    assert step.name == "mine"
    run = start(graph)
    run(af.global_variables_initializer())
    run(step)
    np.testing.assert_allclose(run([v, w, unused]), [[2.5], [3.0], [1.0]])


def test_rows_stay_rows(graph: Graph) -> None:
    """Neither a gather's gradient nor its application touches the whole table."""
    table = af.Variable(np.zeros((1000, 4), np.float32))
    loss = af.reduce_sum(af.square(af.gather(table, [3, 3, 7]) - 1.0))
    for name, make in OPTIMIZERS.items():
        before = set(graph.nodes)
        make().minimize(loss, name=name)
        made = [n for key, n in graph.nodes.items() if key not in before]
        kinds = {n.op for n in made}
        assert "UnsortedSegmentSum" not in kinds and any(
            k.startswith(("SparseApply", "ResourceScatterSub")) for k in kinds
        )
        computed = [n for n in made if n.op not in ("Fill", "Const", "VariableV2", "ReadVariableOp")]
        assert all(shape != (1000, 4) for n in computed for shape in n.shapes), name


def test_constraints(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0, 3.0], constraint=lambda x: af.minimum(x, 2.0))
    step = train.GradientDescentOptimizer(0.5).apply_gradients([([-1.0, 1.0], v)])
    run = start(graph)
    run(v.initializer)
    run(step)
    np.testing.assert_array_equal(run(v), [1.5, 2.0])


def test_an_optimizer_of_ones_own(graph: Graph, start: Start) -> None:
    class Signs(train.Optimizer):
        def _apply_dense(self, grad: Any, var: Any) -> Any:
            return var.assign_sub(af.sign(grad), read_value=False)

        def _apply_sparse(self, grad: Any, var: Any) -> Any:
            return af.group(var.scatter_sub(af.IndexedSlices(af.sign(grad.values), grad.indices)))

    v, t = af.Variable([5.0, 5.0]), af.Variable([[5.0], [5.0], [5.0]])
    loss = v * af.constant([2.0, -2.0]) + af.reduce_sum(af.gather(t, [1, 1]) * af.constant([[3.0], [-1.0]]))
    step = Signs(False, "Signs").minimize(loss)
    run = start(graph)
    run(af.global_variables_initializer())
    run(step)
    np.testing.assert_array_equal(run(v), [4.0, 6.0])
    np.testing.assert_array_equal(run(t), [[5.0], [4.0], [5.0]])  # equal indices were summed first
    with pytest.raises(NotImplementedError, match="_apply_dense"):
        train.Optimizer(False, "Bare").minimize(v)
    with pytest.raises(ValueError, match="name"):
        train.Optimizer(False, "")


def test_a_tensor_beside_the_variables_has_its_gradient(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0])
    twice = v * 2.0
    pairs = train.GradientDescentOptimizer(0.1).compute_gradients(twice * twice, [v, twice])
    run = start(graph)
    run(af.global_variables_initializer())
    assert [run(slope) for slope, _ in pairs] == [[8.0], [4.0]]


def test_mistakes(graph: Graph) -> None:
    v, whole = af.Variable([1.0]), af.Variable([1])
    optimizer = train.GradientDescentOptimizer(0.1)
    for wrong, error, message in (
        (
            lambda: optimizer.minimize(af.constant(1.0), var_list=[v]),
            ValueError,
            "No gradients provided for any variable, check",
        ),
        (lambda: optimizer.minimize(v, var_list=[]), ValueError, "No variables to optimize"),
        (
            lambda: optimizer.minimize(whole + 1),
            TypeError,
            r"(?s)Invalid type int32 for.*make the variables",
        ),
        (lambda: optimizer.apply_gradients([]), ValueError, "No variables provided"),
        (lambda: optimizer.apply_gradients([(None, v)]), ValueError, r"No gradients provided for any variable: \['Var"),
        (lambda: optimizer.apply_gradients([(af.constant([1.0]), 3)]), TypeError, "Argument is not a variable"),
        (lambda: optimizer.apply_gradients([("x", v)]), TypeError, "Gradient must be a Tensor, IndexedSlices, or None"),
        (lambda: optimizer.apply_gradients([(af.constant([1.0, 2.0]), v)]), ValueError, "not compatible"),
        (lambda: optimizer.compute_gradients(v, [v], gate_gradients=7), ValueError, "gate_gradients must be one of"),
        (lambda: optimizer.compute_gradients(v, [1.0]), TypeError, "Argument is not a variable"),
        (
            lambda: optimizer.apply_gradients([(af.constant([1.0]), v * 2.0)]),
            TypeError,
            "Argument is not a variable",
        ),
        (lambda: train.AdagradOptimizer(0.1, 0.0), ValueError, "must be positive"),
    ):
        with pytest.raises(error, match=message):
            wrong()
    with pytest.raises(ValueError, match="is a scalar, but its shape is"):
        training.gradient_descent.dense(v, [0.1, 0.2], [1.0])
    with pytest.raises(TypeError, match="'accum' has type float64, but the inputs before have float32"):
        training.momentum.dense(v, af.Variable([1.0], dtype=af.float64), 0.1, 0.9, [1.0])


def test_a_failed_update_changes_nothing(graph: Graph, start: Start) -> None:
    v, slot = af.Variable([[1.0], [2.0]]), af.Variable([[0.0], [0.0]])
    g, at = af.placeholder(af.float32), af.placeholder(af.int32)
    dense = training.momentum.dense(v, slot, 0.1, 0.9, g)
    rows = training.momentum.sparse(v, slot, 0.1, 0.9, g, at)
    run = start(graph)
    run(v.initializer)
    with pytest.raises(errors.FailedPreconditionError):
        run(dense, {g: [[1.0], [1.0]]})
    run(slot.initializer)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"has shape [\[(]2, ?1[\])], but the update has [\[(]3,?[\])]"
    ):
        run(dense, {g: [1.0, 2.0, 3.0]})
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = 2 is not in \[0, 2\)"):
        run(rows, {g: [[1.0], [1.0]], at: [0, 2]})
    np.testing.assert_array_equal(run([v, slot]), [[[1.0], [2.0]], [[0.0], [0.0]]])


def test_a_step_copies_no_weights(graph: Graph) -> None:
    """Updates go in place: the step holds no read any more when they run."""
    x = af.placeholder(af.float32, [8, 300])
    w, b = af.Variable(np.ones((300, 200), np.float32)), af.Variable(np.zeros(200, np.float32))
    loss = af.reduce_sum(af.square(af.matmul(x, w) + b))
    steps = [make().minimize(loss) for make in OPTIMIZERS.values()]
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        for step in steps:
            for _ in range(2):
                session.run(step, {x: np.ones((8, 300), np.float32)})
        (resources,) = session._inner._engine.resources.values()
        states = {v.op.name: resources.lookup("", v.op.name, VariableState) for v in af.global_variables()}
        assert {name: state.copies for name, state in states.items() if state.copies} == {}


def test_f75_a_linear_model_converges(graph: Graph, start: Start) -> None:
    rng = np.random.default_rng(75)
    x = rng.uniform(-1, 1, (64, 1)).astype(np.float32)
    y = 3.0 * x - 0.5
    w, b = af.Variable([[0.0]]), af.Variable([0.0])
    loss = af.reduce_mean(af.square(af.matmul(af.constant(x), w) + b - y))
    step = train.GradientDescentOptimizer(0.5).minimize(loss)
    run = start(graph)
    run(af.global_variables_initializer())
    for _ in range(200):
        run(step)
    np.testing.assert_allclose(run(w), [[3.0]], atol=1e-4)
    np.testing.assert_allclose(run(b), [-0.5], atol=1e-4)


# ---- the global step and learning rates


def test_global_step(graph: Graph, start: Start) -> None:
    assert train.get_global_step() is None
    with graph.name_scope("somewhere"), af.variable_scope("else"):
        step = train.create_global_step()
    assert train.get_global_step() is train.get_or_create_global_step() is step
    assert step.dtype is af.int64 and step not in af.trainable_variables() and step.op.name.endswith("global_step")
    with pytest.raises(ValueError, match='"global_step" already exists'):
        train.create_global_step()
    run = start(graph)
    run(step.initializer)
    assert train.global_step(type("Session", (), {"run": staticmethod(run)}), step) == 0
    with pytest.raises(TypeError, match="does not have integer type"):
        train.assert_global_step(af.Variable(1.0))
    with pytest.raises(TypeError, match="is not scalar"):
        train.assert_global_step(af.Variable([1]))
    with pytest.raises(TypeError, match="must be a Variable or Tensor"):
        train.assert_global_step(3)
    af.add_to_collection(af.GraphKeys.GLOBAL_STEP, step)
    with pytest.raises(ValueError, match="Multiple tensors"):
        train.get_global_step()


RATES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "exponential": (
        lambda s: train.exponential_decay(0.1, s, 10, 0.5),
        [0.1, 0.08122524, 0.07071068, 0.06597539, 0.05, 0.03535534, 0.0329877, 0.01767767],
    ),
    "staircase": (
        lambda s: train.exponential_decay(0.1, s, 10, 0.5, staircase=True),
        [0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025],
    ),
    "piecewise": (
        lambda s: train.piecewise_constant(s, [5, 15], [1.0, 0.5, 0.25]),
        [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25],
    ),
    "polynomial": (
        lambda s: train.polynomial_decay(0.1, s, 10, 0.01, 2.0),
        [0.1, 0.0541, 0.0325, 0.0244, 0.01, 0.01, 0.01, 0.01],
    ),
    "cycle": (
        lambda s: train.polynomial_decay(0.1, s, 10, 0.01, 2.0, cycle=True),
        [0.1, 0.0541, 0.0325, 0.0244, 0.01, 0.015625, 0.0136, 0.0125],
    ),
    "natural": (
        lambda s: train.natural_exp_decay(0.1, s, 10, 0.5),
        [0.1, 0.0860708, 0.07788008, 0.07408182, 0.06065307, 0.04723666, 0.0449329, 0.02865048],
    ),
    "inverse": (
        lambda s: train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True),
        [0.1, 0.1, 0.1, 0.1, 0.06666667, 0.06666667, 0.06666667, 0.05],
    ),
    "cosine": (
        lambda s: train.cosine_decay(0.1, s, 10, 0.2),
        [0.1, 0.08351141, 0.06, 0.04763932, 0.02, 0.02, 0.02, 0.02],
    ),
    "restarts": (
        lambda s: train.cosine_decay_restarts(0.5, s, 5),
        [0.5, 0.1727457, 0.5, 0.48776412, 0.25, 0.5, 0.49692208, 0.25],
    ),
    "restarts of one length": (
        lambda s: train.cosine_decay_restarts(0.5, s, 4, t_mul=1.0, m_mul=0.5, alpha=0.1),
        [0.5, 0.11590098, 0.2420495, 0.1625, 0.10625, 0.05823762, 0.078125, 0.05600155],
    ),
    "lower restarts": (
        lambda s: train.cosine_decay_restarts(0.5, s, 4, t_mul=1.5, m_mul=0.8, alpha=0.1),
        [0.5, 0.11590098, 0.3858846, 0.32, 0.33800003, 0.16899465, 0.122, 0.18520427],
    ),
    "linear cosine": (
        lambda s: train.linear_cosine_decay(0.5, s, 10),
        [0.50050002, 0.27836239, 0.12549999, 0.06959829, 0.0005, 0.0005, 0.0005, 0.0005],
    ),
    "two waves": (
        lambda s: train.linear_cosine_decay(0.5, s, 10, num_periods=2.0, alpha=0.1, beta=0.01),
        [0.55500001, 0.04319661, 0.30500001, 0.1686271, 0.055, 0.055, 0.055, 0.055],
    ),
    "noise of no variance": (
        lambda s: train.noisy_linear_cosine_decay(0.5, s, 10, initial_variance=0.0),
        [0.50050002, 0.27836239, 0.12549999, 0.06959829, 0.0005, 0.0005, 0.0005, 0.0005],
    ),
}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_learning_rates(graph: Graph, name: str, dtype: str) -> None:
    build, expected = RATES[name]  # the numbers are TensorFlow's
    step = af.placeholder(dtype, [])
    rate = build(step)
    assert rate.dtype is af.float32 and rate.shape.as_list() == []
    run = interpreted(graph)
    found = [run(rate, {step: k}) for k in (0, 3, 5, 6, 10, 15, 16, 25)]
    np.testing.assert_allclose(found, expected, rtol=3e-6)


def test_noise_of_a_learning_rate(graph: Graph) -> None:
    """Its variance falls with the steps: 1 / (1 + step) ^ 0.55, times half the learning rate squared at the middle."""
    step = af.placeholder(af.int64, [])
    with graph.as_default():
        graph.seed = 5
        rate = train.noisy_linear_cosine_decay(1.0, step, 100, beta=0.0, num_periods=0.0)
    run = interpreted(graph)
    for k in (0, 50):
        found = [float(run(rate, {step: k})) for _ in range(400)]
        assert abs(np.mean(found) - (1 - k / 100)) < 0.2
        assert abs(np.std(found) / (1 + k) ** -0.275 - 1) < 0.15


def test_learning_rate_mistakes(graph: Graph) -> None:
    with pytest.raises(ValueError, match="length of boundaries should be 1 less"):
        train.piecewise_constant(af.constant(1), [5], [1.0])
    with pytest.raises(ValueError, match="global_step is required"):
        train.exponential_decay(0.1, None, 10, 0.5)
