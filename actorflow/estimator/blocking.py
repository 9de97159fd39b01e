"""`blocking.Estimator`: the same without `await`. Hooks and listeners are called in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from actorflow.cluster.processes import blocking_local
from actorflow.estimator.core import Core
from actorflow.monitored.commands import Program, SharedSession, iterate_blocking, perform_blocking
from actorflow.public import public
from actorflow.runtime.event_loops.driver import LoopDriver
from actorflow.session.session import Session


@public("af.blocking")
class Estimator(Core):
    """`actorflow.estimator.Estimator` for code without `await`; the arguments and methods are the same.

        estimator = af.blocking.Estimator(model_fn, "models/line")
        estimator.train(batches, steps=2000)
        for answer in estimator.predict(questions):
            print(answer["y"])

    A hook or a listener may run something by its session, and may call `estimator.evaluate`. Within `with estimator` sessions
    are kept from call to call.

    Args:
        model_fn, model_dir, config, params, warm_start_from: see `actorflow.estimator.Estimator`.
    """

    _driver: LoopDriver | None = None
    _drivers: tuple[LoopDriver, ...] = ()

    @property
    def face(self) -> Callable[[Session], Any]:
        """Gives a session as hooks see it: a blocking one."""
        driver = self._driver
        assert driver is not None
        return lambda session: SharedSession(session, driver)

    def _perform(self, start: Callable[[], Program[Any]]) -> Any:
        """Runs a program in this thread. A call within a call, by a listener say, takes a loop of its own."""
        outer, was_open = self._driver, self.is_open
        if outer is not None and was_open and not self._busy:
            self._busy = True
            try:
                return perform_blocking(start(), outer)
            finally:
                self._busy = False
        self._driver, self.is_open = self._new_driver(), False
        try:
            return perform_blocking(start(), self._driver)
        finally:
            if self._driver is not self._cluster_driver:
                self._driver.close()
            self._driver, self.is_open = outer, was_open

    _busy = False

    @property
    def _cluster_driver(self) -> LoopDriver | None:
        master = self._config.master
        return master._driver if isinstance(master, blocking_local.LocalCluster) else None

    def _new_driver(self) -> LoopDriver:
        return self._cluster_driver or LoopDriver()

    def train(
        self,
        input_fn: Any,
        hooks: Sequence[Any] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
        *,
        epochs: int | None = None,
    ) -> Estimator:
        """Trains, and gives the Estimator.

        Args:
            input_fn, hooks, steps, max_steps, saving_listeners, epochs: see `actorflow.estimator.Estimator.train`.
        """
        self._perform(lambda: self._training(input_fn, hooks, steps, max_steps, saving_listeners, epochs))
        return self

    def evaluate(
        self,
        input_fn: Any,
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint, and gives the metrics.

        Args:
            input_fn, steps, hooks, checkpoint_path, name: see `actorflow.estimator.Estimator.evaluate`.
        """
        found: dict[str, Any] = self._perform(lambda: self._evaluation(input_fn, steps, hooks, checkpoint_path, name))
        return found

    def predict(
        self,
        input_fn: Any,
        predict_keys: Sequence[str] | str | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for an input, a generator with an answer for each example. Several may be read in turn.

        Args:
            input_fn, predict_keys, hooks: see `actorflow.estimator.Estimator.predict`.
            checkpoint_path, yield_single_examples: see `actorflow.estimator.Estimator.predict`.
        """
        twin = type(self).__new__(type(self))  # with a loop of its own, since others may be read between its answers
        twin.__dict__.update(self.__dict__)
        twin.is_open = False
        twin._driver = driver = self._new_driver()
        try:
            yield from iterate_blocking(
                twin._prediction(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples), driver
            )
        finally:
            if driver is not self._cluster_driver:
                driver.close()

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
