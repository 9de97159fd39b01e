"""The GPU device on a fake GPU, whose work completes late, out of order between streams, and not at all if a test wants so.

`fake_cupy.py` raises at each use of memory that no event puts in order, and wherever the host would wait. So a test that only
runs something here has tested the events. Tests that need a real GPU are in `tests/gpu`.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from fake_cupy import Blocks, CUDARuntimeError, FakeCupy, Race
from graph.ops import checks, harness
from graph.ops.table import all_cases
from kernel_coverage import table, written
from patience import PATIENCE
from test_fuzz import Request, expected, is_pure, random_graph

import actorflow as af
from actorflow import blocking, errors
from actorflow.base import dtypes
from actorflow.base.registry import kernel, plugins
from actorflow.devices.cuda.device import CudaDevice
from actorflow.engine.device.base import Allocator, Device, DeviceStatistics
from actorflow.graph.device_spec import DeviceSpec

plugins.load_kernels()

from actorflow.kernels.cuda import random as drawing  # noqa: E402
from actorflow.kernels.random import philox  # noqa: E402

pytestmark = pytest.mark.real_memory
NAME = "/job:localhost/replica:0/task:0/device:{}:{}"
BYTE = np.dtype(np.uint8)
Make = Callable[..., FakeCupy]


@pytest.fixture
def fake(seed: int) -> Iterator[Make]:
    """Makes fake GPUs; what they found fails the test at its end."""
    made: list[FakeCupy] = []

    def one(**options: Any) -> FakeCupy:
        made.append(FakeCupy(seed=seed, **options))
        return made[-1]

    yield one
    for gpu in made:
        gpu.close()
        assert not gpu.faults, gpu.faults


@pytest.fixture
def device(fake: Make) -> Iterator[CudaDevice]:
    made = CudaDevice(NAME.format("GPU", 0), cupy=fake())
    yield made
    made.close()


@pytest.fixture
def memory(device: CudaDevice) -> Allocator:
    return device.allocator


def devices(gpu: FakeCupy, gpus: int = 1, cpus: int = 1, **options: Any) -> list[Device]:
    """GPUs first, so that all that they can do is theirs."""
    made: list[Device] = [CudaDevice(NAME.format("GPU", i), cupy=gpu, **options) for i in range(gpus)]
    return made + [plugins.load("devices", "CPU")(NAME.format("CPU", i)) for i in range(cpus)]


def large(memory: Allocator, times: int = 1) -> tuple[int, ...]:
    return (times * memory.threshold,)


def values(count: int = 100) -> Any:
    return np.random.default_rng(7).normal(size=(count, 64)).astype(np.float32)


# ---- what every device promises (as in test_devices.py, whose arrays are numpy's)


def test_f36_a_gpu_knows_its_name_and_type(device: CudaDevice) -> None:
    assert device.spec == DeviceSpec.parse(device.name) and str(device.spec) == device.name
    assert device.spec.kind == device.type == "GPU"
    assert isinstance(device.allocator, Allocator)


def test_f37_the_counters_of_gpu_memory_add_up(memory: Allocator) -> None:
    unit = memory.threshold
    a, b = memory.allocate(large(memory), BYTE), memory.allocate(large(memory, 2), BYTE)
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.allocations, found.frees) == (3 * unit, 3 * unit, 2, 0)
    del a
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.allocations, found.frees) == (2 * unit, 3 * unit, 2, 1)
    assert found.pooled_bytes == unit
    del b
    again = memory.allocate(large(memory, 2), BYTE)
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.reuses) == (again.nbytes, 3 * unit, 1)
    memory.allocate((3,), BYTE)
    assert memory.statistics().allocations == 3, "small arrays are not counted"


def test_f7_every_view_keeps_gpu_memory_alive(device: CudaDevice) -> None:
    memory = device.allocator
    views = [memory.allocate(large(memory, 2), BYTE)]
    with device.launching("views"):
        views.append(views[0][10:20])
        views.append(views[1].view(np.int8).reshape(2, 5).T)
    while views:
        assert memory.statistics().live_bytes == 2 * memory.threshold
        del views[0]
    assert memory.statistics().live_bytes == 0


def test_f37_a_budget_of_gpu_memory_refuses_before_anything_is_allocated(fake: Make) -> None:
    unit = 64 * 1024
    gpu = CudaDevice(NAME.format("GPU", 0), cupy=fake(), memory_budget=3 * unit)
    memory = gpu.allocator
    kept = memory.allocate(large(memory, 2), BYTE)
    before = memory.statistics()
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        memory.allocate((2, unit), BYTE)
    for word in (gpu.name, f"{3 * unit:,}", f"{2 * unit:,}", f"uint8[2, {unit}]"):
        assert word in str(caught.value)
    with pytest.raises(errors.ResourceExhaustedError):
        memory.check(unit + 1)
    assert memory.statistics() == before
    rest = memory.allocate(large(memory), BYTE)  # to the last byte
    del kept, rest
    memory.allocate(large(memory, 3), BYTE)
    gpu.close()


def test_f37_work_for_the_host_and_counters(device: CudaDevice) -> None:
    order: list[int] = []
    over: list[int] = []
    for i in range(20):
        device.submit(lambda i=i: order.append(i), lambda: over.append(1))
    thread = device.host._thread
    device.count(3, 1)
    assert device.statistics() == DeviceStatistics(4, 3, 1, device.allocator.statistics())
    device.close()
    device.close()
    assert thread is not None
    thread.join(PATIENCE)
    assert order == list(range(20)) and len(over) == 20


def test_f38_without_cupy_a_gpu_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(errors.FailedPreconditionError, match=r"actorflow\[cuda\]"):
        blocking.Session(graph=af.Graph(), devices={"GPU": 1})


def test_f38_a_gpu_that_is_not_there_is_refused(fake: Make) -> None:
    with pytest.raises(errors.FailedPreconditionError, match="CUDA finds 1"):
        CudaDevice(NAME.format("GPU", 1), cupy=fake())


# ---- the fake itself: a missing event, an early reading and a wait are found


def test_the_fake_finds_what_no_event_puts_in_order(device: CudaDevice) -> None:
    with device.launching("a kernel"):
        x = device.xp.zeros((10,), np.float32) + np.float32(1)
    with device.place, device.transfers.peer.raw, device.xp.cuda.using_allocator(device.allocator.malloc):
        with pytest.raises(Race):
            x + x
        device.transfers.peer.wait_for(device.compute)
        y = x + x
    with device.launching("a kernel"), pytest.raises(Race):
        y + y
    with pytest.raises(Blocks):
        bool(x)
    with pytest.raises(TypeError):
        np.asarray(x)


# ---- streams and events


async def test_f37_a_result_is_there_when_its_stream_has_run_and_nothing_polls(fake: Make) -> None:
    gpu = fake(manual=True)
    device = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    with device.launching("a kernel"):
        x = device.xp.arange(6, dtype=np.float32) * np.float32(2)
    came: list[Any] = []
    over = asyncio.Event()

    def done(value: Any, error: BaseException | None) -> None:
        came.append(value)
        over.set()

    device.take(x, done)
    loop: Any = asyncio.get_running_loop()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not came and not loop._ready and not loop._scheduled, "nothing of the loop is busy while the GPU is"
    assert not gpu.step(device.transfers.to_host.raw), "the copy waits for the kernel's event"
    while gpu.step(device.compute.raw):
        pass
    await asyncio.sleep(0)
    assert not came, "the kernel has run, the copy has not"
    gpu.run()
    with anyio.fail_after(PATIENCE):
        await over.wait()
    np.testing.assert_array_equal(came[0], np.arange(6) * 2)
    device.close()


async def test_f37_streams_are_independent_of_each_other(fake: Make) -> None:
    gpu = fake(manual=True)
    device = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    first = device.bring(values())
    over = asyncio.Event()
    device.take(first, lambda value, error: over.set())
    gpu.run()
    with anyio.fail_after(PATIENCE):
        await over.wait()
    with device.launching("a kernel that takes long"):
        _ = first * np.float32(2)
    device.bring(values())
    assert gpu.step(device.transfers.to_device.raw), "the next copy runs while the kernel has not"
    gpu.run()
    device.close()


async def test_f37_memory_that_a_copy_reads_is_kept_until_it_has_run(fake: Make) -> None:
    gpu = fake(manual=True)
    device = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    x = device.bring(np.ones((64, 1024), np.float32))
    over = asyncio.Event()
    device.take(x, lambda value, error: over.set())
    nbytes = x.nbytes
    del x
    assert device.statistics().memory.live_bytes == nbytes
    gpu.run()
    with anyio.fail_after(PATIENCE):
        await over.wait()
    for _ in range(1000):  # the thread lets go of the array after it has called
        if device.statistics().memory.live_bytes == 0:
            break
        await asyncio.sleep(0)
    assert device.statistics().memory.live_bytes == 0
    device.close()


async def test_f37_a_block_of_a_copy_stream_is_used_again_behind_its_last_use(fake: Make) -> None:
    gpu = fake(manual=True)
    device = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    for i in range(4):
        x = device.bring(np.full((64, 1024), i, np.float32))
        with device.launching("its last use"):
            x.sum()
        del x
    assert device.statistics().memory.reuses == 3
    real = device.compute.mark
    x = device.bring(np.zeros((64, 1024), np.float32))
    with device.launching("its last use"):
        x.sum()
    del x
    device.compute.mark = device.transfers.to_device.mark  # type: ignore[method-assign]  # an event of the wrong stream
    with pytest.raises(Race):
        device.bring(np.zeros((64, 1024), np.float32))
    device.compute.mark = real  # type: ignore[method-assign]
    gpu.run()
    device.close()


async def test_f37_pinned_memory_is_kept_until_the_copy_has_read_it(fake: Make) -> None:
    gpu = fake(manual=True)
    device = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    kept = [device.bring(values()) for _ in range(5)]
    gc.collect()
    assert len(device.transfers.staged) == 5
    gpu.run()  # `faults` would tell
    device.bring(values())
    assert len(device.transfers.staged) == 1
    gpu.run()
    assert kept
    device.close()


# ---- steps


def model(graph: af.Graph, optimizer: Any) -> tuple[Any, Any, Any, Any]:
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64])
        labels = af.placeholder(af.int32, [None])
        rng = np.random.default_rng(3)
        hidden = af.nn.relu(af.matmul(x, af.Variable(rng.normal(size=(64, 300)).astype("f") / 8)) + 0.1)
        logits = af.matmul(hidden, af.Variable(rng.normal(size=(300, 10)).astype("f") / 17))
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = optimizer.minimize(loss)
        af.global_variables_initializer()
    return x, labels, loss, train


def trained(on: list[Device] | None, optimizer: Callable[[], Any]) -> tuple[list[Any], Any]:
    graph = af.Graph()
    x, labels, loss, train = model(graph, optimizer())
    feeds = {x: values(), labels: np.arange(100, dtype=np.int32) % 10}
    with blocking.Session(graph=graph, devices=on) as session:
        session.run("init")
        losses = [session.run([loss, train], feeds)[0] for _ in range(4)]
        return losses, session.statistics()


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: af.train.GradientDescentOptimizer(0.1),
        lambda: af.train.MomentumOptimizer(0.1, 0.9),
        lambda: af.train.AdamOptimizer(0.01),
        lambda: af.train.RMSPropOptimizer(0.01),
    ],
    ids=["descent", "momentum", "adam", "rmsprop"],
)
def test_f37_a_gpu_trains_as_a_cpu_does(fake: Make, optimizer: Callable[[], Any]) -> None:
    gpu = fake()
    losses, found = trained(devices(gpu), optimizer)
    wanted, _ = trained(None, optimizer)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    assert all(type(loss) is np.float32 for loss in losses)
    on_gpu, on_cpu = found.devices.values()
    assert 10 < on_gpu.launches < 40 and on_gpu.threaded == 0 and on_cpu.launches == 0, "a region is one"
    assert len(gpu.launches) > 50
    assert sum(name == "matmul" for _, name in gpu.launches) >= 4 * 5


def test_f37_training_goes_in_place(fake: Make) -> None:
    graph = af.Graph()
    gpu = fake()
    with graph.as_default():
        w = af.Variable(np.ones((300, 300), np.float32))
        step = af.train.GradientDescentOptimizer(0.1).minimize(af.reduce_sum(w * w))
        af.global_variables_initializer()
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        session.run("init")
        session.run(step)
        live = session.statistics().devices[NAME.format("GPU", 0)].memory.live_bytes
        for _ in range(5):
            session.run(step)
        memory = session.statistics().devices[NAME.format("GPU", 0)].memory
        assert memory.live_bytes == live, "no step leaves memory behind"
        assert memory.peak_bytes <= 6 * 300 * 300 * 4
        assert memory.reuses > 0


def test_f30_a_read_on_a_gpu_is_not_changed_by_a_later_write(fake: Make) -> None:
    graph = af.Graph()
    with graph.as_default():
        w = af.Variable(np.ones((4, 4), np.float32))
        read = w.read_value()
        with af.control_dependencies([read]):
            written_ = w.assign_add(np.ones((4, 4), np.float32))
        with af.control_dependencies([written_]):
            old = read * 10.0
        af.global_variables_initializer()
    with blocking.Session(graph=graph, devices=devices(fake())) as session:
        session.run("init")
        first, new = session.run([old, written_])
        np.testing.assert_array_equal(first, np.full((4, 4), 10))
        np.testing.assert_array_equal(new, np.full((4, 4), 2))


def test_f51_tokens_cross_between_cpus_and_gpus(fake: Make) -> None:
    """Through the host, from one GPU to another, in branches and loops with predicates that a GPU computes."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64])
        with af.device("/gpu:0"):
            a = af.tanh(x)
        with af.device("/gpu:1"):
            b = a * 2.0
        with af.device("/cpu:0"):
            c = af.reduce_sum(b) + 1.0
        with af.device("/gpu:0"):
            d = a + c
            rows = af.shape(d)[0]
            e = af.reshape(d, [rows * 2, -1])
            f = af.cond(af.reduce_mean(e) > 0, lambda: e * 2.0, lambda: e * 3.0)
            count, g = af.while_loop(
                lambda i, acc: af.reduce_sum(acc) < 1e9, lambda i, acc: (i + 1, acc * acc + 1.5), [af.constant(0), e]
            )
        slope = af.gradients(f, [x])[0]
    gpu = fake(gpus=2)
    feeds = {x: values()}
    with blocking.Session(graph=graph, devices=devices(gpu, gpus=2)) as session:
        found = session.run([a, b, c, d, rows, e, f, count, g, slope], feeds)
    with blocking.Session(
        graph=graph, devices={"CPU": 1}, options=af.PlanOptions(soft_placement=True, jit=False)
    ) as session:
        wanted = session.run([a, b, c, d, rows, e, f, count, g, slope], feeds)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-4)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    assert {number for number, _ in gpu.launches} >= {1, 5}, "both GPUs' compute streams were used"


