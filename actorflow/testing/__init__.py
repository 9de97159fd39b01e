"""Simulated clusters: real protocols and programs on virtual time, with every fault that a seed can think of.

`simulate` is the way in; docs/design.md tells how it works.
"""

from __future__ import annotations

from actorflow.testing.faults import Faults
from actorflow.testing.files import Crash, FileFaults, SimulatedFiles
from actorflow.testing.host import Host, HostCrashed, Job
from actorflow.testing.loop import Deadlock, VirtualLoop, run
from actorflow.testing.network import Link, Network
from actorflow.testing.simulate import replay, simulate
from actorflow.testing.trace import Trace
from actorflow.testing.world import World

__all__ = [
    "simulate", "replay", "World", "Host", "Job", "HostCrashed",
    "Faults", "FileFaults", "Link", "Network", "Trace",
    "VirtualLoop", "run", "Deadlock",
    "SimulatedFiles", "Crash",
]  # fmt: skip
