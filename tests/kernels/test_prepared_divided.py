"""Prepared convolutions and products that threads of the pool share, and when a call asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from prepared_kernels import CONV, PLAIN, both, drawn, in_int8, onednn_prepare

from actorflow.base.dtypes import float32
from actorflow.base.registry import kernel, plugins
from actorflow.engine.runtime.kernel_context import kernel_context
from actorflow.kernels.native.library import loaded
from actorflow.kernels.onednn import binding, conv, panels, parts, prepared
from actorflow.kernels.shared.thread_count import ThreadCount
from actorflow.kernels.shared.threads import thread_count_of

pytestmark = [
    pytest.mark.skipif(not binding.find(), reason="no oneDNN: pip install 'actorflow[onednn]'"),
    pytest.mark.skipif(loaded() is None, reason="the library in C is not there"),
]


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    plugins.load_kernels()
    with np.errstate(all="ignore"):
        yield


def divide_always(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    for module in (prepared, parts, conv):
        monkeypatch.setattr(module, "most_threads", lambda: threads)
    monkeypatch.setattr(prepared, "threaded", lambda key, work, **_: work(threads))
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
    monkeypatch.setattr(prepared, "threaded", lambda key, work, **_: work(threads))
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


@pytest.mark.parametrize("op", ["Int8MatMul", "Int8Conv2D"])
@pytest.mark.parametrize("signed", [True, False])
def test_threads_share_int8(op: str, signed: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given, attrs = in_int8(drawn(seed), op, signed, 24, 40)
    divide_always(monkeypatch, 3)
    found, wanted = both(op, {**attrs, "activation": "Relu"}, given, (1, 2, 3))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 13, 16, 17, 31, 32, 33, 48])
def test_a_product_has_the_same_bits_on_any_number_of_threads(
    rows: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One kind of program does the whole and the parts, of which a few have rows enough for the library only together."""
    draw, found = drawn(seed), list[bytes]()
    x, w = draw(rows, 700), draw(700, 200)
    prepare = onednn_prepare("MatMul")
    for count in (1, 2):
        divide_always(monkeypatch, 2)
        monkeypatch.setattr(prepared, "threaded", lambda key, work, threads=count, **_: work(threads))
        run = prepare(PLAIN, [x.shape, w.shape], [None, w])
        assert run is not None
        found.append(run(np, x, w).tobytes())
    assert found[0] == found[1]


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


@pytest.mark.parametrize("allowed", [1, 2])
@pytest.mark.parametrize("op", ["_FusedConv2D", "_AddFusedConv2D", "_FusedMatMul"])
def test_decided_calls_need_no_python(op: str, allowed: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of images, of which there is a program for all, and columns of products, of which there is none."""
    draw, key = drawn(seed), ("a test of decisions", op, allowed)
    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "threaded", lambda *_, **__: pytest.fail("a decided call asked"))
    monkeypatch.setattr(prepared, "thread_count_of", lambda _, most: thread_count_of(key, most))
    given: list[Any] = [draw(1, 9, 10, 16), draw(3, 3, 16, 24), draw(24)]
    attrs: dict[str, Any] = {**CONV, "activation": "Relu"}
    if op == "_FusedMatMul":
        given, attrs = [draw(7, 512), draw(512, 72), draw(72)], {**PLAIN, "activation": "Relu"}
    elif op.startswith("_Add"):
        given = [draw(1, 9, 10, 24), *given]
    thread_count_of(key, 2).decide(allowed)
    found, wanted = both(op, attrs, given, (len(given) - 2, len(given) - 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-4)


def test_a_session_with_fewer_threads_asks_in_each_call(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, key, asked = drawn(seed), ("a test of limits",), list[int]()
    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "threaded", lambda _, work, **__: [asked.append(1), work(1)][1])
    monkeypatch.setattr(prepared, "thread_count_of", lambda _, most: thread_count_of(key, most))
    given, attrs = [draw(64, 64), draw(64, 80)], PLAIN
    prepare = onednn_prepare("MatMul")
    run = prepare(attrs, [value.shape for value in given], [None, given[1]])
    assert run is not None
    thread_count_of(key, 2).decide(2)
    for limit, wanted in ((None, 0), (1, 1), (2, 1)):
        found = kernel_context(limit).run(run, np, *given)
        np.testing.assert_allclose(found, given[0] @ given[1], rtol=1e-4, atol=2e-4)
        assert len(asked) == wanted


def test_a_call_that_is_not_decided_asks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, key, asked = drawn(seed), ("a test of first calls",), list[int]()

    def ask(_: Any, work: Callable[[int], None], count: ThreadCount) -> None:
        assert count is thread_count_of(key, 2)
        asked.append(1)
        work(2)

    divide_always(monkeypatch, 2)
    monkeypatch.setattr(prepared, "threaded", ask)
    monkeypatch.setattr(prepared, "thread_count_of", lambda _, most: thread_count_of(key, most))
    given, attrs = [draw(64, 64), draw(64, 80), draw(80)], {**PLAIN, "activation": "Relu"}
    prepare = onednn_prepare("_FusedMatMul")
    run = prepare(attrs, [value.shape for value in given], [None, *given[1:]])
    assert run is not None
    for threads, wanted in ((0, 1), (0, 2), (2, 2)):
        thread_count_of(key, 2).decide(threads)
        np.testing.assert_allclose(run(np, *given), np.maximum(given[0] @ given[1] + given[2], 0), rtol=1e-4, atol=2e-4)
        assert len(asked) == wanted
