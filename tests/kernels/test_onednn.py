"""Kernels from oneDNN: chosen where they pay, the rows of the table by them, and what the library can't do by numpy."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from graph.ops import checks, harness
from graph.ops.math import rows_matmul
from graph.ops.nn import rows_conv, rows_conv_functions, rows_conv_groups, rows_fused, rows_pool
from graph.ops.table import Case

import actorflow as af
from actorflow import errors
from actorflow.base.dtypes import float32, float64
from actorflow.base.registry import kernel, library, plugins
from actorflow.blocking import Session
from actorflow.graph.ops.nn.fused import sgd_matmul
from actorflow.kernels.native.library import loaded as native
from actorflow.kernels.onednn import batch, binding, conv_program, matmul, parts, pool, program
from actorflow.kernels.onednn.binding import Binding, loaded
from actorflow.kernels.shared import thread_count, threads

installed = pytest.mark.skipif(not binding.find(), reason="no oneDNN: pip install 'actorflow[onednn]'")
OPS = (
    "Conv2D",
    "Conv2DBackpropInput",
    "Conv2DBackpropFilter",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter",
    "MaxPool",
    "MaxPoolGrad",
    "AvgPool",
    "AvgPoolGrad",
    "MatMul",
    "_FusedMatMul",
    "_AddMatMul",
    "_AddFusedMatMul",
    "_FusedConv2D",
    "_FusedDepthwiseConv2d",
    "_AddFusedConv2D",
)
CASES = [
    case
    for rows in (rows_conv, rows_conv_functions, rows_conv_groups, rows_fused, rows_matmul, rows_pool)
    for case in rows.CASES
    if case.ops.split()[:1] and case.ops.split()[0] in OPS and "float32" in case.dtypes.split()
]
IMAGES = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
CONV: dict[str, Any] = {
    "strides": (1, 1, 1, 1),
    "padding": "SAME",
    "explicit_paddings": (),
    "data_format": "NHWC",
    "dilations": (1, 1, 1, 1),
}


@pytest.fixture(autouse=True)
def kernels() -> None:
    plugins.load_kernels()


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library wherever it can, also for small inputs, and all graphs run by sessions."""
    monkeypatch.setenv("ACTORFLOW_KERNELS", "onednn")
    run = harness.run
    monkeypatch.setattr(harness, "run", lambda graph, fetches, feeds, by="session": run(graph, fetches, feeds))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[program.Governed]:
    """The programs of the library that ran, in order."""
    found: list[program.Governed] = []
    call = program.Governed.__call__

    def noted(self: program.Governed, *arrays: Any) -> None:
        found.append(self)
        call(self, *arrays)

    plain = program.Governed.plain

    def noted_too(self: program.Governed) -> Any:
        run = plain(self)

        def noting(*arrays: Any) -> None:
            run(*arrays)
            found.append(self)

        return run if run is self else noting

    monkeypatch.setattr(program.Governed, "__call__", noted)
    monkeypatch.setattr(program.Governed, "plain", noted_too)
    monkeypatch.setattr(matmul, "_known", {})
    return found


@pytest.fixture(autouse=True)
def as_in_sessions() -> Iterator[None]:
    """A NaN is a value like any other: whether numpy warns of one in a product depends on the processor."""
    with np.errstate(all="ignore"):
        yield


def of_library(op: str) -> kernel.KernelDef:
    return next(k for k in kernel.from_libraries(op) if k.library == "onednn")


def of_numpy(op: str) -> kernel.KernelDef:
    return kernel.lookup(op, "CPU", [float32])


def drawn(seed: int) -> Callable[..., Any]:
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape, np.float32)


# ---- the same rows of the table


rows = pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])


@installed
@rows
def test_values(case: Case, seed: int, everywhere: None) -> None:
    checks.check_values(case, float32, seed)


@installed
@rows
def test_literals(case: Case, everywhere: None) -> None:
    checks.check_literals(case)


@installed
@pytest.mark.parametrize(
    ("case", "reject"), [pytest.param(c, r, id=f"{c.id}-{i}") for c in CASES for i, r in enumerate(c.rejects)]
)
def test_rejects(case: Case, reject: Any, everywhere: None) -> None:
    checks.check_reject(case, reject)


