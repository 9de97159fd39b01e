"""Inference of ONNX files, ours beside onnxruntime on two threads: `python -m benchmarks.onnx_models FOLDER`.

The folder is what `tests/support/torch_models.py` writes: models with inputs and answers for batches of one and eight. Both
sides are in one process and take turns, round by round, so that a busy machine slows both. The table has the medians, their
ratio, and at its end the geometric mean of the ratios.
"""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af
from actorflow.blocking import Session

ROUNDS, SECONDS = 15, 0.05
THREADS = 2


def seconds_of(call: Callable[[], Any], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begun) / times


def compared(path: Path, given: list[Any], wanted: Any, rounds: int) -> tuple[float, float]:
    """The median seconds of a call, ours and onnxruntime's."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = THREADS
    theirs = runtime.InferenceSession(str(path), options)
    named = {port.name: value for port, value in zip(theirs.get_inputs(), given)}
    with af.Graph().as_default() as graph:
        model = af.onnx.load(path, shapes={name: value.shape for name, value in named.items()})
    with Session(graph=graph) as session:
        call = session.make_callable(list(model.outputs.values()), [model.inputs[name] for name in named])
        sides: tuple[Callable[[], Any], ...] = (lambda: call(*given), lambda: theirs.run(None, named))
        counts = []
        for side in sides:
            found = np.asarray(side()[0])
            assert np.abs(found - wanted).max() <= 1e-4 * max(1.0, np.abs(wanted).max()), path
            counts.append(max(1, int(SECONDS / seconds_of(side, 3))))
        times: list[list[float]] = [[], []]
        for number in range(rounds):
            for at in (0, 1) if number % 2 else (1, 0):
                times[at].append(seconds_of(sides[at], counts[at]))
    return statistics.median(times[0]), statistics.median(times[1])


def main(folder: Path, rounds: int) -> None:
    ratios = []
    for path in sorted(folder.glob("*.onnx")):
        stored = np.load(path.with_suffix(".npz"))
        for batch, suffix in ((1, ""), (8, "_8")):
            given = [stored[f"in{at}{suffix}"] for at in range(2) if f"in{at}{suffix}" in stored.files]
            ours, theirs = compared(path, given, stored[f"out0{suffix}"], rounds)
            ratios.append(ours / theirs)
            print(
                f"{path.stem:12} batch {batch}: {1e3 * ours:8.2f} ms, onnxruntime {1e3 * theirs:8.2f} ms, {ratios[-1]:6.2f}"
            )
    if ratios:
        print(f"geometric mean {math.prod(ratios) ** (1 / len(ratios)):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compares the inference of ONNX files with onnxruntime's.")
    parser.add_argument("folder", type=Path, help="what tests/support/torch_models.py has written")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of both sides ({ROUNDS})")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.rounds)
