"""Convolutions and products whose weights are constants: the library has them in its own layout from the plan on."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.blocking import Session
from actorflow.dtypes import float32
from actorflow.kernels.native.library import loaded
from actorflow.kernels.onednn import binding, constants, conv, panels, parts, prepared
from actorflow.kernels.shared.governor import Governor
from actorflow.kernels.shared.threads import governor_of
from actorflow.ops.nn.fused import ACTIVATIONS
from actorflow.registry import kernel, plugins
from actorflow.runtime.kernel_context import kernel_context

pytestmark = pytest.mark.skipif(not binding.find(), reason="no oneDNN: pip install 'actorflow[onednn]'")
CONV: dict[str, Any] = {
    "strides": (1, 1, 1, 1),
    "padding": "SAME",
    "explicit_paddings": (),
    "data_format": "NHWC",
    "dilations": (1, 1, 1, 1),
}
PLAIN: dict[str, Any] = {"transpose_a": False, "transpose_b": False}


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    plugins.load_kernels()
    with np.errstate(all="ignore"):
        yield


def drawn(seed: int) -> Callable[..., Any]:
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape, np.float32)


def both(op: str, attrs: dict[str, Any], given: list[Any], constant: tuple[int, ...]) -> tuple[Any, Any]:
    """The results of the kernel that is prepared for the inputs at some places, and of numpy's."""
    entry = next(k for k in kernel.from_libraries(op) if k.library == "onednn")
    assert entry.prepare is not None
    constants = [value if at in constant else None for at, value in enumerate(given)]
    run = entry.prepare(attrs, [value.shape for value in given], constants)
    assert run is not None
    return run(np, *given), kernel.lookup(op, "CPU", [float32]).function(np, *given, **attrs)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias_too", [True, False])
def test_products_with_each_activation(activation: str, bias_too: bool, seed: int) -> None:
    draw = drawn(seed)
    given = [draw(33, 65), draw(65, 40), draw(40)]
    attrs = {**PLAIN, "activation": activation}
    found, wanted = both("_FusedMatMul", attrs, given, (1, 2) if bias_too else (1,))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_products_of_turned_weights_of_one_row_and_on_top_of_another_matrix(seed: int) -> None:
    draw = drawn(seed)
    for op, attrs, given, at in (
        ("MatMul", {**PLAIN, "transpose_b": True}, [draw(16, 64), draw(96, 64)], 1),
        ("MatMul", PLAIN, [draw(1, 512), draw(512, 100)], 1),
        ("_AddMatMul", PLAIN, [draw(16, 96), draw(16, 64), draw(64, 96)], 2),
        ("_AddFusedMatMul", {**PLAIN, "activation": "Tanh"}, [draw(16, 96), draw(16, 64), draw(64, 96), draw(96)], 2),
    ):
        found, wanted = both(op, attrs, given, (at,))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["Conv2D", "DepthwiseConv2dNative", "_FusedConv2D"])
@pytest.mark.parametrize("images", [1, 3])
def test_convolutions(op: str, images: int, seed: int) -> None:
    draw = drawn(seed)
    given = [draw(images, 9, 10, 16), draw(3, 3, 16, 2 if op.startswith("Depth") else 24)]
    attrs = CONV
    if op == "_FusedConv2D":
        given, attrs = [*given, draw(24)], {**CONV, "activation": "Relu"}
    found, wanted = both(op, attrs, given, tuple(range(1, len(given))))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)


