"""Inference of ONNX files beside onnxruntime: ten architectures that PyTorch has exported, at batch 1 and 8, on two cores.

`BENCH_ONNX_MODELS` names the folder that `tests/exchange/onnx/torch_models.py` has written: models, with inputs and
answers for both batches. Each side runs the same file, in processes of their own that take turns. Our steps are awaited in a
running event loop.

    python -m benchmarks.exchange.onnx_models FOLDER [NAME...] --cpu --threads 1

shows figures without storing them, of both sides in one process, round by round in turns. A turn begins when
the threads of the other side are asleep: onnxruntime's look for work in a loop for some 40 ms after a call, and would hold a core
meanwhile. With `--cpu` times are those of the process's threads, which other programs hardly disturb.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine import node_times
from benchmarks.harness.definitions import Case, Suite, Work
from benchmarks.harness.sides import our_library

FOLDER = "BENCH_ONNX_MODELS"
MODELS = {
    "resnet": "ResNet",
    "mobilenet": "MobileNet",
    "yolo": "a detector like YOLO",
    "vit": "vision transformer",
    "bert": "BERT",
    "distilbert": "DistilBERT",
    "gpt2": "GPT-2",
    "llama": "Llama",
    "t5": "T5",
    "whisper": "Whisper",
}
BATCHES = {1: "", 8: "_8"}
"""The suffix of a batch's arrays in the file beside a model."""
CORES = 2
ROUNDS, SECONDS = 15, 0.05
LOOKS, IDLE = 0.01, 0.1
"""Seconds between two looks at the process's CPU time, and the part of them that an idle process takes at most."""
Clock = Callable[[], float]


def missing() -> str:
    """A sentence where the models are not there; else nothing."""
    folder = os.environ.get(FOLDER, "")
    absent = [name for name in MODELS if not (Path(folder) / f"{name}.onnx").exists()] if folder else []
    if folder and not absent:
        return ""
    what = f"there is no {absent[0]}.onnx in {folder}" if absent else f"{FOLDER} names no folder with models"
    return f"{what}. `python tests/exchange/onnx/torch_models.py FOLDER` writes them, with PyTorch and transformers."


# ---- sides


def given(path: Path, batch: int) -> list[Any]:
    """The inputs for a batch."""
    stored = np.load(path.with_suffix(".npz"))
    names = (f"in{at}{BATCHES[batch]}" for at in itertools.count())
    return [stored[name] for name in itertools.takewhile(lambda name: name in stored.files, names)]


def loaded(path: Path, batch: int, af: Any) -> Work:
    """The model as a graph for this batch."""
    arrays = given(path, batch)
    proto, _ = importlib.import_module("actorflow.exchange.onnx.model").read(path)
    weights = {tensor.name for tensor in proto.graph.initializer}
    names = [port.name for port in proto.graph.input if port.name not in weights]
    with af.Graph().as_default() as graph:
        model = af.onnx.load(path, shapes={name: value.shape for name, value in zip(names, arrays, strict=True)})
    inputs = [model.inputs[name] for name in names]
    return Work(graph, list(model.outputs.values()), inputs, [tuple(arrays), tuple(map(np.copy, arrays))])


def session(path: Path, threads: int, profile: str = "") -> Any:
    """onnxruntime's session."""
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@contextmanager
def opened(path: Path, batch: int) -> Iterator[Any]:
    """onnxruntime's side of a case."""
    from benchmarks.harness.suite_worker import Opened

    run = session(path, len(os.sched_getaffinity(0)))
    names = [port.name for port in run.get_inputs()]
    arrays = given(path, batch)
    feeds = itertools.cycle([dict(zip(names, some, strict=True)) for some in (arrays, [*map(np.copy, arrays)])])
    yield Opened(run.run(None, next(feeds)), lambda: run.run(None, next(feeds)), lambda: profiled(path, next(feeds)))


def profiled(path: Path, feeds: Any) -> node_times.Times:
    """The times of onnxruntime's kernels, of which each is told in whole microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        run = session(path, len(os.sched_getaffinity(0)), f"{folder}/profile")
        for _ in range(2 * node_times.RUNS):
            run.run(None, feeds)
        events = json.loads(Path(run.end_profiling()).read_text())
    kernels = [
        (event["args"]["op_name"], float(event["dur"]))
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")
    ]
    count = len(kernels) // (2 * node_times.RUNS)
    return node_times.by_op([kernels[at : at + count] for at in range(count * node_times.RUNS, len(kernels), count)])


# ---- the family


def _case(name: str, batch: int) -> Case:
    def path() -> Path:
        return Path(os.environ.get(FOLDER, "")) / f"{name}.onnx"

    return Case(
        f"{name}_{batch}",
        f"{MODELS[name]}, batch {batch}",
        build=lambda af: loaded(path(), batch, af),
        peer=lambda: opened(path(), batch),
    )


BENCHMARKS = tuple(
    Suite(
        f"batch_{batch}",
        tuple(_case(name, batch) for name in MODELS),
        cores=CORES,
        summary=True,
        processes=3,
        nodes=True,
    )
    for batch in BATCHES
)


# ---- both sides in one process


async def compared(path: Path, batch: int, rounds: int, threads: int, clock: Clock) -> tuple[float, float]:
    """The median seconds of a call, ours and onnxruntime's."""
    af = our_library()
    work = loaded(path, batch, af)
    wanted = np.load(path.with_suffix(".npz"))[f"out0{BATCHES[batch]}"]
    theirs = session(path, threads)
    arrays = work.batches[0]
    named = {port.name: value for port, value in zip(theirs.get_inputs(), arrays, strict=True)}
    async with af.Session(graph=work.graph) as ours_session:
        call = await ours_session.make_callable(work.fetches, list(work.placeholders))

        async def ours(times: int) -> float:
            begun = clock()
            for _ in range(times):
                await call(*arrays)
            return (clock() - begun) / times

        async def peer(times: int) -> float:
            begun = clock()
            for _ in range(times):
                theirs.run(None, named)
            return (clock() - begun) / times

        for found in ((await call(*arrays))[0], theirs.run(None, named)[0]):
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
        for batch in BATCHES:
            ours, theirs = asyncio.run(compared(path, batch, rounds, threads, clock))
            ratios[batch].append(ours / theirs)
            both = f"{1e3 * ours:8.2f} ms, onnxruntime {1e3 * theirs:8.2f} ms"
            print(f"{path.stem:12} batch {batch}: {both}, {ours / theirs:6.2f}", flush=True)
    for batch, found in ratios.items():
        if found:
            print(f"batch {batch}: geometric mean {statistics.geometric_mean(found):.2f}, largest {max(found):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compares the inference of ONNX files with onnxruntime's.")
    parser.add_argument("folder", type=Path, help="what tests/exchange/onnx/torch_models.py has written")
    parser.add_argument("names", nargs="*", help="the models; all unless given")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of both sides ({ROUNDS})")
    parser.add_argument("--threads", type=int, default=CORES, help=f"of each side ({CORES})")
    parser.add_argument("--cpu", action="store_true", help="the time of processors instead of the clock's")
    options = parser.parse_args()
    main(
        options.folder,
        options.names,
        options.rounds,
        options.threads,
        time.process_time if options.cpu else time.perf_counter,
    )
