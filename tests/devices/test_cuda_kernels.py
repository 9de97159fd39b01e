"""The GPU's own kernels, written in C: optimizers' updates, the cross entropy, groups of elementwise nodes.

Their C is evaluated (`fake_cuda_c`), so values are compared with the CPU's kernels, to the bit where a GPU rounds as a CPU does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_cuda_c import Wrong, run_elementwise, run_kernel
from fake_cupy import FakeCupy
from kernel_loops import kernel_loops
from test_cuda import NAME, Make, devices, fake  # noqa: F401

import actorflow as af
from actorflow import blocking, errors
from actorflow.base import dtypes
from actorflow.base.registry import kernel, opdef, plugins
from actorflow.devices.allocator import PoolAllocator
from actorflow.devices.cuda.device import CudaDevice
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.ops.state.update import TABLE

plugins.load_kernels()

from actorflow.engine.runtime.codegen.jit_recipe import TYPES, RecipeWriter  # noqa: E402
from actorflow.kernels.cuda import cross_entropy, source  # noqa: E402

pytestmark = pytest.mark.real_memory


@pytest.fixture
def gpu(fake: Make) -> Any:  # noqa: F811
    return fake()


@pytest.fixture
def device(gpu: FakeCupy) -> Any:
    made = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    yield made
    made.close()


def on_gpu(device: CudaDevice, value: Any) -> Any:
    return device.transfers.upload(np.asarray(value))


def function(op: str, device: str) -> Callable[..., Any]:
    return kernel.lookup(op, device, ()).function


# ---- the evaluator: it takes C for C, and finds what a GPU would not tell


def evaluated(body: str, **given: Any) -> dict[str, Any]:
    """The variables that a loop's body leaves."""
    values = {name: (np.atleast_1d(np.asarray(v)).copy(), False) for name, v in given.items()}
    run_elementwise(body, values, max(v.size for v, _ in values.values()))
    return {name: v for name, (v, _) in values.items()}


def test_the_evaluator_computes_as_c_does() -> None:
    byte = np.array([200, 255], np.uint8)
    found = evaluated("int s = a + b; w = s; a = a + b;", a=byte, b=byte, w=np.zeros(2, np.int32))
    assert found["w"].tolist() == [400, 510] and found["a"].tolist() == [144, 254], "bytes are added as ints, and cut"
    found = evaluated(
        "q = x / y; r = x % y;", x=np.int32([-7, 7]), y=np.int32([2, -2]), q=np.int32([0, 0]), r=np.int32([0, 0])
    )
    assert found["q"].tolist() == [-3, -3] and found["r"].tolist() == [-1, 1], "toward zero"
    found = evaluated("x = x + 0.1f; y = y + 0.1;", x=np.float32([1]), y=np.float32([1]))
    assert found["x"] == np.float32(1) + np.float32(0.1) and found["y"] == np.float32(np.float64(1) + 0.1)
    found = evaluated("x = i > 2u ? 1.5f : i;", x=np.float32([0]), i=np.int32([-1]))
    assert found["x"] == np.float32(1.5), "a signed one is compared as an unsigned one"
    body = "for (int k = 0; k < n; k += 1) { if (k % 2 == 0) { s += k; } else s -= 1; }"
    found = evaluated(body, s=np.int32([0] * 4), n=np.int32([0, 1, 2, 5]))
    assert found["s"].tolist() == [0, 0, -1, 4]
    with pytest.raises(Wrong, match="constant"):
        run_elementwise("x = 1;", {"x": (np.zeros(1, np.int32), True)}, 1)
    for wrong in ("y = x", "y = q;", "y = x + ;", "y = sqrtf(x);", "int x;", "2 = x;"):
        with pytest.raises(Wrong):
            evaluated(wrong, x=np.float32([1]), y=np.float32([1]))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("part[threadIdx.x] = a[0]; out[threadIdx.x] = part[(threadIdx.x + 1) % 32];", "no barrier since another"),
        ("part[threadIdx.x % 16] = a[0];", "several threads write"),
        ("out[threadIdx.x + 1] = a[0];", "outside"),
        ("out[0] = a[0];", "several threads write"),
        ("if (threadIdx.x < 3) { __syncthreads(); }", "barrier that not all"),
        ("a[threadIdx.x] = 1.0f;", "constant"),
        (
            "part[threadIdx.x] = a[0]; __syncthreads(); float x = part[(threadIdx.x + 1) % 32]; part[threadIdx.x] = x;",
            "overwritten with no barrier",
        ),
    ],
)
def test_the_evaluator_finds_races_and_wrong_addresses(body: str, match: str) -> None:
    text = f'extern "C" __global__ void k(const float* a, float* out) {{ __shared__ float part[32]; {body} }}'
    with pytest.raises(Wrong, match=match):
        run_kernel(text, "k", 1, 32, [np.ones(32, np.float32), np.zeros(32, np.float32)])


