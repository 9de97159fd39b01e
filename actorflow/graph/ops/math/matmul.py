"""Products of matrices, and `einsum`."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INEXACT, NUMERIC, bfloat16, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, broadcast, is_static, normalize_axis, show
from actorflow.graph.convert import convert_alike, convert_to_tensor, symbolic_dtype
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.math.logic import less, where_v2
from actorflow.graph.ops.math.reduction import reduce_prod, unreduce
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_NUMBERS = INEXACT | {dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64}


def _sides(c: Inference, first: str, second: str) -> tuple[Shape, Shape]:
    """The last two sizes of both inputs after transposing. Raises ValueError for inner sizes that differ."""
    left, right = c.shapes
    a = None if left is None else left[:-3:-1] if c.attrs[first] else left[-2:]
    b = None if right is None else right[:-3:-1] if c.attrs[second] else right[-2:]
    if a is not None and b is not None and None not in (a[1], b[0]) and a[1] != b[0]:
        raise ValueError(
            f"The inner sizes of the matrices differ: {a[1]} columns of {show(left)}{' transposed' * c.attrs[first]}, "
            f"{b[0]} rows of {show(right)}{' transposed' * c.attrs[second]}. Dimensions must be equal, but are {a[1]} and "
            f"{b[0]} (Matrix size-incompatible: In[0]: {show(left)}, In[1]: {show(right)})."
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
    """The matrix product a · b (`tf.matmul`), of the last two dimensions; further dimensions are broadcast.

    Example:
        >>> af.matmul([[1, 2], [3, 4]], [[1, 0], [0, 2]])
        [[1 4]
         [3 8]]
        >>> af.matmul(af.ones([5, 2, 3]), af.ones([3, 4])).shape
        TensorShape([5, 2, 4])

    Args:
        a: a tensor of shape (..., m, k), or (..., k, m) if transposed: floating, complex, or an integer of 32 or
            64 bits or unsigned.
        b: a tensor of the same type and shape (..., k, n), or (..., n, k) if transposed.
        transpose_a, transpose_b: transpose the matrix.
        adjoint_a, adjoint_b: transpose and conjugate it.
        a_is_sparse, b_is_sparse: whether a matrix has many zeros. With either, bfloat16 is multiplied as float32.

    Returns:
        A tensor of shape (..., m, n).

    Raises:
        ValueError: the shapes don't fit, or one matrix is to be both transposed and adjoint.
        TypeError: the types differ, or are none of those above.
    """
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("A matrix is either transposed or adjoint (transposed and conjugated); choose one.")
    if (a_is_sparse or b_is_sparse) and bfloat16 in (symbolic_dtype(a), symbolic_dtype(b)):
        a, b = cast(a, float32), cast(b, float32)
    left, right = convert_alike(a, b)
    if any(t.static_shape is None or len(t.static_shape) > 2 for t in (left, right)):
        left = conj(left) if transpose_a else left
        right = conj(right) if transpose_b else right
        return batch_matmul(
            left, right, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=name or "MatMul"
        )
    left = conj(left) if adjoint_a else left
    right = conj(right) if adjoint_b else right
    return matmul_op(left, right, transpose_a=transpose_a or adjoint_a, transpose_b=transpose_b or adjoint_b, name=name)


# ---- `tensordot`: sums of products over any axes, as one product of matrices.


@public("af", "af.linalg")
def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over pairs of an axis of `a` and an axis of `b` (`tf.tensordot`).

    Example:
        >>> af.tensordot([[1, 2], [3, 4]], [10, 1], axes=1)
        [12 34]
        >>> af.tensordot([1, 2, 3], [1, 1, 1], axes=1)
        6

    Args:
        a, b: tensors of one type, of any rank.
        axes: a number n for the last n axes of `a` and the first n of `b`; else two lists of axes, of `a` and of `b`.

    Returns:
        A tensor whose shape is that of `a` and then `b` without these axes.

    Raises:
        ValueError: the lists differ in length, there is no such axis, or paired axes differ in size.
    """
    with composite(name, "Tensordot", a, b) as scope:
        left, right = convert_alike(a, b)
        if left.static_shape is None or right.static_shape is None:
            return _of_any_rank(left, right, axes, scope)
        over_left, over_right = _paired_axes(axes, len(left.static_shape), len(right.static_shape))
        rows, free_left = _as_matrix(left, over_left, contracted_last=True)
        columns, free_right = _as_matrix(right, over_right, contracted_last=False)
        return _reshaped(matmul_op(rows, columns), [*free_left, *free_right], scope)


def _lists(axes: Any) -> tuple[list[int], list[int]]:
    first, second = ([int(i) for i in np.atleast_1d(part)] for part in axes)
    if len(first) != len(second):
        raise ValueError(f"tensordot sums over pairs of axes, but {first} and {second} differ in length.")
    return first, second


# ---- of known rank: the graph holds the order of axes, and the sizes that are known


