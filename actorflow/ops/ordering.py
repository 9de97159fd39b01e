"""Ops that order, rank and compare elements by value: top_k, unique, setdiff1d; and those that permute them."""

from __future__ import annotations

from typing import Any, NamedTuple

from actorflow import dtypes as dt
from actorflow.dtypes import ANY, COMPLEX, INDEX, REAL, DTypeLike, float32, int32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import at_least_rank, require_rank, unchanged
from actorflow.ops.shaping import expand_dims, reshape, shape, size
from actorflow.public import public
from actorflow.registry.op import T, op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, compatible, normalize_axis, show

# ---- the largest


class TopK(NamedTuple):
    """The largest values along the last dimension, and where they were."""

    values: Tensor
    indices: Tensor


def _top_k(c: Inference) -> list[Shape]:
    source, k = at_least_rank(c, 0, 1), c.value(1)
    require_rank(c, 1, 0)
    if k is not None and k < 0:
        raise ValueError(f"top_k needs k of zero or more, not {int(k)}.")
    if source is None:
        return [None, None]
    if k is not None and source[-1] is not None and source[-1] < k:
        raise ValueError(f"top_k: the last dimension of {show(source)} has fewer than k={int(k)} elements.")
    return [(*source[:-1], None if k is None else int(k))] * 2


