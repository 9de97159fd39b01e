"""Convolutions and pools are computed a block at a time; the size of the blocks changes no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.ops.nn.rows_pool import Kind
from graph.ops.windows import Windows, convolved, deep, shallow, to_filter, to_input

from actorflow.graph.ops.nn.conv.geometry import WindowSpan, span
from actorflow.kernels.nn import pool
from actorflow.kernels.nn.conv import columns as conv_columns
from actorflow.kernels.nn.conv import depthwise as conv_depthwise

# From a block for each row of places to one for everything.
SIZES = [1, 300, 1500, 6000, 1 << 20]
blocks = pytest.mark.parametrize("size", SIZES)
layouts = pytest.mark.parametrize(("channels", "padding", "stride"), [(1, "SAME", 1), (17, "SAME", 2), (2, "VALID", 1)])


def drawn(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def places(padding: str, stride: int) -> tuple[list[WindowSpan], Windows]:
    spans = [span(size, window, stride, 1, padding) for size, window in ((7, 2), (5, 3))]
    return spans, Windows((7, 5), (2, 3), (stride, stride), (1, 1), padding)


@blocks
@layouts
def test_convolutions(
    size: int, channels: int, padding: str, stride: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conv_columns, "_BLOCK_BYTES", size)
    spans, windows = places(padding, stride)
    x, w, dy = drawn(seed, (5, 7, 5, channels), (2, 3, channels, 3), (5, *windows.places, 3))
    np.testing.assert_allclose(conv_columns.forward(np, x, w, spans), convolved(x, w, windows), atol=1e-10)
    np.testing.assert_allclose(conv_columns.to_input(np, w, dy, spans), to_input(x.shape, w, dy, windows), atol=1e-10)
    np.testing.assert_allclose(conv_columns.to_filter(np, x, dy, spans), to_filter(x, w.shape, dy, windows), atol=1e-10)
    # A filter of one element, and channels first, have ways of their own.
    one = drawn(seed, (1, 1, channels, 3))[0]
    same = [span(7, 1, 1, 1, padding), span(5, 1, 1, 1, padding)]
    np.testing.assert_allclose(conv_columns.forward(np, x, one, same), x @ one[0, 0], atol=1e-10)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 1)), 1, -1)
    np.testing.assert_allclose(conv_columns.forward(np, turned, w, spans), convolved(x, w, windows), atol=1e-10)


@blocks
def test_depthwise_convolutions(size: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_depthwise, "_BLOCK_BYTES", size)
    attrs: dict[str, Any] = {
        "strides": (1, 1, 1, 1),
        "padding": "SAME",
        "explicit_paddings": (),
        "data_format": "NHWC",
        "dilations": (1, 1, 1, 1),
    }
    _, windows = places("SAME", 1)
    x, w, dy = drawn(seed, (5, 7, 5, 2), (2, 3, 2, 3), (5, 7, 5, 6))
    expected = convolved(x, deep(w), windows)
    np.testing.assert_allclose(conv_depthwise.depthwise(np, x, w, **attrs), expected, atol=1e-10)
    found = conv_depthwise.depthwise_to_input(np, np.array(x.shape), w, dy, **attrs)
    np.testing.assert_allclose(found, to_input(x.shape, deep(w), dy, windows), atol=1e-10)
    found = conv_depthwise.depthwise_to_filter(np, x, np.array(w.shape), dy, **attrs)
    np.testing.assert_allclose(found, shallow(to_filter(x, deep(w).shape, dy, windows), 3), atol=1e-10)


@blocks
@pytest.mark.parametrize("strides", [(2, 2), (1, 2)])
def test_gradients_of_maxima(size: int, strides: tuple[int, int], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_BLOCK_BYTES", size)
    kind = Kind("", (2, 2), strides, "SAME", [])
    x = np.random.default_rng(seed).integers(0, 3, (5, 6, 4, 2)).astype(np.float32)  # many equal elements
    attrs: Any = {name: kind.attrs[name] for name in ("ksize", "strides", "padding")}
    y = pool.max_pool(np, x, **attrs)
    dy = drawn(seed, y.shape)[0].astype(np.float32)
    np.testing.assert_allclose(pool.max_pool_grad(np, x, y, dy, **attrs), kind.to_maxima(x, y, dy), atol=1e-5)


def test_an_infinite_gradient_spoils_no_other_element() -> None:
    x = np.array([1, 2, 4, 3], np.float32).reshape(1, 2, 2, 1)
    y = np.array([4], np.float32).reshape(1, 1, 1, 1)
    attrs: Any = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    dx = pool.max_pool_grad(np, x, y, np.full_like(y, np.inf), **attrs)
    assert dx.reshape(-1).tolist() == [0, 0, np.inf, 0]
