"""The promises of every device, its names, and how a session uses several of them.

The conformance suite knows a device by the `Device` interface alone: a new kind is added to `DEVICES`.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.devices import allocator
from actorflow.engine.device.base import Allocator, Device, DeviceStatistics
from actorflow.engine.device.memory import owned_buffer
from actorflow.graph.device_spec import DeviceSpec, canonical

pytestmark = pytest.mark.real_memory

DEVICES = ["CPU", "SIM"]
FULL = "/job:localhost/replica:0/task:0/device:{}:{}"
Make = Callable[..., Device]


@pytest.fixture(params=DEVICES)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes devices of one kind, and closes them at the end."""
    made: list[Device] = []

    def one(**options: Any) -> Device:
        device: Device = plugins.load("devices", request.param)(FULL.format(request.param, len(made)), **options)
        made.append(device)
        return device

    yield one
    for device in made:
        device.close()


@pytest.fixture
def device(make: Make) -> Device:
    return make()


@pytest.fixture
def memory(device: Device) -> Allocator:
    return device.allocator


BYTE = np.dtype(np.uint8)


def large(memory: Allocator, times: int = 1) -> tuple[int, ...]:
    """The shape of an array of bytes that is counted."""
    return (times * memory.threshold,)


# ---- the conformance suite: names


def test_f36_a_device_knows_its_name_and_type(device: Device) -> None:
    assert device.spec == DeviceSpec.parse(device.name)
    assert str(device.spec) == device.name, "a device's name is the full one"
    assert device.spec.kind == device.type
    assert isinstance(device.allocator, Allocator)
    assert device.xp.add(1, 2) == 3


# ---- the conformance suite: memory


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16"])
@pytest.mark.parametrize("factor", [(1, 1), (3, 5), (7, 1)], ids=str)
def test_f37_buffers_have_the_shape_asked_for_and_are_aligned(
    memory: Allocator, dtype: str, factor: tuple[int, int]
) -> None:
    shape = (factor[0] * memory.threshold // 8 + 1, factor[1] + 7)
    array = memory.allocate(shape, np.dtype(dtype))
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.flags.c_contiguous and array.flags.writeable
    assert array.ctypes.data % 64 == 0
    array[...] = 1
    assert array.sum() == array.size


def test_f37_small_and_empty_buffers_are_given_and_not_counted(memory: Allocator) -> None:
    assert memory.allocate((), np.dtype("f4")).shape == ()
    assert memory.allocate((0, 10**9), np.dtype("f4")).size == 0
    assert memory.allocate((memory.threshold - 1,), BYTE).nbytes == memory.threshold - 1
    assert memory.statistics().allocations == 0


def test_f37_buffers_that_live_at_once_do_not_overlap(memory: Allocator) -> None:
    arrays = [memory.allocate(large(memory, 1 + i % 3), BYTE) for i in range(8)]
    for i, array in enumerate(arrays):
        array[...] = i
    assert all((array == i).all() for i, array in enumerate(arrays))


def test_f37_the_counters_add_up(memory: Allocator) -> None:
    unit = memory.threshold
    a, b = memory.allocate(large(memory), BYTE), memory.allocate(large(memory, 2), BYTE)
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.allocations, found.frees) == (3 * unit, 3 * unit, 2, 0)
    del a
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.allocations, found.frees) == (2 * unit, 3 * unit, 2, 1)
    del b
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes, found.allocations, found.frees) == (0, 3 * unit, 2, 2)
    kept = memory.allocate(large(memory), BYTE)
    found = memory.statistics()
    assert (found.live_bytes, found.peak_bytes) == (kept.nbytes, 3 * unit), "a peak stays"
    assert found.threshold == unit and found.budget is None