def test_the_evaluator_reduces_across_a_block() -> None:
    text = """extern "C" __global__ void k(const float* a, float* out) {
        __shared__ float part[4];
        float s = a[blockIdx.x * blockDim.x + threadIdx.x];
        for (int far = 16; far > 0; far /= 2) { s = s + __shfl_xor_sync(0xffffffffu, s, far); }
        if (threadIdx.x % 32 == 0) { part[threadIdx.x / 32] = s; }
        __syncthreads();
        if (threadIdx.x == 0) { out[blockIdx.x] = part[0] + part[1] + part[2] + part[3]; }
    }"""
    a, out = np.arange(256, dtype=np.float32), np.zeros(2, np.float32)
    run_kernel(text, "k", 2, 128, [a, out])
    assert out.tolist() == [a[:128].sum(), a[128:].sum()]


# ---- updates

_UPDATES: dict[str, tuple[int, tuple[float, ...], dict[str, Any]]] = {
    "ApplyGradientDescent": (1, (0.1,), {}),
    "ApplyMomentum": (2, (0.1, 0.9), {"use_nesterov": False}),
    "ApplyMomentum nesterov": (2, (0.1, 0.9), {"use_nesterov": True}),
    "ApplyAdagrad": (2, (0.1,), {"update_slots": True}),
    "ApplyAdagrad without slots": (2, (0.1,), {"update_slots": False}),
    "ApplyAdadelta": (3, (0.1, 0.95, 1e-6), {}),
    "ApplyRMSProp": (3, (0.1, 0.9, 0.5, 1e-7), {}),
    "ApplyCenteredRMSProp": (4, (0.1, 0.9, 0.5, 1e-2), {}),
    "ApplyAdam": (3, (0.81, 0.998, 0.1, 0.9, 0.999, 1e-8), {"use_nesterov": False}),
    "ApplyAdam nesterov": (3, (0.81, 0.998, 0.1, 0.9, 0.999, 1e-8), {"use_nesterov": True}),
    "ApplyFtrl": (3, (0.1, 0.01, 0.02, -0.5), {}),
    "ApplyFtrl of another power": (3, (0.1, 0.01, 0.02, -0.7), {}),
    "ApplyFtrlV2": (3, (0.1, 0.01, 0.02, 0.03, -0.5), {}),
    "ApplyAdaMax": (3, (0.81, 0.1, 0.9, 0.999, 1e-8), {}),
    "ApplyAddSign": (2, (0.1, 1.5, 0.8, 0.9), {}),
    "ApplyPowerSign": (2, (0.1, 1.5, 0.8, 0.9), {}),
    "ApplyProximalGradientDescent": (1, (0.1, 0.01, 0.02), {}),
    "ApplyProximalGradientDescent without l1": (1, (0.1, 0.0, 0.02), {}),
    "ApplyProximalAdagrad": (2, (0.1, 0.01, 0.02), {}),
    "ApplyAdagradDA": (3, (0.1, 0.01, 0.02, 3), {}),
}
"""How many variables and slots, the scalars, the attributes."""
ROWS = {row.dense_type: row for row in TABLE}


def test_every_row_of_the_table_is_tried() -> None:
    assert {case.split()[0] for case in _UPDATES} == ROWS.keys()


