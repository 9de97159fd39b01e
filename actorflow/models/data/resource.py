"""`Pulling`: the stages of a dataset at work, for callers that pull from them in turns; and the resource of a graph."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any

from actorflow.base.process import forks
from actorflow.base.records.reading.fair_lock import FairLock
from actorflow.base.records.roots import FileRoots
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.diagnostics.waits import Wait
from actorflow.errors import FailedPreconditionError, InvalidArgumentError
from actorflow.models.data.identity import identity
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.spec import Element, Spec, fits
from actorflow.models.data.stage import EndOfSequence, Running, Stage, check, read_state, write_state
from actorflow.models.data.statistics import IteratorStatistics, PullWaits, statistics_of, waiting_of

_LOG = get_logger("data")
_PLACE = "place"
_alive: set[weakref.ref[Pulling]] = set()


def pullings() -> list[Pulling]:
    """The datasets of this process from which elements were pulled, and that have not ended."""
    running = [ref() for ref in list(_alive)]
    return [pulling for pulling in running if pulling is not None and pulling._stage is not None and not pulling.ended]


class Pulling:
    """The stages of a description. They are made with the first pull, on the loop of those who pull."""

    def __init__(self, node: DatasetNode, roots: FileRoots = None) -> None:
        _alive.add(weakref.ref(self, _alive.discard))
        self.node = node
        self._roots = roots
        self._turns = FairLock()
        self._running = Running(roots)
        self._stage: Stage | None = None
        self._saved: Any = None
        self._process = 0
        self._ended = False
        self._again = False
        """Whether it begins again if there is no element behind the place that it was restored to."""
        self._waits = PullWaits()

    async def pull(self) -> Element:
        """The next element. Raises EndOfSequence, also after a close."""
        if self._stage is not None and self._process != os.getpid():
            raise forks.refusal("The iterator", self._process)
        async with self._turns:
            while not self._ended:
                running, stage = self._running, self._stage or self._opened()
                began = perf_counter()
                try:
                    element = await stage.pull()
                except EndOfSequence:
                    again = running is self._running and self._again and not self._ended
                    if again:
                        self.restore(b"")
                    elif running is self._running:
                        self._ended = True
                    await running.close()
                    if not again:
                        raise
                else:
                    if running is self._running:
                        self._again = False
                    self._waits.pulled(began, perf_counter(), stage)
                    return element
            raise EndOfSequence

    def _opened(self) -> Stage:
        from actorflow.models.data import stages  # noqa: F401  (they fill the table)

        self._process = os.getpid()
        stage = self._running.stage(self.node)
        if self._saved is not None:
            try:
                stage.restore(self._saved)
            except (TypeError, ValueError, IndexError, AttributeError) as error:
                raise InvalidArgumentError(
                    f"The state is none of this dataset ({self.node}): {error}",
                    hint="A state is for the dataset that it was taken of, with the same stages.",
                ) from error
            self._saved = None
        self._stage = stage
        return stage

    def state(self) -> bytes:
        """Its place, with all that its stages hold."""
        if self._stage is not None:
            return write_state([self._ended, self._stage.state()])
        return write_state([self._ended, self._saved])

    def restore(self, state: bytes, again: bool = False) -> None:
        """Goes to the place of another iterator of the same description; to the beginning for the empty state, and with `again`
        also from behind the last element."""
        fields = read_state(state) if state else [False, None]
        if not isinstance(fields, list) or len(fields) != 2:
            raise InvalidArgumentError(f"The data of {len(state)} bytes is no state of an iterator.")
        self._running.abort()
        self._running, self._stage = Running(self._roots), None
        self._ended, self._saved, self._again = bool(fields[0]), fields[1], again

    @property
    def ended(self) -> bool:
        """Whether there are no more elements."""
        return self._ended

    @property
    def is_busy(self) -> bool:
        """Whether it has tasks."""
        return self._running.is_busy

    def abort(self) -> None:
        """Ends its tasks without waiting for them."""
        self._ended = True
        self._running.abort()

    async def close(self) -> None:
        """Ends its tasks."""
        self._ended = True
        await self._running.close()

    def statistics(self) -> IteratorStatistics:
        """The work of its stages so far."""
        return statistics_of(self._stage, self._waits.share)

    def reason(self) -> Wait:
        """For whom a pull waits now, as reports of steps tell it."""
        return Wait(f"waits for {waiting_of(self._stage)}")


class IteratorResource:
    """An iterator of a graph, on a device. It lives as long as its container; checkpoints keep its state."""

    def __init__(self, name: str, types: tuple[Any, ...], shapes: tuple[Any, ...]) -> None:
        self.name, self.types, self.shapes = name, types, shapes
        self.address = "", name
        """Its container and name."""
        self._pulling: Pulling | None = None
        self._saved: bytes | None = None
        """The state that a restore has brought, until an element is taken."""
        self._identity: bytes | None = None
        self._lock = forks.new_lock()

    def initialize(self, node: DatasetNode, roots: FileRoots) -> None:
        """Begins with a description, at its beginning; or where the checkpoint was that was restored before.

        Raises:
            InvalidArgumentError: its elements are of other types or shapes, or a size of a stage can't be.
        """
        self._check(node.spec)
        check(node)
        with self._lock:
            before, self._pulling = self._pulling, Pulling(node, roots)
            self._identity = None
            saved, self._saved = self._saved, None
            if saved:
                self._take_up(saved)
        if before is not None:
            before.abort()

    def initialize_once(self, make: Callable[[], DatasetNode], roots: FileRoots) -> None:
        """Begins, unless it has begun."""
        if self._pulling is None:
            self.initialize(make(), roots)

    def reads(self, node: DatasetNode) -> bool:
        """Whether its dataset is that of a description. An iterator that has not begun may read any."""
        return self._pulling is None or self._input() == identity(node)

    def _check(self, spec: Spec) -> None:
        types = [leaf.dtype for leaf in spec.leaves]
        if types != list(self.types):
            raise InvalidArgumentError(
                f"The iterator {self.name!r} has elements of types {list(map(str, self.types))}, but those of the dataset are "
                f"{list(map(str, types))}."
            )

    async def next(self) -> Element:
        """The next element.

        Raises:
            EndOfSequence: there are no more.
            FailedPreconditionError: it has no dataset yet.
            InvalidArgumentError: the element has another shape than the iterator.
        """
        pulling = self._pulling
        if pulling is None:
            raise FailedPreconditionError(
                f"GetNext() failed because the iterator has not been initialized: {self.name!r}.",
                hint="Ensure that you have run the initializer operation for this iterator before getting the next element.",
            )
        self._saved = None
        element = await pulling.pull()
        for index, (value, dtype, shape) in enumerate(zip(element, self.types, self.shapes)):
            if shape is not None and not isinstance(value, bytes) and not fits(value, dtype, shape):
                raise InvalidArgumentError(
                    f"Component {index} of the element has shape {value.shape}, but the iterator {self.name!r} has {shape}."
                )
        return element

    def reason(self) -> Wait:
        """For whom a pull waits now, as reports of steps tell it."""
        return Wait("waits for a dataset") if self._pulling is None else self._pulling.reason()

    def statistics(self) -> IteratorStatistics:
        """The work of its stages so far."""
        return statistics_of(None) if self._pulling is None else self._pulling.statistics()

    def state(self) -> bytes:
        """Its place, with all that its stages hold. At its end that of a fresh iterator, so a later run has input again."""
        if self._pulling is None or self._pulling.ended:
            return b""
        return write_state([_PLACE, self._input(), self._pulling.state()])

    def restore(self, state: bytes) -> None:
        """Goes to the place of the state. A dataset that it gets before an element was taken begins there too. From behind its
        last element it begins again, as from its end. A dataset other than that of the place begins at its beginning."""
        self._saved = state
        if self._pulling is not None:
            self._take_up(state)

    def _input(self) -> bytes:
        """The digest of its dataset."""
        assert self._pulling is not None
        if self._identity is None:
            self._identity = identity(self._pulling.node)
        return self._identity

    def _take_up(self, state: bytes) -> None:
        """Goes to a place, if the place is of its dataset."""
        assert self._pulling is not None
        content = read_state(state) if state else None
        if not isinstance(content, list) or content[:1] != [_PLACE]:
            self._pulling.restore(state, again=True)
        elif content[1] == self._input():
            self._pulling.restore(content[2], again=True)
        else:
            _LOG.info(
                "the checkpoint has the place in another input: this one begins at its beginning",
                iterator=self.name,
                input=str(self._pulling.node),
            )
            self._pulling.restore(b"", again=True)

    def close(self) -> None:
        """Ends its tasks."""
        if self._pulling is not None:
            self._pulling.abort()