def divide_always(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    for module in (prepared, parts, conv):
        monkeypatch.setattr(module, "most_threads", lambda: threads)
    monkeypatch.setattr(prepared, "governed", lambda key, work, **_: work(threads))
    monkeypatch.setattr(prepared, "_WORTH_SHARING", 0.0)


@pytest.mark.parametrize(
    "op", ["Conv2D", "_FusedConv2D", "_AddFusedConv2D", "_FusedMatMul", "_AddMatMul", "_AddFusedMatMul"]
)
@pytest.mark.parametrize("constant", [True, False])
def test_threads_share_rows_and_images(op: str, constant: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two threads and on four, one of which has less to do; a bias may come with each call."""
    draw = drawn(seed)
    for threads in (2, 4):
        divide_always(monkeypatch, threads)
        given = [draw(5, 7, 6, 16), draw(3 if op == "Conv2D" else 1, 1, 16, 24), draw(24)]
        attrs: dict[str, Any] = CONV
        if op.endswith("MatMul"):
            given, attrs = [draw(37, 64), draw(64, 48), draw(48)], PLAIN
        if "Fused" in op:
            attrs = {**attrs, "activation": "Relu"}
        else:
            given = given[:2]
        if op.startswith("_Add"):
            given = [draw(*given[0].shape[:-1], given[1].shape[-1]), *given]
        weights = 2 if op.startswith("_Add") else 1
        found, wanted = both(op, attrs, given, (weights, weights + 1) if constant else (weights,))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize(
    "op", ["MatMul", "_FusedMatMul", "_AddMatMul", "_AddFusedMatMul", "_FusedConv2D", "_AddFusedConv2D"]
)
@pytest.mark.parametrize("activation", ["Relu", "_Gelu", "Tanh"])
@pytest.mark.parametrize("constant", [True, False])
def test_threads_share_the_columns_of_few_rows(
    op: str, rows: int, threads: int, activation: str, constant: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last thread has fewer columns than others. One thread computes them one after the other."""
    draw = drawn(seed)
    divide_always(monkeypatch, max(threads, 2))
    monkeypatch.setattr(prepared, "governed", lambda key, work, **_: work(threads))
    run_parts, done = prepared.run_parts, []
    monkeypatch.setattr(prepared, "run_parts", lambda *given: [done.append(run_parts(*given)), done[-1]][1])
    product = op.endswith("MatMul")
    turned = product and rows > 1
    attrs: dict[str, Any] = {**PLAIN, "transpose_b": turned} if product else CONV
    weights = draw(72, 512) if turned else draw(512, 72) if product else draw(1, 1, 512, 72)
    given = [draw(rows, 512) if product else draw(1, 1, rows, 512), weights]
    if "Fused" in op:
        given, attrs = [*given, draw(72)], {**attrs, "activation": activation}
    at = 1
    if op.startswith("_Add"):
        given, at = [draw(*given[0].shape[:-1], 72), *given], 2
    found, wanted = both(op, attrs, given, tuple(range(at, len(given))) if constant else (at,))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)
    assert done == [0], "the parts were refused, and one thread has done it all"


@pytest.mark.skipif(loaded() is None, reason="the library in C is not there")
@pytest.mark.parametrize("allowed", [1, 2])
@pytest.mark.parametrize("op", ["_FusedConv2D", "_AddFusedConv2D", "_FusedMatMul"])
def test_granted_calls_need_no_python(op: str, allowed: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of images, of which there is a program for all, and columns of products, of which there is none."""
    draw, key = drawn(seed), ("a test of grants", op, allowed)
    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "governed", lambda *_, **__: pytest.fail("a granted call asked"))
    monkeypatch.setattr(prepared, "governor_of", lambda _, most: governor_of(key, most))
    given: list[Any] = [draw(1, 9, 10, 16), draw(3, 3, 16, 24), draw(24)]
    attrs: dict[str, Any] = {**CONV, "activation": "Relu"}
    if op == "_FusedMatMul":
        given, attrs = [draw(7, 512), draw(512, 72), draw(72)], {**PLAIN, "activation": "Relu"}
    elif op.startswith("_Add"):
        given = [draw(1, 9, 10, 24), *given]
    memory = governor_of(key, 2).granted()
    struct.pack_into("=6q", memory, 0, allowed, 3, 2**62, 7, 0, 0)
    found, wanted = both(op, attrs, given, (len(given) - 2, len(given) - 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)
    count, left, _, number, done, spent = struct.unpack_from("=6q", memory)
    assert (count, left, number, done) == (allowed, 2, 7, 1)
    assert spent > 0


@pytest.mark.skipif(loaded() is None, reason="the library in C is not there")
def test_a_session_with_fewer_threads_asks_in_each_call(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, key, asked = drawn(seed), ("a test of limits",), list[int]()
    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "governed", lambda _, work, **__: [asked.append(1), work(1)][1])
    monkeypatch.setattr(prepared, "governor_of", lambda _, most: governor_of(key, most))
    given, attrs = [draw(64, 64), draw(64, 80)], PLAIN
    entry = next(k for k in kernel.from_libraries("MatMul") if k.library == "onednn")
    assert entry.prepare is not None
    run = entry.prepare(attrs, [value.shape for value in given], [None, given[1]])
    assert run is not None
    struct.pack_into("=6q", governor_of(key, 2).granted(), 0, 2, 9, 2**62, 7, 0, 0)
    for limit, wanted in ((None, 0), (1, 1), (2, 1)):
        found = kernel_context(limit).run(run, np, *given)
        np.testing.assert_allclose(found, given[0] @ given[1], rtol=1e-4, atol=2e-4)
        assert len(asked) == wanted


def test_a_prepared_kernel_takes_what_the_other_one_takes(seed: int) -> None:
    """A result's buffer, inputs that are not in C's order, and no others."""
    draw = drawn(seed)
    added, x, w = draw(16, 96), draw(16, 64), draw(64, 96)
    entry = next(k for k in kernel.from_libraries("_AddMatMul") if k.library == "onednn")
    assert entry.prepare is not None
    run = entry.prepare(PLAIN, [added.shape, x.shape, w.shape], [None, None, w])
    assert run is not None
    out = np.empty((16, 96), np.float32)
    for c, y in ((added, x), (np.asfortranarray(added), np.asfortranarray(x))):
        assert run(np, c, y, w, out=out) is out
        np.testing.assert_allclose(out, added + x @ w, rtol=1e-4, atol=1e-4)
    with pytest.raises(TypeError):
        run(np, added, x, w, into=out)
    for given in ((added,), (added, x), (added, x, w, None, out)):
        with pytest.raises(TypeError):
            run(np, *given)


@pytest.mark.skipif(loaded() is None, reason="the library in C is not there")
def test_a_slow_call_ends_its_grant_and_the_next_one_asks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, key, asked = drawn(seed), ("a test of slow grants",), list[int]()

    def ask(_: Any, work: Callable[[int], None], governor: Governor) -> None:
        assert governor is governor_of(key, 2)
        asked.append(1)
        work(2)

    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "governed", ask)
    monkeypatch.setattr(prepared, "governor_of", lambda _, most: governor_of(key, most))
    given, attrs = [draw(64, 64), draw(64, 80), draw(80)], {**PLAIN, "activation": "Relu"}
    entry = next(k for k in kernel.from_libraries("_FusedMatMul") if k.library == "onednn")
    assert entry.prepare is not None
    run = entry.prepare(attrs, [value.shape for value in given], [None, *given[1:]])
    assert run is not None
    struct.pack_into("=6q", governor_of(key, 2).granted(), 0, 2, 9, 1, 7, 0, 0)
    for wanted in (0, 1, 2):
        np.testing.assert_allclose(run(np, *given), np.maximum(given[0] @ given[1] + given[2], 0), rtol=1e-4, atol=2e-4)
        assert len(asked) == wanted


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 6, 13, 16, 17])
@pytest.mark.parametrize(("inner", "columns"), [(512, 64), (513, 72), (1030, 200), (1500, 24)])
@pytest.mark.parametrize("turned", [False, True])
def test_few_rows_of_weights_in_panels(rows: int, inner: int, columns: int, turned: bool, seed: int) -> None:
    """The last rows fill no tile, the last columns no panel, and sums take several steps; on top of a matrix as well."""
    draw = drawn(seed)
    attrs: dict[str, Any] = {**PLAIN, "transpose_b": turned, "activation": "Relu6"}
    given = [draw(rows, inner), draw(*((columns, inner) if turned else (inner, columns))), draw(columns)]
    found, wanted = both("_FusedMatMul", attrs, given, (1, 2))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)
    found, wanted = both("_AddFusedMatMul", attrs, [draw(rows, columns), *given], (2,))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("columns", [24, 130])
def test_parts_of_a_product_in_panels_have_the_bits_of_the_whole(columns: int, seed: int) -> None:
    draw = drawn(seed)
    x, w, added, bias = draw(7, 700), draw(700, columns), draw(7, columns), draw(columns)
    whole, given = np.empty((7, columns), np.float32), ("x", "added", "y")
    panels.Panels(7, 0, columns, w, panels.Matrix(700, columns, False), bias, given, "Relu")(x, added, whole)
    np.testing.assert_allclose(whole, np.maximum(x @ w + added + bias, 0), rtol=1e-4, atol=2e-4)
    for begin, end in ((0, 16), (16, columns)):
        part = panels.Panels(
            7,
            0,
            end - begin,
            w[:, begin:end].copy(),
            panels.Matrix(700, end - begin, False),
            bias[begin:end],
            given,
            "Relu",
        )
        found = np.empty((7, end - begin), np.float32)
        part(x, added[:, begin:end].copy(), found)
        np.testing.assert_array_equal(found, whole[:, begin:end])


@pytest.mark.parametrize("rows", [1, 13, 16, 17, 31, 32, 33, 48])
def test_a_product_has_the_same_bits_on_any_number_of_threads(
    rows: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One kind of program does the whole and the parts, of which a few have rows enough for the library only together."""
    draw, found = drawn(seed), list[bytes]()
    x, w = draw(rows, 700), draw(700, 200)
    entry = next(k for k in kernel.from_libraries("MatMul") if k.library == "onednn")
    assert entry.prepare is not None
    for count in (1, 2):
        divide_always(monkeypatch, 2)
        monkeypatch.setattr(prepared, "governed", lambda key, work, count=count, **_: work(count))
        run = entry.prepare(PLAIN, [x.shape, w.shape], [None, w])
        assert run is not None
        found.append(run(np, x, w).tobytes())
    assert found[0] == found[1]


def test_a_product_in_panels_of_arrays_that_c_does_not_read(seed: int) -> None:
    draw = drawn(seed)
    x, w, bias, found = draw(4, 700), draw(700, 24), draw(24), np.empty((4, 24), np.float32)
    matrix = panels.Matrix(700, 24, False)
    panels.Panels(4, 0, 24, w, matrix, None, ("x", "bias", "y"), "Relu")(x.astype(np.float64), bias, found)
    np.testing.assert_allclose(found, np.maximum(x @ w + bias, 0), rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("op", ["_FusedConv2D", "_AddFusedConv2D", "_FusedDepthwiseConv2d"])
@pytest.mark.parametrize("padding", ["SAME", "VALID", "EXPLICIT"])
def test_threads_share_the_rows_of_few_images(
    op: str, padding: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows reach into what another thread's rows come from, and over the edges of the images."""
    draw = drawn(seed)
    for threads, images, stride, dilation in ((2, 1, 1, 1), (3, 1, 2, 1), (4, 2, 1, 2), (4, 3, 2, 1), (16, 1, 1, 1)):
        divide_always(monkeypatch, threads)
        attrs = {
            **CONV,
            "strides": (1, stride, stride, 1),
            "dilations": (1, dilation, dilation, 1),
            "padding": padding,
            "explicit_paddings": (0, 0, 2, 1, 1, 2, 0, 0) if padding == "EXPLICIT" else (),
            "activation": "Relu6",
        }
        each = op == "_FusedDepthwiseConv2d"
        given = [draw(images, 13, 9, 16), draw(3, 3, 16, 1 if each else 24), draw(16 if each else 24)]
        if op.startswith("_Add"):
            given = [kernel.lookup("_FusedConv2D", "CPU", [float32]).function(np, *given, **attrs), *given]
        found, wanted = both(op, attrs, given, (len(given) - 2, len(given) - 1))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)


INT8_CONV = {name: value for name, value in CONV.items() if name != "data_format"}


def in_int8(draw: Any, op: str, signed: bool, inner: int, outer: int) -> tuple[list[Any], dict[str, Any]]:
    """Inputs whose values lie between the middles of two steps, some of them out of their range; and the attributes."""
    step = np.float32(2**-5)
    x = (np.rint(draw(*((33, inner) if op == "Int8MatMul" else (5, 9, 10, inner))) * 80) + np.float32(0.25)) * step
    weights = np.rint(draw(*((inner, outer) if op == "Int8MatMul" else (3, 3, inner, outer))) * 40).clip(-127, 127)
    given = [x, weights.astype(np.int8), np.abs(draw(outer)) / 100, draw(outer)]
    attrs = {"limit": float(step) * (127 if signed else 255), "signed": signed}
    return given, attrs if op == "Int8MatMul" else {**INT8_CONV, **attrs}


@pytest.mark.parametrize("op", ["Int8MatMul", "Int8Conv2D"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("activation", ["", "Relu", "Relu6"])
def test_weights_of_int8_with_a_range_that_is_known(
    op: str, signed: bool, activation: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, attrs = in_int8(drawn(seed), op, signed, 24, 40)
    attrs["activation"] = activation
    found, wanted = both(op, attrs, given, (1, 2, 3))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    divide_always(monkeypatch, 3)
    np.testing.assert_allclose(both(op, attrs, given, (1, 2, 3))[0], wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("op", ["Int8MatMul", "Int8Conv2D"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_values_that_are_no_steps_are_as_without_constants(op: str, value: float, seed: int) -> None:
    given, attrs = in_int8(drawn(seed), op, True, 24, 40)
    given[0].flat[0] = value
    found, wanted = both(op, {**attrs, "activation": ""}, given, (1, 2, 3))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_a_range_or_a_scale_that_comes_with_a_run_is_not_prepared(limit: float, seed: int) -> None:
    given, attrs = in_int8(drawn(seed), "Int8MatMul", True, 24, 40)
    entry = next(k for k in kernel.from_libraries("Int8MatMul") if k.library == "onednn")
    assert entry.prepare is not None
    constants = [None, given[1], given[2] if limit == 0 else None, given[3]]
    attrs = {**attrs, "limit": limit, "activation": ""}
    assert entry.prepare(attrs, [value.shape for value in given], constants) is None


def test_nan_and_infinity_go_through_activations(seed: int) -> None:
    draw = drawn(seed)
    x = draw(32, 64)
    x[0, 1], x[1, 2] = np.nan, np.inf
    for activation in ("Relu", "Relu6", "_Gelu", "Sigmoid"):
        found, wanted = both("_FusedMatMul", {**PLAIN, "activation": activation}, [x, draw(64, 32), draw(32)], (1, 2))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_inputs_of_another_shape_are_computed_as_without_constants(seed: int) -> None:
    draw = drawn(seed)
    w, b = draw(64, 32), draw(32)
    entry = next(k for k in kernel.from_libraries("_FusedMatMul") if k.library == "onednn")
    assert entry.prepare is not None
    run = entry.prepare({**PLAIN, "activation": "Relu"}, [(32, 64), w.shape, b.shape], [None, w, b])
    assert run is not None
    x = draw(5, 64)
    np.testing.assert_allclose(run(np, x, w, b), np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-4)


def model(weights: Any, batch: int | None) -> tuple[af.Tensor, af.Tensor]:
    x = af.placeholder(af.float32, [batch, weights.shape[0]])
    return x, af.nn.relu(af.matmul(x, weights) + np.ones(weights.shape[1], np.float32))


@pytest.mark.parametrize("batch", [32, None])
def test_plans_of_one_graph_share_a_copy_which_goes_with_the_last(batch: int | None, seed: int) -> None:
    draw = drawn(seed)
    w, inputs = draw(96, 80), [draw(32, 96), draw(48, 96)]
    gc.collect()
    before = len(constants._copies)
    with af.Graph().as_default() as graph:
        x, y = model(w, batch)
        more = y + 1.0
    for _ in range(2):
        with Session(graph=graph) as session:
            for given in inputs if batch is None else inputs[:1]:
                expected = np.maximum(given @ w + 1, 0)
                np.testing.assert_allclose(session.run(y, {x: given}), expected, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(session.run([more], {x: given})[0], expected + 1, rtol=1e-4, atol=1e-4)
    assert len(constants._copies) == before + 1
    del graph, x, y, more, session
    gc.collect()
    assert len(constants._copies) == before


def test_what_is_fed_in_the_place_of_a_constant_counts(seed: int) -> None:
    draw = drawn(seed)
    w, other, given = draw(64, 64), draw(64, 64), draw(32, 64)
    with af.Graph().as_default() as graph:
        x, weights = af.placeholder(af.float32, [32, 64]), af.constant(w)
        y = af.matmul(x, weights)
    with Session(graph=graph) as session:
        for found, of in ((session.run(y, {x: given}), w), (session.run(y, {x: given, weights: other}), other)):
            np.testing.assert_allclose(found, given @ of, rtol=1e-4, atol=1e-4)
