"""One clock: processes of one host share theirs, that of another host is estimated within a bound, and causes come first."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import actorflow as af
from actorflow.base.process import machine
from actorflow.engine.runtime.diagnostics.causality import ClockOffset, ahead_of
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.transports.protocol.clocks import ClockBeats

MS = 1_000_000
S = 1_000_000_000
PPM = 1e-6


# ---- which processes share a clock


def proc(root: Path, boot: str | None, namespace: str | None) -> str:
    """A /proc of a system that was booted so, seen from that time namespace."""
    (root / "sys/kernel/random").mkdir(parents=True)
    (root / "self/ns").mkdir(parents=True)
    if boot is not None:
        (root / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    if namespace is not None:
        os.symlink(f"time:[{namespace}]", root / "self/ns/time")
    return str(root)


def test_f96_a_clock_is_that_of_a_boot_and_a_time_namespace(tmp_path: Path) -> None:
    def name(at: str, boot: str | None, namespace: str | None) -> str:
        return machine._system_clock.__wrapped__(proc(tmp_path / at, boot, namespace))

    here = name("here", "boot one", "4026531834")
    assert here and here == name("neighbour", "boot one", "4026531834")
    assert here != name("another boot", "boot two", "4026531834")
    assert here != name("another namespace", "boot one", "4026532000")
    assert name("old system", "boot one", None) not in ("", here)
    assert name("nothing is told", None, "4026531834") == "" == name("an empty name", "", "4026531834")


class TwoHosts:
    """Two clocks of which the second one is ahead and runs faster, and beats that take any time from one to the other."""

    def __init__(self, ahead: int, drift: float) -> None:
        self.now = 5 * S
        self._ahead, self._drift = ahead, drift
        self.here = ClockBeats(lambda: (self.now, self.now))
        self.there = ClockBeats(lambda: (self.there_now, self.there_now))

    @property
    def there_now(self) -> int:
        return round(self.now * (1 + self._drift)) + self._ahead

    def beat(self, source: ClockBeats, destination: ClockBeats, takes: int) -> None:
        beat = source.make()
        self.now += takes
        destination.take(beat)


def test_f96_the_estimate_of_another_hosts_clock_is_within_its_bound(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        hosts = TwoHosts(chance.randrange(-100 * S, 100 * S), chance.uniform(-200, 200) * PPM)
        assert hosts.here.estimate().clock_error is None
        for _ in range(30):
            hosts.beat(hosts.here, hosts.there, chance.choice([50_000, MS, 70 * MS]))
            hosts.now += chance.randrange(2 * S)
            hosts.beat(hosts.there, hosts.here, chance.choice([50_000, MS, 70 * MS]))
            hosts.now += chance.randrange(2 * S)
            found = hosts.here.estimate()
            assert found.clock_offset is not None and found.clock_error is not None and found.round_trip is not None
            assert abs(found.clock_offset * S - (hosts.there_now - hosts.now)) <= found.clock_error * S + 2
            assert found.clock_error >= found.round_trip / 2


def test_f96_one_clock_is_not_estimated() -> None:
    hosts = TwoHosts(0, 0.0)
    hosts.here.one_clock = True
    assert (hosts.here.estimate().clock_offset, hosts.here.estimate().clock_error) == (0.0, 0.0)
    for _ in range(3):
        hosts.beat(hosts.here, hosts.there, 66 * MS)
        hosts.beat(hosts.there, hosts.here, MS)
        found = hosts.here.estimate()
        assert (found.round_trip, found.clock_offset, found.clock_error) == (0.067, 0.0, 0.0)


def test_f96_beats_contradict_clocks_that_only_have_one_name() -> None:
    hosts = TwoHosts(50 * MS, 0.0)  # two copies of one virtual machine
    hosts.here.one_clock = True
    hosts.beat(hosts.here, hosts.there, MS)
    hosts.beat(hosts.there, hosts.here, MS)
    found = hosts.here.estimate()
    assert (found.clock_offset, found.clock_error) == (0.05, pytest.approx(0.001, rel=1e-3))


def test_f96_a_step_itself_tells_the_clock_before_any_beat_has() -> None:
    ahead = 3 * S
    assert ahead_of(None, 100, 200, ahead + 110, ahead + 190) == ClockOffset(ahead, 10)
    assert ahead_of(ClockOffset(ahead + 500, 505), 100, 200, ahead + 110, ahead + 190) == ClockOffset(ahead + 2, 8)
    assert ahead_of(ClockOffset(0, 0), 100, 200, 110, 190) == ClockOffset(0, 0)
    apart = ClockOffset(ahead + 500, 5)
    assert ahead_of(apart, 100, 200, ahead + 110, ahead + 190) is apart


# ---- merged traces


def a_step(chance: random.Random, tasks: int, length: int) -> tuple[list[list[Any]], list[list[int]]]:
    """The rows of each task in a random step of sends and receives, by the true time, and these times in order."""
    rows: list[list[Any]] = [[] for _ in range(tasks)]
    now = [S + chance.randrange(MS) for _ in range(tasks)]
    for number in range(length):
        source, destination = chance.sample(range(tasks), 2)
        devices = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in (source, destination)]
        key = f"{devices[0]};{devices[1]};t{number}:0"
        begun = now[source] + chance.randrange(MS)
        sent = now[source] = begun + chance.randrange(1, 1000)
        asked = now[destination] + 1
        come = now[destination] = max(asked, sent + chance.choice([1, 20_000, 5 * MS])) + 1
        rows[source].append([f"send{number}", "_Send", devices[0], begun, sent, False, begun, begun, key])
        rows[destination].append([f"recv{number}", "_Recv", devices[1], asked, come, False, 0, asked, key])
    return rows, [[time for row in some for time in row[3:5]] for some in rows]


def test_f14_f96_no_token_comes_before_it_was_sent_and_no_time_leaves_its_bound(seed: int) -> None:
    chance = random.Random(seed)
    violated = 0
    for _ in range(30):
        tasks, bound = chance.randrange(2, 6), chance.choice([1000, MS, 40 * MS])
        rows, true = a_step(chance, tasks, 60)
        trace = Trace()
        for task, some in enumerate(rows):
            ahead, drift = chance.randrange(-S, S), chance.uniform(-100, 100) * PPM if bound == 40 * MS else 0.0
            wrong = chance.uniform(-0.9, 0.9) * bound

            def there(time: int, ahead: int = ahead, drift: float = drift) -> int:
                return round(time * (1 + drift)) + ahead

            theirs = [
                [*r[:3], there(r[3]), there(r[4]), r[5], r[6] and there(r[6]), there(r[7]), r[8], ""] for r in some
            ]
            trace.take(theirs, ClockOffset(round(ahead + wrong), bound) if task else ClockOffset(ahead, 0))
        before = [(t.sent, t.received) for t in trace.transfers()]
        violated += sum(received < sent for sent, received in before)
        trace.keep_causality()
        assert trace.clock_error == bound and len(trace.transfers()) == 60
        assert all(t.received >= t.sent for t in trace.transfers())
        for task, times in enumerate(true):
            events = [e for e in trace.events if e.device.startswith(f"/job:worker/replica:0/task:{task}/")]
            found = [time for e in events for time in (e.begun, e.ended)]
            assert all(abs(one - other) <= bound + 1 for one, other in zip(found, times, strict=True))
            order = sorted(range(len(times)), key=times.__getitem__)
            assert all(found[a] <= found[b] for a, b in pairwise(order))
            assert all(e.arrived <= e.ready <= e.begun <= e.ended for e in events)
    assert violated


def test_f96_a_task_that_says_nonsense_holds_nobody_up() -> None:
    trace = Trace(clock_error=1)
    devices = "/task:0/device:CPU:0", "/task:1/device:CPU:0"
    for source, destination in (devices, devices[::-1]):
        key = f"{source};{destination};x:0"
        trace.take(
            [
                ["s", "_Send", source, 9, 10, False, 0, 9, key, ""],
                ["r", "_Recv", destination, 1, 2, False, 0, 1, key, ""],
            ]
        )
    trace.keep_causality()
    assert len(trace.transfers()) == 2


def test_f14_f96_causes_come_first_in_the_traces_of_one_hosts_processes(graph: af.Graph) -> None:
    """From the very first step on, which is when the links have not exchanged a beat yet."""
    with af.device("/job:ps"):
        v = af.Variable(1.0)
        a = v.assign_add(1.0, name="a")
    with af.device("/job:worker/task:1"), af.control_dependencies([a]):
        b = af.identity(af.placeholder_with_default(2.0, []), name="b")
    with (
        af.blocking.LocalCluster({"ps": 1, "worker": 2}) as cluster,
        af.blocking.Session(cluster.target, graph) as session,
    ):
        session.run(v.initializer)
        for _ in range(200):
            trace = Trace()
            session.run(b, trace=trace)
            events = {event.node: event for event in trace.events}
            assert events["a"].ended <= events["b"].begun
            assert trace.transfers() and all(t.sent <= t.received for t in trace.transfers())
            begun, ended = min(e.begun for e in trace.events), max(e.ended for e in trace.events)
            assert all(t.received - t.sent <= ended - begun for t in trace.transfers())
            assert trace.clock_error == 0


def random_graph(chance: random.Random, nodes: int = 12) -> tuple[af.Graph, list[af.Tensor], list[tuple[str, str]]]:
    """A graph over three tasks, its last tensors, and for each pair of nodes that one of them waits for the other."""
    edges = []
    with af.Graph().as_default() as graph:
        made = [af.placeholder(af.float32, [], name="n0")]
        for number in range(1, nodes):
            one, other = chance.choice(made), chance.choice(made)
            task = chance.choice(["ps/task:0", "worker/task:0", "worker/task:1"])
            with af.device(f"/job:{task}"), af.control_dependencies([other]):
                made.append(af.tanh(one, name=f"n{number}"))
            edges += [(one.op.name, f"n{number}"), (other.op.name, f"n{number}")]
    return graph, made[-3:], edges


@pytest.mark.parametrize("steps", [40, pytest.param(1000, marks=pytest.mark.extras)])
def test_f14_f96_no_node_of_traced_distributed_steps_begins_before_what_it_waits_for_has_ended(
    steps: int, seed: int
) -> None:
    chance, looked, sent = random.Random(seed), 0, 0
    with af.blocking.LocalCluster({"ps": 1, "worker": 2}) as cluster:
        for _ in range(steps // 10):
            graph, fetches, edges = random_graph(chance)
            with af.blocking.Session(cluster.target, graph) as session:
                for _ in range(10):
                    trace = Trace()
                    session.run(fetches, {"n0:0": 1.0}, trace=trace)
                    events = {event.node: event for event in trace.events}
                    ran = [(events[a], events[b]) for a, b in edges if a in events and b in events]
                    assert not [(a.node, b.node) for a, b in ran if a.ended > b.begun]
                    assert all(t.sent <= t.received for t in trace.transfers())
                    looked, sent = looked + len(ran), sent + len(trace.transfers())
    assert looked > steps and sent > steps
