"""`Spaces`: a network namespace for each task, joined by a bridge of the kernel: partitions of connections that it keeps.

No one is told of a partition: packets go to a hardware address that no one has. This needs root and the program `ip`.
"""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
from collections.abc import Sequence
from types import TracebackType

from actorflow.cluster.config.spec import parse_task

NAMES = f"chaos{os.getpid()}-"
"""How the names of namespaces begin."""
_NET = f"10.{os.getpid() % 200 + 40}.7."
_OWN = 254
_NOBODY = "02:00:00:00:00:99"
_numbers = itertools.count()


def call_ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise OSError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}")


class Spaces:
    """Namespaces for tasks; this process reaches them over the bridge. Raises OSError where they can't be."""

    def __init__(self, tasks: Sequence[str]) -> None:
        self.hosts = {task: f"{_NET}{number + 1}" for number, task in enumerate(tasks)}
        # The kernel takes namespaces away, and the cables that end there, after it said so: names are not used again.
        self._bridge = f"c{os.getpid() % 10**6}n{next(_numbers)}"
        self._made: list[str] = []

    def __enter__(self) -> Spaces:
        try:
            call_ip("link", "add", self._bridge, "type", "bridge")
            call_ip("addr", "add", f"{_NET}{_OWN}/24", "dev", self._bridge)
            call_ip("link", "set", self._bridge, "up")
            for number, (task, host) in enumerate(self.hosts.items()):
                name, cable = self.name(task), f"{self._bridge}v{number}"
                call_ip("netns", "add", name)
                self._made.append(name)
                call_ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
                call_ip("link", "set", cable, "master", self._bridge, "up")
                call_ip("-n", name, "addr", "add", f"{host}/24", "dev", "eth0")
                call_ip("-n", name, "link", "set", "eth0", "up")
                call_ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes all of them."""
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True, check=False)
        self._made = []

    def name(self, task: str) -> str:
        """The namespace of a task."""
        return "{}{}-{}".format(NAMES, *parse_task(task))

    def isolate(self, task: str, *, inward: bool, outward: bool) -> None:
        """From now on no packet reaches the task, or comes from it."""
        self._lead("replace", task, inward, outward)

    def join(self, task: str) -> None:
        """All as it was."""
        self._lead("del", task, True, True)

    def _lead(self, what: str, task: str, inward: bool, outward: bool) -> None:
        ways = []
        for other, host in self.hosts.items():
            if other != task and inward:
                ways.append((["-n", self.name(other)], self.hosts[task], "eth0"))
            if other != task and outward:
                ways.append((["-n", self.name(task)], host, "eth0"))
        if inward:
            ways.append(([], self.hosts[task], self._bridge))
        if outward:
            ways.append((["-n", self.name(task)], f"{_NET}{_OWN}", "eth0"))
        for where, host, device in ways:
            address = ["lladdr", _NOBODY] if what == "replace" else []
            command = ["ip", *where, "neigh", what, host, *address, "dev", device]
            subprocess.run(command, check=what == "replace", capture_output=True, timeout=20)


@functools.cache
def are_allowed() -> bool:
    """Whether this machine lets us have namespaces."""
    try:
        with Spaces(["/job:try/task:0"]):
            return True
    except (OSError, subprocess.SubprocessError):
        return False
