"""The program that chaos disturbs: a ledger of integers in which a step that is lost, or there twice, can't hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import actorflow as af
from chaos.hog_ops import hog

PS, CHIEF, OTHER = TASKS = ("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")
JOBS = {"ps": 1, "worker": 2}
MIB = 1 << 20


@dataclass(frozen=True)
class Program:
    """`train` makes step `x`: it adds 2x + 1 to the ledger, and 1 to the step count and to all of a large variable. It gives
    the count, the ledger, and the large variable's least and greatest element; see `check`. `waits` are what waits at an
    empty queue on each task, `hogs` what holds its interpreter for as long as is fed."""

    graph: af.Graph
    x: af.Tensor
    seconds: af.Tensor
    train: Any
    waits: dict[str, Any]
    hogs: dict[str, Any]


def program(mib: int) -> Program:
    """All variables are on the server, `mib` MiB in all. Each step takes a message from one worker to it."""
    graph = af.Graph()
    with graph.as_default():
        x, seconds = af.placeholder(af.int64, [], name="x"), af.placeholder(af.float64, [], name="seconds")
        with af.device(PS):
            step = af.train.get_or_create_global_step()
            ledger = af.get_variable("ledger", [], af.int64, initializer=af.zeros_initializer())
            large = af.get_variable("large", [MIB], af.float32, initializer=af.zeros_initializer())  # 4 MiB
            for number in range(mib // 4 - 1):
                af.get_variable(f"more{number}", initializer=af.random_uniform([MIB], seed=number))
        with af.device(OTHER):
            entry = 2 * x + 1
        with af.device(PS):
            changed = [step.assign_add(1), ledger.assign_add(entry), large.assign_add(af.ones([MIB]))]
            train = [changed[0], changed[1], af.reduce_min(changed[2]), af.reduce_max(changed[2])]
        waits, hogs = {}, {}
        for task in TASKS:
            with af.device(task):
                waits[task] = af.FIFOQueue(1, [af.float32], [[]]).dequeue()
                hogs[task] = hog(seconds)
    return Program(graph, x, seconds, train, waits, hogs)


def check(found: Any, step: int) -> None:
    """Whether what `train` gave at step number `step` is what that many steps make, each done once."""
    count, ledger, least, most = (float(np.asarray(value)) for value in found)
    expected = step + 1
    assert (count, ledger, least, most) == (expected, expected**2, expected, expected), (
        f"after step {step} there are {count:.0f} steps, the ledger is {ledger:.0f} and not {expected**2}, "
        f"and the large variable is from {least} to {most}"
    )