def test_f37_a_freed_block_is_used_again(memory: Allocator) -> None:
    first = memory.allocate(large(memory, 2), BYTE)
    address = first.ctypes.data
    del first
    pooled = memory.statistics().pooled_bytes
    assert pooled >= 2 * memory.threshold
    second = memory.allocate((memory.threshold // 2,), np.dtype("f4"))  # of the same size
    found = memory.statistics()
    assert second.ctypes.data == address
    assert (found.reuses, found.pooled_bytes, found.allocations) == (1, pooled - 2 * memory.threshold, 2)


def test_f37_a_huge_block_beyond_the_pool_does_not_wait_for_the_next_allocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Source:
        def take(self, size: int) -> memoryview:
            return owned_buffer(np.empty(size, np.uint8))

        def give(self, block: memoryview) -> None:
            given.append(block.nbytes)

        def owns(self, block: memoryview) -> bool:
            return True

    given: list[int] = []
    monkeypatch.setattr(allocator, "_HUGE", 4096)
    memory = allocator.PoolAllocator(threshold=64, pool_limit=0, source=Source())
    huge, other = memory.allocate((4096,), BYTE), memory.allocate((1024,), BYTE)
    del other
    assert given == []
    view = huge[10:]
    del huge
    assert given == []
    del view
    assert given == [1024, 4096]


def test_f7_every_view_keeps_a_buffer_alive(memory: Allocator) -> None:
    views = [memory.allocate(large(memory, 2), BYTE)]
    views.append(views[0][10:20])
    views.append(views[1].view(np.int8).reshape(2, 5).T)
    views[0][...] = 7
    while views:
        assert memory.statistics().live_bytes == 2 * memory.threshold
        assert (views[-1] == 7).all()
        del views[0]
    assert memory.statistics().live_bytes == 0


def test_f37_what_a_kernel_allocated_itself_is_counted_until_its_end(memory: Allocator) -> None:
    array = np.zeros(large(memory), BYTE)
    assert memory.adopt(array) is array
    assert memory.statistics().live_bytes == memory.threshold
    view = array[1:]
    del array
    assert memory.statistics().live_bytes == memory.threshold
    del view
    found = memory.statistics()
    assert (found.live_bytes, found.allocations, found.frees) == (0, 1, 1)
    assert found.pooled_bytes == 0, "the memory was numpy's, and went back to it"


def test_f37_views_and_small_arrays_are_not_adopted(memory: Allocator) -> None:
    whole = memory.allocate(large(memory, 2), BYTE)
    memory.adopt(whole[1:])
    memory.adopt(np.zeros(1))
    assert memory.statistics().allocations == 1


def test_f37_the_budget_refuses_before_anything_is_allocated(make: Make) -> None:
    unit = make().allocator.threshold
    device = make(memory_budget=3 * unit)
    memory = device.allocator
    kept = memory.allocate(large(memory, 2), BYTE)
    before = memory.statistics()
    assert before.budget == 3 * unit
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        memory.allocate((2, unit), BYTE)
    for word in (device.name, f"{3 * unit:,}", f"{2 * unit:,}", f"uint8[2, {unit}]"):
        assert word in str(caught.value)
    with pytest.raises(errors.ResourceExhaustedError):
        memory.check(unit + 1)
    assert memory.statistics() == before
    memory.check(unit)
    rest = memory.allocate(large(memory), BYTE)  # to the last byte
    assert memory.statistics().live_bytes == 3 * unit
    del kept, rest
    memory.allocate(large(memory, 3), BYTE)  # what was freed may be used again


def test_f37_buffers_may_be_freed_on_other_threads(memory: Allocator) -> None:
    arrays = [memory.allocate(large(memory), BYTE) for _ in range(64)]

    def free(own: list[Any]) -> None:
        while own:
            own.pop()

    workers = [threading.Thread(target=free, args=(arrays[i::4],)) for i in range(4)]
    arrays.clear()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    del workers, worker
    found = memory.statistics()
    assert (found.live_bytes, found.allocations, found.frees) == (0, 64, 64)


def test_f37_threads_may_allocate_and_free_at_once(memory: Allocator) -> None:
    wrong: list[int] = []

    def use(mark: int) -> None:
        for times in (1, 2, 3) * 20:
            array = memory.allocate(large(memory, times), BYTE)
            array[...] = mark
            if not (array == mark).all():
                wrong.append(mark)
            del array  # before the next one

    workers = [threading.Thread(target=use, args=(mark,)) for mark in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    found = memory.statistics()
    assert not wrong, "two threads had the same memory"
    assert (found.live_bytes, found.allocations, found.frees) == (0, 240, 240)
    assert found.peak_bytes <= 12 * memory.threshold


# ---- the conformance suite: work


def test_f37_work_is_done_in_the_order_of_its_submission(device: Device) -> None:
    order: list[tuple[str, int]] = []
    over = threading.Event()
    for i in range(50):
        device.submit(lambda i=i: order.append(("work", i)), lambda i=i: order.append(("done", i)))
    device.submit(lambda: None, over.set)
    assert over.wait(PATIENCE)
    assert order == [(what, i) for i in range(50) for what in ("work", "done")]


def test_f37_close_lets_submitted_work_end(device: Device) -> None:
    done: list[int] = []
    over = threading.Event()
    for i in range(50):
        device.submit(lambda: None, lambda i=i: done.append(i))
    device.submit(lambda: None, over.set)
    device.close()
    device.close()  # a second call does nothing
    assert over.wait(PATIENCE)
    assert done == list(range(50))


def test_f37_a_device_that_did_nothing_is_closed(make: Make) -> None:
    make().close()


def test_f37_launches_are_counted_by_where_they_ran(device: Device) -> None:
    assert device.statistics() == DeviceStatistics(0, 0, 0, device.allocator.statistics())
    device.count(3, 1)
    device.count(2, 0)
    found = device.statistics()
    assert (found.launches, found.inline, found.threaded) == (6, 5, 1)


def test_f38_each_device_has_counters_and_a_budget_of_its_own(make: Make) -> None:
    one, two = make(memory_budget=1 << 20), make()
    one.count(1, 0)
    kept = two.allocator.allocate(large(two.allocator), BYTE)
    assert (one.statistics().launches, two.statistics().launches) == (1, 0)
    assert one.statistics().memory.live_bytes == 0 < two.statistics().memory.live_bytes == kept.nbytes
    assert (one.statistics().memory.budget, two.statistics().memory.budget) == (1 << 20, None)


# ---- what each kind adds


def test_f37_closing_a_cpu_does_not_wait_for_a_kernel() -> None:
    device = plugins.load("devices", "CPU")(FULL.format("CPU", 0))
    began, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def kernel() -> None:
        began.set()
        go_on.wait(PATIENCE)

    try:
        device.submit(kernel, over.set)
        assert began.wait(PATIENCE)
        device.close()
        assert not over.is_set()
    finally:
        go_on.set()
    assert over.wait(PATIENCE)


def test_f37_a_cpu_computes_on_one_thread_that_is_named_after_it() -> None:
    device = plugins.load("devices", "CPU")(FULL.format("CPU", 0))
    seen: list[threading.Thread] = []
    over = threading.Event()
    for _ in range(3):
        device.submit(lambda: seen.append(threading.current_thread()), lambda: None)
    device.submit(lambda: None, over.set)
    device.close()
    assert over.wait(PATIENCE)
    assert len(set(seen)) == 1 and seen[0] is not threading.current_thread()
    assert device.name in seen[0].name


def test_f38_a_simulated_devices_clock_advances_with_its_launches() -> None:
    device = plugins.load("devices", "SIM")(FULL.format("SIM", 0), seconds_per_launch=0.25)
    assert device.now == 0.0
    device.submit(lambda: None, lambda: None)
    assert device.now == 0.0, "a launch is what is counted"
    device.count(3, 1)
    assert device.now == 1.0
    device.close()


def test_f38_a_simulated_device_may_be_of_any_kind() -> None:
    device = plugins.load("devices", "SIM")(FULL.format("GPU", 0), kind="GPU")
    assert device.type == device.spec.kind == "GPU"
    device.close()


# ---- names


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("", DeviceSpec()),
        ("/job:localhost/device:cpu:0", DeviceSpec("localhost", None, None, "CPU", 0)),
        ("/job:worker/task:17/device:gpu:3", DeviceSpec("worker", None, 17, "GPU", 3)),
        ("/job:ps-1_a/replica:2/task:0/device:TPU:11", DeviceSpec("ps-1_a", 2, 0, "TPU", 11)),
        ("/device:GPU:3/task:1/job:w", DeviceSpec("w", None, 1, "GPU", 3)),  # in any order
        ("/cpu:0", DeviceSpec(kind="CPU", index=0)),
        ("/gpu", DeviceSpec(kind="GPU")),
        ("/device:SIM:*", DeviceSpec(kind="SIM")),
        ("/task:*/cpu:*", DeviceSpec(kind="CPU")),
    ],
)
def test_f36_names_are_parsed(name: str, spec: DeviceSpec) -> None:
    assert DeviceSpec.parse(name) == spec
    assert DeviceSpec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("/cpu:0", "/device:CPU:0"),
        ("/gpu", "/device:GPU:*"),
        ("/device:gpu:01/job:w", "/job:w/device:GPU:1"),
        ("/job:localhost/device:cpu:0", "/job:localhost/device:CPU:0"),
        ("", ""),
    ],
)
def test_f36_names_have_one_canonical_spelling(name: str, full: str) -> None:
    assert canonical(name) == full
    assert canonical(full) == full


