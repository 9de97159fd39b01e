"""The simulated transport beyond the contract: how long things take, how peers are lost, and what harms frames."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest

from actorflow.base.process import machine
from actorflow.base.registry import plugins
from actorflow.engine.transport.base import Channel, PeerLimits, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost, ProtocolError
from actorflow.errors import UnavailableError
from actorflow.testing import Host, Link, World, simulate
from actorflow.transports.channel import BaseChannel
from actorflow.transports.simulated import SimulatedEndpoint, SimulatedKeys

EXACT = Link(delay=0.01, jitter=0.0)
Client = Callable[[World, Channel, list[Channel]], Coroutine[Any, Any, Any]]


def here() -> Host:
    found = machine.current()
    assert isinstance(found, Host)
    return found


def endpoint(**options: Any) -> SimulatedEndpoint:
    return SimulatedEndpoint(here().identity(f"/job:{here().name}/task:0"), **options)


async def listener(accepted: list[Channel], **options: Any) -> None:
    """Takes channels at port 1 of the machine."""
    async with endpoint(listen=f"tcp://{here().name}:1", accept=accepted.append, **options):
        await anyio.sleep_forever()


def talk(client: Client, *, seed: int = 1, link: Link = EXACT, **options: Any) -> Any:
    """Runs `client(world, channel, accepted)` on machine `a`, with a channel to a listener on `b`."""

    async def main(world: World) -> Any:
        accepted: list[Channel] = []

        async def connected() -> Any:
            async with endpoint(listen=None, **options) as mine:
                return await client(world, await mine.connect("sim://b:1"), accepted)

        world.spawn("b", listening(options), accepted)
        return await world.spawn("a", connected, again=False)

    return simulate(main, seed=seed, hosts=["a", "b"], link=link)


def listening(options: dict[str, Any]) -> Callable[[list[Channel]], Coroutine[Any, Any, None]]:
    async def program(accepted: list[Channel]) -> None:
        await listener(accepted, **options)

    return program


async def there(world: World, method: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    """Waits for what belongs to the process on machine `b`, in that process."""
    return await world.spawn("b", method, *arguments, again=False)


async def seconds(world: World, work: Any) -> tuple[float, Any]:
    begin = world.now
    result = await work
    return world.now - begin, result


# ---- time


def test_f51_a_message_takes_the_delay_of_its_link() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        accepted[0].listen(lambda message: accepted[0].post(message))
        channel.post("there and back")
        took, message = await seconds(world, channel.receive())
        assert message == "there and back" and took == pytest.approx(0.02, rel=1e-3)

    talk(client)


@pytest.mark.parametrize("megabytes", [1, 8])
def test_f51_a_tensor_takes_the_time_of_its_bytes_and_messages_overtake_it(megabytes: int) -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        channel.send(1, 1, b"", np.zeros(megabytes * 1_000_000, np.uint8))
        channel.post("first")
        took, _ = await seconds(world, there(world, accepted[0].receive))
        assert took == pytest.approx(0.01, rel=0.1)
        took, token = await seconds(world, there(world, accepted[0].recv, 1, 1))
        assert took == pytest.approx(megabytes, rel=0.02) and token.size == megabytes * 1_000_000

    talk(client, link=replace(EXACT, bandwidth=1e6))


def test_f51_what_is_lost_on_the_way_is_sent_again_and_keeps_its_order() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(3)
        begin = world.now
        for number in range(200):
            channel.post(number)
            await anyio.sleep(0.001)
        assert [await there(world, accepted[0].receive) for _ in range(200)] == list(range(200))
        assert world.now - begin > 0.4

    talk(client, link=replace(EXACT, jitter=0.05, loss=0.2))


def test_f51_what_is_held_back_amid_others_keeps_its_order(seed: int) -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(3)
        for number in range(400):
            if number % 100 == 30:  # heals while some are still under way, with what is lost of them
                world.partition("a", "b", oneway=True, seconds=0.05)
            channel.post(number)
            await anyio.sleep(0.001)
        assert [await there(world, accepted[0].receive) for _ in range(400)] == list(range(400))

    for attempt in range(10):
        talk(client, link=replace(EXACT, jitter=0.05, loss=0.2), seed=seed + attempt)


async def _closes(channel: Channel) -> None:
    for number in range(100):
        channel.post([number, b"y" * 3000])
    channel.send(1, 1, b"", np.arange(200_000, dtype=np.int32))
    await channel.aclose()


async def _has_all(world: World, end: Channel) -> None:
    assert [(await there(world, end.receive))[0] for _ in range(100)] == list(range(100))
    with pytest.raises(anyio.EndOfStream):
        await there(world, end.receive)
    assert (await there(world, end.recv, 1, 1)).size == 200_000


def test_f51_a_close_in_good_order_takes_as_long_as_what_is_left_to_send() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        async with anyio.create_task_group() as group:
            group.start_soon(_has_all, world, accepted[0])
            took, _ = await seconds(world, _closes(channel))
        assert took > 10

    limits = PeerLimits(data_window=64 << 10, control_window=64 << 10)
    talk(client, link=replace(EXACT, bandwidth=7e4), limits=limits)


def test_f51_a_process_that_stood_still_amid_a_close_in_good_order_goes_on_with_it() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        world.call_later(0.03, world.freeze, "a", 2.5)
        async with anyio.create_task_group() as group:
            group.start_soon(_has_all, world, accepted[0])
            took, _ = await seconds(world, _closes(channel))
        assert took > 2.5

    talk(client, limits=PeerLimits(data_window=64 << 10, control_window=64 << 10))


def test_f51_a_close_in_good_order_does_not_wait_for_who_takes_nothing() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        took, _ = await seconds(world, _closes(channel))
        assert 1 <= took < 4

    talk(client, limits=PeerLimits(data_window=64 << 10, control_window=64 << 10))


# ---- the loss of a peer


def test_f63_the_crash_of_a_peer_is_told_after_one_delay() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        world.crash("b")
        took, error = await seconds(world, channel.wait_closed())
        assert isinstance(error, PeerLost) and took == pytest.approx(0.01)
        with pytest.raises(PeerLost, match="its process has ended or hangs"):
            await channel.recv(1, 1)

    talk(client)


def test_f63_a_crash_amid_a_transfer_ends_the_wait_for_it() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        accepted[0].send(1, 1, b"", np.zeros(8_000_000, np.uint8))
        accepted[0].post("before")
        world.crash_after("b", 3)
        with pytest.raises(PeerLost):
            await channel.recv(1, 1)

    talk(client, link=replace(EXACT, bandwidth=1e6))


@pytest.mark.parametrize("befall", ["crash silently", "freeze", "partition", "partition one way", "the other way"])
def test_f64_a_silent_peer_is_lost_after_three_heartbeats(befall: str) -> None:
    def begin(world: World) -> None:
        if befall == "crash silently":
            world.crash("b", silent=True)
        elif befall == "freeze":
            world.freeze("b", 1000)
        else:
            a, b = ("b", "a") if befall == "the other way" else ("a", "b")
            world.partition(a, b, oneway=befall != "partition")

    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1.3)
        begin(world)
        took, error = await seconds(world, channel.wait_closed())
        assert isinstance(error, PeerLost) and 6 <= took <= 10
        if befall.startswith("partition") or befall == "the other way":
            with anyio.fail_after(5):
                assert isinstance(await there(world, accepted[0].wait_closed), PeerLost)

    talk(client, heartbeat_seconds=2.0)


@pytest.mark.parametrize("befall", ["freeze", "partition", "partition one way"])
def test_f64_what_ends_before_three_heartbeats_loses_nothing(befall: str) -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        for number in range(50):
            channel.post(number)
            channel.send(1, number, b"", np.full(20_000, number))
            if number == 10 and befall == "freeze":
                world.freeze("b", 2)
            elif number == 10:
                world.partition("a", "b", oneway=befall != "partition", seconds=2)
            await anyio.sleep(0.01)
        begin = world.now
        for number in range(50):
            assert await there(world, accepted[0].receive) == number
            assert (await there(world, accepted[0].recv, 1, number) == number).all()
        assert 1 < world.now - begin < 3

    talk(client)


def test_f64_a_peer_that_thaws_hears_that_it_was_given_up() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        world.freeze("b", 60)
        await channel.wait_closed()
        assert not isinstance(accepted[0], BaseChannel) or accepted[0].ended is None
        await anyio.sleep(60)
        assert isinstance(await there(world, accepted[0].wait_closed), PeerLost)

    talk(client)


def test_f62_a_machine_that_is_up_again_knows_no_former_connections() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        incarnation = channel.peer.identity.incarnation
        world.crash("b", silent=True)
        world.restart("b", after=0.5)
        took, error = await seconds(world, channel.wait_closed())
        assert isinstance(error, PeerLost) and took < 2
        mine = channel.endpoint  # type: ignore[attr-defined]
        with pytest.raises(HandshakeRejected, match="it was started again"):
            await mine.connect("sim://b:1", incarnation)
        other = await mine.connect("sim://b:1")
        assert other.peer.identity.incarnation == world.host("b").incarnation != incarnation

    talk(client)


def test_f63_a_connection_that_is_reset_ends_at_both_ends() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        world.reset("a", "b")
        assert isinstance(await channel.wait_closed(), PeerLost)
        assert isinstance(await there(world, accepted[0].wait_closed), PeerLost)

    talk(client)


# ---- frames that are harmed, which TCP does not do


@pytest.mark.parametrize("harm", ["drop", "reorder"])
def test_f62_frames_that_are_lost_or_out_of_order_end_the_channel(harm: str) -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> int:
        await anyio.sleep(1)
        world.set_link("a", "b", oneway=True, **{harm: 0.1})
        heard = 0
        try:
            for number in range(100):
                channel.send(1, number, b"", np.full(10_000, number))
                channel.post(number)
                await anyio.sleep(0.002)
                while accepted[0]._messages:  # type: ignore[attr-defined]
                    assert await there(world, accepted[0].receive) == heard
                    heard += 1
        except ProtocolError:
            pass
        error = await there(world, accepted[0].wait_closed)
        assert isinstance(error, ProtocolError) and "were lost on the" in str(error)
        assert isinstance(await channel.wait_closed(), ProtocolError)
        return heard

    assert len({talk(client, seed=seed) for seed in range(20)}) > 5


def test_f62_frames_that_come_twice_are_dropped() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(1)
        world.set_link("a", "b", duplicate=0.5)
        for number in range(100):
            channel.send(1, number, b"", np.full(10_000 if number % 2 else 5, number))
            channel.post(number)
            await anyio.sleep(0.01)
        for number in range(100):
            assert await there(world, accepted[0].receive) == number
            assert (await there(world, accepted[0].recv, 1, number) == number).all()
        await anyio.sleep(1)
        assert accepted[0].statistics().dropped_twice > 50

    talk(client)


# ---- who is there


def test_f51_a_peer_may_start_later_and_nobody_is_waited_for_in_vain() -> None:
    async def main(world: World) -> None:
        accepted: list[Channel] = []
        progress: list[str] = []

        async def client() -> None:
            async with endpoint(listen=None) as mine:
                with pytest.raises(UnavailableError, match="as far as: resolved"):
                    await mine.connect("tcp://b:1", timeout=3, progress=progress.append)
                with pytest.raises(UnavailableError, match="as far as: resolved"):
                    await mine.connect("tcp://nowhere:1", timeout=3)
                assert world.now == pytest.approx(6)
                await mine.connect("tcp://b:1", timeout=10, progress=progress.append)
                assert 9 < world.now < 9.5
                with pytest.raises(ValueError, match="sim://host:port"):
                    await mine.connect("b:1")
            assert progress == ["resolved", "resolved", "connected", "authenticated", "accepted"]

        async def later() -> None:
            await anyio.sleep(9)
            await listener(accepted)

        world.spawn("b", later)
        await world.spawn("a", client)

    simulate(main, seed=1, hosts=["a", "b"])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("not allowed", "does not allow this process's key"),
        ("wrong server key", "another one than this process expects"),
        ("no keys here", "it has keys, and this process has none"),
        ("no keys there", "it has no keys, but this process has"),
        ("shared", ""),
        ("allowed", ""),
    ],
)
def test_f51_keys_are_checked(case: str, message: str) -> None:
    async def main(world: World) -> None:
        theirs, other = SimulatedKeys.make(), SimulatedKeys.make()
        mine = {"no keys here": None, "not allowed": other, "allowed": other}.get(case, theirs)
        key = theirs.public if case in ("not allowed", "allowed") else other.public if "wrong" in case else None
        accepted: list[Channel] = []

        async def client() -> None:
            async with endpoint(listen=None, keys=mine) as here:
                if message:
                    with pytest.raises(HandshakeRejected, match=message):
                        await here.connect("sim://b:1", key=key)
                    return
                channel = await here.connect("sim://b:1", key=key)
                assert mine is not None
                assert (channel.peer.key, accepted[0].peer.key) == (theirs.public, mine.public)

        options: dict[str, Any] = {"keys": None if case == "no keys there" else theirs}
        if case == "allowed":
            options["allowed"] = frozenset({other.public})
        world.spawn("b", listening(options), accepted)
        await world.spawn("a", client)

    simulate(main, seed=1, hosts=["a", "b"])


def test_f51_addresses_ports_and_machines_are_checked() -> None:
    async def main(world: World) -> None:
        async def program() -> None:
            with pytest.raises(UnavailableError, match="this machine is a"):
                endpoint(listen="sim://b:1")
            one = endpoint(listen="tcp://a:7", advertise="tcp://elsewhere:8")
            assert one.address == "tcp://elsewhere:8"
            with pytest.raises(UnavailableError, match="the port is taken"):
                endpoint(listen="sim://:7")
            two = endpoint()
            assert two.address == "sim://a:50001"
            one.close()
            endpoint(listen="sim://:7").close()
            two.close()

        await world.spawn("a", program)

    simulate(main, seed=1, hosts=["a"])
    assert plugins.load("simulation", "transport").open is SimulatedEndpoint


async def test_f51_outside_of_a_simulation_a_network_must_be_given() -> None:
    with pytest.raises(ValueError, match="needs its network and host"):
        SimulatedEndpoint(ProcessIdentity("cluster", "/job:worker/task:0", 1))


def test_f96_a_clock_that_jumps_shows_in_the_beats() -> None:
    async def client(world: World, channel: Channel, accepted: list[Channel]) -> None:
        await anyio.sleep(5)
        before = channel.statistics()
        world.jump_clock("b", 500)
        await anyio.sleep(20)
        after = channel.statistics()
        assert before.wall_offset is not None and after.wall_offset is not None
        assert after.wall_offset - before.wall_offset == pytest.approx(500, abs=0.1)
        assert after.clock_offset == pytest.approx(before.clock_offset, abs=0.1)
        assert before.round_trip == pytest.approx(0.02, rel=0.1)

    talk(client)


def test_equal_seeds_give_equal_identities_keys_and_names() -> None:
    async def main(world: World) -> list[Any]:
        async def program() -> list[Any]:
            return [here().identity("/job:a/task:0"), SimulatedKeys.make().public, machine.fresh_hex(6)]

        return [await world.spawn(name, program) for name in ("a", "b")]

    def found(seed: int) -> list[Any]:
        return list(simulate(main, seed=seed, hosts=["a", "b"]))

    assert found(1) == found(1) != found(2)
    assert found(1)[0] != found(1)[1]
