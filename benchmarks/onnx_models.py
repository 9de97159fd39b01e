"""Inference of ONNX files, ours beside onnxruntime: `python -m benchmarks.onnx_models FOLDER [NAME...]`.

The folder is what `tests/support/torch_models.py` writes: models with inputs and answers for batches of one and eight. Both
sides are in one process and take turns, round by round, so that a busy machine slows both. A turn begins when the threads of
the other side are asleep: onnxruntime's look for work in a loop for some 40 ms after a call, and would hold a core meanwhile.
Our steps are awaited in a running event loop, as services do. The table has the medians, their ratio, and at its end the
geometric mean and the largest of the ratios, for each batch. With `--cpu` times are those of the process's threads, which
other programs hardly disturb; `--threads` is for both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import math
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af

ROUNDS, SECONDS = 15, 0.05
LOOKS, IDLE = 0.01, 0.1
"""Seconds between two looks at the process's CPU time, and the part of them that an idle process takes at most."""
THREADS = 2
BATCHES = {1: "", 8: "_8"}
Clock = Callable[[], float]


async def compared(
    path: Path, given: list[Any], wanted: Any, rounds: int, threads: int, clock: Clock
) -> tuple[float, float]:
    """The median seconds of a call, ours and onnxruntime's."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    theirs = runtime.InferenceSession(str(path), options)
    named = {port.name: value for port, value in zip(theirs.get_inputs(), given)}
    with af.Graph().as_default() as graph:
        model = af.onnx.load(path, shapes={name: value.shape for name, value in named.items()})
    async with af.Session(graph=graph) as session:
        call = await session.make_callable(list(model.outputs.values()), [model.inputs[name] for name in named])

        async def ours(times: int) -> float:
            begun = clock()
            for _ in range(times):
                await call(*given)
            return (clock() - begun) / times

        async def peer(times: int) -> float:
            begun = clock()
            for _ in range(times):
                theirs.run(None, named)
            return (clock() - begun) / times

        for found in ((await call(*given))[0], theirs.run(None, named)[0]):
            assert np.abs(np.asarray(found) - wanted).max() <= 1e-4 * max(1.0, np.abs(wanted).max()), path
        sides: tuple[Callable[[int], Awaitable[float]], ...] = (ours, peer)
        counts = [max(1, int(SECONDS / await side(3))) for side in sides]
        times: list[list[float]] = [[], []]
        for number in range(rounds):
            for at in (0, 1) if number % 2 else (1, 0):
                await idle()
                times[at].append(await sides[at](counts[at]))
    return statistics.median(times[0]), statistics.median(times[1])


async def idle() -> None:
    """Returns when no thread of the process looks for work any more."""
    spent = LOOKS
    while spent > IDLE * LOOKS:
        begun = time.process_time()
        await asyncio.sleep(LOOKS)
        spent = time.process_time() - begun


def main(folder: Path, names: Sequence[str], rounds: int, threads: int, clock: Clock) -> None:
    os.environ["ACTORFLOW_THREADS"] = str(threads)
    ratios: dict[int, list[float]] = {batch: [] for batch in BATCHES}
    for path in sorted(folder.glob("*.onnx")):
        if names and path.stem not in names:
            continue
        stored = np.load(path.with_suffix(".npz"))
        for batch, suffix in BATCHES.items():
            given = [stored[f"in{at}{suffix}"] for at in range(2) if f"in{at}{suffix}" in stored.files]
            ours, theirs = asyncio.run(compared(path, given, stored[f"out0{suffix}"], rounds, threads, clock))
            ratios[batch].append(ours / theirs)
            both = f"{1e3 * ours:8.2f} ms, onnxruntime {1e3 * theirs:8.2f} ms"
            print(f"{path.stem:12} batch {batch}: {both}, {ours / theirs:6.2f}", flush=True)
    for batch, found in ratios.items():
        if found:
            mean = math.prod(found) ** (1 / len(found))
            print(f"batch {batch}: geometric mean {mean:.2f}, largest {max(found):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compares the inference of ONNX files with onnxruntime's.")
    parser.add_argument("folder", type=Path, help="what tests/support/torch_models.py has written")
    parser.add_argument("names", nargs="*", help="the models; all unless given")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of both sides ({ROUNDS})")
    parser.add_argument("--threads", type=int, default=THREADS, help=f"of each side ({THREADS})")
    parser.add_argument("--cpu", action="store_true", help="the time of processors instead of the clock's")
    given = parser.parse_args()
    main(given.folder, given.names, given.rounds, given.threads, time.process_time if given.cpu else time.perf_counter)