numbers = st.none() | st.integers(0, 999)
kinds = st.tuples(st.sampled_from(["CPU", "GPU", "SIM", "MY_ASIC"]), numbers) | st.just((None, None))
specs = st.builds(
    lambda job, replica, task, kind: DeviceSpec(job, replica, task, *kind),
    st.none() | st.from_regex(r"[A-Za-z_][A-Za-z0-9_\-]{0,8}", fullmatch=True),
    numbers,
    numbers,
    kinds,
)


@given(specs)
def test_f36_every_spec_survives_the_round_trip(spec: DeviceSpec) -> None:
    assert DeviceSpec.parse(str(spec)) == spec
    assert canonical(str(spec)) == str(spec)


@given(specs, specs)
def test_f36_a_merged_name_keeps_what_was_said_and_fills_the_rest(inner: DeviceSpec, outer: DeviceSpec) -> None:
    merged = inner.merge(outer)
    assert inner.matches(merged)
    assert DeviceSpec().merge(inner) == inner.merge(DeviceSpec()) == inner.merge(inner) == inner
    for field in ("job", "replica", "task", "kind"):
        said = getattr(inner, field)
        assert getattr(merged, field) == (getattr(outer, field) if said is None else said)


@pytest.mark.parametrize(
    ("inner", "outer", "merged"),
    [
        ("/gpu:1", "/job:w/task:3", "/job:w/task:3/device:GPU:1"),
        ("/task:4", "/job:w/task:3/cpu:0", "/job:w/task:4/device:CPU:0"),
        ("/gpu", "/cpu:2", "/device:GPU:*"),  # an index goes with its kind
        ("/cpu", "/cpu:2", "/device:CPU:2"),
        ("", "/cpu:2", "/device:CPU:2"),
    ],
)
def test_f36_names_are_merged(inner: str, outer: str, merged: str) -> None:
    assert str(DeviceSpec.parse(inner).merge(DeviceSpec.parse(outer))) == merged


