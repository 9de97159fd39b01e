"""The search for a placement: the best of all where all can be tried, never worse than where it starts, hard rules."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from engine.placement.list_schedulers import PUBLISHED
from engine.placement.workloads import LINKS, Record, posed, random_problem, step

from actorflow import errors
from actorflow.engine.placement.search.memory import MemoryRule
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.search.starts import starts
from actorflow.engine.placement.simulation.simulator import Simulator


def exhaustive(problem: SearchProblem) -> float:
    """The shortest step of all placements."""
    simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
    everywhere = problem.grouping.options
    return min(simulator.run(at, keep=False).seconds for at in itertools.product(*everywhere))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("most", "devices"), [(10, 2), (6, 3)])
def test_f47_a_small_graph_gets_its_best_placement(most: int, devices: int, link: str) -> None:
    for number in range(60):
        if number % len(LINKS) != [*LINKS].index(link):
            continue
        count = random.Random(number).randint(most // 2, most)
        problem = random_problem(number, count, devices, LINKS[link])
        found = search(problem, 0.0)
        assert found.exhaustive
        assert found.seconds == pytest.approx(exhaustive(problem), rel=1e-12), f"seed {number}"
        assert found.seconds >= found.bound


@pytest.mark.parametrize("link", LINKS)
def test_f47_a_search_is_never_worse_than_its_starts(link: str) -> None:
    """Greedy, all on each device, splits: 200 graphs, on two and four devices, with and without a budget."""
    for number in range(200):
        devices, budget = (2, 4)[number % 2], (None, 0.6)[number // 2 % 2]
        problem = random_problem(number, 16 + number % 24, devices, LINKS[link], budget=budget, together=0.2)
        found = search(problem, trials=30, seed=number)
        rule = MemoryRule(problem)
        simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
        assert rule.fits(found.at), f"seed {number}"
        assert simulator.run(found.at).seconds == found.seconds
        for name, at in starts(problem):
            if rule.fits(at):
                assert found.seconds <= simulator.run(at, keep=False).seconds, f"seed {number}: {name}"


def test_f47_a_search_finds_what_a_greedy_walk_does_not_see() -> None:
    """Twelve graphs of 40 nodes, some of which share their device, on four devices."""
    ratios = []
    for number in range(12):
        problem = random_problem(number, 40, 4, LINKS["network"], together=0.3)
        found = search(problem, trials=600, seed=number)
        ratios.append(found.seconds / found.starts["greedy"])
        falling = [seconds for _, seconds in found.improvements]
        assert falling == sorted(falling, reverse=True) and falling[-1] == found.seconds
    assert statistics.geometric_mean(ratios) < 0.9, ratios


@pytest.mark.parametrize("link", LINKS)
def test_f47_a_search_is_better_than_published_placements(link: str) -> None:
    """HEFT, Baechi's m-ETF and PipeDream's stages, by the simulator that also judges the search, on thirty graphs of 20 to 49
    nodes and two or four devices. In the mean it is better by far, and on no graph 1 % worse after 300 trials."""
    ratios: dict[str, list[float]] = {name: [] for name in PUBLISHED}
    for number in range(30):
        problem = random_problem(number, 20 + number, (2, 4)[number % 2], LINKS[link])
        simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
        found = search(problem, trials=300, seed=number)
        for name, placed in PUBLISHED.items():
            ratios[name].append(found.seconds / simulator.run(placed(problem), keep=False).seconds)
    for name, some in ratios.items():
        assert statistics.geometric_mean(some) < 0.95 and max(some) < 1.01, f"{name}: {some}"


def test_f47_the_same_seed_gives_the_same_placement() -> None:
    problem = random_problem(7, 60, 4, LINKS["bus"])
    one, other = (search(problem, trials=400, seed=5) for _ in range(2))
    assert replace(one, took=0.0) == replace(other, took=0.0)
    assert one.trials <= 401 + len(one.starts)


def test_f47_what_is_held_stays_and_a_search_may_be_stopped_at_once() -> None:
    problem = random_problem(11, 40, 3, LINKS["bus"])
    options: list[Sequence[int]] = [(g % 3,) if g < 10 else o for g, o in enumerate(problem.grouping.options)]
    held = replace(problem, grouping=replace(problem.grouping, options=options))
    found = search(held, trials=300)
    assert [found.at[g] for g in range(10)] == [g % 3 for g in range(10)]
    asked = itertools.count()
    stopped = search(held, 1e9, stop=lambda: next(asked) > 20)
    assert stopped.seconds <= min(stopped.starts.values()) and stopped.trials < 60


def test_f47_the_present_placement_is_a_start() -> None:
    problem = random_problem(13, 40, 3, LINKS["bus"])
    best = search(problem, trials=600, seed=1)
    again = search(replace(problem, present=best.at), trials=10, seed=2)
    assert again.present == best.seconds and again.seconds <= best.seconds


def test_f47_no_time_and_no_choice_are_answered_too() -> None:
    problem = random_problem(17, 30, 4, LINKS["bus"])
    found = search(problem, 0.0)
    assert found.seconds == min(found.starts.values())
    alone = random_problem(17, 30, 1, LINKS["bus"])
    assert list(search(alone, 1.0).at) == [0] * 30
    assert search(posed(step([], []), [Record(0), Record(1)], LINKS["bus"]), 1.0).seconds == 0.0


def test_f47_a_budget_is_kept_where_only_a_careful_packing_keeps_it() -> None:
    """Variables of 3, 3, 2, 2, 2 MB on two devices of 6 MB. The largest first, each where more room is, ends with 7 MB."""
    without_start = 0
    for sizes in sorted(set(itertools.permutations([3e6, 3e6, 2e6, 2e6, 2e6]))):
        work = step([1e-3] * 5, [], state=sizes)
        problem = posed(work, [Record(0, budget=6e6), Record(1, budget=6e6)], LINKS["bus"])
        rule = MemoryRule(problem)
        with pytest.raises(errors.ResourceExhaustedError):
            rule.packed()
        without_start += not any(rule.fits(at) for _, at in starts(problem))
        found = search(problem, 0.0)
        assert rule.fits(found.at) and sorted(rule.needs(found.at)) == [6e6, 6e6]
    assert without_start


def test_f47_changes_of_a_placement_fit_where_the_changed_placement_fits() -> None:
    fitting = 0
    for number in range(60):
        rng = random.Random(number)
        problem = random_problem(number, 30, 3, LINKS["bus"], budget=0.45, together=0.2)
        rule, groups = MemoryRule(problem), len(problem.grouping.options)
        at = [rng.randrange(3) for _ in range(groups)]
        for _ in range(20):
            changes = {rng.randrange(groups): rng.randrange(3) for _ in range(rng.choice((1, 2, 5)))}
            changed = [changes.get(g, device) for g, device in enumerate(at)]
            needs = MemoryRule(problem).needs(changed)
            fits = all(b is None or need <= b for need, b in zip(needs, problem.machine.budget))
            assert rule.fits(at, changes) == rule.fits(changed) == fits and rule.needs(at, changes) == needs
            fitting += fits
            if fits and rng.random() < 0.5:
                at = changed
    assert 100 < fitting < 1100


def test_f47_too_little_memory_says_what_is_missing_on_each_device() -> None:
    devices = [Record(0, budget=5e6), Record(1, budget=7e6)]
    problem = posed(step([1e-3] * 3, [], state=[6e6, 6e6, 3e6]), devices, LINKS["bus"])
    with pytest.raises(errors.ResourceExhaustedError, match="no placement that fits") as caught:
        search(problem, 1.0)
    assert "task:0/device:CPU:0 lacks 1,000,000 bytes: it would hold 6,000,000 and has 5,000,000" in str(caught.value)
    assert "task:1/device:CPU:0 lacks 2,000,000 bytes" in str(caught.value)
