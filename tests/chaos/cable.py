"""`Cable`: two network namespaces as two machines, joined by a cable on which each packet takes its time.

The cable is a thread of this process, since not every kernel can delay packets itself. It needs root, the program `ip` and
`/dev/net/tun`.
"""

from __future__ import annotations

import fcntl
import functools
import os
import select
import struct
import subprocess
import threading
import time
from collections import deque
from types import TracebackType

from chaos.spaces import NAMES, call_ip

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000
_LARGEST = 65536
_PER_TURN = 64


class Cable:
    """Two namespaces, `names`, and the addresses of their ends of the cable, `hosts`. Raises OSError where they can't be.

    Args:
        delay: seconds that each packet takes, either way.
    """

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.names = [f"{NAMES}{end}-{id(self) % 10**6}" for end in ("left", "right")]
        self.hosts = [f"10.{os.getpid() % 200 + 40}.9.{end}" for end in (1, 2)]
        self.packets = 0
        """How many have passed."""
        self._ends: list[int] = []
        self._made: list[str] = []
        self._wake, self._woken = os.pipe()
        self._thread = threading.Thread(target=self._carry, name="cable", daemon=True)

    def command(self, end: int) -> list[str]:
        """The prefix of a command that runs it at the left (0) or the right (1)."""
        return ["ip", "netns", "exec", self.names[end]]

    def __enter__(self) -> Cable:
        try:
            for number, (name, host) in enumerate(zip(self.names, self.hosts, strict=True)):
                call_ip("netns", "add", name)
                self._made.append(name)
                end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                self._ends.append(end)
                device = f"cable{os.getpid()}{number}"[-15:]
                fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH", device.encode(), _IFF_TUN | _IFF_NO_PI))
                call_ip("link", "set", device, "netns", name)
                call_ip("-n", name, "addr", "add", f"{host}/24", "dev", device)
                call_ip("-n", name, "link", "set", device, "up")
                call_ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self._close()
            raise
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.write(self._woken, b"e")
        self._thread.join()
        self._close()

    def _close(self) -> None:
        for descriptor in (*self._ends, self._wake, self._woken):
            os.close(descriptor)
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def _carry(self) -> None:
        other = dict(zip(self._ends, reversed(self._ends), strict=True))
        under_way: deque[tuple[float, int, bytes]] = deque()  # each takes as long, so they arrive in their order
        while True:
            wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
            ready, _, _ = select.select([*self._ends, self._wake], [], [], wait)
            if self._wake in ready:
                return
            for end in ready:
                for _ in range(_PER_TURN):
                    try:
                        packet = os.read(end, _LARGEST)
                    except BlockingIOError:
                        break
                    under_way.append((time.monotonic() + self.delay, other[end], packet))
            now = time.monotonic()
            while under_way and under_way[0][0] <= now:
                _, end, packet = under_way.popleft()
                try:
                    os.write(end, packet)
                    self.packets += 1
                except OSError:  # the device is not up, or its queue is full: a packet is lost, as on any cable
                    continue


@functools.cache
def are_possible() -> bool:
    """Whether this machine lets us have such a cable."""
    try:
        with Cable(0.0):
            return True
    except (OSError, subprocess.SubprocessError):
        return False
