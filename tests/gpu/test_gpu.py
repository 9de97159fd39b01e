"""The GPU device on real GPUs: what the fake of `tests/test_cuda.py` can't show."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from ops import checks, harness

import actorflow as af
from actorflow import blocking, dtypes, errors
from actorflow.device.base import Allocator, Device
from actorflow.registry import kernel, plugins

pytestmark = [pytest.mark.gpu, pytest.mark.real_memory, pytest.mark.timeout(300)]
NAME = "/job:localhost/replica:0/task:0/device:{}:{}"
BYTE = np.dtype(np.uint8)
TYPES = [
    dtypes.as_dtype(name)
    for name in "float16 float32 float64 int8 int16 int32 int64 uint8 complex64 bool".split()  # noqa: SIM905
]


@pytest.fixture
def make() -> Iterator[Callable[..., list[Device]]]:
    """GPUs, then CPUs; closed at the end."""
    made: list[Device] = []

    def several(gpus: int = 1, cpus: int = 1, **options: Any) -> list[Device]:
        found = [plugins.load("devices", "GPU")(NAME.format("GPU", i), **options) for i in range(gpus)]
        found += [plugins.load("devices", "CPU")(NAME.format("CPU", i)) for i in range(cpus)]
        made.extend(found)
        return found

    yield several
    for device in made:
        device.close()


def large(memory: Allocator, times: int = 1) -> tuple[int, ...]:
    return (times * memory.threshold,)


# ---- conformance


def test_f37_counters_budget_and_reuse(make: Callable[..., list[Device]]) -> None:
    unit = 64 * 1024
    memory = make(memory_budget=4 * unit)[0].allocator
    a, b = memory.allocate(large(memory), BYTE), memory.allocate(large(memory, 2), BYTE)
    assert a.data.ptr % 256 == 0 and b.shape == (2 * unit,)
    assert (memory.statistics().live_bytes, memory.statistics().allocations) == (3 * unit, 2)
    with pytest.raises(errors.ResourceExhaustedError, match="memory budget"):
        memory.allocate(large(memory, 2), BYTE)
    views = [b[10:20]]
    address = b.data.ptr
    del b
    assert memory.statistics().live_bytes == 3 * unit, "a view keeps the memory"
    del views
    assert memory.statistics().live_bytes == unit
    again = memory.allocate(large(memory, 2), BYTE)
    assert again.data.ptr == address and memory.statistics().reuses == 1


def test_f37_many_uploads_launches_and_downloads_give_the_right_values(make: Callable[..., list[Device]]) -> None:
    """With blocks reused all the time, and many copies under way."""
    gpu: Any = make()[0]

    async def run() -> None:
        results: list[Any] = []
        over = asyncio.Event()

        def done(value: Any, error: BaseException | None) -> None:
            assert error is None
            results.append(value)
            if len(results) == 200:
                over.set()

        for i in range(200):
            x = gpu.bring(np.full((512, 1024), i, np.float32))
            with gpu.launching("test"):
                y = (x + np.float32(1)) * np.float32(2)
            gpu.take(y, done)
            del x, y
        with anyio.fail_after(60):
            await over.wait()
        for i, value in enumerate(results):
            assert (value == 2 * (i + 1)).all(), i

    asyncio.run(run())


def test_f37_the_loop_is_free_while_a_kernel_runs(make: Callable[..., list[Device]]) -> None:
    """The process takes next to no time of a processor while it waits for the GPU."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [4096, 4096])
        y = x
        for _ in range(60):
            y = af.matmul(y, x) * 1e-3
        total = af.reduce_sum(y)

    async def run() -> tuple[float, float, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0.001)
                turns += 1

        async with af.Session(graph=graph, devices=make()) as session:
            value = np.zeros((4096, 4096), np.float32)
            await session.run(total, {x: value})
            ticking = asyncio.create_task(count())
            begun, used = time.perf_counter(), time.process_time()
            await session.run(total, {x: value})
            elapsed, spent = time.perf_counter() - begun, time.process_time() - used
            ticking.cancel()
            return elapsed, spent, turns

    elapsed, spent, turns = asyncio.run(run())
    assert turns > elapsed * 200, f"the loop turned {turns} times in {elapsed:.3f} s"
    assert spent < elapsed, f"{spent:.3f} s of processor for {elapsed:.3f} s"


# ---- kernels


