"""The GPU device on real GPUs: what the fake of `tests/devices/test_cuda.py` can't show."""

from __future__ import annotations

import asyncio
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
from graph.ops import checks, harness
from graph.ops.table import all_cases

import actorflow as af
from actorflow import blocking, errors
from actorflow.base import dtypes
from actorflow.base.registry import kernel, opdef, plugins
from actorflow.engine.device.base import Allocator, Device

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
    for case in all_cases():
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


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.id) for c in cases() if "Conv" in c.ops or "FusedBatchNorm" in c.ops]
)
def test_f38_the_rows_of_convolutions_and_norms_hold_by_cupy_alone(
    case: Any, make: Callable[..., list[Device]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """If cuDNN is installed, the rows above are its own."""
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    test_f38_the_rows_of_the_op_tables_hold(case, make, monkeypatch, seed)


@pytest.fixture
def cudnn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plans that cuDNN makes in this test. Skips where it is not installed."""
    from actorflow.kernels.cudnn import binding, program

    if binding.loaded() is None:
        pytest.skip("no cuDNN: pip install 'actorflow[cudnn]'")
    monkeypatch.setattr(program, "plans", program.CudnnPlans())
    return program.plans


LAYERS = {
    "first": ([8, 64, 64, 3], [7, 7, 3, 64], 2),
    "bottleneck": ([8, 28, 28, 128], [3, 3, 128, 128], 1),
    "one by one": ([8, 14, 14, 256], [1, 1, 256, 512], 2),
    "groups": ([4, 14, 14, 128], [3, 3, 4, 128], 1),
}


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("layer", LAYERS)
def test_f38_layers_of_usual_sizes_by_cudnn_have_the_cpus_values(
    make: Callable[..., list[Device]], cudnn: Any, layer: str, layout: str
) -> None:
    """Within float32's tolerance, which TF32 would miss fifty times over, and with the same bits in each run."""
    images, filters, stride = LAYERS[layer]
    rng = np.random.default_rng(4)
    weights = (rng.normal(size=filters) / np.sqrt(np.prod(filters[:3]))).astype("f")
    value = rng.normal(size=images).astype("f")

    def graph_of(layout: str) -> tuple[af.Graph, Any, list[Any]]:
        graph = af.Graph()
        with graph.as_default():
            x, w = af.placeholder(af.float32, images), af.constant(weights)
            given = x if layout == "NHWC" else af.transpose(x, [0, 3, 1, 2])
            y = af.nn.conv2d(given, w, strides=stride, padding="SAME", data_format=layout)
            y = y if layout == "NHWC" else af.transpose(y, [0, 2, 3, 1])
            slope = af.tanh(y)
            # The mean over the batch, so that the weights' gradient is of the size of the others.
            return graph, x, [y, *[g / scale for g, scale in zip(af.gradients(slope, [x, w]), (1.0, 1000.0))]]

    graph, x, fetches = graph_of(layout)
    with blocking.Session(graph=graph, devices=make()) as session:
        found = [session.run(fetches, {x: value}) for _ in range(2)]
    graph, x, fetches = graph_of("NHWC")
    with blocking.Session(graph=graph) as session:
        wanted = session.run(fetches, {x: value})
    made = {operation.name for (_, operation), plan in cudnn._known.items() if plan is not None}
    assert made == {"conv_fprop", "conv_dgrad", "conv_wgrad"}
    for one, again, right in zip(*found, wanted):
        np.testing.assert_array_equal(one, again)
        np.testing.assert_allclose(one, right, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_f38_a_batch_norm_of_usual_size_has_the_cpus_values(
    make: Callable[..., list[Device]], cudnn: Any, dtype: str, record_property: Callable[[str, object], None]
) -> None:
    """By cuDNN or, where it has no engine for the GPU, by CuPy; which it was is a property of the test."""
    from actorflow.graph.ops.nn.normalization import fused_batch_norm_op

    rng = np.random.default_rng(4)
    value = (rng.normal(size=(16, 28, 28, 64)) * 3 + 1).astype(dtype)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(dtype, value.shape)
        vectors = [af.constant(rng.random(64).astype("f") + 0.5) for _ in range(2)]
        empty = af.constant(np.zeros(0, "f"))
        y, mean, variance, *_ = fused_batch_norm_op(x, *vectors, empty, empty)
        fetches = [y, mean, variance, *af.gradients(af.tanh(y), [x])]
    found = []
    for on in (make(), None):
        with blocking.Session(graph=graph, devices=on) as session:
            found.append(session.run(fetches, {x: value}))
    record_property("by cudnn", [o.name for (_, o), plan in cudnn._known.items() if plan is not None])
    tolerance = 2e-5 if dtype == "float32" else 4e-3
    for one, other in zip(*found):
        np.testing.assert_allclose(one.astype("d"), other.astype("d"), rtol=tolerance, atol=tolerance)


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


# ---- kernels in C, groups, graphs

_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "GradientDescent": af.train.GradientDescentOptimizer,
    "Momentum": lambda rate: af.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    "Adagrad": af.train.AdagradOptimizer,
    "Adadelta": af.train.AdadeltaOptimizer,
    "RMSProp": lambda rate: af.train.RMSPropOptimizer(rate, centered=True),
    "Adam": af.train.AdamOptimizer,
    "Ftrl": lambda rate: af.train.FtrlOptimizer(rate, l1_regularization_strength=0.01),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
def test_f91_updates_have_the_cpus_values(make: Callable[..., list[Device]], optimizer: str, dtype: str) -> None:
    """Of one variable and gradients that are fed: what is added to rounding is the square root and the division, which are
    exact on both; Ftrl's other power and Adam's rate are within a unit in the last place."""
    graph = af.Graph()
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype)
    with graph.as_default():
        w = af.Variable(rng.normal(size=(37, 1001)).astype(kind))
        grad = af.placeholder(dtype, [37, 1001])
        step = _OPTIMIZERS[optimizer](0.05).apply_gradients([(grad, w)])
        af.global_variables_initializer()
    fed = [rng.normal(size=(37, 1001)).astype(kind) for _ in range(5)]

    def weights(on: list[Device] | None) -> Any:
        with blocking.Session(graph=graph, devices=on) as session:
            session.run("init")
            for value in fed:
                session.run(step, {grad: value})
            return session.run(w.read_value())

    np.testing.assert_allclose(
        weights(make()), weights(None), rtol=64 * np.finfo(kind).eps, atol=8 * np.finfo(kind).eps
    )


@pytest.mark.parametrize("classes", [10, 1000, 1025, 50_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("labels_type", ["int32", "int64", "distribution"])
def test_f91_the_cross_entropy_is_the_cpus(
    make: Callable[..., list[Device]], classes: int, dtype: str, labels_type: str
) -> None:
    rng = np.random.default_rng(classes)
    rows, kind = 65, np.dtype(dtype)
    logits = (rng.normal(size=(rows, classes)) * 5).astype(kind)
    sparse = labels_type != "distribution"
    labels = rng.integers(0, classes, rows).astype(labels_type) if sparse else rng.random((rows, classes)).astype(kind)
    graph = af.Graph()
    with graph.as_default():
        x, y = af.placeholder(dtype, [rows, classes]), af.placeholder(labels.dtype.name, labels.shape)
        take = af.nn.sparse_softmax_cross_entropy_with_logits if sparse else af.nn.softmax_cross_entropy_with_logits
        loss = take(labels=y, logits=x)
        slope = af.gradients(loss, [x])[0]
    found = []
    for on in (make(), None):
        with blocking.Session(graph=graph, devices=on) as session:
            found.append(session.run([loss, slope], {x: logits, y: labels}))
    eps = float(np.finfo(kind).eps)
    scale = float(np.abs(found[1][0]).max())
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1000 * eps, atol=1000 * eps * scale)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1000 * eps, atol=100 * eps)


def test_f91_bad_labels_give_nan_in_their_row_alone(make: Callable[..., list[Device]]) -> None:
    graph = af.Graph()
    with graph.as_default():
        x, labels = af.placeholder(af.float32, [80, 2000]), af.placeholder(af.int32, [80])
        loss = af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    classes = np.arange(80, dtype=np.int32)
    classes[7], classes[11] = -1, 2000
    with blocking.Session(graph=graph, devices=make()) as session:
        found = session.run(loss, {x: np.ones((80, 2000), np.float32), labels: classes})
    assert np.flatnonzero(np.isnan(found)).tolist() == [7, 11]


def program(graph: af.Graph) -> tuple[Any, Any]:
    with graph.as_default():
        x, row, column = (af.placeholder(af.float32, shape) for shape in ([300, 200], [200], [300, 1]))
        y = af.tanh(x * row + column) * 2.0
        z = af.where(y > 0.5, y / (af.abs(x) + 1.0), af.sigmoid(-y) / 3.0) - x * x + row
        whole = af.cast(af.cast(z * 10.0, af.int32), af.float32) * 0.5 + af.sqrt(af.abs(z))
    return (x, row, column), (y, z, whole)


def test_f91_a_group_has_the_bits_of_its_nodes_one_by_one(make: Callable[..., list[Device]]) -> None:
    graph = af.Graph()
    places, fetches = program(graph)
    rng = np.random.default_rng(2)
    feeds = {p: rng.normal(size=p.shape.as_list()).astype("f") for p in places}
    found = []
    for jit in (True, False):
        with blocking.Session(graph=graph, devices=make(), options=af.PlanOptions(jit=jit)) as session:
            found.append(session.run(list(fetches), feeds))
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)
    with blocking.Session(graph=graph) as session:
        for one, right in zip(found[0][:2], session.run(list(fetches), feeds)):
            np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-6)


