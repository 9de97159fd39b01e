"""The pure core of queues: attempts, their order, closing and taking back, against a model that is a plain list."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actorflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from actorflow.kernels.io.queues.barrier import BarrierCore, Insert
from actorflow.kernels.io.queues.core import Close, Put, QueueAttempt, QueueCore, QueueTake
from actorflow.kernels.io.queues.operations import draws
from actorflow.kernels.io.queues.stores import Fifo, Prioritized, Shuffled

CAPACITY = 4
KEPT = 2


class Model:
    """The duties of a queue, written without thought of cost: every change looks at everything again."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.inside: list[int] = []
        self.closed = False
        self.lines: dict[bool, list[dict[str, Any]]] = {True: [], False: []}

    def add(self, attempt: dict[str, Any]) -> None:
        self.lines[attempt["puts"]].append(attempt)
        self.settle()

    def settle(self) -> None:
        """Heads in turn, each as far as it goes: what a small priority can overtake depends on that."""
        while any([self._head(True), self._head(False)]):
            pass

    def _head(self, puts: bool) -> bool:
        line, moved = self.lines[puts], False
        while line:
            if (self._put if puts else self._take)(line[0]):
                moved = True
            if "outcome" not in line[0]:
                break
            line.pop(0)
            moved = True
        return moved

    def _put(self, attempt: dict[str, Any]) -> bool:
        if self.closed:
            attempt["outcome"] = "cancelled"
        elif attempt["what"] == "close":
            self.closed = True
            attempt["outcome"] = "done"
        else:
            room = max(0, CAPACITY - len(self.inside))
            fits, attempt["left"] = attempt["left"][:room], attempt["left"][room:]
            self.inside += fits
            if not attempt["left"]:
                attempt["outcome"] = "done"
            return bool(fits)
        return False

    def _take(self, attempt: dict[str, Any]) -> bool:
        taken = attempt["taken"]
        if self.closed and len(taken) + len(self.inside) < attempt["count"]:
            self.inside[:0] = taken
            taken.clear()
            if attempt["up_to"] and self.inside:
                attempt["count"] = len(self.inside)
            else:
                attempt["outcome"] = "out of range"
                return False
        floor = KEPT if self.kind == "shuffled" and not self.closed else 0
        moved = False
        while len(self.inside) > floor and len(taken) < attempt["count"]:
            at = min(range(len(self.inside)), key=lambda i: self.inside[i]) if self.kind == "prioritized" else 0
            taken.append(self.inside.pop(at))
            moved = True
        if len(taken) == attempt["count"]:
            attempt["outcome"] = "done"
        return moved


