"""The shared-memory transport.

arena.py      shared arenas: memory that a process allocates in and its peers on the same host read
channel.py    A channel over a unix socket and shared arenas
endpoint.py   the shared-memory transport: a unix socket for records, and arenas that both sides see for tensors
"""

from .endpoint import ShmEndpoint

__all__ = ["ShmEndpoint"]
