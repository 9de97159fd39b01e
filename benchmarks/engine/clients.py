"""Sixty-four clients of one session, each of which asks again when it has its answer.

The figure is the time by the number of answers, so a ratio of 0.5 says that twice as many are served. On our side a client is a
task of one event loop, on the peer's a thread.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.harness.definitions import Build, Figure, Measurement, Options
from benchmarks.harness.sides import our_library, peer_library
from benchmarks.models.blocks import model
from benchmarks.models.dense import mlp
from benchmarks.models.vision import resnet, vgg

CLIENTS = 64
MODELS: Mapping[str, tuple[str, Build]] = {
    "policy": ("policy 4-64-64-2, batch 1", model(mlp, training=False, sizes=(4, 64, 64, 2), batch=1)),
    "vgg": ("small VGG, batch 1", model(vgg, training=False, batch=1)),
    "resnet": ("small ResNet, batch 4", model(resnet, training=False, batch=4)),
}
_WARM, _QUICK, _SECONDS = 0.5, 0.5, 2.0


async def _ours(options: Options) -> Mapping[str, float]:
    import anyio

    af = our_library()
    figures = {}
    for name, (_, build) in MODELS.items():
        work = build(af)
        async with af.Session(graph=work.graph) as session:
            await session.run(work.init)
            served = 0

            async def client(number: int, end: float) -> None:
                nonlocal served
                batches = itertools.islice(itertools.cycle(work.batches), number, None)  # noqa: B023
                while time.perf_counter() < end:
                    await session.run(work.fetches, dict(zip(work.placeholders, next(batches), strict=True)))  # noqa: B023
                    served += 1

            for seconds in (_WARM, _QUICK if options.quick else _SECONDS):
                served, begun = 0, time.perf_counter()
                async with anyio.create_task_group() as group:
                    for number in range(CLIENTS):
                        group.start_soon(client, number, begun + seconds)
                figures[name] = 1e6 * (time.perf_counter() - begun) / served
    return figures


def _peer(options: Options) -> Mapping[str, float]:
    tf: Any = peer_library()
    figures = {}
    for name, (_, build) in MODELS.items():
        work = build(tf)
        with tf.Session(graph=work.graph) as session:
            session.run(work.init)
            served = [0] * CLIENTS

            def client(number: int, end: float) -> None:
                batches = itertools.islice(itertools.cycle(work.batches), number, None)  # noqa: B023
                while time.perf_counter() < end:
                    session.run(work.fetches, dict(zip(work.placeholders, next(batches), strict=True)))  # noqa: B023
                    served[number] += 1  # noqa: B023

            for seconds in (_WARM, _QUICK if options.quick else _SECONDS):
                served, begun = [0] * CLIENTS, time.perf_counter()
                threads = [threading.Thread(target=client, args=(i, begun + seconds)) for i in range(CLIENTS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                figures[name] = 1e6 * (time.perf_counter() - begun) / sum(served)
    return figures


BENCHMARKS = (
    Measurement(
        "clients",
        ours=_ours,
        peer=_peer,
        figures=tuple(Figure(name, f"{CLIENTS} clients of a {work}", "µs") for name, (work, _) in MODELS.items()),
    ),
)