def test_f39_a_partial_run_fetches_from_a_gpu(fake: Make) -> None:
    graph = af.Graph()
    with graph.as_default():
        x, y = af.placeholder(af.float32, [None, 64]), af.placeholder(af.float32, [None, 64])
        first = af.exp(x)
        second = first + y
    with blocking.Session(graph=graph, devices=devices(fake())) as session:
        handle = session.partial_run_setup([first, second], [x, y])
        one = session.partial_run(handle, first, {x: values()})
        two = session.partial_run(handle, second, {y: values()})
    np.testing.assert_allclose(one, np.exp(values()), rtol=1e-6)
    np.testing.assert_allclose(two, np.exp(values()) + values(), rtol=1e-6)


def test_f37_what_is_fed_is_brought_once_and_may_be_fetched(fake: Make) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64])
        both = af.exp(x) + af.tanh(x)
    device, cpu = devices(fake())
    uploads: list[Any] = []
    assert isinstance(device, CudaDevice)
    real = device.transfers.upload
    device.transfers.upload = lambda value: (uploads.append(value), real(value))[1]  # type: ignore[method-assign]
    with blocking.Session(graph=graph, devices=[device, cpu]) as session:
        fed, _ = session.run([x, both], {x: values()})
    np.testing.assert_array_equal(fed, values())
    assert len(uploads) == 1


