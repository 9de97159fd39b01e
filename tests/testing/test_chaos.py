"""A few cells of the chaos suite's matrix (`make chaos` has all of it): faults over workloads with real processes; what stands in
the way of connections there; and files that name checkpoints, damaged."""

from __future__ import annotations

import logging
import random
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from channels import start_zmq_collector
from chaos.faults import Fault, Reset, Restarted, SlowReader
from chaos.play import make_launcher, play
from chaos.proxy import CLIENT, Network, Weather
from chaos.workloads import WORKLOADS

import actorflow as af
from actorflow import errors
from actorflow.cluster.processes.launcher import Launcher
from actorflow.graph.ops.state.checkpoint import save_variables
from actorflow.supervisor import Restored


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    start_zmq_collector()
    with make_launcher() as found:
        found.bring_up()
        yield found


# ---- cells of the matrix


@pytest.mark.parametrize(
    "fault, workload",
    [(Reset(), "asynchronous"), (Restarted(), "queues"), (SlowReader(), "tensors")],
    ids=lambda value: value.name if isinstance(value, Fault) else value,
)
async def test_f63_f65_f66_fault_over_workload(
    fault: Fault, workload: str, tmp_path: Path, launcher: Launcher, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging.getLogger("actorflow").setLevel(logging.CRITICAL)
    monkeypatch.setattr(fault, "most", 1)
    WORKLOADS[workload].prepare()
    outcome = await play(fault, WORKLOADS[workload], tmp_path, launcher, seed)
    assert outcome.struck == 1 and outcome.runs["good"] > 10


# ---- the proxy


@asynccontextmanager
async def way() -> AsyncIterator[tuple[Network, SocketStream, SocketStream]]:
    """A connection through a network: its two ends."""
    network = Network(dict)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    await network.start()
    try:
        port = await network.lead_to("a task", *listener.getsockname())
        async with await anyio.connect_tcp("127.0.0.1", port) as near:
            await anyio.wait_readable(listener)
            async with await SocketStream.from_socket(listener.accept()[0]) as far:
                yield network, near, far
    finally:
        await network.aclose()
        listener.close()


async def receive(stream: SocketStream, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += await stream.receive()
    return found


async def test_the_proxy_hands_on_each_byte_in_order(seed: int) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(3 << 20)
    async with way() as (network, near, far):
        (pair,) = network.pairs
        assert pair.owner == CLIENT and pair.task == "a task" and network.of("a task") == [pair]
        for weather in (Weather(), Weather(delay=0.02), Weather(rate={"a task": 30e6, CLIENT: 30e6})):
            network.change(weather)
            for sender, receiver in ((near, far), (far, near)):
                async with anyio.create_task_group() as group:
                    group.start_soon(sender.send, data)
                    assert await receive(receiver, len(data)) == data


async def test_the_proxy_holds_one_way_or_both_and_loses_nothing() -> None:
    async with way() as (network, near, far):
        network.change(Weather(isolated="a task", outward=False))
        await near.send(b"in")
        await far.send(b"out")
        assert await receive(near, 3) == b"out"
        with anyio.move_on_after(0.05) as held:
            await far.receive()
        assert held.cancelled_caught
        network.change(Weather())
        assert await receive(far, 2) == b"in"


async def test_the_proxy_resets_and_cuts(seed: int) -> None:
    async with way() as (network, near, far):
        assert network.reset("a task", random.Random(seed)) == 1
        for end in (near, far):
            with pytest.raises(anyio.BrokenResourceError):
                await end.receive()
    async with way() as (network, near, far):
        (pair,) = network.pairs
        pair.near.cut_after = 5
        await near.send(b"0123456789")
        assert await receive(far, 5) == b"01234"
        with pytest.raises(anyio.EndOfStream):
            await far.receive()


async def test_the_proxy_slows_a_reader_down() -> None:
    async with way() as (network, near, far):
        network.change(Weather(rate={"a task": 400e3}))
        begun = anyio.current_time()
        await near.send(bytes(100_000))
        await receive(far, 100_000)
        assert anyio.current_time() - begun > 0.1


# ---- files of checkpoints


async def train(folder: Path, until: int) -> Restored:
    """Trains to a step, in a program of its own; tells where that began."""
    with af.Graph().as_default() as graph:
        step = af.train.get_or_create_global_step().assign_add(1)
    async with af.Supervisor("", graph, checkpoint_dir=folder, save_steps=2) as supervisor:
        begin = supervisor.history[0]
        async for attempt in supervisor.steps(until=until):
            async with attempt:
                await supervisor.run(step)
    assert isinstance(begin, Restored)
    return begin


def steps_saved(folder: Path) -> list[int]:
    return sorted(int(path.stem.rpartition("-")[2]) for path in folder.glob("*.manifest"))


def cut_manifest(folder: Path, step: int) -> None:
    manifest = folder / f"model.ckpt-{step}.manifest"
    manifest.write_bytes(manifest.read_bytes()[:-10])


async def test_f68_a_damaged_manifest_is_passed_over(tmp_path: Path) -> None:
    """And goes in its turn, as others do."""
    await train(tmp_path, 6)
    cut_manifest(tmp_path, 6)
    assert (await train(tmp_path, 8)).step == 4
    cut_manifest(tmp_path, 4)
    assert (await train(tmp_path, 14)).step == 8
    assert steps_saved(tmp_path) == [6, 8, 10, 12, 14]


async def test_f68_without_the_file_that_names_checkpoints_nobody_begins_anew(tmp_path: Path) -> None:
    await train(tmp_path, 6)
    (tmp_path / "checkpoint").write_bytes(b"")
    with pytest.raises(errors.DataLossError, match="names the latest checkpoint") as caught:
        await train(tmp_path, 8)
    assert "update_checkpoint_state" in str(caught.value)
    af.train.update_checkpoint_state(tmp_path, f"{tmp_path}/model.ckpt-6")
    assert (await train(tmp_path, 8)).step == 6


async def test_f66_values_that_are_lost_amid_a_save_abort_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a connection between tasks; a supervisor tries it again."""
    with af.Graph().as_default() as graph:
        variable, saver = af.Variable(1.0, name="v"), af.train.Saver()
        (take,) = (op for op in graph.get_operations() if op.type == "TakeVariables")
        loses = save_variables(str(tmp_path / "other"), taken=take.name)
    async with af.Session(graph=graph) as session:
        await session.run(variable.initializer)
        real = session.run

        async def run(fetches: Any, feeds: Any = None) -> Any:
            if feeds is not None:
                await real(loses)
            return await real(fetches, feeds)

        with monkeypatch.context() as patched:
            patched.setattr(session, "run", run)
            with pytest.raises(errors.AbortedError, match="lost before they were written"):
                await saver.save(session, tmp_path / "model")
        assert af.train.latest_checkpoint(tmp_path) is None
        assert await saver.save(session, tmp_path / "model") == af.train.latest_checkpoint(tmp_path)


def test_f66_a_flipped_bit_or_a_cut_never_names_another_checkpoint(tmp_path: Path, seed: int) -> None:
    """In the file that names the latest one: what is changed there is seen, or changes nothing."""
    af.train.update_checkpoint_state(tmp_path, f"{tmp_path}/m-9", [f"{tmp_path}/m-8", f"{tmp_path}/m-9"])
    whole, file = af.train.get_checkpoint_state(tmp_path), tmp_path / "checkpoint"
    assert whole is not None
    good = file.read_bytes()

    def named(data: bytes) -> af.train.CheckpointState | None:
        file.write_bytes(data)
        try:
            return af.train.get_checkpoint_state(tmp_path)
        except errors.DataLossError:
            return whole  # as good as if it were

    for place in range(len(good)):
        bit = (place + seed) % 8
        changed = bytes([good[place] ^ 1 << bit])
        assert named(good[:place] + changed + good[place + 1 :]) == whole, (place, bit)
        cut = named(good[:place])
        assert cut is not None and cut.model_checkpoint_path == whole.model_checkpoint_path, place
    other = b'model_checkpoint_path: "m-3"\nall_model_checkpoint_paths: "m-3"\nlast_preserved_timestamp: 1.5\n'
    found = named(other)  # as TensorFlow writes it
    assert found is not None and found.model_checkpoint_path == f"{tmp_path}/m-3"
