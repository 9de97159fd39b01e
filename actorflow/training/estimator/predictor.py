"""`Predictor`: answers for single examples, by a session that stays open. Examples that wait together are answered together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from actorflow.base import nest
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import FailedPreconditionError
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.public import public
from actorflow.training.estimator.programs.evaluation import chosen, rows
from actorflow.training.estimator.programs.graphs import Built
from actorflow.training.estimator.programs.hosts import KeptHost
from actorflow.training.estimator.spec import ModeKeys

if TYPE_CHECKING:
    from actorflow.training.estimator.core import Core

_LOG = get_logger("estimator")


@dataclass(slots=True)
class _Question:
    """An example that waits for its answer."""

    example: Any
    leaves: list[Any]
    key: Any
    answer: asyncio.Future[Any]


@dataclass(slots=True)
class _ServedGraph:
    """A graph for examples of one kind, with a session that has the values of a checkpoint."""

    built: Built
    host: KeptHost
    fetches: Any


@public("af.estimator")
class Predictor:
    """Answers single examples: `await predict({"x": image})` gives the predictions for that image.

    It is made by `Estimator.predictor`, and open within `async with`. Examples that are asked while a step runs are
    answered together by the next step; an example that comes when nothing runs is answered at once. An example that
    can't be answered fails alone.

    Example:
        >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")])
        >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))])
        >>> async with estimator.predictor() as predict:
        ...     print((await predict({"x": np.array([1.0])}))["predictions"].shape)
        (1,)

    Args:
        core: the Estimator.
        predict_keys, checkpoint_path, follow, max_batch, look_seconds: see `Estimator.predictor`.
    """

    def __init__(
        self,
        core: Core,
        predict_keys: Sequence[str] | str | None,
        checkpoint_path: str | None,
        follow: bool,
        max_batch: int,
        look_seconds: float,
    ) -> None:
        if follow and checkpoint_path is not None:
            raise ValueError("follow=True takes the latest checkpoints; it goes without a checkpoint_path.")
        if max_batch < 1:
            raise ValueError(f"max_batch is a number of examples, but it is {max_batch}.")
        self._core, self._keys, self._path = core, predict_keys, checkpoint_path
        self._follow, self._most, self._look = follow, max_batch, look_seconds
        self._served: dict[Any, _ServedGraph] = {}
        self._waiting: deque[_Question] = deque()
        self._wake: asyncio.Event
        self._turn = anyio.Lock()
        """Held by a step: no session is exchanged under it."""
        self._root: BackgroundTasks | None = None
        self.steps = 0
        """How many steps have been run."""

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint whose values answer; None for initial values."""
        return self._path

    async def __aenter__(self) -> Predictor:
        root = await self.open()
        if self._follow:
            root.start(self._follow_checkpoints())
        return self

    async def open(self) -> BackgroundTasks:
        """Begins to answer; gives what it does in the background."""
        self._path = self._path or await machine.on_thread(latest_checkpoint, self._core.model_dir)
        self._root, self._wake = root, _ = BackgroundTasks(), asyncio.Event()
        root.start(self._work())
        return root

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        root, self._root = self._root, None
        assert root is not None
        await root.close()
        for question in self._waiting:
            if not question.answer.done():
                question.answer.set_exception(FailedPreconditionError("The predictor was closed."))
        self._waiting.clear()
        with anyio.CancelScope(shield=True):
            for served in self._served.values():
                await served.host.close()
        self._served.clear()

    async def __call__(self, example: Any) -> Any:
        """The predictions for one example.

        Args:
            example: the features of one example, without the size of a batch: an array, or a dict of arrays and numbers.

        Raises:
            FailedPreconditionError: the predictor is not open.
            OpError: the step has failed for this example.
        """
        if self._root is None:
            raise FailedPreconditionError(
                "The predictor is not open.", hint="async with estimator.predictor() as predict: await predict(example)"
            )
        leaves, key = _parse(example)
        question = _Question(example, leaves, key, asyncio.get_running_loop().create_future())
        self._waiting.append(question)
        self._wake.set()
        return await question.answer

    async def _work(self) -> None:
        """Answers what waits, until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._answer(self._next())

    def _next(self) -> list[_Question]:
        """The questions of the next step: of one kind, in the order in which they came."""
        taken: list[_Question] = []
        left: list[_Question] = []
        while self._waiting and len(taken) < self._most:
            question = self._waiting.popleft()
            if question.answer.done():  # whoever asked has left
                continue
            (taken if not taken or question.key == taken[0].key else left).append(question)
        self._waiting.extendleft(reversed(left))
        return taken

    async def _answer(self, questions: list[_Question]) -> None:
        if not questions:
            return
        try:
            answers = await self._run(questions)
        except Exception as error:
            if len(questions) == 1:
                if not questions[0].answer.done():
                    questions[0].answer.set_exception(error)
                return
            for question in questions:
                await self._answer([question])
            return
        for question, answer in zip(questions, answers, strict=True):
            if not question.answer.done():
                question.answer.set_result(answer)

    async def _run(self, questions: list[_Question]) -> list[Any]:
        first = questions[0]
        batch = _stack(first.example, [question.leaves for question in questions])
        async with self._turn:
            served = self._served.get(first.key)
            if served is None:
                served = self._served[first.key] = await self._serve(batch)
            self.steps += 1
            answer = await self._ask(served, batch)
        answers = list(rows(answer))
        if len(answers) != len(questions):
            raise ValueError(
                f"The predictions have {len(answers)} rows for {len(questions)} examples: a predictor answers models whose "
                "predictions have a row for each example."
            )
        return answers

    async def _ask(self, served: _ServedGraph, batch: Any) -> Any:
        assert served.built.fed is not None
        run = (served.host.guard or served.host.session).run
        return await run(served.fetches, served.built.fed.feeds(batch))

    async def _serve(self, batch: Any) -> _ServedGraph:
        """A graph for such examples, with a session of its own."""
        core = self._core
        built = core.graphs.for_batch(ModeKeys.PREDICT, batch, warm=False)
        options = core.session_options
        host = KeptHost(
            built,
            core.config.evaluation_master,
            options,
            path=self._path,
            keeps=False,
            face=core.face,
            fresh=True,
        )
        served = _ServedGraph(built, host, chosen(built.spec.predictions, self._keys))
        try:
            await host.start()
            await self._ask(served, batch)  # makes the plan
        except BaseException:
            with anyio.CancelScope(shield=True):
                await host.close()
            raise
        return served

    async def _follow_checkpoints(self) -> None:
        """Takes up new checkpoints. A session with the new values is opened beside the session that answers."""
        while True:
            await anyio.sleep(self._look)
            await self.look()

    async def look(self) -> None:
        """Takes up the latest checkpoint, if it is new. A checkpoint that does not fit leaves the former checkpoint,
        and is logged.

        Example:
            >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
            >>> async with estimator.predictor() as predict:
            ...     _ = await predict({"x": np.array([1.0])})
            ...     _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))])
            ...     await predict.look()
            ...     print((await predict({"x": np.array([1.0])}))["predictions"] > 0.0)
            [ True]
        """
        path = await machine.on_thread(latest_checkpoint, self._core.model_dir)
        if path is None or path == self._path:
            return
        before, self._path = self._path, path
        try:
            for key, old in list(self._served.items()):
                batch = nest.map_structure(_zeros, old.built.fed and (old.built.fed.features))
                served = await self._serve(batch)
                async with self._turn:
                    self._served[key] = served
                await old.host.close()
        except Exception as error:
            self._path = before
            _LOG.warning("the new checkpoint can't be taken up", path=path, error=str(error))
        else:
            _LOG.info("a new checkpoint answers", path=path)


def _parse(example: Any) -> tuple[list[Any], Any]:
    """The arrays of an example, and what it has in common with those that it can be answered with."""
    if isinstance(example, Mapping):
        names: Any = tuple(example)
        leaves = [np.asarray(leaf) for leaf in example.values()]
    else:
        names = None
        leaves = [np.asarray(leaf) for leaf in nest.flatten(example)]
    return leaves, (names, *[("S" if leaf.dtype.kind in "OSU" else leaf.dtype, leaf.shape) for leaf in leaves])


def _stack(example: Any, leaves: list[list[Any]]) -> Any:
    """A batch, out of the arrays of several examples of one structure."""
    stacked = [np.stack(several) for several in zip(*leaves, strict=True)]
    if isinstance(example, Mapping):
        return dict(zip(example, stacked, strict=True))
    return nest.pack_sequence_as(example, stacked)


def _zeros(tensor: Any) -> Any:
    """A batch of 1 for a placeholder."""
    if tensor is None:
        return None
    shape = [size or 1 for size in tensor.static_shape]
    return (
        np.full(shape, b"", object) if tensor.dtype.name == "string" else np.zeros(shape, tensor.dtype.as_numpy_dtype)
    )
