"""The simulated execution of a placement: what waits for what, and that a part of it gives what the whole gives."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from engine.placement.workloads import LINKS, Record, posed, random_problem, step

from actorflow.base.registry import plugins
from actorflow.cluster.master.graph_partitioner import RemoteDevice, device_row, remote_device
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.simulation.workload import DeviceSet

MS = 1e-3
FREE = LinkCosts(host=LinkCost(0.0))


def simulator(
    seconds: list[float],
    edges: list[tuple[int, int]],
    devices: int,
    links: LinkCosts,
    nbytes: list[float] | None = None,
) -> Simulator:
    problem = posed(step(seconds, edges, nbytes), [Record(i) for i in range(devices)], links)
    return Simulator(problem.work, problem.machine, problem.grouping.group)


def test_f43_a_thread_takes_the_longest_way_to_the_end_first() -> None:
    """n1 and n2 come into the line while n0 runs; n2, which comes later, leads to n3 and goes first."""
    found = simulator([4 * MS, 1 * MS, 2 * MS, 3 * MS, 9 * MS, 5 * MS], [(1, 5), (2, 3), (3, 4)], 3, FREE).run(
        [0, 1, 1, 0, 0, 0]
    )
    assert found.begun[2] == 0.0, "it leads to 12 ms of work, and n1 to 5"
    assert found.begun[1] == pytest.approx(2 * MS)
    late = simulator([2 * MS, 6 * MS, 3 * MS, 1 * MS], [(0, 3)], 1, FREE).run([0] * 4)
    assert [late.begun[i] for i in (1, 0, 2, 3)] == pytest.approx([0.0, 6 * MS, 8 * MS, 11 * MS])


def test_f43_what_runs_is_not_interrupted() -> None:
    """n1 has the longer way to the end, but is ready only when n2 has begun."""
    found = simulator([1 * MS, 9 * MS, 2 * MS], [(0, 1)], 2, FREE).run([1, 0, 0])
    assert found.begun[2] == 0.0 and found.begun[1] == pytest.approx(2 * MS)
    assert found.before[1] == 2 and found.cause[1] == 0
    assert found.critical() == [1, 2]


def test_f43_an_event_loop_takes_short_kernels_as_they_come() -> None:
    found = simulator([0.1 * MS, 0.2 * MS, 0.3 * MS], [], 1, FREE).run([0] * 3)
    assert found.seconds == pytest.approx(0.6 * MS)


def test_f43_a_tensor_goes_once_to_each_device_and_takes_time_of_both_loops() -> None:
    links = LinkCosts(host=LinkCost(1 * MS, 1e9, 0.1 * MS))
    found = simulator([1 * MS, 2 * MS, 2 * MS], [(0, 1), (0, 2)], 2, links, [1e6, 0.0, 0.0]).run([0, 1, 1])
    there = 1 * MS + 0.1 * MS + 1 * MS + 1 * MS + 0.1 * MS
    assert found.ready[1] == found.ready[2] == pytest.approx(there)
    assert found.seconds == pytest.approx(there + 4 * MS + 1 * MS), "and word of the end goes back"


@pytest.mark.parametrize("number", range(40))
def test_f43_a_part_of_a_simulation_gives_what_the_whole_gives(number: int) -> None:
    rng = random.Random(number)
    count, devices, link, cores = (
        rng.randint(5, 120),
        rng.choice((2, 4)),
        rng.choice([*LINKS]),
        rng.choice((None, 1, 3)),
    )
    problem = random_problem(number, count, devices, LINKS[link], together=0.2, cores=cores)
    simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
    simulator._every = 7
    groups, devices = len(problem.grouping.options), len(problem.machine.names)
    base = simulator.run([rng.randrange(devices) for _ in range(groups)])
    for _ in range(25):
        changes = {rng.randrange(groups): rng.randrange(devices) for _ in range(rng.choice((1, 1, 3)))}
        whole = simulator.run([changes.get(g, device) for g, device in enumerate(base.at)])
        part = simulator.rerun(base, changes)
        assert part is not None
        for name in ("seconds", "at", "begun", "ended", "ready", "cause", "before", "last"):
            assert getattr(part, name) == getattr(whole, name), f"seed {number}: {name}"
        limit = base.seconds * rng.uniform(0.8, 1.2)
        limited = simulator.rerun(base, changes, limit)
        if not math.isclose(whole.seconds, limit, rel_tol=1e-9):
            assert (limited is None) == (whole.seconds > limit), f"seed {number}"
        if rng.random() < 0.5:
            base = part


def test_f43_no_placement_goes_below_the_bound() -> None:
    for number in range(20):
        problem = random_problem(number, 6, 2, LINKS["bus"], cores=(None, 1)[number % 2])
        simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
        for code in range(64):
            assert simulator.run([code >> g & 1 for g in range(6)]).seconds >= simulator.bound * (1 - 1e-12)


def on_cores(cores: int | None, seconds: list[float], idle: list[float], hosts: str = "aaa") -> StepTimeline:
    """Independent nodes, each on a device of its own; each of `hosts` has that number of cores."""
    records = [Record(i, host=host, cores=cores) for i, host in enumerate(hosts)]
    problem = posed(step(seconds, [], idle=idle), records, FREE)
    return Simulator(problem.work, problem.machine, problem.grouping.group).run(range(len(seconds)))


def test_f43_devices_of_a_host_share_its_cores() -> None:
    six = [6 * MS] * 3
    assert on_cores(None, six, []).seconds == pytest.approx(6 * MS), "nothing is known of cores"
    two = on_cores(2, six, [])
    assert sorted(two.begun) == pytest.approx([0.0, 0.0, 6 * MS]) and two.seconds == pytest.approx(12 * MS)
    last = max(range(3), key=lambda i: two.begun[i])
    assert two.critical() == [last, two.before[last]], "it waited for a core, and says for whose"
    assert on_cores(1, six, []).seconds == pytest.approx(18 * MS)
    assert on_cores(2, six, [], hosts="aab").ended == pytest.approx([6 * MS, 6 * MS, 6.3 * MS]), (
        "another host has its own"
    )


def test_f43_a_kernel_that_waits_holds_its_thread_and_no_core() -> None:
    assert on_cores(1, [6 * MS] * 3, [6 * MS] * 3).seconds == pytest.approx(6 * MS)
    found = on_cores(1, [6 * MS] * 3, [4 * MS] * 3)
    assert sorted(found.begun) == pytest.approx([0.0, 2 * MS, 4 * MS]) and found.seconds == pytest.approx(10 * MS)


def test_f43_a_hop_to_a_thread_at_rest_and_one_back_take_their_time() -> None:
    """n1 is in line while n0 runs, so the thread goes on with it at once; n2 waits for the loop to have n0's result."""
    work = replace(step([3 * MS, 2 * MS, 1 * MS], [(0, 2)]), hop=[0.1 * MS] * 3)
    problem = posed(work, [Record(0)], FREE)
    found = Simulator(problem.work, problem.machine, problem.grouping.group).run([0] * 3)
    assert found.begun == pytest.approx([0.1 * MS, 3.1 * MS, 5.1 * MS])
    assert found.ready[2] == pytest.approx(3.2 * MS) and found.seconds == pytest.approx(6.2 * MS)