class QueueMachine(RuleBasedStateMachine):
    """One core beside its model. Elements are numbers that never repeat."""

    kind = "fifo"

    def __init__(self) -> None:
        super().__init__()
        store = {
            "fifo": Fifo,
            "shuffled": lambda: Shuffled(random.Random(7).randrange, KEPT),
            "prioritized": Prioritized,
        }
        self.core = QueueCore("q", store[self.kind](), CAPACITY)
        self.model = Model(self.kind)
        self.pairs: list[tuple[QueueAttempt, dict[str, Any]]] = []
        self.put = Counter[int]()
        self.next = 0

    def _submit(self, attempt: QueueAttempt, twin: dict[str, Any]) -> None:
        self.pairs.append((attempt, twin))
        waiting = [a for a, _ in self.pairs if not a.done]
        finished = self.core.submit(attempt)
        assert attempt not in finished
        assert {id(a) for a in finished} == {id(a) for a in waiting if a.done and a is not attempt}
        self.model.add(twin)

    @rule(count=st.integers(1, 6), low=st.booleans())
    def enqueue(self, count: int, low: bool) -> None:
        sign = -1 if low else 1  # priorities that come before, and after, those inside
        numbers = [sign * (self.next + i) for i in range(1, count + 1)]
        self.next += count
        self._submit(Put([(n,) for n in numbers]), {"puts": True, "what": "put", "left": list(numbers)})

    @rule(count=st.integers(1, 6), up_to=st.booleans())
    def dequeue(self, count: int, up_to: bool) -> None:
        self._submit(
            QueueTake(count, up_to), {"puts": False, "what": "take", "count": count, "up_to": up_to, "taken": []}
        )

    @precondition(lambda self: not self.model.closed)
    @rule()
    def close(self) -> None:
        self._submit(Close(), {"puts": True, "what": "close"})

    @rule()
    def close_and_cancel(self) -> None:
        self.core.close_and_cancel()
        self.model.closed = True
        for twin in self.model.lines[True]:
            twin["outcome"] = "cancelled"
        self.model.lines[True].clear()
        self.model.settle()

    @precondition(lambda self: any(not a.done for a, _ in self.pairs))
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        attempt, twin = data.draw(st.sampled_from([p for p in self.pairs if not p[0].done]))
        self.core.withdraw(attempt)
        twin["outcome"] = "withdrawn"
        self.model.lines[twin["puts"]].remove(twin)
        if not twin["puts"]:
            self.model.inside[:0] = twin["taken"]
            twin["taken"] = []
        self.model.settle()

    @invariant()
    def same_outcomes(self) -> None:
        for attempt, twin in self.pairs:
            assert attempt.done == ("outcome" in twin), (attempt, twin)
            if not attempt.done:
                continue
            errors = {"cancelled": CancelledError, "out of range": OutOfRangeError, "withdrawn": CancelledError}
            assert isinstance(attempt.error, errors.get(twin["outcome"], type(None)))
            if isinstance(attempt, QueueTake) and twin["outcome"] == "done":
                got = [e[0] for e in attempt.elements]
                if self.kind == "shuffled":
                    assert len(got) == len(twin["taken"])
                else:
                    assert got == twin["taken"]

    @invariant()
    def same_state(self) -> None:
        assert len(self.core) == len(self.model.inside)
        assert self.core.closed == self.model.closed
        assert self.core.waiting == (len(self.model.lines[True]), len(self.model.lines[False]))

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        given = [e[0] for a, _ in self.pairs if isinstance(a, QueueTake) and a.done for e in a.elements]
        assert len(set(given)) == len(given)


class ShuffledMachine(QueueMachine):
    kind = "shuffled"


class PrioritizedMachine(QueueMachine):
    kind = "prioritized"


for _machine in (QueueMachine, ShuffledMachine, PrioritizedMachine):
    _machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestFifo = QueueMachine.TestCase
TestShuffled = ShuffledMachine.TestCase
TestPrioritized = PrioritizedMachine.TestCase


def take(core: QueueCore, count: int = 1) -> list[Any]:
    attempt = QueueTake(count)
    core.submit(attempt)
    assert attempt.done and attempt.error is None, attempt.error
    return [e[0] for e in attempt.elements]


def test_an_undelivered_take_puts_its_elements_back_in_order() -> None:
    core = QueueCore("q", Fifo())
    core.submit(Put([(i,) for i in range(5)]))
    attempt = QueueTake(3)
    core.submit(attempt)
    assert attempt.done
    core.withdraw(attempt)  # it was done, but whom it was for has gone
    assert take(core, 5) == [0, 1, 2, 3, 4]


def test_a_take_that_gives_up_lets_the_next_one_go() -> None:
    core = QueueCore("q", Fifo(), 3)
    large, small = QueueTake(3), QueueTake(1)
    core.submit(large)
    core.submit(Put([("a",), ("b",)]))
    core.submit(small)
    assert not small.done and len(core) == 0
    assert core.withdraw(large) == [small]
    assert small.elements == [("a",)] and take(core) == ["b"]


