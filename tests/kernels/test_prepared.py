"""Convolutions and products whose weights are constants: the library has them in its own layout from the plan on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from prepared_kernels import CONV, PLAIN, both, drawn, in_int8, onednn_prepare

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.blocking import Session
from actorflow.graph.ops.nn.fused import ACTIVATIONS
from actorflow.kernels.onednn import binding, constants, panels

pytestmark = pytest.mark.skipif(not binding.find(), reason="no oneDNN: pip install 'actorflow[onednn]'")


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    plugins.load_kernels()
    with np.errstate(all="ignore"):
        yield


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


def test_a_prepared_kernel_takes_what_the_other_one_takes(seed: int) -> None:
    """A result's buffer, inputs that are not in C's order, and no others."""
    draw = drawn(seed)
    added, x, w = draw(16, 96), draw(16, 64), draw(64, 96)
    prepare = onednn_prepare("_AddMatMul")
    run = prepare(PLAIN, [added.shape, x.shape, w.shape], [None, None, w])
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


def test_a_product_in_panels_of_arrays_that_c_does_not_read(seed: int) -> None:
    draw = drawn(seed)
    x, w, bias, found = draw(4, 700), draw(700, 24), draw(24), np.empty((4, 24), np.float32)
    matrix = panels.Matrix(700, 24, False)
    panels.Panels(4, 0, 24, w, matrix, None, ("x", "bias", "y"), "Relu")(x.astype(np.float64), bias, found)
    np.testing.assert_allclose(found, np.maximum(x @ w + bias, 0), rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("op", ["Int8MatMul", "Int8Conv2D"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("activation", ["", "Relu", "Relu6"])
def test_weights_of_int8_with_a_range_that_is_known(op: str, signed: bool, activation: str, seed: int) -> None:
    given, attrs = in_int8(drawn(seed), op, signed, 24, 40)
    attrs["activation"] = activation
    found, wanted = both(op, attrs, given, (1, 2, 3))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


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
    prepare = onednn_prepare("Int8MatMul")
    constants = [None, given[1], given[2] if limit == 0 else None, given[3]]
    attrs = {**attrs, "limit": limit, "activation": ""}
    assert prepare(attrs, [value.shape for value in given], constants) is None


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
    prepare = onednn_prepare("_FusedMatMul")
    run = prepare({**PLAIN, "activation": "Relu"}, [(32, 64), w.shape, b.shape], [None, w, b])
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
