"""Elements in another order: reverse_sequence, roll, invert_permutation."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import INDEX, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, normalize_axis, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- permutations


def _permutation(c: Inference) -> Shape:
    return require_rank(c, 0, 1) or (None,)


@public("af", "af.math")
@op("InvertPermutation", shape=_permutation, dtypes=INDEX, gradient=None, prefer=int32)
def invert_permutation(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The vector y with y[x[i]] = i (`tf.invert_permutation`).

    Raises InvalidArgumentError in the run where `x` is not a permutation of 0 .. n - 1.

    Example:
        >>> af.invert_permutation([2, 0, 1])
        [1 2 0]
    """


def _reversed_sequence(c: Inference) -> Shape:
    source, lengths = c.shapes[0], require_rank(c, 1, 1)
    if source is None:
        return None
    at, batch = (
        normalize_axis(c.attrs[a], len(source), says=a + " must be < input rank ({axis} vs {high})")
        for a in ("seq_dim", "batch_dim")
    )
    if at == batch:
        raise ValueError(f"batch_dim == seq_dim: both are {at}.")
    if lengths is not None and not compatible(lengths, source[batch : batch + 1]):
        raise ValueError(f"There are {lengths[0]} lengths for the {source[batch]} entries of dimension {batch}.")
    return source


@op("ReverseSequence", shape=_reversed_sequence, types={"seq_lengths": INDEX})
def reverse_sequence_op(
    input: TensorLike, seq_lengths: TensorLike, *, seq_dim: int, batch_dim: int = 0, name: str | None = None
) -> Tensor:
    """`input` with the first elements of each sequence reversed. See `reverse_sequence`."""


@reverse_sequence_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    dims = {a: node.get_attr(a) for a in ("seq_dim", "batch_dim")}
    return [reverse_sequence_op(dy, node.inputs[1], **dims), None]


@public("af")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """For each entry i of dimension `batch_axis`, the first `seq_lengths[i]` elements along `seq_axis` reversed, the
    rest as it is (`tf.reverse_sequence`).

    Example:
        >>> af.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1, batch_axis=0)
        [[2 1 3]
         [6 5 4]]

    Args:
        input: a tensor of any type.
        seq_lengths: a vector of int32 or int64, as long as the dimension `batch_axis`.
        seq_axis: the dimension that is reversed in part; it has to be given.
        batch_axis: the dimension whose entries have a length each; 0 by default.
        seq_dim, batch_dim: the older names of `seq_axis` and `batch_axis`.

    Raises:
        ValueError: `seq_axis` is missing.
        InvalidArgumentError: a length is negative or larger than the dimension, in the run.
    """
    along = seq_axis if seq_dim is None else seq_dim
    batch = batch_axis if batch_dim is None else batch_dim
    if along is None:
        raise ValueError("reverse_sequence needs `seq_axis`.")
    return reverse_sequence_op(input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def _rolled(c: Inference) -> Shape:
    source, shift, axis = c.shapes
    if source == ():
        raise ValueError("input must be 1-D or higher: a scalar can't be rolled.")
    for what, shape in (("shift", shift), ("axis", axis)):
        if shape is not None and len(shape) > 1:
            raise ValueError(f"{what} must be a scalar or a 1-D vector, but its shape is {show(shape)}.")
    if not compatible(shift, axis):
        raise ValueError(
            f"shift and axis must have the same size, but their shapes are {show(shift)} and {show(axis)}."
        )
    axes = c.value(2)
    if source is not None and axes is not None:
        for a in axes.reshape(-1).tolist():
            normalize_axis(a, len(source), says="dim {axis} is out of range [{low}, {high})")
    return source


@public("af", "tf.manip")
@op("Roll", shape=_rolled, types={"shift": INDEX, "axis": INDEX})
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` with the elements moved `shift` places along `axis`, those that leave at the end coming in at the front
    (`tf.roll`).

    Example:
        >>> af.roll([1, 2, 3, 4], 1, 0)
        [4 1 2 3]

    Args:
        input: of rank 1 or more.
        shift: a number, negative to move to the front, or a vector with a number for each element of `axis`. Shifts
            along equal axes add up.
        axis: an int32 or int64 scalar or vector: the dimensions along which elements move.

    Raises:
        ValueError: a scalar input, an axis outside the rank, other shapes; InvalidArgumentError in the run.
    """


@roll.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.elementwise import negative

    return [roll(dy, negative(node.inputs[1]), node.inputs[2]), None, None]
