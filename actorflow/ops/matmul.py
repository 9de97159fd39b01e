"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow import dtypes as dt
from actorflow.dtypes import INEXACT
from actorflow.graph.convert import convert_to_tensor, graph_of, symbolic_dtype
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.complex import conj
from actorflow.ops.shape_rules import at_least_rank, require_rank
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, broadcast, is_static, show

_NUMBERS = INEXACT | {dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64}


def _sides(c: Inference, first: str, second: str) -> tuple[Shape, Shape]:
    """The last two sizes of both inputs after transposing. Raises ValueError where the inner ones differ."""
    left, right = c.shapes
    a = None if left is None else left[:-3:-1] if c.attrs[first] else left[-2:]
    b = None if right is None else right[:-3:-1] if c.attrs[second] else right[-2:]
    if a is not None and b is not None and None not in (a[1], b[0]) and a[1] != b[0]:
        raise ValueError(
            f"The inner sizes of the matrices differ: {a[1]} columns of {show(left)}{' transposed' * c.attrs[first]}, "
            f"{b[0]} rows of {show(right)}{' transposed' * c.attrs[second]}."
        )
    return a, b


def _product_shape(c: Inference) -> Shape:
    require_rank(c, 0, 2)
    require_rank(c, 1, 2)
    a, b = _sides(c, "transpose_a", "transpose_b")
    return (None if a is None else a[0], None if b is None else b[1])


def _batched_shape(c: Inference) -> Shape:
    left, right = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    a, b = _sides(c, "adj_x", "adj_y")
    if left is None or right is None or a is None or b is None:
        return None
    batch = broadcast(left[:-2], right[:-2])
    return None if batch is None else (*batch, a[0], b[1])


def _flops(c: Inference) -> float:
    """2·m·n·k, for all matrices of a batch; a guess of a million where a size is unknown."""
    shape = c.op.shape_rule(c)
    inner = c.shapes[0]
    if not isinstance(shape, tuple) or not is_static(shape) or inner is None or not is_static(inner):
        return 1e6
    transposed = c.attrs.get("transpose_a", c.attrs.get("adj_x"))
    return 2.0 * float(np.prod(shape)) * float(inner[-2] if transposed else inner[-1])  # type: ignore[arg-type]


@op("MatMul", shape=_product_shape, dtypes=_NUMBERS, work=_flops)
def matmul_op(
    a: TensorLike, b: TensorLike, *, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of two matrices, each transposed first where its attribute says so. See `matmul`."""


@matmul_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, b = map(conj, node.inputs)
    match node.get_attr("transpose_a"), node.get_attr("transpose_b"):
        case False, False:
            return [matmul_op(dy, b, transpose_b=True), matmul_op(a, dy, transpose_a=True)]
        case False, True:
            return [matmul_op(dy, b), matmul_op(dy, a, transpose_a=True)]
        case True, False:
            return [matmul_op(b, dy, transpose_b=True), matmul_op(a, dy)]
        case _:
            return [
                matmul_op(b, dy, transpose_a=True, transpose_b=True),
                matmul_op(dy, a, transpose_a=True, transpose_b=True),
            ]


@op("BatchMatMulV2", shape=_batched_shape, dtypes=_NUMBERS, broadcasts=True, work=_flops)
def batch_matmul(
    x: TensorLike, y: TensorLike, *, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """The products of matrices in the last two dimensions; those before are broadcast. `adj_x` and `adj_y` take the
    conjugate transpose. See `matmul`."""


@batch_matmul.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    match node.get_attr("adj_x"), node.get_attr("adj_y"):
        case False, False:
            return [batch_matmul(dy, y, adj_y=True), batch_matmul(x, dy, adj_x=True)]
        case False, True:
            return [batch_matmul(dy, y), batch_matmul(dy, x, adj_x=True)]
        case True, False:
            return [batch_matmul(y, dy, adj_y=True), batch_matmul(x, dy)]
        case _:
            return [batch_matmul(y, dy, adj_x=True, adj_y=True), batch_matmul(dy, x, adj_x=True, adj_y=True)]


@public("af", "af.linalg")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product a · b (`tf.matmul`), of the last two dimensions where there are more, which are broadcast.

    Args:
        a: a tensor of shape (..., m, k), (..., k, m) where it is transposed: floating, complex, or an integer of 32 or
            64 bits or unsigned.
        b: a tensor of the same type and shape (..., k, n), (..., n, k) where it is transposed.
        adjoint_a: transposes and conjugates; so does `adjoint_b`.
        a_is_sparse: accepted, and of no effect; so is `b_is_sparse`.

    Returns:
        A tensor of shape (..., m, n).

    Raises:
        ValueError: the shapes don't fit, or one matrix is to be both transposed and adjoint.
        TypeError: the types differ, or are none of those above.
    """
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("A matrix is either transposed or adjoint (transposed and conjugated); choose one.")
    graph, wanted = graph_of([a, b]), symbolic_dtype(a) or symbolic_dtype(b)
    left = convert_to_tensor(a, wanted, graph=graph)
    right = convert_to_tensor(b, left.dtype.base_dtype, graph=graph)
    if any(t.static_shape is None or len(t.static_shape) > 2 for t in (left, right)):
        left = conj(left) if transpose_a else left
        right = conj(right) if transpose_b else right
        return batch_matmul(
            left, right, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=name or "MatMul"
        )
    left = conj(left) if adjoint_a else left
    right = conj(right) if adjoint_b else right
    return matmul_op(left, right, transpose_a=transpose_a or adjoint_a, transpose_b=transpose_b or adjoint_b, name=name)
