"""`Reservation`: a TCP port of this host that is ours for as long as we like, before a task listens there and after it died.

A socket that is bound and does not listen keeps the system from giving its port away, and on Linux lets another socket of
the same user listen there. So the addresses of a cluster are known before any of its processes run, and a task that is
started again finds its port.
"""

from __future__ import annotations

import socket
import sys

from actorflow.errors import UnavailableError

_HELD = sys.platform == "linux"  # elsewhere no one could listen beside us, so the port is only looked up


class Reservation:
    """A free port of `host`. Raises UnavailableError where there is none."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, 0))
        except OSError as error:
            self._socket.close()
            raise UnavailableError(f"There is no free port on {host}: {error}.") from None
        self.port: int = self._socket.getsockname()[1]
        if not _HELD:
            self._socket.close()

    def close(self) -> None:
        """Gives the port back."""
        self._socket.close()
