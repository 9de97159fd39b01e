"""`tf.distribute`: strategies over logical workers. The expected numbers are TensorFlow 1.15.5's, of the same programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf

LOSSES = [280.0, 133.56838989257812, 11.231321334838867]
"""The losses of three steps, summed over the replicas."""
WEIGHTS = [-0.1817987859249115, -0.29914891719818115]
ROWS = np.arange(16, dtype=np.float32).reshape(8, 2)


def cpus(count: int) -> list[str]:
    return [f"/cpu:{number}" for number in range(count)]


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def trained(strategy: Any, iterator: Any, take: Callable[..., Any]) -> tuple[list[float], list[float], Any]:
    """The losses of three steps, summed and as a mean, and the weights."""
    weights = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    optimizer = tf.train.MomentumOptimizer(0.001, 0.9)

    def step(rows: Any) -> Any:
        loss = tf.reduce_sum(tf.square(tf.matmul(rows, weights) - 1.0)) / 8
        with tf.control_dependencies([optimizer.minimize(loss)]):
            return tf.identity(loss)

    with strategy.scope():
        losses = take(step)
        total, mean = strategy.reduce(tf.distribute.ReduceOp.SUM, losses), strategy.reduce("mean", losses)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        steps = [session.run([total, mean]) for _ in range(3)]
        return [float(a) for a, _ in steps], [float(b) for _, b in steps], session.run(weights).ravel()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_gradients_of_replicas_are_added(count: int, graph: Any) -> None:
    strategy = tf.distribute.MirroredStrategy(cpus(count))
    dataset = tf.data.Dataset.from_tensor_slices(ROWS).repeat().batch(8)
    iterator = strategy.experimental_distribute_dataset(dataset).make_initializable_iterator()
    losses, means, weights = trained(
        strategy, iterator, lambda step: strategy.experimental_run_v2(step, args=(iterator.get_next(),))
    )
    assert np.allclose(losses, LOSSES, 1e-5)
    assert np.allclose(np.multiply(means, count), LOSSES, 1e-5)
    assert np.allclose(weights, WEIGHTS, 1e-4)


@pytest.mark.parametrize("count", [1, 2])
def test_each_replica_takes_a_batch_of_an_input_function(count: int, graph: Any) -> None:
    strategy = tf.distribute.MirroredStrategy(cpus(count))
    contexts: list[Any] = []

    def input_fn(context: Any) -> Any:
        contexts.append(context)
        return tf.data.Dataset.from_tensor_slices(ROWS).repeat().batch(context.get_per_replica_batch_size(8))

    iterator = strategy.make_input_fn_iterator(input_fn)
    losses, _, weights = trained(strategy, iterator, lambda step: strategy.experimental_run(step, iterator))
    assert [context.num_replicas_in_sync for context in contexts] == [count]
    assert np.allclose(losses, LOSSES, 1e-5)
    assert np.allclose(weights, WEIGHTS, 1e-4)


@pytest.mark.parametrize(
    ("count", "bias", "kernel"),
    [(1, 0.08994317054748535, 1.1155661344528198), (2, 0.09101629257202148, 1.1298811435699463)],
)
def test_replicas_of_an_estimator_take_the_mean_of_gradients(
    count: int, bias: float, kernel: float, tmp_path: Path
) -> None:
    reductions: list[Any] = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        reductions.append((tf.distribute.get_loss_reduction(), tf.distribute.get_replica_context() is None))
        outputs = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer(), name="d")
        loss = tf.losses.mean_squared_error(labels, outputs)
        train_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn() -> Any:
        x = np.arange(24, dtype=np.float32).reshape(24, 1) / 10
        return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).batch(4, drop_remainder=True).repeat()

    config = tf.estimator.RunConfig(
        str(tmp_path),
        train_distribute=tf.distribute.MirroredStrategy(cpus(count)),
        eval_distribute=tf.distribute.OneDeviceStrategy("/cpu:0"),
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    estimator.train(input_fn, steps=5)
    assert estimator.get_variable_value("d/bias").item() == pytest.approx(bias, 1e-5)
    assert estimator.get_variable_value("d/kernel").item() == pytest.approx(kernel, 1e-5)
    assert set(reductions) == {(tf.distribute.ReduceOp.MEAN, False)}


def test_scopes_say_where_the_program_is(graph: Any) -> None:
    strategy, seen = tf.distribute.OneDeviceStrategy("/cpu:0"), []
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None

        def replica() -> Any:
            context = tf.distribute.get_replica_context()
            seen.append(tf.distribute.in_cross_replica_context())
            return context.merge_call(lambda same, x: (same is strategy, x), args=(3,)), context.all_reduce("SUM", 2.0)

        assert strategy.experimental_run_v2(replica) == ((True, 3), 2.0)
    assert seen == [False]
    assert not tf.distribute.has_strategy()


def test_a_reduction_along_a_dimension_counts_rows(graph: Any) -> None:
    strategy = tf.distribute.MirroredStrategy(cpus(2))
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(np.float32([1, 2, 6])))
    with strategy.scope():
        rows = strategy.experimental_run(lambda x: x, iterator)
        mean, total = strategy.reduce("MEAN", rows, axis=0), strategy.reduce("SUM", rows, axis=0)
        local = strategy.experimental_local_results(rows)
    with tf.Session() as session:
        session.run(iterator.initializer)
        values = session.run([mean, total, *local])
    assert [np.asarray(value).tolist() for value in values] == [3.0, 9.0, [1.0, 2.0], [6.0]]


def test_the_older_class_takes_a_number_of_gpus(graph: Any) -> None:
    assert tf.contrib.distribute.MirroredStrategy(num_gpus=0).num_replicas_in_sync == 1
    assert tf.contrib.distribute.MirroredStrategy(num_gpus=3).num_replicas_in_sync == 3


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tf.distribute.MirroredStrategy([]), ValueError, "a device at least"),
        (lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:0"]), ValueError, "Duplicates"),
        (lambda: tf.distribute.experimental.TPUStrategy(), NotImplementedError, "no TPUs"),
        (lambda: tf.distribute.MirroredStrategy(cpus(2)).reduce("MAX", 1.0), ValueError, "SUM or MEAN"),
        (lambda: tf.estimator.RunConfig("m", train_distribute="mirrored"), ValueError, "a strategy"),
        (
            lambda: tf.estimator.RunConfig("m", eval_distribute=tf.distribute.MirroredStrategy(cpus(2))),
            ValueError,
            "a single replica",
        ),
        (lambda: tf.distribute.InputContext(1, 0, 3).get_per_replica_batch_size(8), ValueError, "not divisible"),
        (
            lambda: tf.distribute.MirroredStrategy().extended.experimental_run_steps_on_iterator(None, None),
            NotImplementedError,
            "for TPUs",
        ),
        (
            lambda: tf.distribute.MirroredStrategy(cpus(2)).run(
                lambda: tf.distribute.get_replica_context().all_reduce("SUM", 1.0)
            ),
            NotImplementedError,
            "strategy.reduce",
        ),
        (lambda: tf.distribute.MirroredStrategy().configure(cluster_spec={}), ValueError, "target of the session"),
    ],
)
def test_what_a_strategy_refuses(call: Callable[[], Any], kind: type[Exception], words: str, graph: Any) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_a_strategy_within_another_is_refused(graph: Any) -> None:
    outer, inner = tf.distribute.MirroredStrategy(), tf.distribute.OneDeviceStrategy("/cpu:0")
    with outer.scope(), pytest.raises(RuntimeError, match="a single strategy"), inner.scope():
        pass


def test_variables_of_central_storage_are_on_its_device(graph: Any) -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(cpus(1), "/cpu:1")
    with strategy.scope():
        assert tf.get_variable("v", [2]).device.endswith("/device:CPU:1")


def test_several_workers_are_a_single_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}})
    )
    with pytest.raises(NotImplementedError, match="actorflow worker"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"worker": ["a:1", "b:2"]}
    assert (resolver.task_type, resolver.task_id, resolver.master(rpc_layer="grpc")) == ("worker", 1, "grpc://b:2")
    simple = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec({"ps": ["c:3"]}), "grpc://c:3")
    union = tf.distribute.cluster_resolver.UnionResolver(simple, resolver)
    assert union.cluster_spec().as_dict() == {"ps": ["c:3"], "worker": ["a:1", "b:2"]}
    assert union.master() == "grpc://c:3"


# ---- variables that replicas change


def changed(kind: str | None, write: Callable[[Any, Any], Any], count: int = 2) -> tuple[float, list[float]]:
    """The value behind a step that changes a variable by 1 in the first replica and 2 in the second, and their results."""
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(cpus(count))
        with strategy.scope():
            if kind is None:
                variable = tf.train.get_or_create_global_step()
            else:
                aggregation = getattr(tf.VariableAggregation, kind)
                variable = tf.get_variable("c", [], initializer=tf.zeros_initializer(), aggregation=aggregation)

            def step() -> Any:
                number = tf.distribute.get_replica_context().replica_id_in_sync_group
                return tf.identity(write(variable, tf.cast(number, variable.dtype.base_dtype) + 1))

            results = strategy.experimental_local_results(strategy.experimental_run_v2(step))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                values = session.run(results)
                return float(session.run(variable)), [float(value) for value in values]


@pytest.mark.parametrize(
    ("kind", "write", "value"),
    [
        (None, lambda v, delta: v.assign_add(1), 1.0),
        (None, lambda v, delta: tf.assign_add(v, 1), 1.0),
        (None, lambda v, delta: tf.assign(v, delta), 1.0),
        ("ONLY_FIRST_REPLICA", lambda v, delta: v.assign(delta), 1.0),
        ("ONLY_FIRST_REPLICA", lambda v, delta: v.assign_add(delta), 1.0),
        ("ONLY_FIRST_REPLICA", lambda v, delta: tf.assign_sub(v, delta), -1.0),
    ],
)
def test_the_first_replica_alone_changes_some_variables(kind: str | None, write: Any, value: float) -> None:
    assert changed(kind, write) == (value, [value, value])


@pytest.mark.parametrize(
    ("write", "value"), [(lambda v, delta: v.assign_add(delta), 3.0), (lambda v, delta: tf.assign_sub(v, delta), -3.0)]
)
def test_changes_of_replicas_are_added(write: Any, value: float) -> None:
    assert changed("SUM", write)[0] == value


@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("SUM", lambda v, delta: v.assign(delta)),
        ("MEAN", lambda v, delta: v.assign(delta)),
        ("MEAN", lambda v, delta: v.assign_add(delta)),
        ("MEAN", lambda v, delta: tf.assign_sub(v, delta)),
        ("NONE", lambda v, delta: v.assign_add(delta)),
        ("NONE", lambda v, delta: v.scatter_nd_update([[]], [delta])),
        ("ONLY_FIRST_REPLICA", lambda v, delta: v.scatter_nd_add([[]], [delta])),
    ],
)
def test_changes_that_cannot_be_joined_are_refused(kind: str, write: Any) -> None:
    with pytest.raises(NotImplementedError, match=f"in 2 replicas with aggregation {kind}"):
        changed(kind, write)


@pytest.mark.parametrize("kind", ["SUM", "MEAN", "NONE", "ONLY_FIRST_REPLICA"])
def test_a_single_replica_changes_any_variable(kind: str) -> None:
    assert changed(kind, lambda v, delta: v.assign(delta), 1) == (1.0, [1.0])


def test_replicas_that_change_other_variables_than_the_first_are_refused() -> None:
    def write(variable: Any, delta: Any) -> Any:
        first = tf.distribute.get_replica_context()._number == 0
        return delta if first else variable.assign(delta)

    with pytest.raises(tf.errors.InvalidArgumentError, match="worker 0 does not in this place"):
        changed("ONLY_FIRST_REPLICA", write)