def test_f91_every_rule_compiles_and_computes_what_the_ops_kernel_does(make: Callable[..., list[Device]]) -> None:
    """All rules in all types, by CuPy's compiler."""
    import cupy

    from actorflow.engine.runtime.codegen.jit_recipe import TYPES as NAMES
    from actorflow.engine.runtime.codegen.jit_recipe import RecipeWriter
    from actorflow.kernels.cuda.source import elementwise

    gpu: Any = make()[0]
    of_type = {v: k for k, v in NAMES.items()}
    loops = {op: e.loop for op, entries in kernel.registered().items() for e in entries if e.loop is not None}
    rng = np.random.default_rng(1)
    for op, loop in sorted(loops.items()):
        if op == "BiasAdd" or not kernel.includes(kernel.devices_of(op), "GPU"):
            continue
        for kind in [NAMES[d] for d in NAMES if d in loop.types]:
            count = 3 if op == "AddN" else len(opdef.lookup(op).inputs)
            kinds = ["b1", "f4", "f4"] if op in ("Select", "SelectV2") else [kind] * count
            for attrs in [{"DstT": t} for t in NAMES] if op == "Cast" else [{"alpha": 0.3}]:
                block = RecipeWriter()
                result = loop.lower(attrs, *[block.operand(k) for k in kinds])
                if result is None:
                    continue
                recipe = block.finish([(result, None)])
                values = [rng.integers(0, 2 if k == "b1" else 100, 5000).astype(k) for k in kinds]
                entry = kernel.lookup(op, "GPU", [of_type[result.dtype]])
                with gpu.launching(op):
                    given = [cupy.asarray(v) for v in values]
                    (found,) = elementwise(cupy, recipe, "rule")(*given)
                    right = entry.function(
                        cupy, *([given] if op == "AddN" else given), **{a: attrs[a] for a in entry.attrs}
                    )
                    found, right = found.get(stream=gpu.compute.raw), right.get(stream=gpu.compute.raw)
                assert found.dtype == right.dtype, op
                np.testing.assert_array_equal(found, right, f"{op} of {kinds}")


