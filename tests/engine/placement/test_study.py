"""`PlacementStudy`: what a placement is expected to do, here and on other machines, beside what was measured."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from clusters import servers
from engine.placement.workloads import LINKS, Record, posed, random_problem, step

import actorflow as af
from actorflow import errors
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.study.what_if import bandwidth_of
from actorflow.frontends.cli.place import COMMAND

MS = 1e-3


def study(seed: int = 3, count: int = 20, devices: int = 2) -> af.PlacementStudy:
    return af.PlacementStudy(random_problem(seed, count, devices, LINKS["bus"]))


# ---- here


def test_f47_a_study_tells_the_step_and_a_search_never_makes_it_longer() -> None:
    present = study()
    assert present.seconds == search(present.problem, trials=0).starts["greedy"]
    found = present.search(trials=200)
    assert present.bound <= found.seconds <= present.seconds
    assert found.result is not None and found.result.seconds == found.seconds
    assert set(found.placement()) == set(present.problem.work.names)
    text = str(found)
    assert f"the step: {found.seconds * 1e3:.4g} ms" in text and "A search simulated" in text
    assert all(name in text for name in present.problem.machine.names)


def test_f47_a_search_by_seconds_has_a_process_of_its_own() -> None:
    present = study()
    assert present.search(0.1).seconds <= present.seconds


def test_f47_a_study_is_kept_in_a_file(tmp_path: Path) -> None:
    found = study().search(trials=50)
    found.save(tmp_path / "step.study")
    again = af.PlacementStudy.load(tmp_path / "step.study")
    assert again.placement() == found.placement() and again.seconds == found.seconds
    (tmp_path / "other").write_bytes(b"something else")
    with pytest.raises(errors.InvalidArgumentError, match="no study"):
        af.PlacementStudy.load(tmp_path / "other")
    whole = (tmp_path / "step.study").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.DataLossError, match="damaged"):
        af.PlacementStudy.load(tmp_path / "half")


def test_f47_a_picture_has_a_bar_for_each_node_that_costs_something() -> None:
    before = study()
    after = before.what_if(workers=1).search(trials=50)
    drawn = ElementTree.fromstring(before.svg(after, titles=["before", "a < b"]))
    titles = [one.text or "" for one in drawn.iter("{http://www.w3.org/2000/svg}title")]
    work = before.problem.work
    assert len(titles) == 2 * sum(seconds > 0 for seconds in work.seconds)
    assert any((text.text or "").startswith("a < b") for text in drawn.iter("{http://www.w3.org/2000/svg}text"))


# ---- elsewhere


def test_f47_more_workers_take_more_of_the_work() -> None:
    """Eight independent pieces of 10 ms on two devices take 40 ms, on four 20."""
    free = LinkCosts(host=LinkCost(0.0))
    two = af.PlacementStudy(posed(step([10 * MS] * 8, []), [Record(0), Record(1)], free)).search(trials=300)
    assert two.seconds == pytest.approx(40 * MS)
    four = two.what_if(workers=2)
    assert four.seconds == two.seconds, "the placement stays"
    assert four.search(trials=2000).seconds == pytest.approx(20 * MS)
    assert four.problem.machine.names[-1] == "/job:worker/replica:0/task:3/device:CPU:0"
    loops = four.problem.machine.loop
    assert len(set(loops)) == 4 and max(loops) < four.problem.machine.queues and min(loops) >= 4


def test_f47_one_worker_knows_what_others_would_do() -> None:
    alone = af.PlacementStudy(posed(step([10 * MS] * 4, []), [Record(0)], LINKS["bus"]))
    assert alone.seconds == pytest.approx(40 * MS)
    assert alone.what_if(workers=3).search(trials=500).seconds < 12 * MS


def test_f47_faster_links_carry_more() -> None:
    """8 MB cross once: 8 ms at 1 GB/s, 0.8 ms at 10 GB/s."""
    slow = LinkCosts(host=LinkCost(1 * MS, 1e9))
    problem = posed(step([5 * MS, 5 * MS], [(0, 1)], [8e6, 0.0]), [Record(0), Record(1)], slow, None)
    here = af.PlacementStudy(type(problem)(problem.work, problem.machine, problem.grouping, [0, 1]))
    assert here.seconds == pytest.approx(20 * MS), "and 1 ms for the word of the end"
    assert here.what_if(bandwidth="80Gb/s").seconds == pytest.approx(12.8 * MS)
    assert here.what_if(latency=0.0).seconds == pytest.approx(18 * MS)
    with pytest.raises(ValueError, match="no bandwidth"):
        here.what_if(bandwidth="fast")
    with pytest.raises(ValueError, match="0 or more"):
        here.what_if(workers=-1)


def test_a_bandwidth_is_bits_or_bytes_as_its_unit_says() -> None:
    assert (
        bandwidth_of("10Gb/s")
        == bandwidth_of("1.25GB/s")
        == bandwidth_of("10 Gbit/s")
        == bandwidth_of(1.25e9)
        == 1.25e9
    )
    with pytest.raises(ValueError, match="above 0"):
        bandwidth_of(0)


def test_f47_the_command_reads_a_study_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study().save(tmp_path / "step.study")

    def run(*words: str) -> int:
        parser = argparse.ArgumentParser()
        COMMAND.arguments(parser)
        return COMMAND.run(parser.parse_args([str(tmp_path / "step.study"), "--trials", "50", *words]))

    assert run("--workers", "2", "--svg", str(tmp_path / "a.svg"), "--json", str(tmp_path / "a.json")) == 0
    text = capsys.readouterr().out
    assert "of the time" in text and "task:3" in text and "A search simulated" in text
    assert ElementTree.parse(tmp_path / "a.svg") is not None
    assert set(json.loads((tmp_path / "a.json").read_text())) == set(study().problem.work.names)
    with pytest.raises(errors.InvalidArgumentError, match="no bandwidth"):
        run("--bandwidth", "much")


# ---- beside what was measured


@dataclass(frozen=True)
class Ran:
    node: str
    device: str
    begun: int
    ended: int
    op: str = "Some"
    thread: bool = True
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spanned:
    name: str
    begun: int
    ended: int


@dataclass(frozen=True)
class Traced:
    events: list[Ran]
    spans: list[Spanned]


def test_f42_a_difference_is_the_sum_of_what_nodes_add() -> None:
    """n1 took 3 ms longer than predicted, and n2 waited 1 ms for its transfer beyond the prediction."""
    problem = posed(
        step([2 * MS, 4 * MS, 1 * MS], [(0, 1), (1, 2)]), [Record(0), Record(1)], LinkCosts(host=LinkCost(1 * MS))
    )
    here = af.PlacementStudy(type(problem)(problem.work, problem.machine, problem.grouping, [0, 0, 1]))
    assert here.seconds == pytest.approx(9 * MS)
    one, other = problem.machine.names
    ms = 1_000_000
    ran = [Ran("n0", one, 0, 2 * ms), Ran("n1", one, 2 * ms, 9 * ms), Ran("n2", other, 11 * ms, 12 * ms)]
    found = here.compare(Traced(ran, [Spanned("Session.run", 0, 13 * ms)]))
    assert (found.predicted, found.measured) == pytest.approx((9 * MS, 13 * MS))
    assert [node.node for node in found.nodes] == ["n0", "n1", "n2"]
    assert [node.added for node in found.nodes] == pytest.approx([0.0, 3 * MS, 1 * MS], abs=1e-9)
    assert found.nodes[2].waited == pytest.approx(1 * MS)
    assert sum(node.added for node in found.nodes) + found.rest == pytest.approx(found.measured - found.predicted)
    assert "n1 on" in str(found) and "+3.000 ms" in str(found)


def test_f42_a_constant_that_runs_with_a_node_does_not_make_it_long() -> None:
    """n1 is there from the begin of the step, and n2, which runs as one with it, begins after n0."""
    problem = posed(step([2 * MS, 0.0, 4 * MS], [(0, 2), (1, 2)]), [Record(0)], LinkCosts())
    name, ms = problem.machine.names[0], 1_000_000
    ran = [Ran("n0", name, 0, 2 * ms), Ran("n2", name, 2 * ms, 7 * ms, members=("n1", "n2"))]
    found = af.PlacementStudy(problem).compare(Traced(ran, [Spanned("Session.run", 0, 7 * ms)]))
    last = found.nodes[-1]
    assert (last.predicted, last.waited, last.added) == pytest.approx((4 * MS, 0.0, 1 * MS), abs=1e-9)


async def test_f42_a_session_is_studied_and_its_steps_are_explained(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [256, 256], name="x")
    y = af.matmul(af.matmul(x, x, name="one"), x, name="two")
    batch = np.ones([256, 256], np.float32)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(y, {x: batch})
        found = await session.study_placement()
        assert {"one", "two"} <= set(found.placement())
        assert found.placement()["one"] == session.placement("one")
        trace = af.Trace(detail="plan")
        await session.run(y, {x: batch}, trace=trace)
        compared = found.compare(trace)
        assert compared.measured > 0 and compared.nodes
        added = sum(node.added for node in compared.nodes) + compared.rest
        assert added == pytest.approx(compared.measured - compared.predicted, abs=1e-9)
        with pytest.raises(ValueError, match="no events"):
            found.compare(af.Trace())


async def test_f47_a_cluster_is_studied_by_its_client(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [64, 64], name="x")
    with af.device("/job:worker/task:1"):
        y = af.matmul(x, x, name="there")
    async with servers({"worker": 2}) as found, af.Session(found[0].target, graph) as session:
        await session.run(y, {x: np.ones([64, 64], np.float32)})
        here = await session.study_placement()
        assert here.placement()["there"] == session.placement("there")
        assert len(here.problem.machine.names) == 2 and here.seconds > 0


async def test_f47_a_study_before_the_first_step_says_what_to_do(graph: af.Graph) -> None:
    af.constant(1.0)
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.FailedPreconditionError, match="no step"):
            await session.study_placement()


def test_f47_a_blocking_session_is_studied_too(graph: af.Graph) -> None:
    y = af.constant(1.0) + af.placeholder_with_default(2.0, [])
    with af.blocking.Session(graph=graph) as session:
        session.run(y)
        assert session.study_placement().seconds >= 0
