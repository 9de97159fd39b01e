"""Figures of the GPU device, beside the same calls written by hand in CuPy: `make bench-gpu`.

Each pair runs in turns, in one process, after both have been warmed up. A figure is the median of rounds; the ratio is that of
medians. Nothing is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import numpy as np

import actorflow as af

Run = Callable[[], Awaitable[Any]]


async def paired(ours: Run, theirs: Run, rounds: int) -> tuple[float, float]:
    """The median seconds of each, taken in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 3):
        for which, run in enumerate((ours, theirs)):
            begun = time.perf_counter()
            await run()
            if number >= 3:
                times[which].append(time.perf_counter() - begun)
    return statistics.median(times[0]), statistics.median(times[1])


def model(batch: int) -> tuple[af.Graph, Any, Any, Any, list[Any]]:
    """An MLP 784-4096-4096-10 and a step of gradient descent."""
    rng = np.random.default_rng(0)
    sizes = (784, 4096, 4096, 10)
    weights = [(rng.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for s in pairwise(sizes)]
    graph = af.Graph()
    with graph.as_default(), af.device("/gpu:0"):
        x, labels = af.placeholder(af.float32, [batch, 784]), af.placeholder(af.int32, [batch])
        y = x
        for number, start in enumerate(weights):
            y = af.matmul(y, af.Variable(start))
            y = af.nn.relu(y) if number < 2 else y
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y))
        train = af.train.GradientDescentOptimizer(0.01).minimize(loss)
        af.global_variables_initializer()
    return graph, x, labels, (loss, train), weights


def by_hand(cupy: Any, weights: list[Any], x: Any, labels: Any) -> Callable[[], Any]:
    """The same step in CuPy."""
    w = [cupy.asarray(start) for start in weights]

    def step() -> Any:
        a, b = cupy.asarray(x), cupy.asarray(labels)
        h1 = cupy.maximum(a @ w[0], 0)
        h2 = cupy.maximum(h1 @ w[1], 0)
        logits = h2 @ w[2]
        shifted = logits - logits.max(1, keepdims=True)
        powers = cupy.exp(shifted)
        total = powers.sum(1, keepdims=True)
        rows = cupy.arange(len(b))
        loss = (cupy.log(total[:, 0]) - shifted[rows, b]).mean()
        slope = powers / total
        slope[rows, b] -= 1
        slope /= np.float32(len(b))
        d2 = (slope @ w[2].T) * (h2 > 0)
        d1 = (d2 @ w[1].T) * (h1 > 0)
        for weight, below, above in ((w[2], h2, slope), (w[1], h1, d2), (w[0], a, d1)):
            weight -= (below.T @ above) * np.float32(0.01)
        return loss.get()

    return step


async def training(cupy: Any, rounds: int) -> dict[str, float]:
    batch = 1024
    graph, x, labels, fetches, weights = model(batch)
    rng = np.random.default_rng(1)
    images = rng.normal(size=(batch, 784)).astype(np.float32)
    classes = rng.integers(0, 10, batch).astype(np.int32)
    hand = by_hand(cupy, weights, images, classes)
    async with af.Session(graph=graph, devices={"GPU": 1, "CPU": 1}) as session:
        await session.run("init")

        async def ours() -> Any:
            return await session.run(fetches, {x: images, labels: classes})

        async def theirs() -> Any:
            return hand()

        mine, other = await paired(ours, theirs, rounds)
    return {"ms": mine * 1e3, "by hand, ms": other * 1e3, "ratio": mine / other}


async def chained(cupy: Any, rounds: int, **options: Any) -> tuple[float, float]:
    """The seconds of a chain of 200 small kernels, of which a fetch takes the sum, and of CuPy's calls one by one."""
    graph = af.Graph()
    with graph.as_default(), af.device("/gpu:0"):
        x = af.placeholder(af.float32, [128, 128])
        y = x
        for i in range(100):
            y = af.tanh(y) + np.float32(i)
        total = af.reduce_sum(y)
    value = np.ones((128, 128), np.float32)
    async with af.Session(graph=graph, devices={"GPU": 1, "CPU": 1}, options=af.PlanOptions(**options)) as session:

        async def ours() -> Any:
            return await session.run(total, {x: value})

        async def theirs() -> Any:
            z = cupy.asarray(value)
            for i in range(100):
                z = cupy.tanh(z) + np.float32(i)
            return z.sum().get()

        return await paired(ours, theirs, rounds)


async def launches(cupy: Any, rounds: int) -> dict[str, float]:
    """A chain of 200 small kernels, of which a fetch takes the sum."""
    mine, other = await chained(cupy, rounds)
    return {"us a kernel": mine * 1e6 / 201, "by hand, us": other * 1e6 / 201, "ratio": mine / other}


async def coalesced(cupy: Any, rounds: int) -> dict[str, float]:
    """The time until all is launched, of a chain of 200 small elementwise nodes: as one region whose groups are one kernel
    each, beside CuPy's calls one by one; and that region without groups."""
    found: dict[str, float] = {}
    for name, jit in (("grouped", True), ("one by one", False)):
        mine, other = await chained(cupy, rounds, jit=jit)
        found |= {f"{name}, us": mine * 1e6, f"{name}: by hand, us": other * 1e6, f"{name}: ratio": mine / other}
    return found