def arguments(op: str, refs: Any, scalars: Any, grad: Any) -> list[Any]:
    at = ROWS[op].gradient
    return [*refs, *scalars[:at], grad, *scalars[at:]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", _UPDATES)
def test_f91_an_update_is_one_kernel_with_the_cpus_values(
    device: CudaDevice, gpu: FakeCupy, case: str, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    count, numbers, attrs = _UPDATES[case]
    op, kind = case.split()[0], np.dtype(dtype)
    starts = [np.abs(rng.normal(size=(7, 31))).astype(kind) + kind.type(0.5) for _ in range(count)]
    starts[0] = rng.normal(size=(7, 31)).astype(kind)
    grad = rng.normal(size=(7, 31)).astype(kind)
    grad[0, :3] = 0, np.inf, np.nan
    scalars = [np.int64(n) if name in ROWS[op].types else kind.type(n) for n, name in zip(numbers, ROWS[op].scalars)]

    host = [
        VariableState(f"v{k}", dtypes.as_dtype(dtype), (7, 31), PoolAllocator(None, owner="test")) for k in range(count)
    ]
    theirs: list[Any] = [
        device.variable(f"v{k}", dtypes.as_dtype(dtype), (7, 31), device.allocator) for k in range(count)
    ]
    for variables in (host, theirs):
        for variable, start in zip(variables, starts):
            variable.assign(start)
    with np.errstate(all="ignore"):
        function(op, "CPU")(np, *arguments(op, host, scalars, grad), **attrs)
    given = arguments(op, theirs, [on_gpu(device, s) for s in scalars], on_gpu(device, grad))
    gpu.launches.clear()
    with device.launching("an update"):
        function(op, "GPU")(gpu, *given, **attrs)
    assert len(gpu.launches) == 1, gpu.launches
    for mine, wanted in zip(theirs, host):
        found, right = mine._buffer.host, wanted.read()
        np.testing.assert_array_equal(found.view(f"u{kind.itemsize}"), right.view(f"u{kind.itemsize}"))


def test_f91_updates_of_halves_are_left_to_the_kernel_for_every_device(device: CudaDevice, gpu: FakeCupy) -> None:
    refs = [device.variable(n, dtypes.float16, (70,), device.allocator) for n in "abc"]
    for ref in refs:
        ref.assign(np.ones(70, np.float16))
    half = on_gpu(device, np.float16(0.5))
    grad = on_gpu(device, np.ones(70, np.float16))
    with device.launching("an update"):
        function("ApplyMomentum", "GPU")(gpu, refs[0], refs[1], half, half, grad, use_nesterov=False)
        assert (refs[0]._buffer.host == np.float16(0.25)).all()
        function("ApplyFtrl", "GPU")(
            gpu, *refs, grad, half, half, half, half
        )  # a choice by a number that no one waits for
    host = [VariableState(n, dtypes.float16, (70,), PoolAllocator(None, owner="test")) for n in "abc"]
    for ref, start in zip(host, (0.25, 1.5, 1)):
        ref.assign(np.full(70, start, np.float16))
    function("ApplyFtrl", "CPU")(np, *host, np.ones(70, np.float16), *[np.float16(0.5)] * 4)
    for mine, wanted in zip(refs, host):
        np.testing.assert_array_equal(mine._buffer.host, wanted.read())


def test_f91_a_variable_that_is_its_own_slot_is_left_to_the_kernel_for_every_device(
    device: CudaDevice, gpu: FakeCupy
) -> None:
    ref = device.variable("a", dtypes.float32, (70,), device.allocator)
    ref.assign(np.ones(70, np.float32))
    number, grad = on_gpu(device, np.float32(0.5)), on_gpu(device, np.ones(70, np.float32))
    wanted = VariableState("a", dtypes.float32, (70,), PoolAllocator(None, owner="test"))
    wanted.assign(np.ones(70, np.float32))
    with device.launching("an update"):
        function("ApplyMomentum", "GPU")(gpu, ref, ref, number, number, grad, use_nesterov=False)
    host = np.float32(0.5)
    function("ApplyMomentum", "CPU")(np, wanted, wanted, host, host, np.ones(70, np.float32), use_nesterov=False)
    np.testing.assert_array_equal(ref._buffer.host, wanted.read())


# ---- the cross entropy


def logits_of(rng: np.random.Generator, rows: int, classes: int, dtype: str) -> Any:
    return (rng.normal(size=(rows, classes)) * 5).astype(dtype)


@pytest.mark.parametrize("classes", [1, 10, 32, 33, 1024, 1025, 3001])
@pytest.mark.parametrize("labels_type", ["int32", "int64", "distribution"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_f91_the_cross_entropy_is_one_kernel(
    device: CudaDevice, gpu: FakeCupy, classes: int, labels_type: str, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = 5
    logits = logits_of(rng, rows, classes, dtype)
    sparse = labels_type != "distribution"
    labels = (
        rng.integers(0, classes, rows).astype(labels_type)
        if sparse
        else rng.dirichlet(np.ones(classes), rows).astype(dtype)
    )
    op = "SparseSoftmaxCrossEntropyWithLogits" if sparse else "SoftmaxCrossEntropyWithLogits"
    wanted = function(op, "CPU")(np, logits, labels)
    turned = on_gpu(device, np.ascontiguousarray(logits.T))
    given = on_gpu(device, logits), on_gpu(device, labels)
    gpu.launches.clear()
    with device.launching("cross entropy"):
        found = function(op, "GPU")(gpu, *given)
        assert [name for _, name in gpu.launches] == ["cross_entropy"]
        again = function(op, "GPU")(gpu, turned.T, given[1])
    eps = 40 * np.finfo(dtype).eps
    for one, two, right in zip(found, again, wanted):
        np.testing.assert_allclose(one.host, right, rtol=eps, atol=eps)
        np.testing.assert_array_equal(one.host, two.host, "logits that are not in order")


@pytest.mark.parametrize("classes", [10, 2000])
def test_f91_bad_labels_and_logits_give_nan_in_their_row_alone(device: CudaDevice, gpu: FakeCupy, classes: int) -> None:
    logits = logits_of(np.random.default_rng(1), 6, classes, "float32")
    logits[2, 3], logits[3, 4], logits[4] = np.nan, np.inf, -np.inf
    labels = np.array([-1, classes, 0, 0, 0, 5], np.int32)
    with device.launching("cross entropy"):
        loss, slope = function("SparseSoftmaxCrossEntropyWithLogits", "GPU")(
            gpu, on_gpu(device, logits), on_gpu(device, labels)
        )
    assert np.isnan(loss.host[:5]).all() and np.isnan(slope.host[:5]).all()
    right = function("SparseSoftmaxCrossEntropyWithLogits", "CPU")(np, logits[5:], labels[5:])
    np.testing.assert_allclose(loss.host[5:], right[0], rtol=1e-5)
    np.testing.assert_allclose(slope.host[5:], right[1], rtol=1e-5, atol=1e-7)


def test_f91_the_cross_entropy_of_nothing_and_of_other_shapes(device: CudaDevice, gpu: FakeCupy) -> None:
    with device.launching("cross entropy"):
        loss, slope = function("SparseSoftmaxCrossEntropyWithLogits", "GPU")(
            gpu, on_gpu(device, np.zeros((0, 4), np.float32)), on_gpu(device, np.zeros(0, np.int32))
        )
        assert loss.shape == (0,) and slope.shape == (0, 4)
        wide = on_gpu(device, np.ones((3, 4), np.float32))
        loss, _ = function("SoftmaxCrossEntropyWithLogits", "GPU")(
            gpu, wide, on_gpu(device, np.ones((1, 4), np.float32))
        )
        assert loss.shape == (3,), "one distribution for all rows"
        with pytest.raises(ValueError, match="don't fit"):
            function("SparseSoftmaxCrossEntropyWithLogits", "GPU")(gpu, wide, on_gpu(device, np.zeros(4, np.int32)))


def test_the_cross_entropy_has_no_barrier_for_one_warp() -> None:
    assert "__syncthreads" not in cross_entropy.code("<f4", "<i4", cross_entropy.WARP)
    assert "__syncthreads" in cross_entropy.code("<f4", "<i4", cross_entropy.WIDE)


# ---- rules in C


def edge_values(kind: str, rng: np.random.Generator) -> Any:
    """Values of an element type, among them the odd ones."""
    if kind == "b1":
        return rng.integers(0, 2, 64).astype(bool)
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        odd = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, 30000.5, -0.5, 1.5, 2.5], dtype)
        return np.concatenate([odd, rng.normal(size=52).astype(dtype) * dtype.type(3)])
    limits = np.iinfo(dtype)
    odd = np.array([0, 1, limits.max, limits.min, limits.max // 2], dtype)
    return np.concatenate([odd, rng.integers(limits.min, limits.max, 59, dtype, endpoint=True)])


def operands_of(op: str, kind: str) -> list[list[str]]:
    """The types of the inputs with which an op is tried."""
    if op in ("Select", "SelectV2"):
        return [["b1", other, other] for other in ("f4", "i1", "u8", "b1")]
    count = 3 if op == "AddN" else len(opdef.lookup(op).inputs)
    return [[kind] * count]


@pytest.mark.parametrize("op", sorted(op for op in kernel_loops() if kernel.includes(kernel.devices_of(op), "GPU")))
def test_f91_a_rule_in_c_computes_what_the_ops_kernel_does(op: str, seed: int) -> None:
    """To the bit: the C is evaluated with numpy's functions, so all that may differ is what the C says."""
    rng = np.random.default_rng(seed)
    of_type = {v: k for k, v in TYPES.items()}
    loop = kernel_loops()[op]
    tried = 0
    for kind in [TYPES[d] for d in TYPES if d in loop.types]:
        for kinds in operands_of(op, kind):
            several = (
                [{"DstT": of_type[t]} for t in TYPES.values()]
                if op == "Cast"
                else [{"alpha": 0.3, "data_format": "NHWC"}]
            )
            for attrs in several:
                block = RecipeWriter()
                result = loop.lower(attrs, *[block.operand(k) for k in kinds])
                if result is None:
                    continue
                tried += 1
                made = source.source_of(block.finish([(result, None)]))
                values = [edge_values(k, rng) for k in kinds]
                rng.shuffle(values[-1])
                out = np.zeros(64, result.dtype)
                given = {f"a{k}": (v, True) for k, v in enumerate(values)} | {"o0": (out, False)}
                run_elementwise(made.body, given, 64)
                entry = kernel.lookup(op, "GPU", [of_type[result.dtype]])
                call = [values] if op == "AddN" else values
                if op == "BiasAdd":
                    call = [values[0][None], values[1]]
                with np.errstate(all="ignore"):
                    wanted = entry.function(np, *call, **{a: attrs[a] for a in entry.attrs})
                if op == "Cast" and kinds[0][0] == "f" and result.dtype[0] in "iu":
                    fits = np.abs(values[0]) < 2.0**31  # what doesn't fit is no one's promise
                    out, wanted = out[fits], wanted[fits]
                assert wanted.dtype == out.dtype, (op, kinds)
                np.testing.assert_array_equal(out, wanted.reshape(out.shape), f"{op} of {kinds}: {made.body}")
    assert tried


def test_f91_constants_are_written_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for kind in TYPES.values():
        values = edge_values(kind, rng)
        for value in values:
            out = np.zeros(1, kind)
            run_elementwise(f"o = {source.literal(value.tobytes(), kind)};", {"o": (out, False)}, 1)
            assert out[0] == value or np.isnan(out[0]) and np.isnan(value), (kind, value)
            if kind[0] == "f":
                assert np.signbit(out[0]) == np.signbit(value) or np.isnan(value), (kind, value)


# ---- groups of nodes


def names(gpu: FakeCupy) -> list[str]:
    return [name for _, name in gpu.launches]


def chain(graph: af.Graph) -> tuple[Any, Any, Any]:
    with graph.as_default():
        x = af.placeholder(af.float32, [40, 30])
        row, column = af.placeholder(af.float32, [30]), af.placeholder(af.float32, [40, 1])
        y = af.tanh(x * row + column) * 2.0
        z = af.where(y > 0.5, y, af.exp(-y) / 3.0) - x
    return (x, row, column), y, z


def test_f91_a_chain_of_elementwise_nodes_is_one_kernel_on_a_gpu(gpu: FakeCupy) -> None:
    graph = af.Graph()
    feeds, y, z = chain(graph)
    rng = np.random.default_rng(2)
    values = [rng.normal(size=t.shape.as_list()).astype("f") for t in feeds]
    found = {}
    for jit in (True, False):
        gpu.launches.clear()
        with blocking.Session(graph=graph, devices=devices(gpu), options=af.PlanOptions(jit=jit)) as session:
            found[jit] = session.run([y, z], dict(zip(feeds, values)))
        assert [n for n in names(gpu) if n.startswith("fused")] == (["fused_13"] if jit else []), names(gpu)
    assert len(names(gpu)) >= 9
    for one, other in zip(found[True], found[False]):
        np.testing.assert_array_equal(one, other, "the same bits as one by one")
    with blocking.Session(graph=graph, options=af.PlanOptions(jit=False)) as session:
        for one, right in zip(found[True], session.run([y, z], dict(zip(feeds, values)))):
            np.testing.assert_allclose(one, right, rtol=1e-6)


def test_f91_each_shape_that_is_fed_has_its_group(gpu: FakeCupy) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 30])
        y = af.sqrt(af.abs(x) + 1.0) * x
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        for rows in (40, 1, 3, 100, 40):
            gpu.launches.clear()
            value = np.full((rows, 30), 3.0, np.float32)
            np.testing.assert_array_equal(session.run(y, {x: value}), np.full((rows, 30), 6.0))
            small = rows == 1
            assert (len(names(gpu)) == 1) != small, "what is small may be the host's, and is computed one by one"


def test_f91_a_constant_that_widens_gives_the_results_their_shape(gpu: FakeCupy) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [100])
        y = (x + np.ones((1, 1, 1), np.float32)) * 2.0
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        assert session.run(y, {x: np.ones(100, np.float32)}).shape == (1, 1, 100)


def test_f91_an_error_in_a_region_of_a_gpu_names_its_member(gpu: FakeCupy) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 100])
        y = af.reshape(af.exp(x) * 2.0, [7, -1], name="wrong")
        z = af.tanh(y) + 1.0
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            session.run(z, {x: np.ones((5, 100), np.float32)})
        assert caught.value.node == "wrong" and "GPU:0" in str(caught.value)
        assert session.run(z, {x: np.ones((7, 100), np.float32)}).shape == (7, 100)


