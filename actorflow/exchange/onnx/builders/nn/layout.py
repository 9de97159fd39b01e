"""Channels last within, channels first without: transposes between layouts moved together.

ONNX's images have their channels first, and kernels are faster with channels last. So a convolution or a pool goes between
two transposes. A transpose that meets its inverse leaves nothing behind. Elementwise ops, resizes and reductions move the
transpose before them behind them. So a chain of such ops has a transpose at its begin and a transpose at its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.nodes import OnnxNode
from actorflow.exchange.onnx.values import ints, shape_of

_OPS = """
    Relu Sigmoid Tanh LeakyRelu Clip HardSwish HardSigmoid Elu Selu Erf Exp Log Sqrt Neg Abs Softplus Softsign Mish Swish Gelu
    Identity Cast Add Sub Mul Div Max Min Sum Pow Reciprocal Equal Less Greater Where
"""
ELEMENTWISE = frozenset(_OPS.split())
"""Ops that give the same for each element, wherever it stands."""


def _last(rank: int) -> list[int]:
    return [0, *range(2, rank), 1]


def _first(rank: int) -> list[int]:
    return [0, rank - 1, *range(1, rank - 1)]


def last_place(axis: int, rank: int) -> int:
    """The dimension that lies at `axis` with channels first, with channels last."""
    return _last(rank).index(axis)


def within(x: Any) -> Any:
    """The tensor with channels last that `x` is the transpose of, or None if `x` is no such transpose."""
    if not isinstance(x, af.Tensor) or x.op.type != "Transpose":
        return None
    rank = len(x.static_shape or ())
    if rank < 3 or ints(x.op.inputs[1]) != _first(rank):
        return None
    return x.op.inputs[0]


def channels_last(x: Any) -> Any:
    """`x` with its channels as the last dimension."""
    inner = within(x)
    if inner is not None:
        return inner
    rank = len(shape_of(x) or ())
    return np.transpose(x, _last(rank)) if isinstance(x, np.ndarray) else af.transpose(x, _last(rank))


def channels_first(x: Any) -> Any:
    """`x`, whose channels are last, with its channels as the second dimension."""
    return af.transpose(x, _first(len(shape_of(x) or ())))


def moved_behind(node: OnnxNode) -> bool:
    """Whether the inputs of an op were replaced by such with channels last, so that `channels_first` belongs behind it."""
    ranks = {len(shape_of(x) or ()) for x in node.inputs if within(x) is not None}
    if len(ranks) != 1:
        return False
    (rank,) = ranks
    if node.op == "Concat":
        if any(within(x) is None for x in node.inputs) or node.attr("axis") not in (1, 1 - rank):
            return False
        node.attrs["axis"] = rank - 1
    elif node.op not in ELEMENTWISE:
        return False
    inputs = [_turned(x, rank) for x in node.inputs]
    if any(new is None and old is not None for new, old in zip(inputs, node.inputs)):
        return False
    node.inputs = inputs
    return True


def _turned(x: Any, rank: int) -> Any:
    """An operand for operands with channels last, or None if no such form can be had at once."""
    inner = within(x)
    if inner is not None or x is None:
        return inner
    shape = shape_of(x)
    if shape is None:
        return None
    if not shape or all(size == 1 for size in shape) and len(shape) <= rank:
        return x if not shape else (x.reshape([1] * rank) if isinstance(x, np.ndarray) else af.reshape(x, [1] * rank))
    if not isinstance(x, np.ndarray):
        return channels_last(x) if len(shape) == rank else None
    return (
        np.transpose(x.reshape([1] * (rank - len(shape)) + list(x.shape)), _last(rank)) if len(shape) <= rank else None
    )