async def captured(cupy: Any, rounds: int) -> dict[str, float]:
    """A step of 60 sums over rows and columns with elementwise nodes between, recorded and replayed, beside the bare graph of the
    same calls, its feed and its fetch."""
    from actorflow.devices.cuda.device import CudaDevice

    graph = af.Graph()
    with graph.as_default(), af.device("/gpu:0"):
        x = af.placeholder(af.float32, [256, 256])
        y = x
        for i in range(60):
            y = af.tanh(y - af.reduce_mean(y, i % 2, keepdims=True)) + x
        total = af.reduce_sum(y)
    value = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)

    def calls(z: Any) -> Any:
        w = z
        for i in range(60):
            w = cupy.tanh(w - w.mean(i % 2, keepdims=True)) + z
        return w.sum()

    with stream:
        place = cupy.asarray(value)
        calls(place)  # compiles
        kept = cupy.cuda.MemoryPool()  # the graph's own: it knows addresses, and keeps none
        with cupy.cuda.using_allocator(kept.malloc):
            stream.begin_capture()
            result = calls(place)
            replay = stream.end_capture()
    gpu = CudaDevice("/job:localhost/replica:0/task:0/device:GPU:0", capture=True)
    plain = CudaDevice("/job:localhost/replica:0/task:0/device:GPU:0")
    found: dict[str, float] = {}
    for name, device in (("replayed", gpu), ("launched", plain)):
        async with af.Session(graph=graph, devices=[device]) as session:

            async def ours(session: af.Session = session) -> Any:
                return await session.run(total, {x: value})

            async def theirs() -> Any:
                with stream:
                    place.set(value)
                    replay.launch()
                    return result.get()

            mine, other = await paired(ours, theirs, rounds)
            if device is gpu:
                assert gpu.statistics().replays, gpu.statistics().not_recorded
        found |= {f"{name}, us": mine * 1e6, "bare graph, us": other * 1e6, f"{name}: ratio": mine / other}
    return found


async def updates(cupy: Any, rounds: int) -> dict[str, float]:
    """Adam's update of 16 million weights, in one kernel, beside CuPy's calls one by one."""
    size = 1 << 24
    graph = af.Graph()
    with graph.as_default(), af.device("/gpu:0"):
        w = af.Variable(np.zeros(size, np.float32))
        step = af.train.AdamOptimizer(0.001).apply_gradients([(af.ones([size]) * 0.5, w)])
        af.global_variables_initializer()
    v, m, s = (cupy.zeros(size, np.float32) for _ in range(3))
    grad = cupy.full(size, 0.5, np.float32)
    one = np.float32(1)
    async with af.Session(graph=graph, devices={"GPU": 1, "CPU": 1}) as session:
        await session.run("init")

        async def ours() -> Any:
            return await session.run(step)

        async def theirs() -> Any:
            nonlocal m, s, v
            m += (grad - m) * np.float32(0.1)
            s += (grad * grad - s) * np.float32(0.001)
            v -= m / (cupy.sqrt(s) + np.float32(1e-8)) * (np.float32(0.001) * one)
            cupy.cuda.get_current_stream().synchronize()

        mine, other = await paired(ours, theirs, rounds)
    return {"ms": mine * 1e3, "by hand, ms": other * 1e3, "ratio": mine / other}


async def copies(cupy: Any, rounds: int) -> dict[str, float]:
    """Gigabytes a second to the host, beside a bare copy into pinned memory."""
    from actorflow.devices.cuda.device import CudaDevice

    size = 256 << 20
    gpu = CudaDevice("/job:localhost/replica:0/task:0/device:GPU:0")
    x = gpu.bring(np.zeros(size, np.uint8))
    loop = asyncio.get_running_loop()
    memory = cupy.cuda.alloc_pinned_memory(size)
    target = np.frombuffer(memory, np.uint8, size)
    stream = cupy.cuda.Stream(non_blocking=True)

    async def ours() -> Any:
        came = loop.create_future()
        gpu.take(x, lambda value, error: came.set_result(value))
        return await came

    async def theirs() -> Any:
        x.get(stream=stream, out=target)
        stream.synchronize()

    mine, other = await paired(ours, theirs, rounds)
    gpu.close()
    return {"GB/s": size / mine / 1e9, "bare, GB/s": size / other / 1e9, "ratio": other / mine}


async def passing(cupy: Any, rounds: int) -> dict[str, float]:
    """256 MB from the GPU of one process to that of another: by CUDA's handles, beside TCP and the host."""
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:worker/task:0/gpu:0"):
            x = af.fill([1 << 26], af.placeholder_with_default(np.float32(1), []))
        with af.device("/job:worker/task:1/gpu:0"):
            total = af.reduce_sum(x[::4096])
    devices = {"CPU": 1, "GPU": 1}
    async with (
        af.LocalCluster({"worker": 2}, transport="shm", devices=devices) as near,
        af.LocalCluster({"worker": 2}, transport="zmq", devices=devices) as far,
        af.Session(near.target, graph=graph) as ours,
        af.Session(far.target, graph=graph) as theirs,
    ):
        mine, other = await paired(lambda: ours.run(total), lambda: theirs.run(total), rounds)
    return {"ms": mine * 1e3, "by the host, ms": other * 1e3, "ratio": mine / other}


async def everything(rounds: int) -> dict[str, Any]:
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found: dict[str, Any] = {
        "gpu": properties["name"].decode(),
        "cuda": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }
    measures = (launches, coalesced, captured, updates, training, copies, passing)
    names = ("launches", "coalesced", "captured", "adam", "mlp", "copies", "between processes")
    for name, measure in zip(names, measures):
        found[name] = await measure(cupy, rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices.gpu", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    print(json.dumps(asyncio.run(everything(parser.parse_args().rounds)), indent=2))


if __name__ == "__main__":
    main()
