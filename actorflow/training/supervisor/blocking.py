"""`blocking.Supervisor`: training that goes on across deaths, for code without `await`."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.processes import blocking_local
from actorflow.cluster.processes.local import LocalCluster
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.runtime.event_loops.facade import BlockingFacade, blocking
from actorflow.graph.graph import Graph
from actorflow.public import public
from actorflow.training.supervisor import supervisor as asynchronous
from actorflow.training.supervisor.events import Event
from actorflow.training.supervisor.recovery.attempts import Attempt


class BlockingAttempt:
    """`with attempt as step:`; see `Attempt`."""

    def __init__(self, attempt: Attempt, driver: LoopDriver) -> None:
        self._attempt, self._driver = attempt, driver

    @property
    def step(self) -> int:
        """The global step at its begin."""
        return self._attempt.step

    def __enter__(self) -> int:
        return self._attempt.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._attempt.reset()
        return self._driver.call(lambda: self._attempt.leave(error))


@public("af.blocking")
class Supervisor(BlockingFacade[asynchronous.Supervisor]):
    """`actorflow.Supervisor` for code without `await`; the arguments and methods are the same.

    It watches the cluster while one of its methods runs: a loss in between is found by the next method.

    Example:
        >>> with af.Graph().as_default() as graph:
        ...     v = af.Variable(3.0)
        ...     train = af.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=af.train.create_global_step())
        ...     with af.blocking.Supervisor(graph=graph, checkpoint_dir="run") as supervisor:
        ...         for attempt in supervisor.steps(until=2):
        ...             with attempt as step:
        ...                 supervisor.run(train)
        >>> af.train.latest_checkpoint("run")
        'run/model.ckpt-2'
    """

    __reduce_ex__ = unpicklable(
        "A supervisor is not pickled, for it watches a cluster from this process: make it where it is needed."
    )

    def __init__(
        self,
        cluster: blocking_local.LocalCluster | str | None = None,
        graph: Graph | None = None,
        **options: Any,
    ) -> None:
        """
        Args:
            cluster, graph: see `actorflow.Supervisor`; a cluster is a `blocking.LocalCluster`.
            options: the keywords of `actorflow.Supervisor`; `save_beside` is False unless given.
        """
        inner: LocalCluster | str | None
        if isinstance(cluster, blocking_local.LocalCluster):
            inner, self._driver, self._owns_driver = cluster._inner, cluster._driver, False
        else:
            inner, self._driver, self._owns_driver = cluster, LoopDriver(), True
        try:
            # nothing is written while no method runs, so a checkpoint is there when `steps` goes on
            self._inner = asynchronous.Supervisor(inner, graph, **{"save_beside": False} | options)
        except BaseException:
            self._close_driver()
            raise

    start = blocking(asynchronous.Supervisor.start)
    run = blocking(asynchronous.Supervisor.run)
    save = blocking(asynchronous.Supervisor.save)
    scale = blocking(asynchronous.Supervisor.scale)
    level = blocking(asynchronous.Supervisor.level)

    def steps(self, until: int | None = None) -> Iterator[BlockingAttempt]:
        """See `actorflow.Supervisor.steps`."""
        while (attempt := self._driver.call(lambda: self._inner.next_attempt(until))) is not None:
            yield BlockingAttempt(attempt, self._driver)

    @property
    def history(self) -> list[Event]:
        """See `actorflow.Supervisor.history`."""
        return self._inner.history

    @property
    def epoch(self) -> int:
        """See `actorflow.Supervisor.epoch`."""
        return self._inner.epoch

    def events(self) -> Iterator[Event]:
        """The events so far.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v = af.Variable(3.0)
            ...     with af.blocking.Supervisor(graph=graph, checkpoint_dir="run") as supervisor:
            ...         print([type(event).__name__ for event in supervisor.events()])
            ['Restored', 'CheckpointSaved']
        """
        return iter(self._inner.history)

    def close(self, *, save: bool = True) -> None:
        """See `actorflow.Supervisor.close`."""
        self._last_call(lambda: self._inner.close(save=save))