def _paired_axes(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(left, right):
            raise ValueError(f"axes={axes} is not between 0 and the smaller rank, {min(left, right)}.")
        return list(range(left - int(axes), left)), list(range(int(axes)))
    first, second = _lists(axes)
    return [normalize_axis(i, left) for i in first], [normalize_axis(i, right) for i in second]


def _as_matrix(tensor: Tensor, over: list[int], contracted_last: bool) -> tuple[Tensor, list[Any]]:
    """`tensor` as a matrix with the axes `over` as its columns (or rows), and the sizes of the other axes."""
    from actorflow.graph.ops.array.shape import shape, transpose

    static: Any = tensor.static_shape
    free = [i for i in range(len(static)) if i not in over]
    dynamic = None if is_static(static) else shape(tensor)
    sizes = [static[i] if static[i] is not None else dynamic[i] for i in range(len(static))]  # type: ignore[index]
    order = free + over if contracted_last else over + free
    turned = tensor if order == list(range(len(static))) else transpose(tensor, order)
    parts = [_product([sizes[i] for i in free]), _product([sizes[i] for i in over])]
    return _reshaped(turned, parts if contracted_last else parts[::-1], None), [sizes[i] for i in free]


def _product(sizes: list[Any]) -> Any:
    constant, rest = 1, None
    for size in sizes:
        if isinstance(size, int):
            constant *= size
        else:
            rest = size if rest is None else rest * size
    return constant if rest is None else rest if constant == 1 else rest * constant


def _reshaped(tensor: Tensor, sizes: list[Any], name: str | None) -> Tensor:
    from actorflow.graph.ops.array.join import stack
    from actorflow.graph.ops.array.shape import reshape

    if all(isinstance(size, int) for size in sizes):
        return reshape(tensor, np.asarray(sizes, np.int32), name=name)
    result = reshape(tensor, stack(sizes), name=name)
    result.set_shape([size if isinstance(size, int) else None for size in sizes])
    return result


# ---- of unknown rank: all of that is computed in the run


def _of_any_rank(left: Tensor, right: Tensor, axes: Any, name: str) -> Tensor:
    from actorflow.graph.ops.array.join import concat
    from actorflow.graph.ops.array.shape import rank, reshape
    from actorflow.graph.ops.math.cumulative import range_

    if isinstance(axes, (int, np.integer)):
        over_left, over_right = range_(rank(left) - int(axes), rank(left)), range_(int(axes))
    else:
        first, second = (convert_to_tensor(np.asarray(part, np.int32), graph=left.graph) for part in _lists(axes))
        over_left = where_v2(less(first, 0), first + rank(left), first)
        over_right = where_v2(less(second, 0), second + rank(right), second)
    rows, free_left = _turned(left, over_left, contracted_last=True)
    columns, free_right = _turned(right, over_right, contracted_last=False)
    return reshape(matmul_op(rows, columns), concat([free_left, free_right], 0), name=name)


def _turned(tensor: Tensor, over: Tensor, contracted_last: bool) -> tuple[Tensor, Tensor]:
    """`tensor` as a matrix with the axes `over` as its columns (or rows), and the sizes of the other axes."""
    from actorflow.graph.ops.array.gather import gather
    from actorflow.graph.ops.array.join import concat, stack
    from actorflow.graph.ops.array.shape import rank, reshape, shape, transpose
    from actorflow.graph.ops.array.unique import setdiff1d
    from actorflow.graph.ops.math.cumulative import range_

    sizes = shape(tensor)
    free, _ = setdiff1d(range_(rank(tensor)), over)
    free_sizes, over_sizes = gather(sizes, free), gather(sizes, over)
    parts, order = [reduce_prod(free_sizes), reduce_prod(over_sizes)], [free, over]
    if not contracted_last:
        parts, order = parts[::-1], order[::-1]
    return reshape(transpose(tensor, concat(order, 0)), stack(parts)), free_sizes


# ---- `einsum`: sums of products that an equation spells.


_EQUATION = re.compile(r"([A-Za-z]*(?:,[A-Za-z]*)*)->([A-Za-z]*)")


def parse(equation: str) -> tuple[list[str], str]:
    """The labels of each input, and of the output, of an equation in full such as "ij,jk->ik"."""
    inputs, _, output = equation.partition("->")
    return inputs.split(","), output


def _sizes(c: Inference) -> dict[str, int | None]:
    """The size of each label."""
    labels, _ = parse(c.attrs["equation"])
    if len(labels) != len(c.shapes):
        raise ValueError(
            f"The equation {c.attrs['equation']!r} is of {len(labels)} inputs, but there are {len(c.shapes)}."
        )
    sizes: dict[str, int | None] = {label: None for label in "".join(labels)}
    for names, shape in zip(labels, c.shapes):
        if shape is None:
            continue
        if len(shape) != len(names):
            raise ValueError(f"{names!r} has {len(names)} labels, but its input has the shape {show(shape)}.")
        for label, size in zip(names, shape):
            if None not in (size, sizes[label]) and size != sizes[label]:
                raise ValueError(
                    f"The label {label!r} of {c.attrs['equation']!r} has the sizes {sizes[label]} and {size}."
                )
            sizes[label] = sizes[label] if size is None else size
    return sizes


def _shape(c: Inference) -> Shape:
    sizes = _sizes(c)
    return tuple(sizes[label] for label in parse(c.attrs["equation"])[1])


def _work(c: Inference) -> float:
    """One multiplication and one addition an input for each combination of labels, as no order of products is known."""
    sizes = _sizes(c).values()
    return 1e6 if None in sizes else float(len(c.shapes)) * math.prod(size or 0 for size in sizes)


@op("Einsum", shape=_shape, dtypes=NUMERIC, work=_work)
def einsum_op(inputs: Sequence[TensorLike], *, equation: str, name: str | None = None) -> Tensor:
    """The sum of products of `inputs` that `equation` spells in full. See `einsum`."""


@einsum_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.shape import shape

    labels, output = parse(node.get_attr("equation"))
    gradients: list[Any] = []
    for i, (source, names) in enumerate(zip(node.inputs, labels)):
        others = [conj(t) for j, t in enumerate(node.inputs) if j != i]
        parts = [output, *(names for j, names in enumerate(labels) if j != i)]
        # A label that only this input has was summed away: its gradient is the same all along it.
        kept = "".join(label for label in names if label in "".join(parts))
        gradient = einsum_op([dy, *others], equation=f"{','.join(parts)}->{kept}")
        if kept != names:
            gradient = unreduce(gradient, shape(source), [at for at, label in enumerate(names) if label not in kept])
        gradients.append(gradient)
    return gradients


def _with_labels(equation: str, shapes: Sequence[Shape]) -> str:
    """An equation with labels in the place of `...`: the last dimension of each has the same label, and so on."""
    labels, output = parse(equation)
    free = [letter for letter in string.ascii_letters if letter not in equation]
    ranks = []
    for names, shape in zip(labels, shapes):
        if "..." in names and shape is None:
            raise ValueError(f"{equation!r} needs inputs of a known rank, and one has none.")
        ranks.append(len(shape or ()) - len(names.replace("...", "")) if "..." in names else 0)
    most = max(ranks, default=0)
    if min(ranks, default=0) < 0 or 2 * most > len(free):
        raise ValueError(f"{equation!r} does not fit inputs of the shapes {', '.join(map(show, shapes))}.")
    common, lone = "".join(free[:most]), "".join(free[most : 2 * most])
    begins = [names.find("...") for names in labels]
    sizes = [(shape or ())[begin : begin + rank] for shape, begin, rank in zip(shapes, begins, ranks)]
    wide = {most - len(row) + i for row in sizes for i, size in enumerate(row) if size != 1}
    spelled = []
    for names, row in zip(labels, sizes):
        places = range(most - len(row), most)
        # A size of 1 goes with any other size: then its label is its own, and is summed over.
        own = [lone[at] if size == 1 and at in wide else common[at] for at, size in zip(places, row)]
        spelled.append(names.replace("...", "".join(own)))
    return f"{','.join(spelled)}->{output.replace('...', common)}"


@public("af", "af.linalg")
def einsum(equation: str, *inputs: TensorLike, name: str | None = None) -> Tensor:
    """The sum of products over labelled dimensions (`tf.einsum`): "ij,jk->ik" is a product of matrices.

    Example:
        >>> af.einsum("ij,jk->ik", [[1, 2], [3, 4]], [[1, 0], [0, 2]])
        [[1 4]
         [3 8]]
        >>> af.einsum("ij->j", [[1, 2], [3, 4]])
        [4 6]

    Args:
        equation: a label (a letter) for each dimension of each input, then those of the output; other labels are summed
            over. Without `->` the output has the labels that come once, in alphabetic order. `...` stands for the
            dimensions that have no label, of inputs of a known rank; a size of 1 goes with any other there.
        inputs: tensors of one type.

    Raises:
        ValueError: the equation is none, a label comes twice in one input, or sizes of a label differ.
    """
    spelled = equation.replace(" ", "")
    if "->" not in spelled:
        once = sorted(label for label in set(spelled) - {",", "."} if spelled.count(label) == 1)
        spelled += "->" + ("..." if "..." in spelled else "") + "".join(once)
    if "..." in spelled:
        spelled = _with_labels(spelled, [convert_to_tensor(value).static_shape for value in inputs])
    if not _EQUATION.fullmatch(spelled):
        raise ValueError(f"{equation!r} is no equation of letters such as 'ij,jk->ik'.")
    labels, output = parse(spelled)
    if any(len(set(names)) < len(names) for names in (*labels, output)):
        raise ValueError(f"A label comes twice in one part of {equation!r}.")
    if missing := set(output) - set("".join(labels)):
        raise ValueError(f"The output of {equation!r} has the labels {sorted(missing)}, which no input has.")
    return einsum_op(list(inputs), equation=spelled, name=name)
