"""Simulated annealing over placements, by proposals and a number of trials or seconds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from actorflow.engine.placement.search.memory import MemoryRule
from actorflow.engine.placement.search.moves import Proposer
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline

_HOT, _COLD = 0.01, 0.0001
"""The temperatures at the begin and at the end, relative to the step's length: worse by that much is accepted by 1 in e."""
_MOST_REFUSED = 64


def anneal(
    simulator: Simulator,
    rule: MemoryRule,
    proposer: Proposer,
    start: StepTimeline,
    chance: random.Random,
    progress: Callable[[], float],
    tell: Callable[[StepTimeline], None],
    heat: float = 1.0,
) -> StepTimeline:
    """The best placement on a way of random changes from `start`: better placements are taken, and worse placements the
    more seldom the colder it is.

    Args:
        progress: gives what part of the trials or of the time is over; it is called before each trial, and ends it by 1.
        tell: is called with each placement that is better than all before it on this way.
        heat: what part of the usual temperatures to have.
    """
    present = best = start
    path = present.critical()
    refused = 0
    while (part := progress()) < 1.0:
        if not path:
            return best
        changes = proposer.propose(present, path, chance)
        if not changes or not rule.fits(present.at, changes):
            refused += 1
            if refused > _MOST_REFUSED * 16:
                return best
            continue
        refused = 0
        temperature = best.seconds * heat * _HOT * (_COLD / _HOT) ** part
        limit = present.seconds - temperature * math.log(1.0 - chance.random())
        trial = simulator.rerun(present, changes, limit)
        if trial is None:
            continue
        present = trial
        path = present.critical()
        if present.seconds < best.seconds:
            best = present
            tell(best)
    return best
