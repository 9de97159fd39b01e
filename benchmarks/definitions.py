"""What a benchmark is: a comparison of calls, or a measurement of its own in a fresh process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
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
    """

    graph: Any
    fetches: Any
    placeholders: Sequence[Any] = ()
    batches: Sequence[tuple[Any, ...]] = ((),)
    init: Any = None


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
    """The same call on both sides, timed in rounds that alternate between two processes. The figure is a ratio."""

    name: str
    work: str
    ours: Opener
    peer: Opener
    note: str = ""

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


Benchmark: TypeAlias = Comparison | Measurement
