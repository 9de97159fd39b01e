"""Ops that stand for a few others, made by the pass `fuse`: the same result with fewer passes over memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow import dtypes as dt
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.registry import opdef
from actorflow.registry.op import RefLike, op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, merge, show

_FUSED = frozenset((dt.float32, dt.float64))

ACTIVATIONS = ("", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid")
"""The ops whose result a fused kernel may give; the empty name stands for none."""


def _biased(of: str) -> Any:
    """The shape rule of op `of`, and a bias for the last dimension of its output."""

    def rule(c: Inference) -> Shape:
        if c.attrs["activation"] not in ACTIVATIONS:
            raise ValueError(f"The activation is one of {ACTIVATIONS}, not {c.attrs['activation']!r}.")
        shape, bias = _of(of, c), c.shapes[2]
        if bias is not None and len(bias) != 1:
            raise ValueError(f"A bias is a vector, but its shape is {show(bias)}.")
        if shape is None or bias is None:
            return shape
        return (*shape[:-1], *(merge(shape[-1:], bias) or (None,)))

    return rule


def _of(of: str, c: Inference) -> Shape:
    shape = opdef.lookup(of).shape_rule(c)
    return shape[0] if isinstance(shape, list) else shape


def _work(of: str) -> Any:
    def rule(c: Inference) -> float:
        work = opdef.lookup(of).work
        return work(c) if callable(work) else 1e6

    return rule


@op("_FusedMatMul", shape=_biased("MatMul"), dtypes=_FUSED, gradient=None, work=_work("MatMul"))
def fused_matmul(
    a: TensorLike,
    b: TensorLike,
    bias: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(a b + bias), of matrices that are transposed first where an attribute says so."""


@op("_FusedConv2D", shape=_biased("Conv2D"), dtypes=_FUSED, gradient=None, work=_work("Conv2D"))
def fused_conv2d(
    input: TensorLike,
    filter: TensorLike,
    bias: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(conv2d(input, filter) + bias), with the channels last."""


def _stepped(c: Inference) -> list[Shape]:
    shapes = c.shapes[2:]
    product = _of("MatMul", opdef.Inference(c.op, c.attrs, c.dtypes[2:], shapes, lambda index: None))
    merge(c.shapes[0], product)
    if c.shapes[1] not in (None, ()):
        raise ValueError(f"alpha is a scalar, but its shape is {show(c.shapes[1])}.")
    return []


def _steps_work(c: Inference) -> float:
    a, b = c.shapes[2:]
    if a is None or b is None or None in (*a, *b):
        return 1e6
    return 2.0 * a[0] * a[1] * (b[0] if c.attrs["transpose_b"] else b[1])  # type: ignore[operator]


@op(
    "_SgdMatMul",
    shape=_stepped,
    dtypes=_FUSED,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=_steps_work,
)
def sgd_matmul(
    var: RefLike,
    alpha: TensorLike,
    a: TensorLike,
    b: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Operation:
    """var -= alpha · (a b), in one product that is added to the variable's buffer."""
