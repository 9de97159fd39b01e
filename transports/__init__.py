"""How messages travel between devices and processes.

A module here makes a transport: a `TransportFactory` of the core, with its endpoints and channels. The core finds it through
the entry point group `actorflow.transports`. Modules import the core as `from actorflow.x import y`, their siblings relatively,
and no other part. channel.py, endpoint.py and protocol/ are public: transports of other packages build on them.

channel.py          what all channels share: a `Connection`, those who wait on it, and the turns of the event loop
endpoint.py         what all endpoints share: their channels, the epoch, and the beat
local.py            the local transport: inside a process a token is handed over as it is
local_endpoint.py   channels inside a process, for peers that happen to share it
simulated.py        the simulated transport: the real protocol over a network that exists in one process, on virtual time
                    (actorflow.testing)
protocol/           the protocol between two processes, without a socket or a wait (see docs/reference/protocol.md)
shm/                the shared-memory transport
zmq/                the ZeroMQ transport
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.transports, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.transports`"
    )