def test_priorities_that_are_put_back_keep_their_order() -> None:
    core = QueueCore("q", Prioritized())
    core.submit(Put([(1, "a"), (1, "b"), (0, "c"), (1, "d")]))
    attempt = QueueTake(2)
    core.submit(attempt)
    core.withdraw(attempt)
    rest = QueueTake(4)
    core.submit(rest)
    assert [e[1] for e in rest.elements] == ["c", "a", "b", "d"]


def test_equal_seeds_shuffle_equally_and_others_do_not() -> None:
    def order(*seeds: int) -> list[Any]:
        core = QueueCore("q", Shuffled(draws(*seeds), 0))
        core.submit(Put([(i,) for i in range(600)]))
        return take(core, 600)

    assert order(1, 2) == order(1, 2) != order(1, 3)
    assert sorted(order(1, 2)) == list(range(600))
    assert order(0, 0) != order(0, 0)  # no seed at all


def test_f84_the_shuffle_is_uniform() -> None:
    picks = Counter(take(shuffled)[0] for shuffled in (_of_four(seed) for seed in range(1, 2001)))
    expected = 2000 / 4
    chi_square = sum((picks[i] - expected) ** 2 / expected for i in range(4))
    assert chi_square < 16.3  # 3 degrees of freedom, p = 0.001; the seeds are fixed


def _of_four(seed: int) -> QueueCore:
    core = QueueCore("q", Shuffled(draws(seed, 5), 0))
    core.submit(Put([(i,) for i in range(4)]))
    return core


def test_dropping_a_queue_fails_all_that_wait() -> None:
    core = QueueCore("q", Fifo(), 1)
    waiting = [QueueTake(2), QueueTake(1)]
    for attempt in waiting:
        core.submit(attempt)
    assert core.abandon() == waiting
    assert all(isinstance(a.error, CancelledError) for a in waiting)


# ---- barriers


def insert(core: BarrierCore, component: int, **values: Any) -> Any:
    attempt = Insert(component, [k.encode() for k in values], list(values.values()))
    core.submit(attempt)
    return attempt.error


def test_a_barrier_joins_components_and_keeps_the_order_of_keys() -> None:
    core = BarrierCore("b", 2)
    waiting = QueueTake(2)
    core.submit(waiting)
    assert insert(core, 0, x=1, y=2, z=3) is None
    assert (len(core), core.incomplete) == (0, 3)
    assert insert(core, 1, y=20) is None
    assert not waiting.done
    assert insert(core, 1, z=30) is None
    assert [e[2:] for e in waiting.elements] == [(b"y", 2, 20), (b"z", 3, 30)]
    assert [e[1] for e in waiting.elements] == [-(2**63)] * 2, "one call named both keys first"


def test_a_barrier_refuses_a_component_twice() -> None:
    core = BarrierCore("b", 2)
    insert(core, 0, x=1)
    assert isinstance(insert(core, 0, x=2), InvalidArgumentError)


def test_a_closed_barrier_completes_what_was_begun() -> None:
    core = BarrierCore("b", 2)
    insert(core, 0, x=1, y=2)
    core.close(False)
    assert isinstance(insert(core, 0, new=1), CancelledError)
    hopeless, waiting = QueueTake(3), QueueTake(2)
    core.submit(hopeless)
    core.submit(waiting)
    assert isinstance(hopeless.error, OutOfRangeError) and not waiting.done
    insert(core, 1, x=10)
    insert(core, 1, y=20)
    assert len(waiting.elements) == 2 and core.closed
    with pytest.raises(CancelledError, match="already closed"):
        core.close(False)
    core.close(True)
    with pytest.raises(CancelledError, match="already closed"):
        core.close(True)


def test_closing_a_barrier_with_cancellation_drops_the_incomplete() -> None:
    core = BarrierCore("b", 2)
    insert(core, 0, x=1, y=2)
    insert(core, 1, x=10)
    core.close(True)
    assert (len(core), core.incomplete) == (1, 0)
    small = QueueTake(5, up_to=True)
    core.submit(small)
    assert len(small.elements) == 1
    assert isinstance(insert(core, 1, y=20), CancelledError)