@pytest.mark.parametrize(
    ("partial", "means"),
    [
        ("", True),
        ("/cpu:0", True),
        ("/cpu", True),
        ("/job:worker", True),
        ("/job:worker/task:17", True),
        ("/task:*/cpu:*", True),
        ("/cpu:1", False),
        ("/gpu:0", False),
        ("/job:ps", False),
        ("/job:worker/task:1", False),
        ("/replica:1", False),
    ],
)
def test_f36_a_partial_name_means_all_devices_that_it_fits(partial: str, means: bool) -> None:
    full = DeviceSpec.parse("/job:worker/replica:0/task:17/device:CPU:0")
    assert DeviceSpec.parse(partial).matches(full) is means


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cpu:0", "'cpu:0' has to start with '/'"),
        ("/", "the part '' is none of job:NAME"),
        ("/job:w/", "the part '' is none of job:NAME"),
        ("//cpu:0", "the part '' is none of job:NAME"),
        ("/job:", "the part 'job:' is none of job:NAME"),
        ("/job:1abc", "the part 'job:1abc' is none of job:NAME"),
        ("/job", "the part 'job' names no job"),
        ("/task", "the part 'task' names no task"),
        ("/device", "the part 'device' names no device"),
        ("/device:task:1", "the part 'device:task:1' names no task"),
        ("/task:x", "the part 'task:x' is none of"),
        ("/task:-1", "the part 'task:-1' is none of"),
        ("/cpu:0:1", "the part 'cpu:0:1' is none of"),
        ("/cpu:0 ", "the part 'cpu:0 ' is none of"),
        ("/cpu:0\n", "is none of"),
        ("/task:1/task:2", "gives its task twice"),
        ("/job:a/job:b", "gives its job twice"),
        ("/cpu:0/gpu:0", "gives its kind twice"),
        ("gpu0", "Did you mean '/gpu:0'?"),
        ("/job:w/task1/cpu_0", "Did you mean '/job:w/task:1/cpu:0'?"),
        ("/job:w/GPU/", "the part '' is none of job:NAME, replica:N, task:N, device:KIND:N."),
    ],
)
def test_f36_a_bad_name_is_rejected_with_its_faulty_part(name: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        DeviceSpec.parse(name)
    assert sentence in str(caught.value)
    assert repr(name) in str(caught.value) and str(caught.value).endswith((".", "?"))


# ---- a session over devices of two kinds


def two_kinds(**sim: Any) -> list[Device]:
    return [
        plugins.load("devices", "CPU")(FULL.format("CPU", 0)),
        plugins.load("devices", "SIM")(FULL.format("SIM", 0), **sim),
    ]


async def test_f38_a_session_runs_each_part_on_its_device() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [4])
        with af.device("/device:SIM:0"):
            doubled = x * 2.0
        with af.device("/cpu:0"):
            result = doubled + 1.0
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        cpu, sim = session.list_devices()
        assert (cpu.type, sim.type) == ("CPU", "SIM")
        np.testing.assert_array_equal(await session.run(result, {x: [0, 1, 2, 3]}), [1, 3, 5, 7])
        assert (session.placement(doubled), session.placement(result)) == (sim.name, cpu.name)
        found = session.statistics().devices
        assert found[cpu.name].launches > 0 < found[sim.name].launches
        assert sim.now == pytest.approx(found[sim.name].launches * 1e-6)  # type: ignore[attr-defined]