@installed
@rows
def test_kernels(case: Case, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave their inputs alone, give fresh memory, and fill `out`."""
    lookup = kernel.lookup

    def fast(op: str, device: str, dtypes: Any) -> kernel.KernelDef:
        return of_library(op) if op in OPS and dtypes[0] is float32 else lookup(op, device, dtypes)

    monkeypatch.setattr(kernel, "lookup", fast)
    checks.check_kernels(case, float32, seed)


@installed
def test_the_rows_are_computed_by_the_library(seed: int, everywhere: None, calls: list[Any]) -> None:
    lacking = set(OPS)
    for case in CASES:
        before = len(calls)
        checks.check_literals(case)
        if len(calls) > before:
            lacking.discard(case.ops.split()[0])
    assert not lacking


# ---- larger ones, against numpy's kernels

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one channel": ((4, 12, 12, 1), (5, 5, 1, 8), {}),
    "many": ((2, 9, 9, 33), (3, 3, 33, 17), {}),
    "point": ((2, 7, 7, 16), (1, 1, 16, 32), {}),
    "strides": ((3, 11, 13, 8), (3, 2, 8, 16), {"strides": (1, 2, 3, 1), "padding": "VALID"}),
    "gaps": ((2, 9, 9, 4), (1, 1, 4, 8), {"strides": (1, 3, 3, 1)}),
    "dilated": ((2, 13, 12, 8), (3, 3, 8, 4), {"dilations": (1, 2, 3, 1)}),
    "explicit": ((2, 8, 9, 8), (3, 3, 8, 4), {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 2, 2, 0, 0, 0)}),
}


@installed
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("prefix", ["Conv2D", "DepthwiseConv2dNative"])
def test_convolutions(prefix: str, name: str, seed: int, calls: list[Any]) -> None:
    draw, (images, window, changed) = drawn(seed), SHAPES[name]
    attrs = CONV | changed
    filters = window if prefix == "Conv2D" else (*window[:3], 2)
    x, w = draw(*images), draw(*filters)
    y = of_library(prefix).function(np, x, w, **attrs)
    dy = draw(*y.shape)
    for op, inputs in (
        (prefix, (x, w)),
        (f"{prefix}BackpropInput", (np.int32(images), w, dy)),
        (f"{prefix}BackpropFilter", (x, np.int32(filters), dy)),
    ):
        before = len(calls)
        found = of_library(op).function(np, *inputs, **attrs)
        assert len(calls) == before + 1
        np.testing.assert_allclose(found, of_numpy(op).function(np, *inputs, **attrs), rtol=1e-4, atol=2e-4)


@installed
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 2), (3, 1), (1, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kind", ["Max", "Avg"])
def test_pools(kind: str, padding: str, window: int, stride: int, seed: int, calls: list[Any]) -> None:
    attrs = {"ksize": (1, window, window, 1), "strides": (1, stride, stride, 1), "padding": padding}
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (3, 11, 10, 5)).astype(np.float32)  # with many ties
    y = of_numpy(f"{kind}Pool").function(np, x, **attrs)
    dy = rng.standard_normal(y.shape, np.float32)
    backward = (x, y, dy) if kind == "Max" else (np.int32(x.shape), dy)
    for op, inputs in ((f"{kind}Pool", (x,)), (f"{kind}PoolGrad", backward)):
        before = len(calls)
        found = of_library(op).function(np, *inputs, **attrs)
        assert len(calls) == before + 1
        np.testing.assert_allclose(found, of_numpy(op).function(np, *inputs, **attrs), rtol=1e-5, atol=1e-5)


@installed
@pytest.mark.parametrize(("bad", "by_library"), [(np.nan, False), (-np.inf, False), (np.inf, True), (1e30, True)])
def test_maxima_of_nan_and_infinity_are_numpys(bad: float, by_library: bool, seed: int, calls: list[Any]) -> None:
    x = drawn(seed)(2, 8, 8, 3)
    x[0, :2, :2], x[1, 4, 4, 1] = bad, bad
    y = of_numpy("MaxPool").function(np, x, **IMAGES)
    for op, inputs in (("MaxPool", (x,)), ("MaxPoolGrad", (x, y, np.ones_like(y)))):
        found = of_library(op).function(np, *inputs, **IMAGES)
        np.testing.assert_array_equal(found, of_numpy(op).function(np, *inputs, **IMAGES))
    assert bool(calls) == by_library


@installed
def test_nan_and_infinity_go_through_products(seed: int) -> None:
    draw = drawn(seed)
    x, w, bias = draw(2, 6, 6, 3), draw(3, 3, 3, 4), draw(4)
    x[0, 2, 2, 1], x[1, 0, 0, 0] = np.nan, np.inf
    attrs = CONV | {"activation": "Relu"}
    found = of_library("_FusedConv2D").function(np, x, w, bias, **attrs)
    wanted = of_numpy("_FusedConv2D").function(np, x, w, bias, **attrs)
    assert np.isnan(found).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@installed
@pytest.mark.parametrize("layout", ["C", "F", "stepped"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products(transposed: tuple[bool, bool], layout: str, seed: int, calls: list[Any]) -> None:
    draw = drawn(seed)
    a, b = (draw(*(s[::-1] if t else s)) for s, t in zip(((33, 65), (65, 40)), transposed))
    if layout == "F":
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    elif layout == "stepped":
        a, b = np.repeat(a, 2, 1)[:, ::2], b[::-1]
    attrs = {"transpose_a": transposed[0], "transpose_b": transposed[1]}
    wanted = (a.T if transposed[0] else a) @ (b.T if transposed[1] else b)
    np.testing.assert_allclose(of_library("MatMul").function(np, a, b, **attrs), wanted, rtol=1e-4, atol=1e-4)
    bias = draw(40)
    found = of_library("_FusedMatMul").function(np, a, b, bias, **attrs, activation="Elu")
    wanted = of_numpy("_FusedMatMul").function(np, a, b, bias, **attrs, activation="Elu")
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    c = draw(33, 40)
    wanted = of_numpy("_AddMatMul").function(np, c, a, b, **attrs)
    for out in (None, np.empty_like(c), c):
        found = of_library("_AddMatMul").function(np, c, a, b, **attrs, out=out)
        assert out is None or found is out
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert len(calls) == 5


@installed
@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_matrix_is_not_turned_for_few_rows(turned: bool, seed: int, calls: list[Any]) -> None:
    draw = drawn(seed)
    a, b = draw(300, 9) if turned else draw(9, 300), draw(1800, 300)
    attrs = {"transpose_a": turned, "transpose_b": True}
    for _ in range(2):  # the second time on the short way
        found = of_library("MatMul").function(np, a, b, **attrs)
        np.testing.assert_allclose(found, (a.T if turned else a) @ b.T, rtol=1e-4, atol=1e-4)
        added = of_library("_AddMatMul").function(np, found, a, b, **attrs)
        np.testing.assert_allclose(added, 2 * found, rtol=1e-4, atol=1e-4)
    assert len(calls) == 4


# ---- which kernel a node gets


def chosen(op: str, shapes: list[Any], attrs: dict[str, Any], dtype: Any = float32) -> str:
    base = kernel.lookup(op, "CPU", [dtype])
    return library.best(base, "CPU", [dtype], attrs, shapes).library


PLAIN = {"transpose_a": False, "transpose_b": False}


@installed
def test_the_library_is_taken_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    large, small = [(640, 640), (640, 640)], [(4, 4), (4, 4)]
    assert chosen("MatMul", large, PLAIN) == "onednn"
    own = native()
    wide = own is not None and own.level() != "plain"
    near = "native" if wide else "onednn"  # a product whose matrices stay in the cache
    assert chosen("MatMul", [(256, 256), (256, 256)], PLAIN) == near
    fused = PLAIN | {"activation": "Relu"}
    assert chosen("_AddFusedMatMul", [(256, 64), (256, 64), (64, 64), (64,)], fused) == near
    assert (
        chosen("_AddFusedMatMul", [(256, 64), (256, 64), (64, 64), (64,)], PLAIN | {"activation": "Tanh"}) == "onednn"
    )
    assert chosen("MatMul", small, PLAIN) != "onednn"
    assert chosen("MatMul", large, PLAIN, float64) == ""
    assert chosen("MatMul", [(128, 512), (512, 10)], PLAIN) == "onednn"  # numpy's library is slow where one is slim
    assert chosen("MatMul", [(256, 512), (512, 4)], PLAIN) == ""
    assert chosen("Conv2D", [(8, 28, 28, 16), (3, 3, 16, 16)], CONV) == "onednn"
    assert chosen("Conv2D", [(8, 16, 28, 28), (3, 3, 16, 16)], CONV | {"data_format": "NCHW"}) == ""
    assert chosen("Conv2D", [(0, 28, 28, 16), (3, 3, 16, 16)], CONV) == ""
    monkeypatch.setenv("ACTORFLOW_KERNELS", "onednn")
    assert chosen("MatMul", small, PLAIN) == "onednn"
    assert chosen("MatMul", [(0, 4), (4, 4)], PLAIN) == ""
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    assert chosen("MatMul", large, PLAIN) == ""


def test_an_unknown_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "fastest")
    x = af.placeholder(af.float32, [2, 2])
    with Session(graph=x.graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"may be 'numpy'.* or 'onednn'"):
            session.run(af.matmul(x, x), {x: np.eye(2)})


def test_without_the_library_numpy_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "onednn")
    monkeypatch.setitem(library._AVAILABLE, "onednn", lambda: False)
    assert chosen("MatMul", [(256, 256), (256, 256)], PLAIN) == ""


@installed
@pytest.mark.parametrize("coalesce", [True, False])
def test_open_shapes_are_chosen_by_call(
    coalesce: bool, seed: int, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    draw, graph = drawn(seed), af.Graph()
    with graph.as_default():
        x, weights = af.placeholder(af.float32, [None, 640]), af.placeholder(af.float32, [640, 640])
        w = draw(640, 640)
        y = af.matmul(x, weights, name="y")
        with Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
            for rows, expected in ((2, 0), (200, 1), (3, 0), (200, 1)):
                value, before = draw(rows, 640), len(calls)
                np.testing.assert_allclose(session.run(y, {x: value, weights: w}), value @ w, rtol=1e-4, atol=1e-3)
                assert len(calls) - before == expected


def test_a_kernel_of_a_library_has_the_keywords_of_the_one_that_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_FROM_LIBRARIES", {})

    @kernel.kernel("MatMul", device="CPU", dtypes=frozenset((float32,)), library="mine")
    def other(xp: Any, a: Any, b: Any, *, transpose_a: bool) -> Any:
        return xp.matmul(a, b)

    with pytest.raises(TypeError, match="other keywords"):
        kernel.verify()


# ---- whole steps


def network() -> tuple[dict[str, Any], Any, list[Any]]:
    """Placeholders by name, a step of training, and the variables of a small network with all layers."""
    x, labels = af.placeholder(af.float32, [None, 12, 12, 2]), af.placeholder(af.int32, [None])
    rng = np.random.default_rng(7)

    def weights(*shape: int) -> Any:
        return af.Variable(rng.standard_normal(shape, np.float32) / 8)

    variables = [weights(3, 3, 2, 8), weights(8), weights(288, 32), weights(32), weights(32, 10), weights(10)]
    w1, b1, w2, b2, w3, b3 = variables
    image = af.nn.relu(af.nn.bias_add(af.nn.conv2d(x, w1, 1, "SAME"), b1))
    flat = af.reshape(af.nn.max_pool(image, 2, 2, "SAME"), [-1, 288])
    logits = af.matmul(af.tanh(af.matmul(flat, w2) + b2), w3) + b3
    loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return {"x": x, "labels": labels}, af.train.GradientDescentOptimizer(0.25).minimize(loss), variables


@installed
def test_training_agrees_with_numpy(seed: int, calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    batches = [(rng.standard_normal((16, 12, 12, 2), np.float32), rng.integers(0, 10, 16)) for _ in range(4)]
    found = []
    for kernels in ("numpy", "onednn"):
        monkeypatch.setenv("ACTORFLOW_KERNELS", kernels)
        graph = af.Graph()
        with graph.as_default(), Session(graph=graph) as session:
            feeds, step, variables = network()
            session.run(af.global_variables_initializer())
            for images, labels in batches:
                session.run(step, {feeds["x"]: images, feeds["labels"]: labels})
            found.append(session.run([v.read_value() for v in variables]))
        assert bool(calls) == (kernels == "onednn")
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@installed
@pytest.mark.parametrize("rate", [0.5, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("dtype", [float32, float64])
def test_a_fused_step_in_the_variable_itself(
    rate: float, dtype: Any, seed: int, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One product into the buffer; rates for which the library has other NaNs go numpy's way, and other types."""
    monkeypatch.setenv("ACTORFLOW_KERNELS", "onednn")
    rng, graph = np.random.default_rng(seed), af.Graph()
    kind = dtype.numpy_dtype
    w, a, b = (rng.standard_normal(shape).astype(kind) for shape in ((20, 30), (8, 20), (8, 30)))
    a[0, 0] = np.inf
    with graph.as_default(), Session(graph=graph) as session:
        v = af.Variable(w)
        x, y = af.placeholder(dtype, a.shape), af.placeholder(dtype, b.shape)
        step = sgd_matmul(v, kind.type(rate), x, y, transpose_a=True, name="step")
        session.run(v.initializer)
        session.run(step, {x: a, y: b})
        wanted = w - kind.type(rate) * (a.T @ b)
        np.testing.assert_allclose(session.run(v), wanted, rtol=1e-4, atol=1e-4)
    assert len(calls) == (rate == 0.5 and dtype is float32)


@installed
def test_threads_share_programs(seed: int) -> None:
    """Each call has its own buffers, so calls at one time don't meet."""
    draw = drawn(seed)
    w = draw(3, 3, 8, 16)
    images = [draw(2, 10, 10, 8) for _ in range(4)]
    convolve = functools.partial(of_library("Conv2D").function, np, **CONV)
    wanted = [convolve(x, w) for x in images]
    wrong: list[int] = []
    ready = threading.Barrier(len(images))

    def work(index: int) -> None:
        ready.wait()
        for _ in range(50):
            if not np.array_equal(convolve(images[index], w), wanted[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(images))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- the binding


@pytest.fixture
def bound() -> Iterator[Binding]:
    found = loaded()
    assert found is not None
    yield found


@installed
def test_the_number_of_threads_is_put_back(bound: Binding, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "SPLIT_FLOPS", 0)
    own = bound.set_threads(1)
    bound.set_threads(own)
    draw = drawn(seed)
    x, w = draw(2, 10, 10, 7), draw(3, 3, 7, 9)
    found = [of_library("Conv2D").function(np, x, w, **CONV) for _ in range(6)]
    for y in found:
        np.testing.assert_allclose(y, found[0], rtol=1e-5, atol=1e-5)
    assert bound.set_threads(own) == own


@pytest.fixture
def portions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Work on two threads, whatever it is worth; what each part was."""
    found: list[tuple[int, int]] = []
    share = parts.shared

    def shared(library: Any, work: Any, count: int, key: Any, even: int = 1, whole: Any = None) -> None:
        def noted(begin: int, end: int) -> None:
            work(begin, end)
            found.append((begin, end))

        share(library, noted, count, key, even, whole)

    run_parts = parts.run_parts

    def ran(programs: Any, offsets: bytes, *given: Any) -> Any:
        found.extend((number, number + 1) for number in range(len(programs)))
        status = run_parts(programs, offsets, *given)
        assert status == 0
        return status

    monkeypatch.setattr(parts, "run_parts", ran)
    for module in (parts, conv_program, matmul):
        monkeypatch.setattr(module, "are_shared", lambda library, flops, count=2: count > 1)
        monkeypatch.setattr(module, "shared", shared)
    if threads.loaded() is None:
        pytest.skip("without the library in C there is one thread")
    monkeypatch.setattr(threads, "most_threads", lambda: 2)
    monkeypatch.setattr(parts, "most_threads", lambda: 2)
    monkeypatch.setattr(thread_count.ThreadCount, "run", lambda self, work: work(2))
    monkeypatch.setattr(matmul, "_known", {})
    for module in (batch, conv_program, pool):
        monkeypatch.setattr(module, "_batches", parts.ImageBatches())
    for module in (batch, conv_program, matmul, pool):
        monkeypatch.setattr(module, "_programs", program.ProgramCache())
    return found


@installed
@pytest.mark.parametrize("sizes", [(2, 10, 10, 7), (5, 9, 8, 3), (3, 6, 6, 16)])
def test_parts_of_a_batch_give_what_all_of_it_gives(
    portions: list[tuple[int, int]], seed: int, sizes: tuple[int, ...]
) -> None:
    draw = drawn(seed)
    x, w, bias = draw(*sizes), draw(3, 3, sizes[3], 9), draw(9)
    dy = draw(*sizes[:3], 9)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
    attrs = {**CONV, "activation": "Relu"}
    close(of_library("Conv2D").function(np, x, w, **CONV), of_numpy("Conv2D").function(np, x, w, **CONV))
    close(
        of_library("_FusedConv2D").function(np, x, w, bias, **attrs),
        of_numpy("_FusedConv2D").function(np, x, w, bias, **attrs),
    )
    given = np.array(sizes, np.int32), w, dy
    close(
        of_library("Conv2DBackpropInput").function(np, *given, **CONV),
        of_numpy("Conv2DBackpropInput").function(np, *given, **CONV),
    )
    assert portions == [(0, 1), (1, 2)] * 3
    given = x, np.array(w.shape, np.int32), dy
    close(
        of_library("Conv2DBackpropFilter").function(np, *given, **CONV),
        of_numpy("Conv2DBackpropFilter").function(np, *given, **CONV),
    )


@installed
@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_parts_of_a_product_give_the_whole(
    portions: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, seed: int, turned_a: bool, turned_b: bool
) -> None:
    draw = drawn(seed)
    divided: list[int] = []
    monkeypatch.setattr(matmul, "threaded", lambda key, work: (divided.append(2), work(2)))
    for m, n, k in ((130, 40, 24), (40, 130, 24), (200, 150, 9), (16, 2100, 260), (1, 40, 8)):
        a, b = draw(*((k, m) if turned_a else (m, k))), draw(*((n, k) if turned_b else (k, n)))
        for beta in (0.0, 1.0):
            c = draw(m, n)
            wanted = 0.5 * (a.T if turned_a else a) @ (b.T if turned_b else b) + beta * c
            del portions[:], divided[:]
            assert matmul.product(a, b, turned_a, turned_b, c, 0.5, beta)
            np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=1e-4)
            assert len(portions) == 2 or divided == [2]


@installed
@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_batches_of_products_and_their_parts(
    portions: list[tuple[int, int]], seed: int, adj_x: bool, adj_y: bool
) -> None:
    draw, attrs = drawn(seed), {"adj_x": adj_x, "adj_y": adj_y}
    ours, numpys = of_library("BatchMatMulV2").function, of_numpy("BatchMatMulV2").function
    for sizes, (m, n, k) in (((5,), (20, 17, 9)), ((2, 3), (1, 30, 4)), ((2,), (33, 1, 1)), ((1,), (8, 8, 8))):
        x, y = draw(*sizes, *((k, m) if adj_x else (m, k))), draw(*sizes, *((n, k) if adj_y else (k, n)))
        x[0, ..., 0, 0], y[-1, ..., 0, 0] = np.nan, np.inf
        wanted = numpys(np, x, y, **attrs)
        out = np.empty_like(wanted)
        for given in ({}, {"out": out}):
            del portions[:]
            found = ours(np, x, y, **attrs, **given)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
            assert len(portions) == (0 if sizes == (1,) else 2), sizes
        assert found is out
        # Arrays that are not in order, or have other sizes, numpy multiplies.
        view = x[..., ::-1, :]
        np.testing.assert_allclose(ours(np, view, y, **attrs), numpys(np, view, y, **attrs), rtol=1e-4, atol=1e-4)
    one, other = draw(3, 4, 4), draw(1, 4, 4)
    np.testing.assert_allclose(ours(np, one, other, **attrs), numpys(np, one, other, **attrs))
    with pytest.raises(ValueError, match="mismatch"):
        ours(np, draw(2, 3, 4), draw(2, 7, 9), **attrs)


@installed
def test_parts_of_pooled_images(portions: list[tuple[int, int]], seed: int) -> None:
    x = drawn(seed)(5, 9, 8, 3)
    for number in (None, np.nan, -np.inf):
        if number is not None:
            x[4, 1, 1, 1] = number
        y = of_numpy("MaxPool").function(np, x, **IMAGES)
        np.testing.assert_array_equal(of_library("MaxPool").function(np, x, **IMAGES), y)
        dy = drawn(seed + 1)(*y.shape)
        wanted = of_numpy("MaxPoolGrad").function(np, x, y, dy, **IMAGES)
        np.testing.assert_array_equal(of_library("MaxPoolGrad").function(np, x, y, dy, **IMAGES), wanted)
    assert portions


@installed
def test_a_status_becomes_an_error(bound: Binding) -> None:
    bound.check(0, "nothing")
    with pytest.raises(errors.InternalError, match="refuses a test: invalid_arguments"):
        bound.check(2, "a test")
    with pytest.raises(errors.ResourceExhaustedError, match="a test"):
        bound.check(1, "a test")
    with pytest.raises(binding.Unsupported):
        bound.check(3, "a test")


@installed
def test_what_the_library_lacks_is_remembered(bound: Binding) -> None:
    tried = []

    def make() -> Any:
        tried.append(1)
        bound.check(3, "a test")

    cache = program.ProgramCache()
    assert cache.get("key", bound, make, 0) is None and cache.get("key", bound, make, 0) is None
    assert tried == [1]


@installed
@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("op", ["Int8MatMul", "Int8Conv2D"])
@pytest.mark.filterwarnings("error")
def test_not_a_number_stays_one_where_steps_are_whole_numbers(op: str, limit: float) -> None:
    """Whole numbers have no NaN; the row that has one is not told as a finite answer, and the others are as ever."""
    size = (64, 64) if op == "Int8MatMul" else (2, 8, 8, 64)
    x, weights = np.ones(size, np.float32), np.ones((64, 64) if op == "Int8MatMul" else (1, 1, 64, 64), np.int8)
    x[(0,) * x.ndim] = np.nan
    attrs: dict[str, Any] = {"limit": limit, "signed": True, "activation": ""}
    if op == "Int8Conv2D":
        attrs |= {"strides": (1, 1, 1, 1), "padding": "SAME", "explicit_paddings": (), "dilations": (1, 1, 1, 1)}
    y = of_library(op).function(np, x, weights, np.ones(64, np.float32), np.zeros(64, np.float32), **attrs)
    assert np.isnan(y[(0,) * (x.ndim - 1)]).all()
    np.testing.assert_allclose(y[1], 64, rtol=1e-6)


@installed
def test_many_programs_are_let_go(bound: Binding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MOST_PROGRAMS", 3)
    cache = program.ProgramCache()
    for key in range(7):
        assert cache.get(key, bound, lambda: lambda: None, 0) is not None
    assert len(cache._known) <= 3


def test_no_library_where_no_wheel_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", lacking)
    assert binding.find() == []
    assert binding._load.__wrapped__() is None


def test_a_broken_library_is_logged_and_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "libdnnl.so.3"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(binding, "find", lambda: [str(broken)])
    assert binding._load.__wrapped__() is None
    assert "not used" in caplog.text


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    with binding._bounded_spin():
        assert int(os.environ["GOMP_SPINCOUNT"]) > 0
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with binding._bounded_spin():
        assert "GOMP_SPINCOUNT" not in os.environ


@installed
@pytest.mark.parametrize(("size", "dtype", "begun"), [(640, float32, True), (4, float32, False), (64, float64, False)])
def test_the_first_plan_of_a_graph_with_large_products_begins_the_library(
    size: int, dtype: Any, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    matmul._warm.cache_clear()
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(dtype, [size, size])
        af.matmul(x, x)
        other = af.constant(2.0) + 1.0
    with Session(graph=graph) as session:
        assert session.run(other) == 3.0
    assert matmul._warm.cache_info().misses == begun
