"""Ops that hand tensors on unchanged, with something said or checked of them on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.building import or_zeros, outputs_of
from actorflow.ops.shape_rules import unchanged
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, ShapeLike, merge


def _checked(c: Inference) -> Shape:
    return merge(c.shapes[0], c.attrs["shape"])


@op("EnsureShape", shape=_checked, view=True, work=0)
def ensure_shape_op(input: TensorLike, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input`, whose shape is checked. See `ensure_shape`."""


@ensure_shape_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy]


@public("af")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`x` itself, of which the graph then knows that it has `shape`, in part unknown perhaps (`tf.ensure_shape`).

    Raises ValueError where what is known of the shape of `x` contradicts, and InvalidArgumentError in the run where the
    value does.
    """
    return ensure_shape_op(x, shape=shape, name=name)


def _each(c: Inference) -> list[Shape]:
    if not c.shapes:
        raise ValueError("identity_n needs one tensor or more.")
    return list(c.shapes)


@op("IdentityN", shape=_each, result=lambda c: tuple(c.dtypes), view=True, work=0)
def identity_n_op(input: Sequence[Any], *, name: str | None = None) -> list[Tensor]:
    """The tensors `input` themselves. See `identity_n`."""


@identity_n_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    return or_zeros(dys, node.outputs)


@public("af")
def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """The tensors `input` themselves, each of which is given when all of them are there (`tf.identity_n`).

    Raises ValueError for an empty list.
    """
    return outputs_of(identity_n_op(list(input), name=name))


@public("af")
@op("GuaranteeConst", shape=unchanged, view=True, gradient=None, work=0)
def guarantee_const(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, with the promise that its value never changes (`tf.guarantee_const`). Nothing is checked, and there
    is no gradient."""
