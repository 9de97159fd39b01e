"""The ZeroMQ transport.

auth.py       who may connect: CURVE keys, and the handler that libzmq asks about each client (ZAP, ZeroMQ's RFC 27)
channel.py    the two ends of a channel over ZeroMQ: the listening one speaks through a ROUTER, the connecting one through two
              DEALERs
doorman.py    `Doorman`: what a connection may cost before it has said who it is
endpoint.py   the ZeroMQ transport: one ROUTER for each process that listens, two DEALERs (control and bulk) to each peer
greeting.py   what listens at an address: the greeting of ZeroMQ's protocol (ZMTP 3) names the security that its sender wants
monitor.py    what libzmq says of a socket's connections: made, authenticated, refused, broken
sockets.py    what is asked of ZeroMQ's sockets for each message
"""

from .endpoint import ZmqEndpoint

__all__ = ["ZmqEndpoint"]
