"""Saving and restoring half a gigabyte of variables, and training that goes on beside a save.

Our save ends when all is on the disk; the peer's when the system has taken its bytes. So that the one's bytes don't wait in the
other's queue, each call begins with an empty one. Both keep one checkpoint and remove the one before. The restored
files were written a moment ago, so they are read from the system's memory.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.graph import graphs
from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.environment import ROOT
from benchmarks.harness.sides import our_library, peer_library

VARIABLES = 50
ELEMENTS = 2_500_000
"""Of each variable, of four bytes: 500 MB in all."""
QUICK_ELEMENTS = 500_000
ROUNDS = 5
QUICK_ROUNDS = 3
FOLDER = "ACTORFLOW_BENCH_FOLDER"


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder on a disk: temporary ones may be in memory."""
    return tempfile.TemporaryDirectory(prefix=".checkpoints-", dir=os.environ.get(FOLDER, ROOT))


def _elements(options: Options) -> int:
    return QUICK_ELEMENTS if options.quick else ELEMENTS


def _rounds(options: Options) -> int:
    return QUICK_ROUNDS if options.quick else ROUNDS


def _variables(library: Any, elements: int) -> list[Any]:
    """Variables of numbers that no compression or hole in a file makes smaller."""
    uniform = library.random_uniform
    return [
        library.get_variable(f"v{i}", initializer=uniform([elements], seed=i), use_resource=True)
        for i in range(VARIABLES)
    ]


class Times:
    """Times of calls in ms, the first of which does not count: it plans."""

    def __init__(self) -> None:
        self._found: list[float] = []

    def __enter__(self) -> None:
        os.sync()
        self._begin = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        self._found.append(1e3 * (time.perf_counter() - self._begin))

    @property
    def median(self) -> float:
        return statistics.median(self._found[1:])


async def ours(options: Options) -> Mapping[str, float]:
    """Our saver, with flushes."""
    af = our_library()
    with af.Graph().as_default() as graph, _folder() as folder:
        variables = _variables(af, _elements(options))
        saver, init = af.train.Saver(max_to_keep=1), af.global_variables_initializer()
        ends = af.stack([v[-1] for v in variables])
        saves, restores = Times(), Times()
        async with af.Session(graph=graph) as session:
            await session.run(init)
            before = await session.run(ends)
            for number in range(_rounds(options) + 1):
                with saves:
                    path = await saver.save(session, f"{folder}/model", global_step=number, write_meta_graph=False)
                with restores:
                    await saver.restore(session, path)
            _check(before, await session.run(ends))
    return {"save_ms": saves.median, "restore_ms": restores.median}


def peer(options: Options) -> Mapping[str, float]:
    """The peer's saver, as it comes."""
    tf = peer_library()
    with tf.Graph().as_default() as graph, _folder() as folder:
        variables = _variables(tf, _elements(options))
        saver, init = tf.train.Saver(max_to_keep=1), tf.global_variables_initializer()
        ends = tf.stack([v[-1] for v in variables])
        saves, restores = Times(), Times()
        with tf.Session(graph=graph) as session:
            session.run(init)
            before = session.run(ends)
            for number in range(_rounds(options) + 1):
                with saves:
                    path = saver.save(session, f"{folder}/model", global_step=number, write_meta_graph=False)
                with restores:
                    saver.restore(session, path)
            _check(before, session.run(ends))
    return {"save_ms": saves.median, "restore_ms": restores.median}


def _check(before: Any, after: Any) -> None:
    if list(before) != list(after):
        raise ValueError("What was restored is not what was saved.")


async def training(options: Options) -> Mapping[str, float]:
    """Steps of a small model, whose variables are saved with the large ones: how much of the time of a save they lose."""
    import anyio

    af = our_library()
    work = graphs.digits(af)
    with work.graph.as_default(), _folder() as folder:
        variables = _variables(af, _elements(options))
        saver, init = af.train.Saver(max_to_keep=1), af.global_variables_initializer()
        every = af.group(*[v.assign_add(af.ones([_elements(options)]), read_value=False) for v in variables])
        async with af.Session(graph=work.graph) as session:
            await session.run(init)
            feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
            number = 0

            async def share(fetches: Any, feeds: Any) -> tuple[float, float]:
                """The part of a save's time that steps lose by it, and the longest step beside it in ms."""
                nonlocal number
                number += 1
                alone = await _pace(lambda: session.run(fetches, feeds), 1.0)
                os.sync()
                done = anyio.Event()
                times: list[float] = []

                async def train() -> None:
                    while not done.is_set():
                        begin = time.perf_counter()
                        await session.run(fetches, feeds)
                        times.append(time.perf_counter() - begin)

                async with anyio.create_task_group() as group:
                    group.start_soon(train)
                    await anyio.lowlevel.checkpoint()
                    begin, first = time.perf_counter(), len(times)
                    await saver.save(session, f"{folder}/model", global_step=number, write_meta_graph=False)
                    seconds, steps = time.perf_counter() - begin, len(times) - first
                    done.set()
                return 1 - steps * alone / seconds, 1e3 * max(times[first:], default=seconds)

            small = [await share(work.fetches, feeds) for _ in range(_rounds(options) + 1)][1:]
            large = [await share(every, None) for _ in range(_rounds(options) + 1)][1:]
    return {
        "held_up": 100 * statistics.median(part for part, _ in small),
        "longest_step_ms": statistics.median(longest for _, longest in small),
        "held_up_all": 100 * statistics.median(part for part, _ in large),
    }


async def _pace(call: Any, seconds: float) -> float:
    """The time of one call, in seconds, when nothing else goes on."""
    count, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds or not count:
        await call()
        count += 1
    return (now - begin) / count


_SIZE = "500 MB in 50 variables (`--quick`: 100 MB)"

BENCHMARKS = (
    Measurement(
        "saver",
        ours=ours,
        peer=peer,
        processes=5,
        figures=(
            Figure("save_ms", f"saving {_SIZE}; ours flushed to the disk", "ms"),
            Figure("restore_ms", f"restoring {_SIZE}", "ms"),
        ),
    ),
    Measurement(
        "training",
        ours=training,
        processes=3,
        figures=(
            Figure("held_up", f"saving {_SIZE}: part of its time that training steps of 64-64-10 lose", "%"),
            Figure("longest_step_ms", "the longest of these steps", "ms"),
            Figure("held_up_all", "the same of steps that change all of the 500 MB", "%"),
        ),
    ),
)
