"""Simulated clusters: real protocols and programs on virtual time, with every fault that a seed can think of.

`simulate` is the way in; docs/explanation/cluster.md tells how it works.

contract.py   `Contract`: promises that packages of others can test of what they bring, and the first promise that is broken
events.py     `EventQueue`: what happens outside of all processes, in the order of time; `Trace`, a line for each event
faults.py     `Faults`: what befalls the machines of a simulation by chance, and how often
files.py      `SimulatedFiles`: a file system in memory that forgets what was not flushed when its machine stops, and fails on
              demand
host.py       `Host`: a simulated machine with one process: its event loop, clocks, files, place in the network, and its lives
loop.py       `VirtualLoop`: an asyncio event loop whose time passes only while nothing is ready
network.py    `Network`: simulated machines and the links between them
running.py    `run`: a program on a virtual loop of its own, without threads, in which anyio cancels nested scopes in their order
simulate.py   `simulate`: runs a program of several machines in one thread, on virtual time, with whatever befalls them, from
              one seed
wire.py       `End`: one end of a simulated connection, with two lanes that keep their order, heartbeats, and all the ways to
              end
format_contract/     the contract of checkpoint formats as a suite that any package can run against its own
device_contract/     the contract of devices as a suite that any package can run against its own
transport_contract/  the contract of transports as a suite that any package can run against its own
world.py      `World`: simulated machines on one virtual time, who of them runs next, and what befalls them
"""

from __future__ import annotations

from actorflow.testing.events import Trace
from actorflow.testing.faults import Faults
from actorflow.testing.files import Crash, FileFaults, SimulatedFiles
from actorflow.testing.host import Host, HostCrashed, Job
from actorflow.testing.loop import Deadlock, VirtualLoop
from actorflow.testing.network import Link, Network
from actorflow.testing.running import run
from actorflow.testing.simulate import replay, simulate
from actorflow.testing.world import World

__all__ = [
    "simulate", "replay", "World", "Host", "Job", "HostCrashed",
    "Faults", "FileFaults", "Link", "Network", "Trace",
    "VirtualLoop", "run", "Deadlock",
    "SimulatedFiles", "Crash",
]  # fmt: skip