def test_f66_variables_of_a_gpu_are_saved_and_restored(fake: Make, tmp_path: Path) -> None:
    graph = af.Graph()
    with graph.as_default():
        w = af.Variable(values(), name="w")
        change = w.assign_add(values())
        saver = af.train.Saver()
        af.global_variables_initializer()
    with blocking.Session(graph=graph, devices=devices(fake())) as session:
        session.run("init")
        path = saver.save(session, str(tmp_path / "model"))
        session.run(change)
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(w.read_value()), values())


# ---- errors


def failing(graph: af.Graph) -> tuple[Any, Any, Any]:
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64])
        fine = af.tanh(x, name="fine")
        bad = af.exp(fine, name="bad")
        with af.device("/cpu:0"):
            elsewhere = af.sqrt(af.constant(4.0), name="elsewhere")
    return x, bad, elsewhere


def test_f37_a_kernel_that_fails_as_it_runs_ends_its_step_and_the_gpu(fake: Make) -> None:
    graph, gpu = af.Graph(), fake()
    x, bad, elsewhere = failing(graph)
    with blocking.Session(graph=graph, devices=devices(gpu), options=af.PlanOptions(jit=False)) as session:
        session.run(bad, {x: values()})
        gpu.fail_when_run("exp", 700)
        with pytest.raises(errors.InternalError) as caught:
            session.run(bad, {x: values()})
        assert "bad" in str(caught.value) and "GPU:0" in str(caught.value) and "700" in str(caught.value)
        with pytest.raises(errors.UnavailableError, match="lost to this process"):
            session.run(bad, {x: values()})
        assert session.run(elsewhere) == 2.0, "other devices go on"