async def test_f38_each_device_of_a_session_keeps_its_own_budget() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        many = af.fill([1 << 19], x)  # 2 MiB
        with af.device("/device:SIM:0"):
            few, too_many = af.fill([1 << 17], x), af.fill([1 << 19], x)  # 512 KiB
    cpu, sim = two_kinds(memory_budget=1 << 20)
    async with af.Session(graph=graph, devices=[cpu, sim]) as session:
        assert (await session.run(many, {x: 1.0})).sum() == 1 << 19
        assert (await session.run(few, {x: 1.0})).sum() == 1 << 17
        with pytest.raises(errors.ResourceExhaustedError) as caught:
            await session.run(too_many, {x: 1.0})
        assert sim.name in str(caught.value) and too_many.op.name in str(caught.value)
        assert (await session.run(few, {x: 2.0})).sum() == 1 << 18, "the next step has the budget again"
        found = session.statistics().devices
        assert found[sim.name].memory.budget == 1 << 20 >= found[sim.name].memory.peak_bytes
        assert found[cpu.name].memory.budget is None


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Objects that a reference cycle holds stay."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("coalesce", [True, False])
async def test_f7_a_steps_memory_is_free_when_its_results_are(coalesce: bool) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [1 << 18])
        with af.device("/device:SIM:0"):
            y = af.sin(af.cos(x) + 1.0)
        result = af.exp(y)
    async with af.Session(graph=graph, devices=two_kinds(), options=af.PlanOptions(coalesce=coalesce)) as session:
        for _ in range(3):
            value = await session.run(result, {x: np.zeros(1 << 18, np.float32)})
            assert sum(found.memory.live_bytes for found in session.statistics().devices.values()) == value.nbytes
            del value
            for found in session.statistics().devices.values():
                assert found.memory.live_bytes == 0
                assert found.memory.allocations == found.memory.frees > 0


async def test_f38_a_devices_clock_does_not_count_the_others_launches() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        with af.device("/device:SIM:0"):
            y = x + 1.0
        z = af.identity(x) * 2.0
    cpu, sim = two_kinds(seconds_per_launch=1.0)
    async with af.Session(graph=graph, devices=[cpu, sim]) as session:
        with_only_the_cpu = await session.run(z, {x: 2.0})
        assert with_only_the_cpu == 4.0 and sim.now == 0.0  # type: ignore[attr-defined]
        assert await session.run(y, {x: 2.0}) == 3.0
        assert sim.now >= 1.0  # type: ignore[attr-defined]


def test_f38_a_kind_that_nothing_provides_is_named() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"'TPU'.*CPU, GPU, SIM"):
        af.Session(graph=af.Graph(), devices={"TPU": 1})
    with pytest.raises(ValueError, match="at least one device"):
        af.Session(graph=af.Graph(), devices=[])


async def test_f38_a_node_on_a_device_that_the_session_lacks_is_named() -> None:
    graph = af.Graph()
    with graph.as_default(), af.device("/device:SIM:1"):
        x = af.placeholder(af.float32, [], name="x")
        y = af.negative(x, name="far_away")
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            await session.run(y, {x: 1.0})
        assert "/device:SIM:1" in str(caught.value)
