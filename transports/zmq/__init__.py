"""The ZeroMQ transport.

accepted_channel.py     `AcceptedChannel`: the listening end of a channel, which speaks through the ROUTERs of its process
auth.py                 who may connect: CURVE keys, and the handler that libzmq asks about each client (ZAP, ZeroMQ's RFC 27)
channel.py              `ZmqChannel`: the common part of both ends: what goes over which lane, and what arrives there
connected_channel.py    `ConnectedChannel`: the connecting end of a channel, a DEALER with a monitor for each lane
connection_limiter.py   `ConnectionLimiter`: what a connection may cost before it has said who it is
endpoint.py             the ZeroMQ transport: a ROUTER for each process that listens, and DEALERs to each peer
greeting.py             what listens at an address: the greeting of ZeroMQ's protocol (ZMTP 3) names the security that its
                        sender wants
monitor.py              what libzmq says of a socket's connections: made, authenticated, refused, broken
sealed_listener.py      `SealedListener`: the ROUTER at which sealed bulk lanes arrive
sealing.py              `Sealer` and `Opener`: the two ends of a lane whose parts are sealed by AES-GCM
sockets.py              what is asked of ZeroMQ's sockets for each message
"""

from __future__ import annotations

import zmq

from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.factory import TransportFactory

from .auth import Keys
from .endpoint import ZmqEndpoint


def _versions() -> str:
    return f"pyzmq {zmq.__version__} (libzmq {zmq.zmq_version()})"


ZMQ = TransportFactory(
    "zmq",
    "tcp",
    Reach.ANY,
    ZmqEndpoint,
    cost=50,
    make_keys=Keys.make,
    options=frozenset({"heartbeat_seconds", "seal"}),
    versions=_versions,
)

__all__ = ["ZMQ"]