def cases() -> list[Any]:
    plugins.load_kernels()
    found = []
    for path in sorted((Path(__file__).parent.parent / "ops").glob("rows_*.py")):
        for case in importlib.import_module(f"ops.{path.stem}").CASES:
            names = case.ops.split()
            if names and all(kernel.includes(kernel.devices_of(op), "GPU") for op in names):
                found.append(case)
    return found


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases()])
def test_f38_the_rows_of_the_op_tables_hold(
    case: Any, make: Callable[..., list[Device]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    def run(graph: Any, fetches: Any, feeds: Any, by: str = "session") -> list[Any]:
        on = make(host_elements=0)
        with blocking.Session(graph=graph, devices=on) as session:
            return list(session.run(list(fetches), dict(feeds)))

    monkeypatch.setattr(harness, "run", run)
    for dtype in case.types():
        if dtype in TYPES:
            checks.check_values(case, dtype, seed)


def test_f38_random_numbers_are_the_cpus(make: Callable[..., list[Device]]) -> None:
    graph = af.Graph()
    with graph.as_default():
        exact = [
            af.random_uniform([1000, 77], seed=5),
            af.random_uniform([1000, 77], seed=5, dtype=af.float64),
            af.random_uniform([5000], -3, 90, dtype=af.int32, seed=6),
        ]
        close = [af.random_normal([1000, 77], seed=7), af.random_normal([1000, 77], seed=7, dtype=af.float64)]
    with blocking.Session(graph=graph, devices=make()) as session:
        found = session.run([*exact, *close])
    with blocking.Session(graph=graph) as session:
        wanted = session.run([*exact, *close])
    for x, y in zip(found[:3], wanted[:3]):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(found[3:], wanted[3:]):
        assert np.max(np.abs(x - y) / np.spacing(np.abs(y))) <= 4, "units in the last place"


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer", "AdamOptimizer", "RMSPropOptimizer"])
def test_f121_a_gpu_trains_as_a_cpu_does(make: Callable[..., list[Device]], optimizer: str) -> None:
    graph = af.Graph()
    rng = np.random.default_rng(3)
    with graph.as_default():
        x, labels = af.placeholder(af.float32, [None, 64]), af.placeholder(af.int32, [None])
        hidden = af.nn.relu(af.matmul(x, af.Variable(rng.normal(size=(64, 300)).astype("f") / 8)))
        logits = af.matmul(hidden, af.Variable(rng.normal(size=(300, 10)).astype("f") / 17))
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = getattr(af.train, optimizer)(0.01).minimize(loss)
        af.global_variables_initializer()
    feeds = {x: rng.normal(size=(100, 64)).astype("f"), labels: np.arange(100, dtype=np.int32) % 10}

    def losses(on: list[Device] | None) -> list[Any]:
        with blocking.Session(graph=graph, devices=on) as session:
            session.run("init")
            return [session.run([loss, train], feeds)[0] for _ in range(20)]

    np.testing.assert_allclose(losses(make()), losses(None), rtol=1e-3)


def test_f51_tokens_cross_between_gpus(make: Callable[..., list[Device]]) -> None:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU only")
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 1024])
        y = x
        for i in range(20):
            with af.device(f"/gpu:{i % 2}"):
                y = y + 1.0
    value = np.ones((512, 1024), np.float32)
    with blocking.Session(graph=graph, devices=make(gpus=2)) as session:
        for _ in range(20):
            np.testing.assert_array_equal(session.run(y, {x: value}), value + 20)


# ---- errors


def test_f37_an_illegal_access_ends_the_step_and_leaves_the_process(tmp_path: Path) -> None:
    """In a process of its own, whose GPU is lost afterwards."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import actorflow as af
            from actorflow import blocking, errors
            from actorflow.ops.shape_rules import unchanged

            @af.op("WriteNowhere", shape=unchanged, gradient=None)
            def write_nowhere(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
                '''Writes where nothing is.'''

            @af.kernel("WriteNowhere", device="GPU")
            def kernel(xp, x):
                code = 'extern "C" __global__ void bad(float* p) { p[1ll << 40] = 1.0f; }'
                xp.RawKernel(code, "bad")((1,), (1,), (x,))
                return x

            graph = af.Graph()
            with graph.as_default():
                with af.device("/gpu:0"):
                    bad = write_nowhere(af.placeholder_with_default(np.ones(4, np.float32), [4]), name="bad")
                with af.device("/cpu:0"):
                    fine = af.sqrt(af.constant(4.0))
            with blocking.Session(graph=graph, devices={"GPU": 1, "CPU": 1}) as session:
                try:
                    session.run(bad)
                except errors.InternalError as error:
                    assert "bad" in str(error), error
                else:
                    raise SystemExit("no error")
                try:
                    session.run(bad)
                except errors.UnavailableError as error:
                    assert "lost" in str(error), error
                assert session.run(fine) == 2.0
            print("goes on")
            """
        )
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert "goes on" in ended.stdout, ended.stderr
