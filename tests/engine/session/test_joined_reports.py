"""The report of a step on several tasks is joined so that its cause is the first line."""

from __future__ import annotations

import itertools

import pytest

from actorflow.engine.session.waiting.deadlock import joined

CAUSE = (
    "batch_2 (QueueDequeueV2, p.py:9, /job:worker/task:2) waits for an element of queue 'q'",
    "  filled by: read_2",
)
HUNG = ("/job:worker/task:1 does not tell: it has not answered",)
FED = ("a (Add, p.py:3) waits for a feed of x:0",)
FOLLOWS = ("mul_2 (Mul, p.py:9, /job:worker/task:2) waits for input batch_2:0, input x:0",)
ORDERED = ("b (NoOp, p.py:4) waits for control input ^mul_2",)
RECEIVED = ("mul_2/_1 (_Recv, p.py:9, /job:worker/task:0) waits for mul_2:0 from /job:worker/task:2/device:CPU:0",)
MORE = ("... and 4 more",)
REPORTS = {"received": RECEIVED, "follows": FOLLOWS, "ordered": ORDERED, "more": MORE, "cause": CAUSE}


@pytest.mark.parametrize("order", list(itertools.permutations(REPORTS)), ids="-".join)
def test_the_cause_is_first_whichever_task_it_is_on(order: tuple[str, ...]) -> None:
    lines = joined([[line for name in order[:2] for line in REPORTS[name]], *[REPORTS[name] for name in order[2:]]])
    assert tuple(lines[:2]) == CAUSE
    assert lines.index(RECEIVED[0]) > max(lines.index(FOLLOWS[0]), lines.index(ORDERED[0]))
    assert lines[-1] == MORE[0]


@pytest.mark.parametrize("cause", [HUNG, FED], ids=["a task that does not tell", "a feed"])
def test_other_causes_come_before_what_follows_of_them(cause: tuple[str, ...]) -> None:
    assert joined([RECEIVED, FOLLOWS, cause])[0] == cause[0]


def test_no_line_is_there_twice() -> None:
    assert joined([CAUSE, CAUSE]) == list(CAUSE)
