"""Optimizers that programs derive or wrap: `minimize` calls what they override by name, and variables come in any collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af

ARGUMENTS: dict[str, tuple[Any, ...]] = {"MomentumOptimizer": (0.1, 0.9), "AdagradDAOptimizer": (0.1,)}
OPTIMIZERS = [
    name
    for name in sorted(af.train.__all__)
    if name.endswith("Optimizer") and name not in ("Optimizer", "SyncReplicasOptimizer")
]
COLLECTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "list": lambda d: list(d.values()),
    "tuple": lambda d: tuple(d.values()),
    "values of a dict": lambda d: d.values(),
    "generator": lambda d: (v for v in d.values()),
    "map": lambda d: map(lambda v: v, d.values()),
    "nest": lambda d: [d["a"], [d["b"]]],
    "dict": lambda d: d,
    "set": lambda d: set(d.values()),
}


def make(name: str, kind: Any = None) -> Any:
    arguments: Any = ARGUMENTS.get(name, (0.1,))
    if name == "AdagradDAOptimizer":
        arguments = (0.1, af.Variable(0, trainable=False, dtype=af.int64))
    return (kind or getattr(af.train, name))(*arguments)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_base_is_optimizer(name: str) -> None:
    assert getattr(af.train, name).__base__ is af.train.Optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_methods_are_overridden_with_fewer_parameters(name: str, graph: af.Graph) -> None:
    called = []
    base: Any = getattr(af.train, name)

    class Mine(base):  # type: ignore[misc]
        def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
            called.append(sorted(kwargs))
            return super().compute_gradients(loss, var_list, **kwargs)

        def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
            called.append(name)
            return super().apply_gradients(grads_and_vars, global_step, name)

    class Plain(base):  # type: ignore[misc]
        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            return super().compute_gradients(*args, **kwargs)

    v = af.Variable([1.0, 2.0])
    steps = [make(name, kind).minimize(af.reduce_sum(v * v), name="step") for kind in (Mine, Plain)]
    assert called == [["aggregation_method", "colocate_gradients_with_ops", "gate_gradients", "grad_loss"], "step"]
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        for step in steps:
            session.run(step)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_derived_sparse_update_gets_each_row_once(name: str, graph: af.Graph) -> None:
    seen = []

    class Mine(getattr(af.train, name)):  # type: ignore[misc]
        def _apply_sparse(self, grad: Any, var: Any) -> Any:
            seen.append(grad)
            return super()._apply_sparse(grad, var)

    v = af.Variable(np.ones([4, 2], np.float32))
    step = make(name, Mine).minimize(af.reduce_sum(af.gather(v, [1, 3, 1])))
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        assert session.run(seen[0].indices).tolist() == [1, 3]
        assert session.run(seen[0].values).tolist() == [[2, 2], [1, 1]]
        session.run(step)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_variables_come_in_any_collection(collection: str, graph: af.Graph) -> None:
    d = {"b": af.Variable(1.0, name="b"), "a": af.Variable(2.0, name="a")}
    loss = af.square(d["a"] * d["b"])
    pairs = af.train.AdamOptimizer().compute_gradients(loss, COLLECTIONS[collection](d))
    assert {v.op.name for _, v in pairs} == {"a", "b"}
    af.train.AdamOptimizer().minimize(loss, var_list=COLLECTIONS[collection](d))
    averages = af.train.ExponentialMovingAverage(0.9)
    averages.apply(COLLECTIONS[collection](d))
    assert all(averages.average(v) is not None for v in d.values())


def test_an_optimizer_of_resource_updates(graph: af.Graph) -> None:
    class Descent(af.train.Optimizer):
        def __init__(self) -> None:
            super().__init__(False, "Descent")

        def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
            return handle.assign_sub(self._call_if_callable(lambda: 0.5) * grad)

        def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
            return af.scatter_sub(handle, indices, grad)

    v, w = af.Variable(1.0), af.Variable([1.0, 2.0])
    step = Descent().minimize(v * v + af.reduce_sum(af.gather(w, [1, 1])))
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        session.run(step)
        assert session.run(v) == 0.0 and session.run(w).tolist() == [1.0, 0.0]
