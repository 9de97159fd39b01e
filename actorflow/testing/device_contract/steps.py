"""The rules on steps: a session on the device gives the CPU's values, keeps variables in order, and leaves nothing."""

from __future__ import annotations

import gc
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow import errors
from actorflow.graph.graph import Graph
from actorflow.testing.contract import SECONDS, Broken, Rule, got, raises, rule, same
from actorflow.testing.device_contract.subject import OPENED, Subject, near

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(64, 48)).astype(np.float32)
W = _RNG.normal(size=(48, 32)).astype(np.float32)
LABELS = np.eye(32, dtype=np.float32)[np.arange(64) % 32]


async def _both(
    subject: Subject, build: Callable[[], Any], feeds: Callable[[], Any] | None = None, times: int = 1
) -> Any:
    """The results of a graph on the device and on a CPU alone: [(found, expected)] of each run."""
    runs: list[list[Any]] = []
    for on_device in (True, False):
        graph = Graph()
        with graph.as_default(), graph.device(f"/device:{subject.kind if on_device else 'CPU'}:0"):
            x = af.placeholder(af.float32, [None, 48], name="x")
            fetches = build()
            init = af.global_variables_initializer()
        session = subject.session(graph) if on_device else af.Session(graph=graph)
        async with session:
            await got(session.run(init))
            runs.append([await got(session.run(fetches, {x: X})) for _ in range(times)])
    return list(zip(*runs))


def _x() -> Any:
    return af.get_default_graph().get_tensor_by_name("x:0")


@rule()
async def values_are_the_cpus(subject: Subject) -> None:
    """Products, activations, reductions and changes of shape give what a CPU gives, but for the rounding of float32."""

    def build() -> Any:
        x = _x()
        y = af.nn.relu(af.matmul(x, af.constant(W)) + 0.5)
        return {
            "product": y,
            "softmax": af.nn.softmax(y),
            "mean": af.reduce_mean(y, 1),
            "reshape": af.reshape(y, [-1, 2, 16]),
            "transpose": af.transpose(y, [1, 0]),
            "parts": af.concat(af.split(y, 4, 1)[1:], 1)[:, 3:7],
            "chain": af.tanh(y * 0.1 - 1.0) * af.sigmoid(y),
            "rows": af.shape(y)[0],
        }

    for actual, expected in await _both(subject, build):
        for name, value in actual.items():
            near(value, expected[name], name)


@rule()
async def loops_and_branches_follow_values(subject: Subject) -> None:
    """A loop and a branch whose predicates the device computes take the ways that they take on a CPU."""

    def build() -> Any:
        total = af.reduce_sum(_x() * _x())
        _, halved = af.while_loop(
            lambda i, value: af.less(i, 5), lambda i, value: (i + 1, value * 0.5), [af.constant(0), total]
        )
        return [halved, af.cond(af.greater(total, 0.0), lambda: total + 1.0, lambda: total - 1.0)]

    for actual, expected in await _both(subject, build):
        near(actual[0], expected[0], "the loop")
        near(actual[1], expected[1], "the branch")


@rule()
async def a_variable_changes_in_the_order_of_its_updates(subject: Subject) -> None:
    """Updates and reads that control edges order happen in that order, and what was read stays as it was."""

    def build() -> Any:
        v = af.Variable(np.ones((48, 32), np.float32), name="v")
        before = v.read_value()
        with af.control_dependencies([before]):
            first = v.assign_add(af.matmul(_x(), _x(), transpose_a=True)[:, :32], read_value=False)
        with af.control_dependencies([first]):
            between = v.read_value()
        with af.control_dependencies([between]):
            second = v.assign(v.read_value() * 2.0, read_value=False)
        with af.control_dependencies([second]):
            return [before, between, v.read_value()]

    for actual, expected in await _both(subject, build, times=3):
        for which, (left, other) in enumerate(zip(actual, expected)):
            near(left, other, f"read {which}")


@rule()
async def training_follows_the_cpu(subject: Subject) -> None:
    """Ten steps of training by Adam and by Momentum give the losses and weights that they give on a CPU."""
    for make in (lambda: af.train.AdamOptimizer(0.01), lambda: af.train.MomentumOptimizer(0.1, 0.9)):

        def build(make: Callable[[], Any] = make) -> Any:
            w, b = af.Variable(W * 0.1, name="w"), af.Variable(np.zeros(32, np.float32), name="b")
            logits = af.nn.bias_add(af.matmul(_x(), w), b)
            loss = af.reduce_mean(af.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=logits))
            return [loss, w.read_value(), make().minimize(loss)]

        pairs = await _both(subject, build, times=10)
        for step, (actual, expected) in enumerate(pairs):
            near(actual[0], expected[0], f"the loss of step {step}")
        same(bool(pairs[-1][0][0] < pairs[0][0][0]), True, "whether the loss goes down")
        near(pairs[-1][0][1], pairs[-1][1][1], "the weights")


@rule()
async def a_checkpoint_has_the_devices_values(subject: Subject) -> None:
    """A saver saves variables of the device and restores them."""
    graph = Graph()
    with graph.as_default(), graph.device(f"/device:{subject.kind}:0"):
        v = af.Variable(X, name="v")
        change = v.assign_add(X)
        init = af.global_variables_initializer()
    with graph.as_default():
        saver = af.train.Saver([v])
    with tempfile.TemporaryDirectory() as folder:
        async with subject.session(graph) as session:
            await got(session.run(init))
            await got(session.run(change))
            path = await got(saver.save(session, f"{folder}/model", write_meta_graph=False))
            await got(session.run(change))
            await got(saver.restore(session, path))
            near(await got(session.run(v)), X * 2, "the variable that was restored")


@rule()
async def a_failing_kernel_is_named(subject: Subject) -> None:
    """The error of a kernel names its node and its device, and later steps work."""
    graph = Graph()
    with graph.as_default(), graph.device(f"/device:{subject.kind}:0"):
        x, y = af.placeholder(af.float32), af.placeholder(af.float32)
        product = af.matmul(x, y, name="product")
    async with subject.session(graph) as session:
        with raises(errors.InvalidArgumentError, "product"):
            await got(session.run(product, {x: X, y: X}))
        near(await got(session.run(product, {x: X, y: W})), X @ W, "the step after it")


@rule()
async def nothing_is_left(subject: Subject) -> None:
    """After a session its tensors are free and its threads have ended."""
    before = set(threading.enumerate())
    graph = Graph()
    with graph.as_default(), graph.device(f"/device:{subject.kind}:0"):
        x = af.placeholder(af.float32, [None, 48])
        y = af.matmul(x, af.constant(W))
    session = subject.session(graph)
    device = OPENED.get()[-1]
    async with session:
        for _ in range(3):
            await got(session.run(y, {x: X}))
    device.close()
    del session
    for _ in range(3):
        gc.collect()
    for thread in set(threading.enumerate()) - before:
        if subject.kind in thread.name:
            thread.join(SECONDS)
            if thread.is_alive():
                raise Broken(f"the thread {thread.name!r} is left")


RULES: tuple[Rule[Subject], ...] = (
    values_are_the_cpus,
    loops_and_branches_follow_values,
    a_variable_changes_in_the_order_of_its_updates,
    training_follows_the_cpu,
    a_checkpoint_has_the_devices_values,
    a_failing_kernel_is_named,
    nothing_is_left,
)