@op("TopKV2", shape=_top_k, dtypes=REAL, types={"k": int32}, result=(T, int32), work=20)
def top_k_op(
    input: TensorLike, k: TensorLike, *, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The `k` largest elements of each last dimension, and their indices. See `nn.top_k`."""


@top_k_op.gradient
def _(node: Operation, dy: Tensor, _: Any) -> list[Any]:
    """Each value's gradient goes back to where it came from; the tensor is seen as a matrix of rows."""
    from actorflow.ops.filling import range_
    from actorflow.ops.gathering import scatter_nd

    source, indices = node.inputs[0], node.outputs[1]
    width = shape(source)[-1]
    columns = reshape(indices, [-1, shape(indices)[-1]])
    starts = expand_dims(range_(shape(columns)[0]) * width, -1)
    places = reshape(columns + starts, [-1, 1])
    flat = scatter_nd(places, reshape(dy, [-1]), reshape(size(source), [1]))
    return [reshape(flat, shape(source)), None]


@public("af.math", "af.nn")
def top_k(input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The `k` largest elements along the last dimension, largest first, and their int32 indices (`tf.nn.top_k`).

    Of equal elements that with the lower index comes first. Raises ValueError, or InvalidArgumentError in the run, where
    there are fewer than k.
    """
    return TopK(*top_k_op(input, k, sorted=sorted, name=name))


def _in_top_k(c: Inference) -> Shape:
    predictions, targets = require_rank(c, 0, 2), require_rank(c, 1, 1)
    if predictions is not None and targets is not None and not compatible(predictions[:1], targets):
        raise ValueError(
            f"in_top_k: {show(predictions)} has another number of rows than there are targets {show(targets)}."
        )
    return targets or (None if predictions is None else predictions[0],)


@public("af.math", "af.nn")
@op(
    "InTopKV2",
    shape=_in_top_k,
    types={"predictions": float32, "targets": INDEX, "k": INDEX},
    result=dt.bool,
    gradient=None,
)
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether the target class of each row of `predictions` is among its `k` best (`tf.nn.in_top_k`).

    Classes that tie at the border all count as in. A row with a prediction that is not finite, or a target that is no
    class, is false.

    Args:
        predictions: float32 [batch, classes].
        targets: [batch], int32 or int64.
    """


# ---- sets


def _distinct(c: Inference) -> list[Shape]:
    return [(None,), require_rank(c, 0, 1) or (None,)]


@op("Unique", shape=_distinct, dtypes=ANY - COMPLEX, result=(T, "out_idx"), gradient=None, work=20)
def unique_op(x: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct elements of a vector. See `unique`."""


@op(
    "UniqueWithCounts",
    shape=lambda c: [*_distinct(c), (None,)],
    dtypes=ANY - COMPLEX,
    result=(T, "out_idx", "out_idx"),
    gradient=None,
    work=20,
)
def unique_with_counts_op(
    x: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements of a vector with their counts. See `unique_with_counts`."""


class Unique(NamedTuple):
    """The distinct elements, and for each element of the input which of them it is."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """As `Unique`, and how often each comes."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name, which hides a method of tuples


class ListDiff(NamedTuple):
    """The elements that are left, and where they were."""

    out: Tensor
    idx: Tensor


@public("af")
def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """The distinct elements `y` of a vector in the order of their first appearance, and `idx` with y[idx] = x (`tf.unique`).

    Raises ValueError, or InvalidArgumentError in the run, where `x` is no vector.
    """
    return Unique(*unique_op(x, out_idx=out_idx, name=name))


@public("af")
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> UniqueWithCounts:
    """`unique`, and `count`, how often each distinct element comes (`tf.unique_with_counts`)."""
    return UniqueWithCounts(*unique_with_counts_op(x, out_idx=out_idx, name=name))


def _difference(c: Inference) -> list[Shape]:
    require_rank(c, 0, 1)
    require_rank(c, 1, 1)
    return [(None,), (None,)]


@op("ListDiff", shape=_difference, dtypes=ANY - COMPLEX, result=(T, "out_idx"), gradient=None, work=20)
def list_diff_op(
    x: TensorLike, y: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The elements of `x` that are not in `y`. See `setdiff1d`."""


@public("af")
def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = int32, name: str | None = None) -> ListDiff:
    """The elements of the vector `x` that are not in the vector `y`, in order and with repetitions, and their indices
    (`tf.setdiff1d`, formerly `tf.listdiff`)."""
    return ListDiff(*list_diff_op(x, y, out_idx=index_dtype, name=name))


# ---- permutations


def _permutation(c: Inference) -> Shape:
    return require_rank(c, 0, 1) or (None,)


@public("af", "af.math")
@op("InvertPermutation", shape=_permutation, dtypes=INDEX, gradient=None, prefer=int32)
def invert_permutation(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The vector y with y[x[i]] = i (`tf.invert_permutation`).

    Raises InvalidArgumentError in the run where `x` is no permutation of 0 .. n - 1.
    """


def _reversed_sequence(c: Inference) -> Shape:
    source, lengths = c.shapes[0], require_rank(c, 1, 1)
    if source is None:
        return None
    at, batch = (normalize_axis(c.attrs[a], len(source), a) for a in ("seq_dim", "batch_dim"))
    if at == batch:
        raise ValueError(f"reverse_sequence: seq_dim and batch_dim are both {at}.")
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
    """For each entry i of dimension `batch_axis`, the first `seq_lengths[i]` elements along `seq_axis` reversed, the rest
    as it is (`tf.reverse_sequence`). `seq_dim` and `batch_dim` are the older names.

    Raises InvalidArgumentError in the run for a length that is negative or larger than the dimension.
    """
    along = seq_axis if seq_dim is None else seq_dim
    batch = batch_axis if batch_dim is None else batch_dim
    if along is None:
        raise ValueError("reverse_sequence needs `seq_axis`.")
    return reverse_sequence_op(input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def _rolled(c: Inference) -> Shape:
    source, shift, axis = at_least_rank(c, 0, 1), c.shapes[1], c.shapes[2]
    if any(s is not None and len(s) > 1 for s in (shift, axis)) or not compatible(shift, axis):
        raise ValueError(
            f"roll takes shifts and axes of one shape, scalars or vectors, not {show(shift)} and {show(axis)}."
        )
    axes = c.value(2)
    if source is not None and axes is not None:
        for a in axes.reshape(-1).tolist():
            normalize_axis(a, len(source))
    return source


@public("af", "tf.manip")
@op("Roll", shape=_rolled, types={"shift": INDEX, "axis": INDEX})
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` with the elements moved `shift` places along `axis`, those that leave at the end coming in at the front
    (`tf.roll`).

    Args:
        input: of rank 1 or more.
        shift: a number, negative to move to the front, or a vector of them, one for each of a vector `axis`. Shifts
            along equal axes add up.

    Raises:
        ValueError: a scalar input, an axis outside the rank, other shapes; InvalidArgumentError in the run.
    """


@roll.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.unary import negative

    return [roll(dy, negative(node.inputs[1]), node.inputs[2]), None, None]


# ---- parts of matrices, and checks


def _matrix(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    require_rank(c, 2, 0)
    return at_least_rank(c, 0, 2)


@public("af", "af.linalg:band_part")
@op("MatrixBandPart", shape=_matrix, dtypes=ANY - dt.STRING, types={"num_lower": INDEX, "num_upper": INDEX})
def matrix_band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, *, name: str | None = None
) -> Tensor:
    """Matrices (the last two dimensions) with zeros outside a band around the diagonal (`tf.matrix_band_part`).

    `num_lower` diagonals below the main one are kept and `num_upper` above it; negative keeps all on that side. Raises
    InvalidArgumentError in the run for more diagonals than there are.
    """


@matrix_band_part.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [matrix_band_part(dy, node.inputs[1], node.inputs[2]), None, None]


@op("CheckNumerics", shape=unchanged, dtypes=dt.FLOATING, view=True)
def check_numerics_op(tensor: TensorLike, *, message: str, name: str | None = None) -> Tensor:
    """`tensor`, if all of it is finite. See `check_numerics`."""


@check_numerics_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    message = f"Not a number (NaN) or infinity (Inf) values detected in gradient. {node.get_attr('message')}"
    return [check_numerics_op(dy, message=message)]


@public("af", "tf.debugging")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tensor` itself (`tf.check_numerics`). Raises InvalidArgumentError with `message` in the run where it has a NaN or
    an infinity."""
    return check_numerics_op(convert_to_tensor(tensor), message=message, name=name)
