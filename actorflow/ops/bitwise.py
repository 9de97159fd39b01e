"""Operations on the bits of integers (`tf.bitwise`)."""

from __future__ import annotations

from actorflow.dtypes import INTEGER
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.shape_rules import elementwise, unchanged
from actorflow.public import public
from actorflow.registry.op import op


@public("af", "tf.bitwise")
@op("BitwiseAnd", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_and(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that are set in both x and y, elementwise with broadcasting, of integers."""


@public("af", "tf.bitwise")
@op("BitwiseOr", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_or(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that are set in x or y, elementwise with broadcasting, of integers."""


@public("af", "tf.bitwise")
@op("BitwiseXor", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_xor(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that differ between x and y, elementwise with broadcasting, of integers."""


@public("af", "tf.bitwise")
@op("Invert", shape=unchanged, dtypes=INTEGER, gradient=None)
def invert(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x with all its bits flipped, elementwise, of integers."""


@public("af", "tf.bitwise")
@op("LeftShift", shape=elementwise, dtypes=INTEGER, gradient=None)
def left_shift(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits of x moved up by y places, elementwise with broadcasting, of integers.

    A y outside [0, bits of the type) is taken as the nearest inside, as TensorFlow does."""


@public("af", "tf.bitwise")
@op("RightShift", shape=elementwise, dtypes=INTEGER, gradient=None)
def right_shift(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits of x moved down by y places, elementwise with broadcasting, of integers; the sign of x is kept.

    A y outside [0, bits of the type) is taken as the nearest inside, as TensorFlow does."""