def test_f37_a_launch_that_is_refused_ends_its_step_alone(fake: Make) -> None:
    graph, gpu = af.Graph(), fake()
    x, bad, _ = failing(graph)
    with blocking.Session(graph=graph, devices=devices(gpu), options=af.PlanOptions(jit=False)) as session:
        real = gpu.exp

        def refuse(*arguments: Any, **keywords: Any) -> Any:
            raise CUDARuntimeError(9)

        gpu.exp = refuse
        with pytest.raises(errors.InternalError, match="bad"):
            session.run(bad, {x: values()})
        gpu.exp = real
        np.testing.assert_allclose(session.run(bad, {x: values()}), np.exp(np.tanh(values())), rtol=1e-6)


def test_f37_a_checked_gpu_names_the_node(fake: Make) -> None:
    graph, gpu = af.Graph(), fake()
    x, bad, _ = failing(graph)
    with blocking.Session(
        graph=graph, devices=devices(gpu, checked=True), options=af.PlanOptions(jit=False)
    ) as session:
        gpu.fail_when_run("exp", 719)
        with pytest.raises(errors.InternalError) as caught:
            session.run(bad, {x: values()})
        assert caught.value.node == "bad"


@pytest.mark.parametrize("by", ["budget", "memory"])
def test_f37_too_large_a_tensor_ends_its_step_with_the_nodes_name(fake: Make, by: str) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64])
        wide = af.matmul(x, x, transpose_b=True, name="wide")
    gpu = fake(memory=1 << 21) if by == "memory" else fake()
    with blocking.Session(
        graph=graph, devices=devices(gpu, memory_budget=None if by == "memory" else 1 << 21)
    ) as session:
        with pytest.raises(errors.ResourceExhaustedError) as caught:
            session.run(wide, {x: values(1000)})
        assert caught.value.node == "wide" and "GPU:0" in str(caught.value)
        assert session.run(wide, {x: values(100)}).shape == (100, 100)


