"""`RunConfig(replicas=...)`: an Estimator trains with the same bits on any number of tasks, also where these change meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af

STEPS = 10


def batches() -> Iterator[Any]:
    """As many rows as leave a remainder, and at last a small batch."""
    draw = np.random.default_rng(0)
    for step in range(STEPS):
        rows = 21 if step < STEPS - 1 else 9
        x = draw.normal(size=(rows, 3)).astype(np.float32)
        yield {"x": x, "kind": draw.integers(0, 5, (rows, 1))}, np.float32(x.sum(1, keepdims=True) > 0)


def network(features: Any, labels: Any, mode: str) -> Any:
    """A small network: an embedding, dropout and a moving average, and an optimizer with slots."""
    training = mode == af.estimator.ModeKeys.TRAIN
    table = af.get_variable("table", [5, 3], initializer=af.ones_initializer())
    rows = af.nn.embedding_lookup(table, features["kind"][:, 0]) + features["x"]
    hidden = af.layers.batch_normalization(af.layers.dense(rows, 6, activation=af.nn.relu), training=training)
    hidden = af.layers.dropout(hidden, 0.2, training=training)
    loss = af.reduce_mean(af.square(af.layers.dense(hidden, 1) - labels))
    train = af.train.AdamOptimizer(0.05).minimize(loss, global_step=af.train.get_global_step()) if training else None
    return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def config(folder: Path, cluster: Any, **options: Any) -> Any:
    facts = {
        "save_checkpoints_steps": 3,
        "save_summary_steps": 0,
        "log_step_count_steps": None,
        "replicas": 8,
        **options,
    }
    return af.estimator.RunConfig(
        str(folder), tf_random_seed=1, master=cluster, checkpoint_save_graph_def=False, **facts
    )


class Changes(af.train.SessionRunHook):
    """Changes the cluster, and kills tasks, after some steps."""

    def __init__(self, cluster: Any, sizes: dict[int, int], kills: dict[int, str]) -> None:
        self.cluster, self.sizes, self.kills, self.seen = cluster, sizes, kills, 0

    async def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen += 1
        if self.seen in self.kills:
            await self.cluster.kill(self.kills.pop(self.seen))
        if self.seen in self.sizes:
            await self.cluster.scale(worker=self.sizes.pop(self.seen))


async def trained(folder: Path, workers: int, sizes: dict[int, int], kills: dict[int, str]) -> dict[str, bytes]:
    async with af.LocalCluster({"ps": 1, "worker": workers}, transport="local") as cluster:
        estimator = af.estimator.Estimator(network, config=config(folder, cluster))
        changes = Changes(cluster, sizes, kills)
        await estimator.train(batches, hooks=[changes])
        assert not sizes and not kills and changes.seen >= STEPS
        return {
            name: np.asarray(estimator.get_variable_value(name)).tobytes() for name in estimator.get_variable_names()
        }


async def test_8_then_3_then_5_then_8_tasks_with_kills_between_end_with_the_bits_of_one(tmp_path: Path) -> None:
    kills = {4: "/job:worker/task:1", 7: "/job:ps/task:0", 9: "/job:worker/task:6"}
    some = await trained(tmp_path / "some", 8, {2: 3, 6: 5, 8: 8}, kills)
    assert some == await trained(tmp_path / "one", 1, {}, {})


async def test_one_process_without_a_cluster_gives_these_bits_too(tmp_path: Path) -> None:
    estimator = af.estimator.Estimator(network, config=config(tmp_path / "here", None))
    await estimator.train(batches)
    values = {name: estimator.get_variable_value(name).tobytes() for name in estimator.get_variable_names()}
    assert values == await trained(tmp_path / "cluster", 3, {}, {})
    metrics = await estimator.evaluate(batches)
    assert np.isfinite(metrics["loss"]), "what is evaluated is not divided"


def test_a_program_beside_others_that_train_too_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", str({"cluster": cluster, "task": {"type": "chief", "index": 0}}).replace("'", '"'))
    estimator = af.blocking.Estimator(network, config=af.estimator.RunConfig(str(tmp_path), replicas=2))
    with pytest.raises(ValueError, match="replicas= divides each batch of a single training program"):
        estimator.train(batches)


async def test_canned_estimators_have_logical_workers_too(tmp_path: Path) -> None:
    columns = [af.feature_column.numeric_column("x", shape=[3])]
    values = []
    for replicas in (1, 4):
        estimator = af.estimator.DNNLinearCombinedRegressor(
            linear_feature_columns=columns,
            dnn_feature_columns=columns,
            dnn_hidden_units=[4],
            config=config(tmp_path / str(replicas), None, replicas=replicas),
        )
        await estimator.train(batches, max_steps=4)
        values.append({name: estimator.get_variable_value(name) for name in estimator.get_variable_names()})
    assert values[0].keys() == values[1].keys(), "a checkpoint serves any number of logical workers"
    assert all(np.isfinite(value).all() for value in values[1].values())


@pytest.mark.parametrize("replicas", [0, -2, "8", 1.5])
def test_a_number_that_cannot_be_is_refused(replicas: Any) -> None:
    with pytest.raises((ValueError, af.errors.InvalidArgumentError)):
        af.estimator.RunConfig(replicas=replicas)
    with pytest.raises((ValueError, af.errors.InvalidArgumentError)):
        af.estimator.RunConfig().replace(replicas=replicas)
    assert af.estimator.RunConfig().replace(replicas=3).replicas == af.train.Replicas(3)
