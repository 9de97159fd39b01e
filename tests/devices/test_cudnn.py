"""Convolutions and batch normalization by cuDNN, on a fake of its Python package and a fake GPU.

`fake_cudnn.py` computes what is described to it, so a wrong size, stride or padding gives wrong values. Whether the real library
takes the descriptions is for `tests/gpu`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fake_cudnn import FakeCudnn
from fake_cupy import FakeCupy
from graph.ops import checks, harness
from test_cuda import NAME, Make, cases, devices, fake, on_gpu  # noqa: F401

import actorflow as af
from actorflow import blocking, errors
from actorflow.devices.cuda.device import CudaDevice
from actorflow.graph.ops.nn.normalization import fused_batch_norm_op
from actorflow.kernels.cudnn import binding, conv, program
from actorflow.kernels.cudnn.program import CudnnOperation, CudnnPlans, packed
from actorflow.kernels.nn.conv import depthwise as by_channels
from actorflow.kernels.nn.conv import functions as by_columns

pytestmark = pytest.mark.real_memory


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeCudnn]]:
    """Makes the fake the module that is installed, with no plans yet."""

    def install(gpu: FakeCupy, **options: Any) -> FakeCudnn:
        made = FakeCudnn(gpu, **options)
        monkeypatch.setitem(sys.modules, "cudnn", made)
        monkeypatch.setattr(program, "plans", CudnnPlans())
        binding._load.cache_clear()
        return made

    yield install
    monkeypatch.undo()
    binding._load.cache_clear()


@pytest.fixture
def gpu(fake: Make) -> FakeCupy:  # noqa: F811
    return fake()


@pytest.fixture
def device(gpu: FakeCupy) -> Iterator[CudaDevice]:
    made = CudaDevice(NAME.format("GPU", 0), cupy=gpu)
    yield made
    made.close()


def of_convolutions_and_norms() -> list[Any]:
    found = []
    for case, types in cases():
        if any(word in case.ops for word in ("Conv", "FusedBatchNorm")):
            found.append((case, types))
    return found


ROWS = of_convolutions_and_norms()


@pytest.mark.parametrize("part", range(3))
def test_f38_the_rows_of_the_op_tables_hold_by_cudnn(
    fake: Make,  # noqa: F811
    installed: Callable[..., FakeCudnn],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    part: int,
) -> None:
    modules: list[FakeCudnn] = []

    def make() -> FakeCupy:
        made = fake()
        modules.append(installed(made))
        return made

    monkeypatch.setattr(harness, "run", on_gpu(make, []))
    monkeypatch.setattr(checks, "KNOWLEDGE", ("nothing", "shape"), raising=False)
    choose = random.Random(seed)
    assert len(ROWS) > 30
    for case, types in ROWS[part::3]:
        checks.check_values(case, choose.choice(types), seed)
    assert sum(1 for m in modules if m.runs) > 0.6 * len(modules), "too few went through cuDNN"


def drawn(choose: random.Random) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], bool]:
    """A convolution: images, weights, attributes, and whether it is one of single channels."""
    while True:
        rank, layout = choose.choice((4, 5)), choose.choice(("last", "first"))
        depthwise = rank == 4 and choose.random() < 0.3
        count = choose.choice((1, 1, 2, 3))
        channels, outputs = count * choose.randint(1, 3), count * choose.randint(1, 3)
        space = [choose.randint(1, 7) for _ in range(rank - 2)]
        window = [choose.randint(1, 4) for _ in space]
        steps = [choose.randint(1, 3) for _ in space]
        deep = [choose.choice((1, 1, 2)) for _ in space]
        padding = choose.choice(("SAME", "VALID") if rank == 5 else ("SAME", "VALID", "EXPLICIT"))
        pairs = [(choose.randint(0, 2), choose.randint(0, 2)) for _ in space]

        def whole(batch: Any, inner: list[Any], channel: Any, layout: str = layout) -> list[Any]:
            return [batch, *inner, channel] if layout == "last" else [batch, channel, *inner]

        images = tuple(whole(choose.randint(1, 3), space, channels))
        weights = (
            *window,
            channels if depthwise else channels // count,
            choose.randint(1, 3) if depthwise else outputs,
        )
        names = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
        attrs = {
            "strides": whole(1, steps, 1),
            "dilations": whole(1, deep, 1),
            "padding": padding,
            "data_format": names[layout == "first"],
            "explicit_paddings": [w for p in whole((0, 0), pairs, (0, 0)) for w in p] if padding == "EXPLICIT" else [],
        }
        try:
            by_columns.spans_of("A convolution", images, weights, attrs)
        except ValueError:
            continue
        return images, weights, attrs, depthwise


def test_f38_random_convolutions_have_the_cpus_values(
    device: CudaDevice, gpu: FakeCupy, installed: Callable[..., FakeCudnn], seed: int
) -> None:
    module = installed(gpu)
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    for number in range(60):
        images, weights, attrs, depthwise = drawn(choose)
        geometry = conv.geometry_of(images, weights, attrs, depthwise)
        assert geometry is not None
        x, w = rng.normal(size=images), rng.normal(size=weights)
        dy = rng.normal(size=geometry.of_result)
        sizes = np.array(images), np.array(weights)
        if depthwise:
            wanted = (
                by_channels.depthwise(np, x, w, **attrs),
                by_channels.depthwise_to_input(np, sizes[0], w, dy, **attrs),
                by_channels.depthwise_to_filter(np, x, sizes[1], dy, **attrs),
            )
        else:
            wanted = (
                by_columns._forward(np, x, w, attrs, None),
                by_columns._to_input(np, sizes[0], w, dy, attrs, None),
                by_columns._to_filter(np, x, sizes[1], dy, attrs),
            )
        with device.launching("a test"):
            on = [device.on_gpu(v) for v in (x, w, dy)]
            found = (
                conv.forward(gpu, on[0], on[1], geometry),
                conv.to_images(gpu, on[1], on[2], geometry),
                conv.to_weights(gpu, on[0], on[2], geometry),
            )
        for one, other in zip(found, wanted, strict=True):
            message = f"convolution {number}: {images}, {weights}, {attrs} (ACTORFLOW_TEST_SEED={seed})"
            np.testing.assert_allclose(one.host, other, rtol=1e-10, atol=1e-10, err_msg=message)
    assert len(module.runs) == 180


def convolution(batch: Any = None) -> tuple[af.Graph, Any, Any]:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [batch, 8, 8, 3])
        w = af.constant(np.random.default_rng(1).normal(size=(3, 3, 3, 4)).astype("f"))
        y = af.nn.conv2d(x, w, strides=2, padding="SAME")
    return graph, x, y


def images(count: int) -> Any:
    return np.random.default_rng(count).normal(size=(count, 8, 8, 3)).astype("f")


@pytest.mark.parametrize("batch", [None, 2], ids=["open-shape", "known-shape"])
def test_f38_a_plan_is_made_once_for_each_shape(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn], batch: int | None
) -> None:
    module = installed(gpu)
    graph, x, y = convolution(batch)
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        for count in (2, 2, 2) if batch else (2, 3, 2, 3):
            session.run(y, {x: images(count)})
    assert len(module.built) == (1 if batch else 2) and len(module.runs) == (3 if batch else 4)
    assert len(module.handles) == 1


def test_f38_float32_is_not_rounded_to_tf32_and_runs_repeat_their_bits(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn]
) -> None:
    module = installed(gpu)
    for dtype in ("float16", "float32", "float64"):
        graph = af.Graph()
        with graph.as_default():
            x = af.placeholder(dtype, [2, 8, 8, 3])
            y = af.nn.conv2d(x, af.constant(np.ones((3, 3, 3, 4), dtype)), strides=1, padding="SAME")
        with blocking.Session(graph=graph, devices=devices(gpu)) as session:
            session.run(y, {x: images(2).astype(dtype)})
    refused = [set(g.refused) for g in module.built]
    assert all({"NONDETERMINISTIC", "DOWN_CONVERT_INPUTS", "WINOGRAD", "FFT"} <= notes for notes in refused)
    assert ["TENSOR_CORE" in notes for notes in refused] == [False, True, False]
    assert [g.compute for g in module.built] == ["float32", "float32", "float64"]


def test_f38_what_cudnn_does_not_support_is_cupys_and_asked_once(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn]
) -> None:
    asked: list[str] = []

    def supports(name: str, dtype: str) -> bool:
        asked.append(name)
        return False

    module = installed(gpu, supports=supports)
    graph, x, y = convolution(2)
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        found = [session.run(y, {x: images(2)}) for _ in range(3)]
    with blocking.Session(graph=graph) as session:
        wanted = session.run(y, {x: images(2)})
    for value in found:
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-5)
    assert asked == ["conv_fprop"] and not module.runs


def test_f38_without_cudnn_and_where_it_is_not_wanted_a_gpu_convolves_by_cupy(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, x, y = convolution(2)
    with blocking.Session(graph=graph) as session:
        wanted = session.run(y, {x: images(2)})
    module = installed(gpu)
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    for there in (True, False):
        with blocking.Session(graph=graph, devices=devices(gpu)) as session:
            np.testing.assert_allclose(session.run(y, {x: images(2)}), wanted, rtol=1e-5, atol=1e-5)
            assert session._inner._engine.placements()[y.op.name].endswith("GPU:0")
        if there:
            monkeypatch.delenv("ACTORFLOW_KERNELS")
            monkeypatch.setitem(sys.modules, "cudnn", None)
            binding._load.cache_clear()
    assert not module.built
    assert ("matmul") in [name for _, name in gpu.launches]


def test_f37_the_workspace_counts_towards_the_budget_of_a_gpu(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fake_cudnn.WORKSPACE", 1 << 20)
    installed(gpu)
    graph, x, y = convolution(2)
    with blocking.Session(graph=graph, devices=devices(gpu)) as session:
        session.run(y, {x: images(2)})
        memory = session.statistics().devices[NAME.format("GPU", 0)].memory
        assert memory.peak_bytes >= 1 << 20 > memory.live_bytes
    with blocking.Session(graph=graph, devices=devices(gpu, memory_budget=1 << 19)) as session:
        with pytest.raises(errors.ResourceExhaustedError, match="memory budget"):
            session.run(y, {x: images(2)})


def test_f38_of_many_plans_the_last_ones_are_kept(
    device: CudaDevice, gpu: FakeCupy, installed: Callable[..., FakeCudnn]
) -> None:
    module = installed(gpu)
    plans = CudnnPlans(most=3)

    def operation(size: int) -> CudnnOperation:
        image, weight = packed((1, 2, size, size), "float32", True), packed((4, 2, 1, 1), "float32", True)
        moves = tuple((k, (v, v)) for k, v in dict(pre_padding=0, post_padding=0, stride=1, dilation=1).items())
        result = packed((1, 4, size, size), "float32", True)
        return CudnnOperation("conv_fprop", (("image", image), ("weight", weight)), (result,), moves)

    with device.launching("a test"):
        for size in (1, 2, 3, 1, 4, 1, 3, 2):
            assert plans.find(operation(size), 0) is plans.find(operation(size), 0)
    assert len(plans) == 3
    assert [g.inputs["image"].dim[2] for g in module.built] == [1, 2, 3, 4, 2]


def test_f38_batch_norm_of_one_element_and_fixed_moments_gradient_are_cupys(
    gpu: FakeCupy, installed: Callable[..., FakeCudnn]
) -> None:
    """The cases for which cuDNN's formulas have no value."""
    module = installed(gpu)
    rng = np.random.default_rng(3)
    for shape, training in (((1, 1, 1, 3), True), ((2, 4, 4, 3), False)):
        graph = af.Graph()
        with graph.as_default():
            x = af.placeholder(af.float32, shape)
            vectors = [af.constant(rng.random(3).astype("f") + 0.5) for _ in range(4)]
            y = fused_batch_norm_op(x, *vectors, is_training=training)
            fetches = [y[0], y[1], y[2], *af.gradients(y[0], [x, vectors[0]])]
        feed = {x: rng.normal(size=shape).astype("f")}
        with blocking.Session(graph=graph, devices=devices(gpu)) as session:
            found = session.run(fetches, feed)
        with blocking.Session(graph=graph) as session:
            for one, other in zip(found, session.run(fetches, feed), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    assert module.runs.count("batchnorm") == 0 and module.runs.count("batchnorm_inference") == 1


def test_f38_a_module_of_the_same_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cudnn", type(sys)("cudnn"))
    binding._load.cache_clear()
    try:
        assert binding.loaded() is None
    finally:
        monkeypatch.undo()
        binding._load.cache_clear()
