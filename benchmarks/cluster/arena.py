"""A tensor of a gigabyte that is born in the shared arena, on its way to another process of the host, beside one of four bytes.

Either is the variable of one task, of which another task reads the first element: a handle crosses, or four bytes within a
message. Both graphs are stepped in turns over the same servers.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.cluster.remote import targets
from benchmarks.harness.definitions import Figure, Measurement, Options, Work
from benchmarks.harness.sides import our_library
from benchmarks.harness.worker import timed_async

_GIGABYTE = 1 << 28
"""In floats."""


def first_of_another_task(af: Any, elements: int) -> Work:
    """A step that takes the first of `elements` floats, which are another task's."""
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:worker/task:0"):
            variable = af.get_variable(f"v{elements}", initializer=af.ones([elements]), use_resource=True)
        with af.device("/job:worker/task:1"):
            first = af.identity(variable.read_value())[0]
    return Work(graph, first, init=variable.initializer)


async def _by_4_bytes(options: Options) -> Mapping[str, float]:
    af = our_library()
    small, large = first_of_another_task(af, 1), first_of_another_task(af, _GIGABYTE)
    async with (
        targets(2, True) as found,
        af.Session(found[0], graph=small.graph) as one,
        af.Session(found[0], graph=large.graph) as other,
    ):
        await one.run(small.init)
        await other.run(large.init)
        ratios, times = [], []
        for _ in range(2 * options.rounds):
            few = await timed_async(lambda: one.run(small.fetches), options.seconds)
            many = await timed_async(lambda: other.run(large.fetches), options.seconds)
            ratios.append(many["median"] / few["median"])
            times.append(many["median"])
        edges = [(edge.transport, edge.bytes) for edge in await other.channels()]
        if edges != [("shm", 0)]:
            raise RuntimeError(f"The tensor was no handle: {edges}.")
    return {"gigabyte_by_4_bytes": statistics.median(ratios), "gigabyte_us": statistics.median(times)}


BENCHMARKS = (
    Measurement(
        "gigabyte",
        _by_4_bytes,
        (
            Figure("gigabyte_us", "a step that reads the first element of 1 GB of another task of this host", "µs"),
            Figure("gigabyte_by_4_bytes", "the same by a step that reads 4 bytes of another task", "×"),
        ),
    ),
)
