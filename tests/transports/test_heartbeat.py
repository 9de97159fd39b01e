"""The heartbeat: a silence of more than three of them loses a peer, and each transport keeps to the same times."""

from __future__ import annotations

import asyncio

import anyio
import pytest
import zmq
from channels import CLIENT, KINDS, endpoint
from virtual import run

from actorflow.engine.transport.heartbeat import FAR, NEAR, Heartbeat, Pulse
from actorflow.transports.zmq.endpoint import ZmqEndpoint


@pytest.mark.parametrize("heartbeat", [NEAR, FAR, Heartbeat(10.0)])
@pytest.mark.parametrize(("silent", "lost"), [(0.0, False), (1.0, False), (2.9, False), (3.1, True), (100.0, True)])
def test_a_peer_is_lost_after_three_silent_heartbeats(heartbeat: Heartbeat, silent: float, lost: bool) -> None:
    assert heartbeat.is_lost(50.0, 50.0 + silent * heartbeat.seconds) is lost


@pytest.mark.parametrize("heartbeat", [NEAR, FAR])
def test_evidence_comes_after_the_loss(heartbeat: Heartbeat) -> None:
    assert heartbeat.is_lost(0.0, heartbeat.evidence_seconds)


def test_a_pulse_beats_until_it_is_stopped() -> None:
    async def beats() -> list[float]:
        loop, times = asyncio.get_running_loop(), list[float]()
        begin = loop.time()
        pulse = Pulse(Heartbeat(2.0), lambda: times.append(loop.time() - begin))
        await anyio.sleep(7.0)
        pulse.stop()
        await anyio.sleep(7.0)
        return times

    assert run(beats) == ([2.0, 4.0, 6.0], 14.0)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_endpoint_has_the_heartbeat_that_it_is_told(kind: str) -> None:
    here = endpoint(kind, CLIENT, listen=False, heartbeat_seconds=0.2)
    try:
        assert here.heartbeat == Heartbeat(0.2)
    finally:
        here.close()


async def test_libzmq_keeps_to_the_heartbeat() -> None:
    here = ZmqEndpoint(CLIENT, heartbeat_seconds=0.2)
    try:
        with here.socket(zmq.DEALER) as socket:
            times = [socket.getsockopt(o) for o in (zmq.HEARTBEAT_IVL, zmq.HEARTBEAT_TIMEOUT, zmq.HEARTBEAT_TTL)]
        assert times == [200, 600, 600]
    finally:
        here.close()
