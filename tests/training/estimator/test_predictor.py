"""Predictors: single examples, batches of those that wait together, new checkpoints, and questions that are given up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import anyio
import numpy as np
import pytest
from training.estimator.estimator_lines import X, batches, expected, line, quiet

import actorflow as af
from actorflow import errors


def estimator(folder: Path) -> af.estimator.Estimator:
    return af.estimator.Estimator(line, str(folder), quiet(), {"rate": 0.1})


async def test_single_examples_are_answered(tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(batches)
    w, b = expected(4)
    async with made.predictor() as predict:
        for row in X[:3]:
            answer = await predict({"x": row})
            np.testing.assert_allclose(answer["y"], row @ w + b, rtol=1e-4, atol=1e-6)
            np.testing.assert_array_equal(answer["x"], row)
        assert predict.checkpoint == made.latest_checkpoint()
    with pytest.raises(errors.FailedPreconditionError, match="The predictor is not open"):
        await predict({"x": X[0]})
    async with made.predictor("y") as predict:
        assert set(await predict({"x": X[0]})) == {"y"}


async def test_questions_that_wait_are_answered_together(tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(batches)
    async with made.predictor() as predict:
        await predict({"x": X[0]})
        begun, answers = predict.steps, {}

        async def ask(number: int) -> None:
            answers[number] = (await predict({"x": X[number % 40]}))["x"]

        async with anyio.create_task_group() as group:
            for number in range(1000):
                group.start_soon(ask, number)
        assert predict.steps - begun <= 5
    for number, found in answers.items():
        np.testing.assert_array_equal(found, X[number % 40])


async def test_a_question_that_fails_fails_alone(tmp_path: Path) -> None:
    def model(features: Any, mode: str) -> Any:
        checked = af.assert_positive(features)
        with af.control_dependencies([checked]):
            return af.estimator.EstimatorSpec(mode, {"y": af.sqrt(features)})

    outcomes: dict[float, Any] = {}
    async with af.estimator.Estimator(model, str(tmp_path), quiet()).predictor() as predict:
        await predict(np.float32(1))

        async def ask(number: float) -> None:
            try:
                outcomes[number] = float((await predict(np.float32(number)))["y"])
            except errors.OpError as error:
                outcomes[number] = type(error)

        async with anyio.create_task_group() as group:
            for number in (4.0, -1.0, 9.0):
                group.start_soon(ask, number)
        assert outcomes == {4.0: 2.0, -1.0: errors.InvalidArgumentError, 9.0: 3.0}


async def test_a_question_that_is_given_up_harms_no_other(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    async with made.predictor() as predict:
        await predict({"x": X[0]})
        found = []

        async def ask(number: int, scope: anyio.CancelScope) -> None:
            with scope:
                found.append((number, (await predict({"x": X[number]}))["x"]))

        for spins in range(12):
            found.clear()
            leaving = anyio.CancelScope()
            async with anyio.create_task_group() as group:
                group.start_soon(ask, 1, leaving)
                group.start_soon(ask, 2, anyio.CancelScope())
                for _ in range(spins):
                    await anyio.lowlevel.checkpoint()
                leaving.cancel()
            assert 2 in [number for number, _ in found]


async def test_new_checkpoints_are_followed(tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(batches, steps=1)
    async with made.predictor(follow=True, look_seconds=0.01) as predict:
        first = (await predict({"x": X[0]}))["y"]
        assert first == pytest.approx((X[0] @ expected(1)[0] + expected(1)[1])[0], rel=1e-4)
        await made.train(batches, steps=1)
        while (await predict({"x": X[0]}))["y"] == first:
            pass
        assert predict.checkpoint == made.latest_checkpoint()
    with pytest.raises(ValueError, match="follow=True takes the latest checkpoints"):
        made.predictor(checkpoint_path="x", follow=True)


async def test_a_question_that_runs_while_a_checkpoint_is_taken_up_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await estimator(tmp_path).train(batches, steps=1)
    async with made.predictor() as predict:
        await predict({"x": X[0]})
        await made.train(batches, steps=1)
        asked, ask = anyio.Event(), predict._ask
        runs = 0

        async def held(*arguments: Any) -> Any:
            nonlocal runs
            runs += 1
            if runs == 1:
                asked.set()
                await anyio.wait_all_tasks_blocked()  # a session that is closed under the step would be closed by now
            return await ask(*arguments)

        monkeypatch.setattr(predict, "_ask", held)
        answers: list[Any] = []

        async def question() -> None:
            answers.append((await predict({"x": X[0]}))["y"])

        async with anyio.create_task_group() as group:
            group.start_soon(question)
            await asked.wait()
            await predict.look()
        assert answers[0] == pytest.approx((X[0] @ expected(1)[0] + expected(1)[1])[0], rel=1e-4)
        assert predict.checkpoint == made.latest_checkpoint()
        assert (await predict({"x": X[0]}))["y"] != answers[0]


async def test_a_question_of_another_shape_gets_a_graph_of_its_own(tmp_path: Path) -> None:
    def model(features: Any, mode: str) -> Any:
        return af.estimator.EstimatorSpec(mode, {"sum": af.reduce_sum(features, 1)})

    async with af.estimator.Estimator(model, str(tmp_path), quiet()).predictor() as predict:
        assert (await predict(np.ones(3)))["sum"] == 3
        assert (await predict(np.ones(5, np.float32)))["sum"] == 5


def test_a_predictor_without_await(tmp_path: Path) -> None:
    made = af.blocking.Estimator(line, str(tmp_path), quiet(), {"rate": 0.1}).train(batches)
    w, b = expected(4)
    with made.predictor("y", follow=True, look_seconds=0) as predict:
        for row in X[:3]:
            np.testing.assert_allclose(predict({"x": row})["y"], row @ w + b, rtol=1e-4, atol=1e-6)
        before = predict.checkpoint
        made.train(batches)
        w, b = expected(8)
        np.testing.assert_allclose(predict({"x": X[0]})["y"], X[0] @ w + b, rtol=1e-4, atol=1e-6)
        assert predict.checkpoint == made.latest_checkpoint() != before
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        predict({"x": X[0]})


def test_threads_that_ask_at_once_get_their_answers(tmp_path: Path) -> None:
    made = af.blocking.Estimator(line, str(tmp_path), quiet(), {"rate": 0.1})
    threads = 8
    together = Barrier(threads)

    def ask(number: int) -> None:
        together.wait()
        for turn in range(25):
            row = X[(number + turn) % 40]
            np.testing.assert_array_equal(predict({"x": row})["x"], row)

    with made.predictor() as predict, ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, range(threads)))
