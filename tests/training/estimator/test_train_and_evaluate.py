"""`train_and_evaluate`: what is evaluated when, beside training or in turn; exporters, early stopping, tasks that are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from channels import start_zmq_collector
from training.estimator.estimator_lines import batches, expected, line, quiet

import actorflow as af
from actorflow.cluster.processes.launcher import Launcher
from actorflow.estimator import EvalSpec, Evaluated, Exported, Saved, TrainSpec
from actorflow.supervisor import Restored


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """All clusters of this module fork their processes from one."""
    start_zmq_collector()
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as found:

        async def warm() -> None:
            async with af.LocalCluster({"worker": 1}, launcher=found):
                pass

        anyio.run(warm)
        yield found


def endless() -> Iterator[Any]:
    while True:
        yield from batches()


def estimator(folder: Path, **options: Any) -> Any:
    return af.estimator.Estimator(line, str(folder), quiet(**options), {"rate": 0.1})


def evaluated(made: Any) -> list[int]:
    return [event.step for event in made.history if isinstance(event, Evaluated)]


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    ("save", "last", "throttle", "steps"),
    [(10, 100, 0, list(range(10, 101, 10))), (10, 100, 600, [10, 100]), (10, 95, 0, [*range(10, 91, 10), 95])],
)
async def test_f118_what_is_evaluated_is_what_tensorflow_evaluates(
    beside: bool, save: int, last: int, throttle: float, steps: list[int], tmp_path: Path
) -> None:
    made = estimator(tmp_path, save_checkpoints_steps=save)
    spec = EvalSpec(batches, None, throttle_secs=throttle)
    metrics, exports = await af.estimator.train_and_evaluate(made, TrainSpec(endless, last), spec, beside=beside)
    assert evaluated(made) == steps
    assert metrics["global_step"] == last and exports == []


async def test_evaluations_by_steps(tmp_path: Path) -> None:
    made = estimator(tmp_path, save_checkpoints_steps=5)
    await af.estimator.train_and_evaluate(made, TrainSpec(endless, 40), EvalSpec(batches, None, every_steps=15))
    assert evaluated(made) == [5, 20, 35, 40]


async def test_training_goes_on_beside_an_evaluation(tmp_path: Path) -> None:
    """An evaluation that ends only when a later step was made would never end if training waited for it."""
    later, steps = anyio.Event(), []

    class Steps(af.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            steps.append(len(steps) + 1)
            if len(steps) == 7:
                later.set()

    async def waiting() -> AsyncIterator[Any]:
        await later.wait()
        for batch in batches():
            yield batch

    made = estimator(tmp_path, save_checkpoints_steps=5)
    train = TrainSpec(endless, 10, [Steps()])
    await af.estimator.train_and_evaluate(made, train, EvalSpec(waiting, None, throttle_secs=0))
    assert evaluated(made) == [5, 10]


def write(estimator: Any, folder: str, checkpoint_path: str) -> None:
    (Path(folder) / "model").write_text(Path(checkpoint_path).name)


async def test_exporters(tmp_path: Path) -> None:
    made = estimator(tmp_path, save_checkpoints_steps=5)
    better = iter([False, True, False])

    class Mine(af.estimator.Exporter):
        name = "mine"

        async def export(self, **facts: Any) -> str:
            return f"final={facts['is_the_final_export']}"

    exporters = [
        af.estimator.LatestExporter("latest", exports_to_keep=2, export=write),
        af.estimator.BestExporter(
            "best", compare_fn=lambda best_eval_result, current_eval_result: next(better), export=write
        ),
        af.estimator.FinalExporter("final", export=write),
        Mine(),
    ]
    spec = EvalSpec(batches, 1, exporters=exporters, throttle_secs=0)
    _, exports = await af.estimator.train_and_evaluate(made, TrainSpec(endless, 20), spec)
    assert exports[3] == "final=True"
    folders = {name: sorted((tmp_path / "export" / name).iterdir()) for name in ("latest", "best", "final")}
    assert [(p / "model").read_text() for p in folders["latest"]] == ["model.ckpt-15", "model.ckpt-20"]
    assert [(p / "model").read_text() for p in folders["best"]] == ["model.ckpt-5", "model.ckpt-15"]
    assert [(p / "model").read_text() for p in folders["final"]] == ["model.ckpt-20"]
    assert [e.exporter for e in made.history if isinstance(e, Exported)].count("latest") == 4


async def test_a_training_that_gets_no_better_is_stopped(tmp_path: Path) -> None:
    made = af.estimator.Estimator(line, str(tmp_path), quiet(save_checkpoints_steps=5), {"rate": 0.0})
    hook = af.estimator.stop_if_no_decrease_hook(made, "loss", 10, run_every_secs=None, run_every_steps=1)
    train = TrainSpec(endless, 100, [hook])
    await af.estimator.train_and_evaluate(made, train, EvalSpec(batches, None, throttle_secs=0), beside=False)
    assert evaluated(made)[:3] == [5, 10, 15]
    assert made.get_variable_value("global_step") == 15
    metrics = af.estimator.read_eval_metrics(made.eval_dir())
    assert list(metrics)[:3] == [5, 10, 15] and metrics[5]["loss"] == metrics[10]["loss"]


async def test_a_metric_that_crosses_a_threshold_stops_the_training(tmp_path: Path) -> None:
    made = estimator(tmp_path, save_checkpoints_steps=5)
    hooks = [
        af.estimator.stop_if_lower_hook(made, "loss", 100.0, min_steps=10, run_every_secs=None, run_every_steps=1),
        af.estimator.stop_if_higher_hook(made, "loss", 100.0, run_every_secs=None, run_every_steps=1),
    ]
    spec = EvalSpec(batches, None, throttle_secs=0)
    await af.estimator.train_and_evaluate(made, TrainSpec(endless, 100, hooks), spec, beside=False)
    assert made.get_variable_value("global_step") == 10


class NoName(af.estimator.Exporter):
    name = ""


REFUSALS: list[tuple[Any, type[Exception], str]] = [
    (lambda: TrainSpec(batches, 0), ValueError, "Must specify max_steps > 0, given: 0"),
    (lambda: TrainSpec(batches, hooks=[1]), TypeError, "All hooks must be `SessionRunHook` instances, given: 1"),
    (lambda: TrainSpec(batches, saving_listeners=[1]), TypeError, "All saving_listeners must be"),
    (lambda: EvalSpec(batches, 0), ValueError, "Must specify steps > 0, given: 0"),
    (lambda: EvalSpec(batches, name=1), TypeError, "`name` must be string, given: 1"),
    (lambda: EvalSpec(batches, start_delay_secs=-1), ValueError, "Must specify start_delay_secs >= 0, given: -1"),
    (lambda: EvalSpec(batches, throttle_secs=-1), ValueError, "Must specify throttle_secs >= 0, given: -1"),
    (lambda: EvalSpec(batches, exporters=[1]), TypeError, "`exporters` must be an Exporter"),
    (
        lambda: EvalSpec(batches, exporters=NoName()),
        ValueError,
        "An Exporter cannot have a name that is `None` or empty",
    ),
    (
        lambda: EvalSpec(batches, exporters=[af.estimator.FinalExporter("a", export=write)] * 2),
        ValueError,
        "`exporters` must have unique names",
    ),
    (lambda: af.estimator.LatestExporter("a", exports_to_keep=0, export=write), ValueError, "`exports_to_keep`"),
    (lambda: af.estimator.BestExporter(compare_fn=None, export=write), ValueError, "`compare_fn` must not be None"),
    (
        lambda: af.estimator.BestExporter(compare_fn=lambda best_eval_result: True, export=write),
        ValueError,
        "must include current_eval_result argument",
    ),
    (lambda: af.estimator.stop_if_lower_hook(1, "loss", 1, "x"), TypeError, "`estimator` must have type"),
    (
        lambda: anyio.run(af.estimator.train_and_evaluate, 1, TrainSpec(batches), EvalSpec(batches)),
        TypeError,
        "`estimator` must have type `tf.estimator.Estimator`",
    ),
]


@pytest.mark.parametrize(("make", "kind", "text"), REFUSALS)
def test_refusals_are_tensorflows(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make()


def on_a_server(features: Any, labels: Any, mode: str) -> Any:
    """The same model with its variables on a server, and the loss on a worker."""
    with af.device("/job:ps" if mode == "train" else None):
        w = af.get_variable("w", [2, 1], initializer=af.zeros_initializer())
        b = af.get_variable("b", [1], initializer=af.zeros_initializer())
    with af.device("/job:worker/task:1" if mode == "train" else None):
        loss = af.reduce_mean(af.square(af.matmul(features["x"], w) + b - labels))
    train = af.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=af.train.get_global_step())
    return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


@pytest.mark.parametrize("job", ["worker", "ps"])
async def test_a_task_that_is_killed_changes_no_result(job: str, launcher: Launcher, tmp_path: Path) -> None:
    async def numbers() -> AsyncIterator[Any]:
        for batch in endless():
            yield batch

    async with af.LocalCluster({"ps": 1, "worker": 2}, launcher=launcher) as cluster:
        made = af.estimator.Estimator(on_a_server, str(tmp_path), quiet(save_checkpoints_steps=4, master=cluster))
        killed = []

        class Killer(af.train.SessionRunHook):
            def after_run(self, run_context: Any, run_values: Any) -> None:
                killed.append(0)
                if len(killed) == 6:
                    task = "/job:worker/task:1" if job == "worker" else "/job:ps/task:0"
                    os.kill(cluster.processes[task].pid, signal.SIGKILL)

        train = TrainSpec(numbers, 10, [Killer()])
        spec = EvalSpec(batches, None, throttle_secs=0)
        metrics, _ = await af.estimator.train_and_evaluate(made, train, spec)
    assert len(killed) > 10, "steps were made again"
    assert any(isinstance(event, Restored) and event.step == 4 for event in made.history)
    w, b = expected(10)
    np.testing.assert_allclose(made.get_variable_value("w"), w, rtol=1e-5)
    assert metrics["loss"] == pytest.approx(
        np.mean([np.mean((f["x"] @ w + b - y) ** 2) for f, y in batches()]), rel=1e-4
    )
    assert evaluated(made) == [4, 8, 10]
    assert [e.step for e in made.history if isinstance(e, Saved)] == [0, 4, 8, 10]
