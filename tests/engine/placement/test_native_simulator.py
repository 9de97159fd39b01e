"""The simulator in C gives what the one in Python gives, to the bit; what does not fit together is refused."""

from __future__ import annotations

import math
import random
from array import array
from dataclasses import fields, replace
from typing import Any

import pytest
from engine.placement.workloads import LINKS, random_problem

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.simulation.workload import WorkloadEdge
from actorflow.kernels.native import available
from actorflow.kernels.placement.simulator import NativeSimulator, native_simulator

pytestmark = pytest.mark.skipif(not available(), reason="the library in C is not there")


def odd_problem(seed: int) -> SearchProblem:
    """A random step with all that a step may have: feeds, several outputs of a node, edges without a tensor, hops, cores,
    results for the client, devices that only launch."""
    rng = random.Random(seed)
    problem = random_problem(
        seed,
        rng.randint(1, 90),
        rng.choice((1, 2, 4)),
        LINKS[rng.choice([*LINKS])],
        together=rng.choice((0.0, 0.3)),
        cores=rng.choice((None, 1, 3)),
    )
    work, machine = problem.work, problem.machine
    fed = [rng.choice((1e4, 1e6)) if not e and rng.random() < 0.3 else 0.0 for e in work.inputs]
    seconds = [0.0 if f else s for f, s in zip(fed, work.seconds)]
    idle = [min(i, s) for i, s in zip(work.idle, seconds)]
    inputs = [
        [WorkloadEdge(e.source, e.nbytes, rng.random() < 0.8, rng.randrange(2)) for e in edges] for edges in work.inputs
    ]
    hop = [rng.choice((0.0, 1e-4)) for _ in fed] if rng.random() < 0.5 else ()
    changed = replace(work, seconds=seconds, idle=idle, fed=fed, inputs=inputs, hop=hop)
    if rng.random() < 0.5:
        machine.threaded = [rng.choice((0.0, some)) for some in machine.threaded]
        machine.begin = [rng.choice((0.0, 2e-4)) for _ in machine.begin]
        machine.end = [rng.choice((0.0, 3e-4)) for _ in machine.end]
    return replace(problem, work=changed)


def same(one: StepTimeline | None, other: StepTimeline | None) -> bool:
    if one is None or other is None:
        return one is other
    compared = [field.name for field in fields(StepTimeline) if field.name != "snapshots"]
    return all(_listed(getattr(one, name)) == _listed(getattr(other, name)) for name in compared)


def _listed(found: Any) -> Any:
    return found if isinstance(found, (int, float)) else list(found)


@pytest.mark.parametrize("block", range(6))
def test_f43_the_simulator_in_c_gives_the_same_to_the_bit(block: int) -> None:
    for number in range(40 * block, 40 * block + 40):
        rng = random.Random(number)
        problem = odd_problem(number)
        asked = problem.work, problem.machine, problem.grouping.group
        ours, other = Simulator(*asked), NativeSimulator(*asked)
        ours._every = other._every = rng.choice((3, 17, 200))
        groups, devices = len(problem.grouping.options), len(problem.machine.names)
        at = [rng.randrange(devices) for _ in range(groups)]
        base, native = ours.run(at), other.run(at)
        assert same(base, native), f"seed {number}"
        assert [s.time for s in base.snapshots] == [s.time for s in native.snapshots]
        assert same(ours.run(at, keep=False), other.run(at, keep=False)) and not other.run(at, keep=False).snapshots
        for _ in range(6):
            changes = {rng.randrange(groups): rng.randrange(devices) for _ in range(rng.choice((1, 1, 3)))}
            limit = rng.choice((math.inf, base.seconds * rng.uniform(0.8, 1.2)))
            one, two = ours.rerun(base, changes, limit), other.rerun(native, changes, limit)
            assert same(one, two), f"seed {number}"
            if one is not None and two is not None:
                base, native = one, two


def test_f47_a_search_finds_the_same_with_either_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(3, 60, 4, LINKS["bus"], together=0.2)
    fast = search(problem, trials=300, seed=5)
    monkeypatch.setattr("actorflow.engine.placement.search.search.fast_simulator", Simulator)
    assert replace(search(problem, trials=300, seed=5), took=0.0) == replace(fast, took=0.0)


def test_f47_without_the_library_python_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(3, 20, 4, LINKS["bus"])
    asked = problem.work, problem.machine, problem.grouping.group
    assert isinstance(native_simulator(*asked), NativeSimulator)
    monkeypatch.setattr("actorflow.kernels.placement.simulator.loaded", lambda: None)
    assert native_simulator(*asked) is None


def test_f43_numbers_that_lead_nowhere_are_refused() -> None:
    """A study may come from a file that is damaged."""
    problem = odd_problem(8)
    simulator = NativeSimulator(problem.work, problem.machine, problem.grouping.group)
    at = [0] * len(problem.grouping.options)
    base = simulator.run(at)
    for wrong in ([7] * len(at), [-1] * len(at), []):
        with pytest.raises(ValueError, match="do not fit together"):
            simulator.run(wrong)
    whole = simulator._model
    for k, column in enumerate(whole):
        for changed in (column[:-1], array(column.typecode, [*column, 0])):
            if len(changed) != len(column) and len(column):
                simulator._model = (*whole[:k], changed, *whole[k + 1 :])
                with pytest.raises(ValueError, match="do not fit together"):
                    simulator.run(at)
        if column.typecode == "i" and len(column):
            for number in (-1, 1 << 30):
                simulator._model = (*whole[:k], array("i", [number] * len(column)), *whole[k + 1 :])
                if k != 16:  # how many others a node waits for leads nowhere
                    with pytest.raises(ValueError, match="do not fit together"):
                        simulator.run(at)
    simulator._model = whole
    state = base.snapshots[0].state if base.snapshots else b""  # type: ignore[attr-defined]
    times = (*[array("d", bytes(8 * len(problem.work.names))) for _ in range(3)],)
    times += (*[array("i", bytes(4 * len(problem.work.names))) for _ in range(2)],)
    for damaged in (b"", state[:-4], state + b"0"):
        with pytest.raises(ValueError, match="no snapshot"):
            simulator._simulate(whole, array("i", at), times, damaged, math.inf, 0)
