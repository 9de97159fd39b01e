"""`blocking.Estimator` and `blocking.Predictor`: the same without `await`. Hooks are called in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from actorflow.base.process import machine
from actorflow.cluster.processes import blocking_local
from actorflow.engine.runtime.event_loops.driver import LoopDriver, Start
from actorflow.engine.runtime.event_loops.facade import BlockingFacade, blocking
from actorflow.engine.session.session import Session
from actorflow.public import public
from actorflow.training.estimator import estimator as asynchronous
from actorflow.training.estimator import predictor
from actorflow.training.estimator.core import Core
from actorflow.training.monitored.commands import Program, SharedSession, iterate_blocking, perform_blocking

T = TypeVar("T")


@public("af.blocking")
class Estimator(Core):
    """`actorflow.estimator.Estimator` for code without `await`; the arguments and methods are the same.

    A hook or a listener may run something by its session, and may call `estimator.evaluate`. Within `with estimator` sessions
    are kept from call to call.

    Example:
        >>> def model_fn(features, labels, mode):
        ...     prediction = af.layers.dense(features["x"], 1)
        ...     loss = af.losses.mean_squared_error(labels, prediction)
        ...     train_op = af.train.AdamOptimizer(0.1).minimize(loss, global_step=af.train.get_global_step())
        ...     return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        >>> estimator = af.blocking.Estimator(model_fn, "models/line")
        >>> batch = {"x": np.array([[1.0], [2.0]], np.float32)}, np.array([[2.0], [4.0]], np.float32)
        >>> trained = estimator.train([batch] * 10)
        >>> estimator.evaluate([batch])["global_step"]
        10

    Args:
        model_fn, model_dir, config, params, warm_start_from: see `actorflow.estimator.Estimator`.
    """

    _driver: LoopDriver | None = None

    @property
    def face(self) -> Callable[[Session], Any]:
        """Gives a session as hooks see it: a blocking session."""
        driver = self._driver
        assert driver is not None
        return lambda session: SharedSession(session, driver)

    @property
    def _inner(self) -> Estimator:
        return self

    def _call(self, start: Start[T]) -> T:
        """The result of a coroutine that never waits, for its programs are performed in this thread."""
        try:
            start().send(None)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        raise RuntimeError("A program of a blocking Estimator waits in its coroutine.")

    async def _perform(self, program: Program[T]) -> T:
        """Runs a program in this thread. A call within a call, by a listener say, takes a loop of its own."""
        outer, was_open = self._driver, self.is_open
        if outer is not None and was_open and not self._busy:
            self._busy = True
            try:
                return perform_blocking(program, outer)
            finally:
                self._busy = False
        self._driver, self.is_open = self._new_driver(), False
        try:
            return perform_blocking(program, self._driver)
        finally:
            if self._driver is not self._cluster_driver:
                self._driver.close()
            self._driver, self.is_open = outer, was_open

    _busy = False

    @property
    def _cluster_driver(self) -> LoopDriver | None:
        master = self._config.target
        return master._driver if isinstance(master, blocking_local.LocalCluster) else None

    def _new_driver(self) -> LoopDriver:
        return self._cluster_driver or LoopDriver()

    train = blocking(asynchronous.Estimator.train)
    evaluate = blocking(asynchronous.Estimator.evaluate)
    export_saved_model = export_savedmodel = blocking(asynchronous.Estimator.export_saved_model)

    def predict(
        self,
        input_fn: Any,
        predict_keys: Sequence[str] | str | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for an input, a generator with an answer for each example. Several may be read in turn.

        Example:
            >>> estimator = af.blocking.LinearRegressor([af.feature_column.numeric_column("x")])
            >>> batch = {"x": np.array([[1.0], [2.0]])}
            >>> [answer["predictions"] for answer in estimator.predict([batch])]
            [[0.], [0.]]

        Args:
            input_fn, predict_keys, hooks: see `actorflow.estimator.Estimator.predict`.
            checkpoint_path, yield_single_examples: see `actorflow.estimator.Estimator.predict`.
        """
        twin, driver = self._twin()  # since others may be read between its answers
        try:
            yield from iterate_blocking(
                twin._prediction(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples), driver
            )
        finally:
            if driver is not self._cluster_driver:
                driver.close()

    def predictor(
        self,
        predict_keys: Sequence[str] | str | None = None,
        checkpoint_path: str | None = None,
        *,
        follow: bool = False,
        max_batch: int = 1024,
        look_seconds: float = 1.0,
    ) -> Predictor:
        """The predictor of single examples, by a session that stays open, for `with`.

            with estimator.predictor() as predict:
                answer = predict({"x": image})

        Example:
            >>> estimator = af.blocking.LinearRegressor([af.feature_column.numeric_column("x")])
            >>> with estimator.predictor() as predict:
            ...     print(predict({"x": np.array([1.0])}))
            {'predictions': array([0.], dtype=float32)}

        Args:
            predict_keys, checkpoint_path, follow: see `actorflow.estimator.Estimator.predictor`.
            max_batch, look_seconds: see `actorflow.estimator.Estimator.predictor`.
        """
        twin, driver = self._twin()
        inner = predictor.Predictor(twin, predict_keys, checkpoint_path, follow, max_batch, look_seconds)
        return Predictor(inner, driver, driver is not self._cluster_driver, look_seconds if follow else None)

    def _twin(self) -> tuple[Estimator, LoopDriver]:
        """The same Estimator with an event loop of its own, and that loop."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.is_open = False
        twin._driver = driver = self._new_driver()
        return twin, driver

    def __enter__(self) -> Estimator:
        self._driver = self._new_driver()
        self.is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        driver, self._driver, self.is_open = self._driver, None, False
        assert driver is not None
        self.told.close()
        try:
            perform_blocking(self.close_writers(*self.writers), driver)
            for supervisor in self.graphs.take():
                driver.call(lambda supervisor=supervisor: supervisor.close(save=False))  # type: ignore[misc]
        finally:
            if driver is not self._cluster_driver:
                driver.close()


@public("af.blocking")
class Predictor(BlockingFacade[predictor.Predictor]):
    """`actorflow.estimator.Predictor` for code without `await`: `predict({"x": image})` gives the predictions for that image.

    It is made by `Estimator.predictor`, and open within `with`. Threads may call it at once: examples that wait are answered
    together.
    New checkpoints are looked for when an example comes.

    Example:
        >>> estimator = af.blocking.LinearRegressor([af.feature_column.numeric_column("x")])
        >>> trained = estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))])
        >>> with estimator.predictor() as predict:
        ...     print(predict({"x": np.array([1.0])})["predictions"].shape)
        (1,)

    Args:
        inner: what answers.
        driver: the event loop that it runs on.
        owns_driver: whether that loop is closed at the end.
        look_seconds: the pause between two looks for a new checkpoint; None takes up none.
    """

    def __init__(
        self, inner: predictor.Predictor, driver: LoopDriver, owns_driver: bool, look_seconds: float | None
    ) -> None:
        self._inner, self._driver, self._owns_driver = inner, driver, owns_driver
        self._look_seconds, self._looked = look_seconds, 0.0

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint whose values answer; None for initial values."""
        return self._inner.checkpoint

    @property
    def steps(self) -> int:
        """How many steps have been run."""
        return self._inner.steps

    def __call__(self, example: Any) -> Any:
        """See `actorflow.estimator.Predictor`.

        Args:
            example: the features of one example, without the size of a batch: an array, or a dict of arrays and numbers.

        Raises:
            FailedPreconditionError: the predictor is not open.
            OpError: the step has failed for this example.
        """
        return self._call(lambda: self._answer(example))

    async def _answer(self, example: Any) -> Any:
        if self._look_seconds is not None and machine.wall_time() - self._looked >= self._look_seconds:
            self._looked = machine.wall_time()
            await self._inner.look()
        return await self._inner(example)

    def __enter__(self) -> Self:
        self._call(self._inner.open)
        self._looked = machine.wall_time()
        return self