def test_f91_a_group_that_fails_as_it_runs_is_named_by_its_members(gpu: FakeCupy) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [100])
        y = af.exp(af.tanh(x, name="one"), name="two")
    with blocking.Session(graph=graph, devices=devices(gpu, checked=True)) as session:
        gpu.fail_when_run("fused_2", 719)
        with pytest.raises(errors.InternalError, match="one, two"):
            session.run(y, {x: np.ones(100, np.float32)})


def test_f91_random_elementwise_programs_give_what_the_cpu_gives(gpu: FakeCupy, seed: int) -> None:
    """Groups that share operands, several outputs, all layouts, scalars, types that change within."""
    for number in range(seed, seed + 8):
        rng = np.random.default_rng(number)
        graph = af.Graph()
        shapes: list[Any] = [[9, 11], [9, 11], [11], [9, 1], [], [1, 11]]
        with graph.as_default():
            inputs = [af.placeholder(af.float32, shape) for shape in shapes]
            pool: list[Any] = list(inputs)
            for _ in range(25):
                a, b = (pool[int(rng.integers(len(pool)))] for _ in range(2))
                kind = int(rng.integers(9))
                makers: list[Callable[[], Any]] = [
                    lambda a=a, b=b: a + b,
                    lambda a=a, b=b: a * b,
                    lambda a=a, b=b: af.maximum(a, b),
                    lambda a=a: af.tanh(a),
                    lambda a=a: af.cast(af.cast(af.clip_by_value(a, -50.0, 50.0), af.int32), af.float32),
                    lambda a=a, b=b: af.where(a > b, a + b * 0.0, b + a * 0.0),
                    lambda a=a: af.nn.relu(a) - 0.25,
                    lambda a=a: af.sqrt(af.abs(a)),
                    lambda a=a: af.sigmoid(a),
                ]
                pool.append(makers[kind]())
            fetches = [pool[i] for i in sorted(set(rng.integers(len(inputs), len(pool), 6).tolist()))]
        feeds = {p: rng.normal(size=s).astype("f") for p, s in zip(inputs, shapes)}
        with blocking.Session(graph=graph, devices=devices(gpu)) as session:
            found = session.run(fetches, feeds)
        with blocking.Session(graph=graph, options=af.PlanOptions(jit=False)) as session:
            wanted = session.run(fetches, feeds)
        for one, right in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-6, err_msg=f"seed {number}")
            assert np.shape(one) == np.shape(right)
    assert any(name.startswith("fused") for name in names(gpu))


def test_f91_every_recipe_has_names_that_cupy_takes() -> None:
    for count, kind in itertools.product((1, 12), ("f4", "b1")):
        block = RecipeWriter()
        operands = [block.operand(kind) for _ in range(count)]
        made = source.source_of(block.finish([(o, None) for o in operands]))
        assert "float32 a0" in made.inputs or "bool a0" in made.inputs
        assert len(made.outputs.split(",")) == count