def test_f43_a_step_takes_time_to_begin_and_to_end() -> None:
    names = [Record(i).name for i in range(2)]
    links = LinkCosts(host=LinkCost(1 * MS), steps={names[0]: 0.4 * MS, names[1]: 1 * MS})
    problem = posed(step([3 * MS], []), [Record(0), Record(1)], links)
    simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
    assert [simulator.run([d]).seconds for d in (0, 1)] == pytest.approx([3.4 * MS, 4 * MS])
    assert [simulator.run([d]).begun[0] for d in (0, 1)] == pytest.approx([0.2 * MS, 0.5 * MS])


def test_f43_an_accelerator_takes_no_core() -> None:
    """Its kernels are only launched."""

    class Accelerator(Record):
        asynchronous = True

    problem = posed(step([6 * MS] * 3, []), [Accelerator(i, cores=1) for i in range(3)], FREE)
    found = Simulator(problem.work, problem.machine, problem.grouping.group).run(range(3))
    assert found.seconds == pytest.approx(6 * MS)


def test_f43_a_task_tells_its_master_how_fast_a_device_is_and_whether_it_only_launches() -> None:
    cpu = plugins.load("devices", "CPU")(Record(1).name, memory_budget=1 << 20)
    plain = remote_device(device_row(cpu), "other", 4)
    assert plain == RemoteDevice(Record(1).name, "CPU", Record(1).spec, "other", 1 << 20, 1.0, False, 4)
    cpu.speed, cpu.asynchronous = 20.0, True
    found = remote_device(device_row(cpu), "other", 4)
    assert (found.speed, found.asynchronous) == (20.0, True)
    machine = DeviceSet([Record(0), found], LinkCosts())
    assert machine.speed == [1.0, 20.0] and machine.threaded[1] == 0.0 < machine.threaded[0]


def test_f43_tensors_on_one_link_follow_each_other() -> None:
    links = LinkCosts(host=LinkCost(1 * MS, 1e9))
    found = simulator([1 * MS, 1 * MS, 2 * MS, 3 * MS], [(0, 2), (1, 3)], 2, links, [4e6, 4e6, 0.0, 0.0]).run(
        [0, 0, 1, 1]
    )
    assert found.begun[1] == 0.0, "it leads to more"
    assert found.ready[3] == pytest.approx(1 * MS + 4 * MS + 1 * MS)
    assert found.ready[2] == pytest.approx(found.ready[3] + 4 * MS), "1 ms later on the link, which is busy"