async def test_f37_a_step_on_a_gpu_that_hangs_ends_at_its_deadline(fake: Make) -> None:
    graph, gpu = af.Graph(), fake(manual=True)
    x, bad, _ = failing(graph)
    session = af.Session(graph=graph, devices=devices(gpu))
    await session.warmup(bad, [x])
    with pytest.raises(errors.DeadlineExceededError):
        await session.run(bad, {x: values()}, timeout=0.1)
    gpu.run()
    await session.close()


# ---- kernels


def on_gpu(make: Make, launched: list[int]) -> Callable[..., list[Any]]:
    def run(graph: Any, fetches: Any, feeds: Any, by: str = "session") -> list[Any]:
        gpu = make()
        try:
            with blocking.Session(graph=graph, devices=devices(gpu, host_elements=0)) as session:
                return list(session.run(list(fetches), dict(feeds)))
        finally:
            launched.append(len(gpu.launches))
            gpu.close()

    return run


def cases() -> list[Any]:
    """The rows of the op tables all of whose ops a GPU takes, in one type each."""
    found = []
    for case in all_cases():
        names = case.ops.split()
        types = [t for t in case.types() if t.name not in ("bfloat16", "string")]
        if names and types and all(kernel.includes(kernel.devices_of(op), "GPU") for op in names):
            found.append((case, types))
    return found


