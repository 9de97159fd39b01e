"""Logical workers: nodes that ask for `/job:worker/replica:3` and for no task run on whichever task has that number's share.

The numbers 0 to R - 1 are divided into as many runs of neighbours as the job has tasks. With eight numbers on three tasks these
are 0 to 2, 3 to 5, and 6 and 7. Neighbours are on one task where possible, so that most of a tree over the numbers needs no
transfer. The mapping is a function of the graph and of the tasks alone, so that all masters have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from actorflow.base.registry import opdef
from actorflow.engine.placement.feasible import Candidate
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node

_LOCAL = "localhost"
_KEEPING = frozenset(("seed", "shared_name"))
"""An op with effects that has such an attribute keeps something that others may refer to, or counts its runs."""

_SEEDED_RESOURCES = ("FilePoolBegin",)
"""Ops with a seed that change a resource, and are where that is."""
_CALLS = ("EagerPyFunc", "EagerPyFuncGrad", "PyFunc")


def logical_workers(names: Iterable[str]) -> dict[str | None, int]:
    """How many logical workers each job has, by the devices that nodes ask for. A job with the number 0 alone has none: each
    device of a cluster has this number."""
    counts: dict[str | None, int] = {}
    for name in names:
        if "replica:" in name:
            spec = DeviceSpec.parse(name)
            if spec.replica is not None and spec.task is None:
                counts[spec.job] = max(counts.get(spec.job, 0), spec.replica + 1)
    return {job: count for job, count in counts.items() if count > 1}


def is_logical(device: str, counts: Mapping[str | None, int]) -> bool:
    """Whether a node that asks for `device` belongs to a logical worker."""
    if "replica:" not in device:
        return False
    spec = DeviceSpec.parse(device)
    return spec.replica is not None and spec.task is None and spec.job in counts


def keeps(node: Node) -> bool:
    """Whether a node keeps something from step to step: a variable, a table, a queue, an iterator, a place in a row of random
    numbers or in a file."""
    definition = opdef.lookup(node.op)
    return definition.stateful and ("Reader" in node.op or any(attr.name in _KEEPING for attr in definition.attrs))


def draws(node: Node) -> bool:
    """Whether a node draws random numbers by what its task keeps, or by chance: in each run others, whatever the step is."""
    if node.op == "ExtractGlimpse":
        return node.attrs.get("noise") != "zero"
    definition = opdef.lookup(node.op)
    names = {attr.name for attr in definition.attrs}
    return definition.stateful and "seed" in names and "shared_name" not in names and node.op not in _SEEDED_RESOURCES


def calls_program(node: Node) -> bool:
    """Whether a node calls a function of the program, which only the process that has built the graph can do."""
    return node.op in _CALLS


def tasks_of(job: str | None, devices: Iterable[DeviceSpec]) -> list[DeviceSpec]:
    """The tasks on which the logical workers of a job run, in their order. A session of a single process has that process."""
    specs = dict.fromkeys(device.task_of() for device in devices)
    members = [spec for spec in specs if job in (None, spec.job) or spec.job == _LOCAL]
    return sorted(members, key=lambda spec: (spec.job or "", spec.replica or 0, spec.task or 0))


def shares(count: int, tasks: int) -> list[int]:
    """For each logical worker the place of its task among the tasks. Neighbours are together, and no task has two more than
    another."""
    return [number * tasks // count for number in range(count)]


def mapped(nodes: Mapping[str, Node], devices: Sequence[Candidate]) -> Mapping[str, Node]:
    """The nodes, those of logical workers with the tasks that these have now; `nodes` itself where the graph has no logical
    workers."""
    names = {node.device for node in nodes.values()}
    counts = logical_workers(names)
    if not counts:
        return nodes
    places: dict[str, str] = {}
    for name in names:
        if is_logical(name, counts):
            spec = DeviceSpec.parse(name)
            tasks = tasks_of(spec.job, [device.spec for device in devices])
            if tasks:  # else nothing fits, and the placement says so
                task = tasks[shares(counts[spec.job], len(tasks))[spec.replica or 0]]
                places[name] = str(DeviceSpec(task.job, task.replica, task.task, spec.kind, spec.index))
    return {
        name: node if (place := places.get(node.device)) is None else replace(node, device=place)
        for name, node in nodes.items()
    }
