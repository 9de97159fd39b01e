"""The kinds of benchmarks: a comparison of calls, or a measurement of its own in a fresh process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

Side: TypeAlias = Literal["ours", "peer"]
SIDES: tuple[Side, ...] = ("ours", "peer")

# One call of the work that is timed. Our asynchronous side returns an awaitable, the others block.
Call: TypeAlias = Callable[[], Any]
# Opens what a call needs (a session, say) for as long as its block lasts.
Opener: TypeAlias = Callable[[], AbstractContextManager[Call] | AbstractAsyncContextManager[Call]]


@dataclass(frozen=True, slots=True)
class Work:
    """A built graph, and what one call fetches and feeds.

    A call takes the next of `batches` in a cycle, so that no side profits from being fed the same object again.

    In a suite, `answer` is what both sides have to agree on, by default the fetches. If a call does the same thing
    several times, `copies` holds the operations that end each of them, of which `fetches` is the last, so that the time
    of one is that of a call less that of a call of the first alone, by the number of the others. In a suite, both sides
    make `steps` calls, and the last one has the answer.
    """

    graph: Any
    fetches: Any
    placeholders: Sequence[Any] = ()
    batches: Sequence[tuple[Any, ...]] = ((),)
    init: Any = None
    answer: Any = None
    copies: Sequence[Any] = ()
    steps: int = 1


# The library is `actorflow` or `tensorflow.compat.v1`: the same function builds the same graph on either side.
Build: TypeAlias = Callable[[Any], Work]


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. Rounds are counted per pair of processes."""

    pairs: int = 7
    rounds: int = 12
    seconds: float = 0.05
    quick: bool = False

    @classmethod
    def quickly(cls) -> Options:
        return cls(pairs=3, rounds=8, seconds=0.04, quick=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same call on both sides, timed in rounds that alternate between two processes. The figure is a ratio. If it
    `polls`, our asynchronous side runs on the event loop that clients of a cluster may take,
    `actorflow.new_event_loop`."""

    name: str
    work: str
    ours: Opener
    peer: Opener
    note: str = ""
    polls: bool = False

    def opener(self, side: Side) -> Opener:
        return self.ours if side == "ours" else self.peer


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that a measurement returns, by its key."""

    name: str
    work: str
    unit: str


Measure: TypeAlias = Callable[[Options], Mapping[str, float] | Awaitable[Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A function that returns figures. It runs in several fresh processes, in turns with the peer's where there is one.

    `processes` bounds how many; by default as many as a comparison takes pairs.
    """

    name: str
    ours: Measure
    figures: tuple[Figure, ...]
    peer: Measure | None = None
    processes: int | None = None
    note: str = ""

    def function(self, side: Side) -> Measure:
        found = self.ours if side == "ours" else self.peer
        if found is None:
            raise ValueError(f"{self.name} has no {side} side.")
        return found


@dataclass(frozen=True, slots=True)
class Case:
    """One graph of a suite. `busy`: it is timed a second time beside a process that keeps one processor busy. `peer`: opens the
    other side (`suite_worker.Opened`) where the peer is not TensorFlow."""

    name: str
    work: str
    build: Build
    busy: bool = False
    note: str = ""
    peer: Callable[[], AbstractContextManager[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Many comparisons in the same pairs of processes: a process each would take longer to start than to measure.

    `cores` bounds the processors of a worker, and with them the threads of both libraries. `summary` adds the geometric
    mean of all ratios and the worst one. `processes` bounds the pairs, `part` the share of the options' rounds. With `nodes`, the
    note of a case that is slower than the peer's says which kinds of nodes its time goes to. `beside` is the number of busy
    processes that run all the time; they and the workers have sessions of their own.
    """

    name: str
    cases: tuple[Case, ...]
    cores: int | None = None
    summary: bool = False
    processes: int | None = None
    part: float = 1.0
    nodes: bool = False
    beside: int = 0

    def narrowed(self, name: str) -> Suite | None:
        """The cases of that name or whose names begin with it, if there are any."""
        some = tuple(case for case in self.cases if case.name == name or case.name.startswith(f"{name}_"))
        return replace(self, cases=some, summary=False) if some else None

    def case(self, name: str) -> Case:
        return next(case for case in self.cases if case.name == name)


Benchmark: TypeAlias = Comparison | Measurement | Suite
