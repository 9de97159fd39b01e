"""The admission of peers: CURVE keys, and the handler that libzmq asks about each client (ZAP, ZeroMQ's RFC 27).

pyzmq has both, but writes secret keys for all to read, and its handler refuses everybody after one exception.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import zmq
import zmq.utils.z85

from actorflow.base.origins import is_loopback
from actorflow.base.reports.logs import get_logger
from actorflow.engine.transport.factory import KeyPair
from actorflow.errors import PermissionDeniedError

from .sockets import fd_of

_LOG = get_logger("transports")
_VERSION = b"1.0"
_MOST_PER_TURN = 64


@dataclass(frozen=True, slots=True)
class Keys:
    """A pair of CURVE keys in Z85 text. The secret one shows in no repr."""

    public: str
    secret: str = field(repr=False)

    @staticmethod
    def make() -> Keys:
        """A new pair."""
        public, secret = zmq.curve_keypair()
        return Keys(public.decode(), secret.decode())


def check_bind(host: str, keys: KeyPair | None) -> None:
    """Raises PermissionDeniedError where `host` can be reached from elsewhere and there are no keys."""
    if keys is None and not is_loopback(host):
        raise PermissionDeniedError(
            f"{host} can be reached from other machines, and there are no keys to tell friend from foe.",
            hint="Give keys (`actorflow keys init` makes them), or listen on 127.0.0.1.",
        )


class ZapAuthenticator:
    """Answers libzmq's questions for one context: who has one of the `allowed` public keys comes in."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], allowed: frozenset[str]) -> None:
        self.allowed = allowed
        self.refused = 0
        self._loop = asyncio.get_running_loop()
        self._socket = context.socket(zmq.REP)
        self._socket.linger = 0
        self._socket.bind("inproc://zeromq.zap.01")
        self._fd = fd_of(self._socket)
        self._loop.add_reader(self._fd, self._drain)
        self._loop.call_soon(self._drain)

    def close(self) -> None:
        """Answers no more."""
        if not self._socket.closed:
            self._loop.remove_reader(self._fd)
            self._socket.close()

    def _drain(self) -> None:
        for _ in range(_MOST_PER_TURN):
            if self._socket.closed:
                return
            try:
                request = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                reply = self.answer(request)
            except Exception as error:  # whatever a request holds, the next request is answered too
                self._loop.call_soon(_tell_fault, error)
                reply = [_VERSION, request[1] if len(request) > 1 else b"", b"500", b"internal error", b"", b""]
            self._socket.send_multipart(reply)
        self._loop.call_soon(self._drain)

    # The log is written later: if that failed between a question and its answer, no one would be let in any more.

    def answer(self, request: list[bytes]) -> list[bytes]:
        """The reply to a request: 200 with the key as user id, or 400."""
        version, number, _domain, address, _identity, mechanism, *credentials = request
        if version == _VERSION and mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            key = zmq.utils.z85.encode(credentials[0]).decode()
            if key in self.allowed:
                return [_VERSION, number, b"200", b"OK", key.encode(), b""]
            self._loop.call_soon(_tell_refused, address.decode("latin-1"), key)
        self.refused += 1
        return [_VERSION, number, b"400", b"this key is not allowed here", b"", b""]


def _tell_refused(peer: str, key: str) -> None:
    _LOG.warning("refused a client whose key is not allowed", peer=peer, key=key)


def _tell_fault(error: Exception) -> None:
    _LOG.error("a ZAP request could not be read", exc_info=error)
