"""A chief that trains under a supervisor, and may be killed in the midst of a step.

Called as `supervised_chief.py TARGET FOLDER KILL_AT`; prints the epoch, each step, and at the end all state in hexadecimal.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af

PS, CHIEF, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@dataclass(frozen=True)
class Program:
    """A model on three tasks. `train` adds what is fed to a ledger, and descends with momentum; `book` is all its state."""

    graph: af.Graph
    x: af.Tensor
    train: Any
    book: Any

    def feeds(self, step: int) -> dict[Any, Any]:
        return {self.x: step}


def program(container: str = "", *, on_cluster: bool = True) -> Program:
    def on(task: str) -> Any:
        return af.device(task if on_cluster else None)

    graph = af.Graph()
    with graph.as_default(), graph.container(container):
        x = af.placeholder(af.int64, [], name="x")
        with on(PS):
            step = af.train.get_or_create_global_step()
            ledger = af.get_variable("ledger", [], af.int64, initializer=af.zeros_initializer())
            w = af.get_variable("w", [4], af.float32, initializer=af.constant_initializer([0.1, -0.2, 0.3, 0.7]))
        with on(OTHER):
            slope = af.sin(w * 3.7 + af.cast(x, af.float32) * 0.13)
            entry = 2 * x + 1
        with on(PS):
            descend = af.train.MomentumOptimizer(0.05, 0.9).apply_gradients([(slope, w)])
            with af.control_dependencies([descend, ledger.assign_add(entry).op]):
                train = step.assign_add(1).op
        book = [ledger, w, graph.get_tensor_by_name("w/Momentum/read:0")]
    return Program(graph, x, train, book)


def bits(book: Any) -> list[str]:
    return [np.asarray(value).tobytes().hex() for value in book]


async def main(target: str, folder: str, kill_at: int) -> None:
    made = program()
    async with af.Supervisor(target, made.graph, checkpoint_dir=folder, save_steps=3, save_beside=False) as supervisor:
        print("> epoch", supervisor.epoch, flush=True)
        async for attempt in supervisor.steps(until=15):
            async with attempt as step:
                print("> step", step, flush=True)
                if kill_at and step == kill_at:
                    os._exit(9)
                await supervisor.run(made.train, made.feeds(step))
        print("> book", *bits(await supervisor.run(made.book)))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