@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
def test_f91_a_recorded_step_is_replayed_with_new_feeds(make: Callable[..., list[Device]], optimizer: str) -> None:
    graph = af.Graph()
    rng = np.random.default_rng(3)
    with graph.as_default():
        x, labels = af.placeholder(af.float32, [50, 20]), af.placeholder(af.int32, [50])
        rate = af.placeholder(af.float32, [])
        w1, w2 = (af.Variable(rng.normal(size=s).astype("f") / 4) for s in ((20, 130), (130, 7)))
        hidden = af.tanh(af.matmul(x, w1)) * 1.5
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=af.matmul(hidden, w2))
        loss = af.reduce_mean(losses)
        train = _OPTIMIZERS[optimizer](rate).minimize(loss)
        af.global_variables_initializer()
    fed = [
        {
            x: rng.normal(size=(50, 20)).astype("f"),
            labels: rng.integers(0, 7, 50).astype(np.int32),
            rate: np.float32(0.01 * (i + 1)),
        }
        for i in range(12)
    ]
    found = []
    for capture in (False, True):
        on = make(capture=capture)
        with blocking.Session(graph=graph, devices=on) as session:
            session.run("init")
            found.append([session.run([loss, losses, train], feeds)[:2] for feeds in fed])
            statistics = on[0].statistics()
            assert statistics.replays == (10 if capture else 0), statistics.not_recorded
    for one, other in zip(*found):
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)


def test_f91_many_replays_in_flight_give_the_right_values(make: Callable[..., list[Device]]) -> None:
    """With others that allocate and free beside them."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [400, 100])
        y = af.exp(x * 0.5) + af.reduce_sum(af.tanh(x) * 2.0 + x, 1, keepdims=True) - af.reduce_max(x, 1, keepdims=True)
        other = af.matmul(af.tanh(x), x, transpose_b=True) + 1.0

    async def run() -> None:
        on = make(capture=True)
        async with af.Session(graph=graph, devices=on) as session:
            values = [np.random.default_rng(i).normal(size=(400, 100)).astype("f") for i in range(64)]
            for value in values[:3]:
                await session.run(y, {x: value})
            runs = [session.run(y if i % 3 else other, {x: v}, timeout=60) for i, v in enumerate(values)]
            for i, (value, found) in enumerate(zip(values, await asyncio.gather(*runs))):
                if i % 3:
                    right = np.exp(value * 0.5) + (np.tanh(value) * 2 + value).sum(1, keepdims=True)
                    np.testing.assert_allclose(found, right - value.max(1, keepdims=True), rtol=1e-4, atol=1e-3)
            assert on[0].statistics().replays >= 40

    asyncio.run(run())


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
            from actorflow.graph.ops.shape_rules import unchanged

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
