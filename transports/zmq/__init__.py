"""The ZeroMQ transport.

auth.py                 who may connect: CURVE keys, and the handler that libzmq asks about each client (ZAP, ZeroMQ's RFC 27)
channel.py              the two ends of a channel over ZeroMQ: the listening one speaks through a ROUTER, the connecting one
                        through two DEALERs
connection_limiter.py   `ConnectionLimiter`: what a connection may cost before it has said who it is
endpoint.py             the ZeroMQ transport: one ROUTER for each process that listens, two DEALERs (control and bulk) to each
                        peer
greeting.py             what listens at an address: the greeting of ZeroMQ's protocol (ZMTP 3) names the security that its
                        sender wants
monitor.py              what libzmq says of a socket's connections: made, authenticated, refused, broken
sockets.py              what is asked of ZeroMQ's sockets for each message
"""

from __future__ import annotations

import zmq

from actorflow.transport.base import Reach
from actorflow.transport.factory import TransportFactory

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
