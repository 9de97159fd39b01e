"""Several steps in flight at once fill the time in which one of them waits (white paper section 7).

A step waits 5 ms in a kernel: on our side an asynchronous one, which holds no thread; on the peer's a Python function
that sleeps in a thread of its pool. The speed-up is how much faster steps get done at once than one after the other.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.sides import our_library, peer_library

if TYPE_CHECKING:
    from actorflow.graph.tensor import Tensor, TensorLike

SECONDS = 0.005
STEPS = 48
IN_FLIGHT = (3, 16)


@functools.cache
def waiting_op() -> Any:
    """Registers an op and its kernel, as a package of a user's does."""
    import anyio

    import actorflow as af
    from actorflow.graph.ops.shape_rules import unchanged

    @af.op("BenchmarkWait", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
    def wait(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
        """`x`, after a wait of `seconds`."""

    @af.kernel("BenchmarkWait")
    async def _(xp: Any, x: Any, *, seconds: float) -> Any:
        await anyio.sleep(seconds)
        return x

    return wait


def _figures(seconds: Mapping[int, float]) -> dict[str, float]:
    serial = seconds[1]
    figures = {"serial_steps_per_s": STEPS / serial}
    for flying in IN_FLIGHT:
        figures[f"speedup_{flying}"] = serial / seconds[flying]
    return figures


async def _ours(options: Options) -> Mapping[str, float]:
    import anyio

    af = our_library()
    wait = waiting_op()
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        y = wait(x, seconds=SECONDS) + 1.0
    seconds: dict[int, float] = {}
    async with af.Session(graph=graph) as session:

        async def steps(count: int) -> None:
            for i in range(count):
                await session.run(y, {x: float(i)})

        await steps(2)
        for flying in (1, *IN_FLIGHT):
            start = time.perf_counter()
            async with anyio.create_task_group() as group:
                for _ in range(flying):
                    group.start_soon(steps, STEPS // flying)
            seconds[flying] = time.perf_counter() - start
    return _figures(seconds)


def _peer(options: Options) -> Mapping[str, float]:
    tf: Any = peer_library()

    def wait(value: Any) -> Any:
        time.sleep(SECONDS)
        return value

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.py_func(wait, [x], tf.float32) + 1.0
    seconds: dict[int, float] = {}
    with tf.Session(graph=graph) as session:

        def steps(count: int) -> None:
            for i in range(count):
                session.run(y, {x: float(i)})

        steps(2)
        for flying in (1, *IN_FLIGHT):
            with ThreadPoolExecutor(flying) as pool:
                start = time.perf_counter()
                for future in [pool.submit(steps, STEPS // flying) for _ in range(flying)]:
                    future.result()
                seconds[flying] = time.perf_counter() - start
    return _figures(seconds)


BENCHMARKS = (
    Measurement(
        "waiting",
        ours=_ours,
        peer=_peer,
        figures=(
            Figure("serial_steps_per_s", "steps that wait 5 ms, one after the other", "1/s"),
            *(Figure(f"speedup_{n}", f"{n} of them at once: throughput by serial throughput", "×") for n in IN_FLIGHT),
        ),
    ),
)