CASES = cases()


@pytest.mark.parametrize("part", range(4))
def test_f38_the_rows_of_the_op_tables_hold_on_a_gpu(
    fake: Make, monkeypatch: pytest.MonkeyPatch, seed: int, part: int
) -> None:
    """Each row in one of its types; `make test-gpu` runs all types, on a real GPU."""
    launched: list[int] = []
    monkeypatch.setattr(harness, "run", on_gpu(fake, launched))
    monkeypatch.setattr(checks, "KNOWLEDGE", ("nothing",), raising=False)
    choose = random.Random(seed)
    mine = CASES[part::4]
    assert len(CASES) > 200
    for case, types in mine:
        checks.check_values(case, choose.choice(types), seed)
    assert sum(1 for n in launched if n) > 0.7 * len(launched)


def test_f48_random_graphs_over_gpus_and_cpus_give_what_the_oracle_gives(fake: Make, seed: int) -> None:
    for number in range(seed, seed + 12):
        made = random_graph(number, devices=3)
        wanted = expected(made)
        gpu = fake(gpus=2)
        found: list[list[Any]] = []

        async def run(made: Any = made, gpu: FakeCupy = gpu, found: list[Any] = found) -> None:
            on = devices(gpu, gpus=2, cpus=3, host_elements=random.Random(made.seed).choice((0, 64)))
            async with af.Session(graph=made.graph, devices=on) as session:
                await session.run(made.initializer)
                for request in [*made.requests, Request(list(made.variables), {})]:
                    copies = 3 if is_pure(made.graph, request) else 1
                    runs = [session.run(request.fetches, request.feeds, timeout=PATIENCE) for _ in range(copies)]
                    found.append((await asyncio.gather(*runs))[0])

        asyncio.run(run())
        for want, got in zip(wanted, found, strict=True):
            for x, y in zip(want, got, strict=True):
                if x is None:
                    assert y is None
                    continue
                assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype), f"seed {number}"
                np.testing.assert_allclose(y, x, rtol=1e-3, atol=1e-3, err_msg=f"seed {number}")
        gpu.close()


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 70001])
def test_f38_philox_on_a_gpu_has_the_cpus_bits(count: int, seed: int) -> None:
    key = tuple(int(v) for v in np.random.SeedSequence(seed).generate_state(2, np.uint64))
    for run, kind in ((0, 0), (3, 1), (2**63 + 5, 0)):
        stream = philox.PhiloxStream(key, run, kind)
        np.testing.assert_array_equal(drawing.words64(np, key, run, kind, count), stream.words64(count))
        for dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
            draw = philox.uniform({"float16": 11, "float32": 24, "float64": 53}[dtype.name])
            wanted = philox.fill(philox.PhiloxStream(key, run, kind), draw, (count,), dtype)
            np.testing.assert_array_equal(drawing.uniform(np, key, run, kind, (count,), dtype), wanted)
            wanted = philox.fill(philox.PhiloxStream(key, run, kind), philox.normal, (count,), dtype)
            np.testing.assert_allclose(
                drawing.normal(np, key, run, kind, (count,), dtype), wanted, rtol=4 * np.finfo(wanted.dtype).eps
            )


