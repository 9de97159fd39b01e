"""Simulated clusters: equal in every run of a seed, honest about crashes, and a judge of what runs in them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest
from testing import counted_messages, strange_machine
from testing.counted_messages import FAULTS, LINK

import actorflow as af
from actorflow.base.process import machine
from actorflow.checkpoint.stores.store import LocalStore, read_all
from actorflow.engine.transport.base import Channel
from actorflow.errors import DataLossError, NotFoundError
from actorflow.testing import (
    Crash,
    Deadlock,
    Faults,
    FileFaults,
    Host,
    HostCrashed,
    Link,
    Trace,
    World,
    replay,
    simulate,
)
from actorflow.testing import loop as loops
from actorflow.transports.simulated import SimulatedEndpoint


def here() -> Host:
    found = machine.current()
    assert isinstance(found, Host)
    return found


# ---- a workload under all faults


def test_f63_counted_messages_keep_their_order_and_every_loss_is_told() -> None:
    ends = Counter[tuple[str | None, str | None]]()
    for seed in range(200):
        book = simulate(counted_messages.main, seed=seed, hosts=["a", "b"], faults=FAULTS, link=LINK)
        ends.update((talk.sender_end, talk.receiver_end) for talk in book.values())
    assert ends["good", "good"] > 500 and ends["PeerLost", "PeerLost"] > 20
    assert ends["PeerLost", None] > 20 and ends[None, "PeerLost"] > 20, "processes have died amid their talks"


def test_f63_also_where_frames_are_harmed_and_callbacks_shuffled() -> None:
    ends = Counter[tuple[str | None, str | None]]()
    link = replace(LINK, drop=0.01, duplicate=0.02, reorder=0.01)
    for seed in range(40):
        book = simulate(
            counted_messages.main, seed=seed, hosts=["a", "b"], faults=FAULTS, link=link, shuffle=seed % 2 == 1
        )
        ends.update((talk.sender_end, talk.receiver_end) for talk in book.values())
    assert ends["ProtocolError", "ProtocolError"] > 10 and ends["good", "good"] > 80


def test_a_seed_gives_the_same_events_in_every_process_whatever_its_machine_does() -> None:
    seeds = ["3", "5", "8"]
    found = [
        subprocess.run(
            [sys.executable, strange_machine.__file__, machine, "messages", *seeds],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[1:]
        for machine, hash_seed in (("1", "1"), ("2", "20000"))
    ]
    here = [counted_messages.digest(int(seed)) for seed in seeds]
    assert found == [here, here] and len(set(here)) == 3


async def train(world: World, seen: dict[str, Any]) -> None:
    """Counts to 20 in a variable, with a checkpoint after each step, from where the last checkpoint left off."""
    with af.Graph().as_default() as graph:
        count, total = af.Variable(0, name="count"), af.Variable(np.zeros(2000), name="total")
        step = af.group(count.assign_add(1), total.assign_add(af.ones([2000], af.float64)))
        saver, init = af.train.Saver(max_to_keep=2), af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        latest = af.train.latest_checkpoint("/models")
        await (session.run(init) if latest is None else saver.restore(session, latest))
        number = int(await session.run(count))
        assert (await session.run(total) == number).all()
        assert number >= seen["saved"], "what was saved is there after a crash"
        seen["lives"] += 1
        while number < 20:
            await session.run(step)
            number += 1
            await saver.save(session, "/models/model", global_step=number)
            seen["saved"] = number
            await anyio.sleep(1)
        seen["done"] = True


@pytest.mark.parametrize("shuffle", [False, True])
def test_f66_f68_training_goes_on_from_its_last_checkpoint_whatever_befalls_the_machine(shuffle: bool) -> None:
    async def main(world: World) -> dict[str, Any]:
        seen = {"saved": 0, "lives": 0, "done": False}
        world.spawn("a", train, world, seen)
        while not seen["done"]:  # noqa: ASYNC110
            await anyio.sleep(1)
        return seen

    def lives(seed: int) -> int:
        faults = Faults(crashes=0.2, freezes=0.1, clock_jumps=0.1)
        found = simulate(
            main, seed=seed, hosts=["a"], faults=faults, file_faults=FileFaults(short_write=0.1), shuffle=shuffle
        )
        return int(found["lives"])

    assert sum(lives(seed) for seed in range(10)) > 20


# ---- crashes


async def _writes_and_talks(world: World, seen: list[str]) -> None:
    """Works in small steps, and in its end tries whatever it can to be noticed."""
    store = LocalStore("/data")
    try:
        async with SimulatedEndpoint(here().identity("/job:a/task:0"), listen=None) as endpoint:
            channel = await endpoint.connect("sim://b:1")
            try:
                for number in range(100):
                    channel.post(number)
                    store.write("number", [b"%d" % number])
                    await anyio.sleep(0.01)
            finally:
                with pytest.raises(Crash):
                    store.write("after", [b"death"])
                seen.append("end")
                channel.post("after death")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass


@pytest.mark.parametrize("calls", range(1, 60, 4))
def test_f63_after_a_crash_at_any_await_nothing_of_the_process_gets_out(calls: int) -> None:
    async def listens(messages: list[Any], accepted: list[Channel]) -> None:
        def accept(channel: Channel) -> None:
            accepted.append(channel)
            channel.listen(messages.append)

        async with SimulatedEndpoint(here().identity("/job:b/task:0"), listen="sim://:1", accept=accept):
            await anyio.sleep_forever()

    async def main(world: World) -> None:
        messages: list[Any] = []
        seen: list[str] = []
        world.spawn("b", listens, messages, [])
        job = world.spawn("a", _writes_and_talks, world, seen, again=False)
        world.crash_after("a", calls)
        with pytest.raises(HostCrashed, match="a crashed while _writes_and_talks ran"):
            await job
        seen.append("known")
        await anyio.sleep(5)
        assert messages == list(range(len(messages)))
        assert seen in (["end", "known"], ["known"])
        world.restart("a")
        await anyio.sleep(1)
        store = LocalStore("/data", world.files("a"))
        assert "after" not in store.list()
        if len(messages) > 1:
            assert int(read_all(store, "number", 100)) >= messages[-1] - 1

    simulate(main, seed=calls, hosts=["a", "b"])


def test_f62_a_restarted_process_is_another_one_on_the_same_files() -> None:
    async def program(lives: list[tuple[int, bool]]) -> None:
        store = LocalStore("/data")
        try:
            known = read_all(store, "incarnation", 100)
        except NotFoundError:
            known = b""
        lives.append((here().incarnation, known == b"%d" % lives[-1][0] if lives else not known))
        store.write("incarnation", [b"%d" % here().incarnation])
        await anyio.sleep_forever()

    async def main(world: World) -> None:
        lives: list[tuple[int, bool]] = []
        world.spawn("a", program, lives)
        for _ in range(4):
            await anyio.sleep(1)
            world.crash("a", silent=True)
            world.restart("a", after=1)
            await anyio.sleep(2)
        assert len({incarnation for incarnation, _ in lives}) == 5 and all(same for _, same in lives)

    simulate(main, seed=1, hosts=["a"])


def test_a_task_that_refuses_to_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MOST_CANCELS", 50)

    async def stubborn() -> None:
        while True:
            try:
                await anyio.sleep(1)
            except asyncio.CancelledError:
                pass

    async def main(world: World) -> None:
        world.spawn("a", stubborn)
        await anyio.sleep(1)
        world.crash("a")
        await anyio.sleep(1)

    with pytest.raises(Deadlock, match="stubborn"):
        simulate(main, seed=1, hosts=["a"])


# ---- time


def test_frozen_slow_and_quick_processes() -> None:
    async def counts(log: list[float], world: World) -> None:
        for _ in range(5):
            await anyio.sleep(1)
            log.append(round(world.now, 3))

    async def main(world: World) -> None:
        logs: dict[str, list[float]] = {name: [] for name in ("quick", "slow", "frozen")}
        world.slow("slow", 0.1)
        world.freeze("frozen", 3.5)
        jobs = [world.spawn(name, counts, log, world) for name, log in logs.items()]
        for job in jobs:
            await job
        assert logs["quick"] == [1, 2, 3, 4, 5]
        assert logs["frozen"] == [4.5, 5.5, 6.5, 7.5, 8.5]
        assert all(late > number for number, late in enumerate(logs["slow"], 1)) and 5.3 < logs["slow"][-1] < 8

    simulate(main, seed=1, hosts=["quick", "slow", "frozen"])


def test_f96_clocks_of_machines_differ_and_jump() -> None:
    async def clocks() -> tuple[int, int]:
        return machine.current().clocks()

    async def main(world: World) -> None:
        first = [await world.spawn(name, clocks) for name in ("a", "b")]
        assert first[0][0] != first[1][0] and 0 < abs(first[0][1] - first[1][1]) < 2e9
        await anyio.sleep(10)
        world.jump_clock("a", -100)
        second = [await world.spawn(name, clocks) for name in ("a", "b")]
        assert [now[0] - then[0] for then, now in zip(first, second)] == [10**10, 10**10]
        assert [now[1] - then[1] for then, now in zip(first, second)] == [-90 * 10**9, 10**10]

    simulate(main, seed=1, hosts=["a", "b"])


# ---- failures of the simulated programs


async def _fails() -> None:
    await anyio.sleep(1)
    raise KeyError("a fault")


async def _waits() -> None:
    await asyncio.get_running_loop().create_future()


def test_a_failure_tells_its_seed_and_replay_shows_the_way_to_it() -> None:
    async def main(world: World) -> None:
        book: counted_messages.Book = {}
        world.spawn("a", counted_messages.sender, world, book)
        world.spawn("b", counted_messages.receiver, world, book)
        await anyio.sleep(3)
        assert not world.trace.count, "something has happened"

    trace, lines = Trace(), list[str]()
    with pytest.raises(AssertionError, match="something has happened") as caught:
        simulate(main, seed=77, hosts=["a", "b"], trace=trace)
    (note,) = caught.value.__notes__
    assert "seed 77" in note and "replay(main, seed=77" in note and trace.lines[-1] in note
    with pytest.raises(AssertionError, match="something has happened"):
        replay(main, seed=77, hosts=["a", "b"], show=lines.append)
    assert lines == trace.lines and len(lines) > 20


def test_a_program_that_fails_fails_the_simulation_unless_somebody_looks() -> None:
    async def main(world: World, look: bool) -> None:
        job = world.spawn("a", _fails)
        await anyio.sleep(2)
        if look:
            with pytest.raises(KeyError):
                await job

    simulate(lambda world: main(world, True), seed=1, hosts=["a"])
    with pytest.raises(KeyError, match="a fault"):
        simulate(lambda world: main(world, False), seed=1, hosts=["a"])


def test_a_callback_that_fails_fails_the_simulation() -> None:
    async def program() -> None:
        asyncio.get_running_loop().call_later(1, divmod, 1, 0)
        await anyio.sleep_forever()

    async def main(world: World) -> None:
        world.spawn("a", program)
        await anyio.sleep(10)
        pytest.fail("went on")

    with pytest.raises(ZeroDivisionError):
        simulate(main, seed=1, hosts=["a"])


def test_where_nothing_will_ever_happen_all_machines_tasks_are_listed() -> None:
    async def main(world: World) -> None:
        world.spawn("b", _waits)
        await world.spawn("a", _waits)

    with pytest.raises(Deadlock, match="Nothing is ready") as caught:
        simulate(main, seed=1, hosts=["a", "b"])
    assert all(f"on {name}: Tasks that wait" in str(caught.value) for name in ("main", "a", "b"))
    assert str(caught.value).count("_waits at ") == 2

    async def sleeps(world: World) -> None:
        while True:  # noqa: ASYNC110
            await anyio.sleep(1)

    with pytest.raises(Deadlock, match="not done after 100 virtual seconds"):
        simulate(sleeps, seed=1, limit=100)


async def test_a_simulation_is_not_started_from_a_coroutine() -> None:
    async def main(world: World) -> None:
        pytest.fail("was run")

    with pytest.raises(RuntimeError, match="call it from a plain function"):
        simulate(main, seed=1)


def test_names_of_machines_are_checked() -> None:
    async def main(world: World) -> None:
        for wrong in (
            lambda: world.crash("c"),
            lambda: world.partition("a", "c"),
            lambda: world.crash("main"),
            lambda: world.add("a"),
        ):
            with pytest.raises(ValueError, match=r"no machine 'c'; there are: main, a|observes|already"):
                wrong()

    simulate(main, seed=1, hosts=["a"])


def test_what_befalls_machines_is_in_the_trace() -> None:
    async def main(world: World) -> None:
        await anyio.sleep(100)

    trace = Trace()
    faults = Faults(crashes=0.1, freezes=0.1, partitions=0.1, resets=0.1, clock_jumps=0.1, until=50)
    simulate(main, seed=4, hosts=["a", "b", "c"], faults=faults, link=Link(), trace=trace)
    kinds = Counter(line.split()[1] for line in trace.lines)
    assert kinds.keys() == {"crash", "restart", "freeze", "thaw", "partition", "heal", "reset", "clock"}
    assert kinds["crash"] == kinds["restart"] and kinds["freeze"] >= kinds["thaw"]
    assert kinds["partition"] == kinds["heal"] and float(trace.lines[-1].split()[0]) < 65


def test_a_disk_that_flips_bits_is_noticed_by_the_program() -> None:
    async def program() -> None:
        with af.Graph().as_default() as graph:
            v = af.Variable(np.arange(1000.0), name="v")
            saver, init = af.train.Saver(), af.global_variables_initializer()
        async with af.Session(graph=graph) as session:
            await session.run(init)
            path = await saver.save(session, "/models/model")
            here().files.faults = FileFaults(bit_flip=1.0)
            with pytest.raises(DataLossError):
                await saver.restore(session, path)
            assert (await session.run(v) == np.arange(1000.0)).all()

    async def main(world: World) -> None:
        await world.spawn("a", program)

    for seed in range(5):
        simulate(main, seed=seed, hosts=["a"])
