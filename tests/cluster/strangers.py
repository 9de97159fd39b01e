"""Connections of those who have no key: silent ones, wrong keys, frames without end. A process of many of them for tests."""

from __future__ import annotations

import resource
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence

import zmq

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)
_NULL = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
_READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
_PARTS = (b"\x01\x10" + b"y" * 16) * 8192

HUGE = "a frame of a megabyte"
KINDS: dict[str, bytes] = {
    "silent": b"",
    "greets": _GREETING,
    "noise": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n" * 64,
    "endless multipart": _GREETING + _PARTS,
    "endless multipart without a mechanism": _NULL + _READY + _PARTS,
    HUGE: _GREETING + b"\x06" + struct.pack(">Q", 1 << 20) + b"x" * (1 << 20),
}


def besiege(port: int, count: int, seconds: float, kinds: Sequence[str]) -> int:
    """Makes `count` connections of these kinds in turns, each of which says as much as it gets rid of and then stays, as long as
    it may and for `seconds` in all. Returns how many were made."""
    selector = selectors.DefaultSelector()
    bodies = [KINDS[kind] for kind in kinds]
    begun, made = time.monotonic(), 0
    try:
        while time.monotonic() - begun < seconds and (made < count or selector.get_map()):
            while made < count and len(selector.get_map()) < 2000:
                stranger = socket.socket()
                stranger.setblocking(False)
                stranger.connect_ex(("127.0.0.1", port))
                selector.register(stranger, selectors.EVENT_WRITE, [memoryview(bodies[made % len(bodies)])])
                made += 1
            for key, _ in selector.select(0.01):
                stranger, left = key.fileobj, key.data  # type: ignore[assignment]
                try:
                    if key.events == selectors.EVENT_READ:
                        if not stranger.recv(4096):
                            raise ConnectionResetError
                    elif left[0]:
                        left[0] = left[0][stranger.send(left[0]) :]
                    else:
                        selector.modify(stranger, selectors.EVENT_READ, left)
                except BlockingIOError:
                    continue
                except OSError:
                    selector.unregister(stranger)
                    stranger.close()
    finally:
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        selector.close()
    return made


def with_wrong_keys(address: str, server_key: str, count: int, seconds: float) -> None:
    """`count` clients whose keys no one knows, at work for `seconds`."""
    context = zmq.Context()
    try:
        for _ in range(count):
            stranger = context.socket(zmq.DEALER)
            public, secret = zmq.curve_keypair()
            stranger.curve_publickey, stranger.curve_secretkey = public, secret
            stranger.curve_serverkey = server_key.encode()
            stranger.linger = 0
            stranger.connect(address)
            stranger.send(b"hello")
        time.sleep(seconds)
    finally:
        context.destroy(0)


def main() -> None:
    """`python strangers.py HOST:PORT KEY COUNT SECONDS [KIND...]`, and up to 200 more come with wrong keys."""
    address, server_key, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    keyed = threading.Thread(
        target=with_wrong_keys, args=(f"tcp://{address}", server_key, min(count // 10, 200), seconds)
    )
    keyed.start()
    print(besiege(int(address.rpartition(":")[2]), count, seconds, sys.argv[5:] or list(KINDS)))
    keyed.join()


if __name__ == "__main__":
    main()
