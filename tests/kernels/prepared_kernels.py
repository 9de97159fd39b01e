"""Kernels of oneDNN that are prepared for constants, beside numpy's: what their tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base.dtypes import float32
from actorflow.base.registry import kernel

CONV: dict[str, Any] = {
    "strides": (1, 1, 1, 1),
    "padding": "SAME",
    "explicit_paddings": (),
    "data_format": "NHWC",
    "dilations": (1, 1, 1, 1),
}
PLAIN: dict[str, Any] = {"transpose_a": False, "transpose_b": False}
INT8_CONV = {name: value for name, value in CONV.items() if name != "data_format"}


def drawn(seed: int) -> Callable[..., Any]:
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape, np.float32)


def onednn_prepare(op: str) -> Callable[..., Any]:
    """The function that prepares the library's kernel of an op."""
    prepare = next(k for k in kernel.from_libraries(op) if k.library == "onednn").prepare
    assert prepare is not None
    return prepare


def both(op: str, attrs: dict[str, Any], given: list[Any], constant: tuple[int, ...]) -> tuple[Any, Any]:
    """The results of the kernel that is prepared for the inputs at some places, and of numpy's."""
    prepare = onednn_prepare(op)
    constants = [value if at in constant else None for at, value in enumerate(given)]
    run = prepare(attrs, [value.shape for value in given], constants)
    assert run is not None
    return run(np, *given), kernel.lookup(op, "CPU", [float32]).function(np, *given, **attrs)


def in_int8(draw: Any, op: str, signed: bool, inner: int, outer: int) -> tuple[list[Any], dict[str, Any]]:
    """Inputs whose values lie between the middles of two steps, some of them out of their range; and the attributes."""
    step = np.float32(2**-5)
    x = (np.rint(draw(*((33, inner) if op == "Int8MatMul" else (5, 9, 10, inner))) * 80) + np.float32(0.25)) * step
    weights = np.rint(draw(*((inner, outer) if op == "Int8MatMul" else (3, 3, inner, outer))) * 40).clip(-127, 127)
    given = [x, weights.astype(np.int8), np.abs(draw(outer)) / 100, draw(outer)]
    attrs = {"limit": float(step) * (127 if signed else 255), "signed": signed}
    return given, attrs if op == "Int8MatMul" else {**INT8_CONV, **attrs}