def test_f38_a_node_draws_the_same_numbers_on_a_gpu(fake: Make) -> None:
    graph = af.Graph()
    with graph.as_default():
        drawn = [
            af.random_uniform([50, 30], seed=5),
            af.random_uniform([50], -3, 90, dtype=af.int32, seed=6),
            af.random_normal([50, 30], seed=7),
        ]
    with blocking.Session(graph=graph, devices=devices(fake())) as session:
        found = [session.run(drawn) for _ in range(2)]
    with blocking.Session(graph=graph) as session:
        wanted = [session.run(drawn) for _ in range(2)]
    for one, other in zip(found, wanted):
        for x, y in zip(one[:2], other[:2]):
            np.testing.assert_array_equal(x, y)
        np.testing.assert_allclose(one[2], other[2], rtol=4 * np.finfo(np.float32).eps)


# ---- what a GPU takes

_HARMLESS = frozenset(
    """
    ndarray dtype generic number floating integer bool_ float16 float32 float64 int32 int64 uint32 uint64 array shape ndim
    size broadcast_shapes errstate can_cast finfo empty frombuffer arange
    """.split()  # noqa: SIM905
)
"""The parts of numpy that a kernel may use: types, shapes, arrays of sizes; loops for the CPU that stand behind `xp is np`."""


def test_f38_what_a_gpu_takes_exists_and_computes_with_xp() -> None:
    """The function of each kernel that is taken over names numpy only for types and shapes."""
    taken = {
        op: [e for e in entries if e.device == kernel.ANY_DEVICE and e.gpu is not None]
        for op, entries in kernel.registered().items()
    }
    assert sum(map(bool, taken.values())) > 150
    for op, entries in taken.items():
        for entry in entries:
            tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(entry.function))))
            if isinstance(tree.body[0], ast.FunctionDef):
                tree.body[0].decorator_list.clear()  # `direct` is for the CPU
            asked = {
                n.attr
                for n in ast.walk(tree)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "np"
            }
            asked -= {"True_"} if op == "_Done" else set()
            asked -= {"add", "multiply"} if op in ("Cumsum", "Cumprod") else set()  # behind `xp is np`
            assert asked <= _HARMLESS, f"{op} calls numpy's {sorted(asked - _HARMLESS)}"


def test_f38_strings_and_ops_of_numpy_stay_on_the_cpu(fake: Make) -> None:
    graph = af.Graph()
    with graph.as_default():
        text = af.string_join([af.constant(["a", "b"]), af.constant(["c", "d"])])
        x = af.placeholder(af.float32, [None, 64])
        parts = af.unique(af.reshape(af.cast(x, af.int32), [-1]))[0]
    with blocking.Session(graph=graph, devices=devices(fake())) as session:
        session.run([text, parts], {x: values()})
        assert session._inner._engine.placements()[text.op.name].endswith("CPU:0")
        assert session._inner._engine.placements()[parts.op.name].endswith("CPU:0")


def test_the_table_of_the_docs_is_that_of_the_registry() -> None:
    assert written() == table(), "run: python tests/devices/kernel_coverage.py"
