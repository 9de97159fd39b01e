"""Ops that take strings apart and put many together: split, reduce_join, unsorted_segment_join, format (`tf.strings`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX, STRING
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.gather import unravel_index
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import rank, reshape, shape, transpose
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.shape_rules import NO_AXIS, require_rank, scalar
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_PARTS = (dt.int64, dt.string, dt.int64)


def _parts(c: Inference) -> list[Shape]:
    require_rank(c, 0, 1)
    require_rank(c, 1, 0)
    return [(None, 2), (None,), (2,)]


@op("StringSplit", shape=_parts, dtypes=STRING, result=_PARTS, gradient=None, work=20)
def _string_split(
    input: TensorLike, delimiter: TensorLike, *, skip_empty: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The parts of each string between any of the delimiter's bytes. See `string_split`."""


@op("StringSplitV2", shape=_parts, dtypes=STRING, result=_PARTS, gradient=None, work=20)
def _string_split_v2(
    input: TensorLike, sep: TensorLike, *, maxsplit: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The parts of each string between separators. See `strings_split`."""


@public("af")
def string_split(
    source: TensorLike | None = None,
    sep: TensorLike | None = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
    input: TensorLike | None = None,
) -> SparseTensor:
    """The parts of each string of a vector, as a sparse matrix with one row a string (`tf.string_split`).

    Example:
        >>> af.string_split(["a b", "c"])
        SparseTensor(indices=[[0 0]
                              [0 1]
                              [1 0]], values=[b'a' b'b' b'c'], dense_shape=[2 2])

    Args:
        source, input: a vector of strings; `input` is the newer name.
        sep, delimiter: a scalar (a space by default), of which each byte separates; empty for a part each byte.
            `delimiter` is the older name.
        skip_empty: leaves out empty parts.
        result_type: "SparseTensor"; there are no ragged tensors.

    Raises:
        ValueError: `source` is not a vector, InvalidArgumentError in the run; another result type than SparseTensor.
    """
    _only_sparse(result_type)
    texts = input if source is None else source
    between = delimiter if sep is None else sep
    return SparseTensor(*_string_split(texts, b" " if between is None else between, skip_empty=skip_empty, name=name))


@public("af.strings:split")
def strings_split(
    input: TensorLike | None = None,
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string between separators, as a sparse tensor with one dimension more (`tf.strings.split`).

    Example:
        >>> af.sparse_tensor_to_dense(af.strings.split(["a,b,c", "d"], sep=","), "")
        [[b'a' b'b' b'c']
         [b'd' b'' b'']]

    Args:
        input, source: strings, of known rank; a scalar counts as a vector of one element. `source` is the older name.
        sep: what separates, as a whole; None or empty for runs of white space.
        maxsplit: how many splits are made in each string at most; a negative number sets no limit.
        result_type: "SparseTensor"; there are no ragged tensors.

    Raises:
        ValueError: the rank is not known; another result type than SparseTensor.
    """
    _only_sparse(result_type)
    with composite(name, "StringSplit", input, source) as scope:
        strings = convert_to_tensor(source if input is None else input)
        if strings.static_shape is None:
            raise ValueError("strings.split needs strings of known rank.")
        outer = len(strings.static_shape)
        flat = strings if outer == 1 else reshape(strings, [-1])
        indices, values, sizes = _string_split_v2(flat, b"" if sep is None else sep, maxsplit=maxsplit, name=scope)
        if outer < 2:
            return SparseTensor(indices, values, sizes)
        full = shape(strings, out_type=dt.int64)
        places = transpose(unravel_index(indices[:, 0], full))
        return SparseTensor(concat([places, indices[:, 1:]], 1), values, concat([full, sizes[1:]], 0))


def _only_sparse(result_type: str) -> None:
    if result_type != "SparseTensor":
        raise ValueError(f"The result type is 'SparseTensor', not {result_type!r}.")


# ---- many strings into one string


def _reduced(c: Inference) -> Shape:
    source, axes = c.shapes[0], c.value(1)
    if source is None:
        return None
    if axes is None:
        return (None,) * len(source) if c.attrs["keep_dims"] else None
    gone = set()
    for axis in np.atleast_1d(axes).tolist():
        gone.add(normalize_axis(axis, len(source), says=NO_AXIS))
    keep = c.attrs["keep_dims"]
    return tuple(1 if i in gone else n for i, n in enumerate(source) if keep or i not in gone)


@op(
    "ReduceJoin",
    shape=_reduced,
    types={"inputs": dt.string, "reduction_indices": dt.int32},
    result=dt.string,
    gradient=None,
    work=5,
)
def _reduce_join(
    inputs: TensorLike,
    reduction_indices: TensorLike,
    *,
    keep_dims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings along some axes joined. See `reduce_join`."""


@public("af", "af.strings")
def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Joins the strings along `axis` (`tf.reduce_join`, `tf.strings.reduce_join`).

    Example:
        >>> af.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator="+")
        [b'a+b' b'c+d']

    Args:
        inputs: strings of any shape.
        axis: an int, or several axes, which are joined in their order; by default all axes, the last first.
        keepdims, keep_dims: whether the dimensions stay, with size 1; `keep_dims` is the older name.
        separator: stands between the strings; empty by default.
        reduction_indices: the older name of `axis`.

    Raises:
        ValueError: an axis that does not exist.
        InvalidArgumentError: an axis that comes twice or does not exist, in the run.
    """
    axes = reduction_indices if axis is None else axis
    keep = bool(keep_dims) if keepdims is None else bool(keepdims)
    with composite(name, "ReduceJoin", inputs) as scope:
        source = convert_to_tensor(inputs)
        if axes is None:
            static_shape = source.static_shape
            axes = (
                range_(rank(source) - 1, -1, -1)
                if static_shape is None
                else np.arange(len(static_shape), dtype=np.int32)[::-1]
            )
        elif isinstance(axes, (list, tuple)) and not axes:
            axes = np.zeros(0, np.int32)
        return _reduce_join(source, axes, keep_dims=keep, separator=separator, name=scope)


def _segments(c: Inference) -> Shape:
    data, ids, count = c.shapes[0], c.shapes[1], c.value(2)
    require_rank(c, 2, 0)
    if data is None or ids is None:
        return None
    if len(ids) > len(data) or not compatible(data[: len(ids)], ids):
        raise ValueError(f"The shape of the strings, {show(data)}, has to begin with that of the ids, {show(ids)}.")
    return (None if count is None else int(count), *data[len(ids) :])


@op(
    "UnsortedSegmentJoin",
    shape=_segments,
    types={"inputs": dt.string, "segment_ids": INDEX, "num_segments": INDEX},
    result=dt.string,
    gradient=None,
    work=5,
)
def _unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    *,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of each segment joined. See `unsorted_segment_join`."""


@public("af.strings")
def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Row i has the strings joined whose id is i, in their order (`tf.strings.unsorted_segment_join`).

    Example:
        >>> af.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, separator="-")
        [b'b' b'a-c']

    Args:
        inputs: strings of any shape.
        segment_ids: int32 or int64, of the shape of the first dimensions of `inputs`.
        num_segments: how many rows the result has, an integer scalar.
        separator: stands between the strings; empty by default.

    Raises:
        InvalidArgumentError: an id is outside [0, num_segments), in the run.
    """
    return _unsorted_segment_join(inputs, segment_ids, num_segments, separator=separator, name=name)


# ---- tensors in a text


@op("StringFormat", shape=scalar, result=dt.string, gradient=None, work=50)
def _string_format(
    inputs: Sequence[Any],
    *,
    template: str = "%s",
    placeholder: str = "%s",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A text with tensors in it. See `strings.format`."""


@public("af.strings:format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """`template` with each `placeholder` replaced by what a tensor holds (`tf.strings.format`): a scalar string.

    Example:
        >>> af.strings.format("The sizes are {} and {}.", [[1, 2], 3.5])
        b'The sizes are [1 2] and 3.5.'

    Args:
        template: the text, with as many placeholders as there are tensors.
        inputs: a tensor, or a list with a tensor for each placeholder.
        placeholder: what stands in the template for a tensor; "{}" by default.
        summarize: how many elements are shown at both ends of each dimension; -1 shows all elements.

    Raises:
        ValueError: another number of tensors than of placeholders.
    """
    parts = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(parts):
        raise ValueError(
            f"The template has {template.count(placeholder)} placeholders {placeholder!r}, but {len(parts)} tensors were "
            f"given."
        )
    return _string_format(parts, template=template, placeholder=placeholder, summarize=summarize, name=name)
