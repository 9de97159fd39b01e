"""The ops of pools: the maximum or the mean of windows, in two and three dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import FLOATING, INDEX, REAL, DTypeLike, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, merge, num_elements, show
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.nn.conv.geometry import FORMATS, channel_axis, output_size
from actorflow.graph.ops.shape_rules import from_value, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike


def _rank(c: Inference) -> int:
    return 5 if "3D" in c.op.type else 4


def check_pool(op_type: str, rank: int, attrs: Any) -> None:
    """Raises ValueError for windows and strides that are not `rank` positive numbers, that reach over the batch, or over
    both the channels and space; and for a padding or a layout that there is not."""
    layout = attrs.get("data_format", FORMATS[rank][0])
    if layout not in FORMATS[rank]:
        raise ValueError(f"The data format of {op_type} is {' or '.join(FORMATS[rank])}, not {layout!r}.")
    if attrs["padding"] not in ("SAME", "VALID"):
        raise ValueError(f"The padding of {op_type} is 'SAME' or 'VALID', not {attrs['padding']!r}.")
    for name in ("ksize", "strides"):
        sizes = attrs[name]
        if len(sizes) != rank or any(size < 1 for size in sizes):
            raise ValueError(f"The {name} of {op_type} is {rank} positive numbers, but {list(sizes)} was given.")
        if sizes[0] != 1:
            raise ValueError(f"{op_type} does not pool over the batch, but the {name} is {list(sizes)}.")
    axis = channel_axis(layout, rank)
    ksize, strides = list(attrs["ksize"]), list(attrs["strides"])
    deep = (ksize.pop(axis), strides.pop(axis))
    if deep != (1, 1) and not (op_type.startswith("MaxPool") and rank == 4 and deep[0] == deep[1] and max(ksize) == 1):
        raise ValueError(
            f"{op_type} pools over space alone, or (MaxPool) over windows of channels alone that don't overlap, but the "
            f"ksize is {list(attrs['ksize'])} and the strides are {list(attrs['strides'])}."
        )
    if deep != (1, 1) and max(strides) > 1:
        raise ValueError(f"{op_type} over channels takes no strides in space, but they are {list(attrs['strides'])}.")


def pooled_shape(c: Inference, source: Shape) -> Shape:
    rank = _rank(c)
    check_pool(c.op.type, rank, c.attrs)
    sizes = (None,) * rank if source is None else source
    windows, strides = c.attrs["ksize"], c.attrs["strides"]
    return tuple(
        output_size(size, window, stride, 1, c.attrs["padding"]) if (window, stride) != (1, 1) else size
        for size, window, stride in zip(sizes, windows, strides, strict=True)
    )


def _pooled(c: Inference) -> Shape:
    return pooled_shape(c, require_rank(c, 0, _rank(c)))


def _unpooled(c: Inference) -> Shape:
    """Of the gradient of a maximum: the input's shape; the output and its gradient have the pooled shape."""
    source = require_rank(c, 0, _rank(c))
    pooled = merge(pooled_shape(c, source), c.shapes[1])
    merge(pooled, c.shapes[2])
    return source


def _repooled(c: Inference) -> Shape:
    """Of the gradient of that: the output's shape; the last input has the first one's shape."""
    source = merge(require_rank(c, 0, _rank(c)), c.shapes[2])
    return merge(pooled_shape(c, source), c.shapes[1])


def _unaveraged(c: Inference) -> Shape:
    rank = _rank(c)
    listed = c.shapes[0]
    if listed is not None and (len(listed) != 1 or listed[0] not in (None, rank)):
        raise ValueError(f"orig_input_shape is a list of {rank} sizes, but has the shape {show(listed)}.")
    target = from_value(0)(c)
    source = (None,) * rank if target is None or len(target) != rank else target
    merge(pooled_shape(c, source), require_rank(c, 1, rank))
    return source


def _each_tap(c: Inference) -> float:
    """Some operations for each element of each window."""
    outputs: Any = c.op.shape_rule(c)
    output = outputs[0] if isinstance(outputs, list) else outputs
    sizes = [num_elements(s) or 0 for s in (output, *c.shapes) if is_static(s)]
    return 30.0 * max(sizes, default=0) * (3 if "Grad" in c.op.type else 1)


# ---- maxima


@op("MaxPool", shape=_pooled, dtypes=REAL, work=_each_tap)
def max_pool_op(
    input: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window. See `max_pool`."""


@op("MaxPoolGrad", shape=_unpooled, dtypes=REAL, work=_each_tap)
def max_pool_grad(
    orig_input: TensorLike,
    orig_output: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of MaxPool: each window's gradient at the first of its largest elements."""


@op("MaxPoolGradGrad", shape=_repooled, dtypes=REAL, work=_each_tap)
def max_pool_grad_grad(
    orig_input: TensorLike,
    orig_output: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of MaxPoolGrad for `grad`: the element of `grad` where each window has the first of its maxima."""


@op("MaxPool3D", shape=_pooled, dtypes=FLOATING, work=_each_tap)
def max_pool3d_op(
    input: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window. See `max_pool3d`."""


@op("MaxPool3DGrad", shape=_unpooled, dtypes=FLOATING, work=_each_tap)
def max_pool3d_grad(
    orig_input: TensorLike,
    orig_output: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of MaxPool3D: each window's gradient at all of its largest elements, as in TensorFlow."""


@op("MaxPool3DGradGrad", shape=_repooled, dtypes=FLOATING, work=_each_tap)
def max_pool3d_grad_grad(
    orig_input: TensorLike,
    orig_output: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of MaxPool3DGrad for `grad`: the element of `grad` where each window has the first of its maxima."""


# ---- maxima with their places


def _with_places(c: Inference) -> list[Shape]:
    shape = _pooled(c)
    return [shape, shape]


@op("MaxPoolWithArgmax", shape=_with_places, dtypes=REAL, result=(T, "Targmax"), work=_each_tap)
def max_pool_with_argmax_op(
    input: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    Targmax: DTypeLike = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its place. See `max_pool_with_argmax`."""


def _placed(c: Inference) -> Shape:
    source = require_rank(c, 0, 4)
    merge(merge(pooled_shape(c, source), c.shapes[1]), c.shapes[2])
    return source


@op("MaxPoolGradWithArgmax", shape=_placed, dtypes=REAL, types={"argmax": INDEX}, gradient=None, work=_each_tap)
def max_pool_grad_with_argmax(
    input: TensorLike,
    grad: TensorLike,
    argmax: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of MaxPoolWithArgmax: each window's gradient added at the place that `argmax` names.

    Raises InvalidArgumentError in the run for a place outside the input.
    """


# ---- means


@op("AvgPool", shape=_pooled, dtypes=FLOATING, work=_each_tap)
def avg_pool_op(
    value: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window. See `avg_pool`."""


@op("AvgPoolGrad", shape=_unaveraged, dtypes=FLOATING, types={"orig_input_shape": INDEX}, work=_each_tap)
def avg_pool_grad(
    orig_input_shape: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of AvgPool: each window's gradient shared out among its elements."""


@op("AvgPool3D", shape=_pooled, dtypes=FLOATING, work=_each_tap)
def avg_pool3d_op(
    input: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window. See `avg_pool3d`."""


@op("AvgPool3DGrad", shape=_unaveraged, dtypes=FLOATING, types={"orig_input_shape": INDEX}, work=_each_tap)
def avg_pool3d_grad(
    orig_input_shape: TensorLike,
    grad: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of AvgPool3D: each window's gradient shared out among its elements."""


# ---- gradients


def _attributes(node: Operation) -> dict[str, Any]:
    return {name: node.attrs[name] for name in ("ksize", "strides", "padding", "data_format")}


def _register(pool: Any, to_input: Any, twice: Any) -> None:
    def of_pool(node: Operation, dy: Tensor) -> list[Any]:
        return [to_input(node.inputs[0], node.outputs[0], dy, **_attributes(node))]

    def of_gradient(node: Operation, ddx: Tensor) -> list[Any]:
        x, y, _ = node.inputs
        return [None, None, twice(x, y, ddx, **_attributes(node))]

    def of_second(node: Operation, ddy: Tensor) -> list[Any]:
        x, y, _ = node.inputs
        return [None, None, to_input(x, y, ddy, **_attributes(node))]

    pool.gradient(of_pool)
    to_input.gradient(of_gradient)
    twice.gradient(of_second)


def _register_mean(pool: Any, to_input: Any) -> None:
    def of_pool(node: Operation, dy: Tensor) -> list[Any]:
        return [to_input(shape(node.inputs[0]), dy, **_attributes(node))]

    def of_gradient(node: Operation, ddx: Tensor) -> list[Any]:
        return [None, pool(ddx, **_attributes(node))]

    pool.gradient(of_pool)
    to_input.gradient(of_gradient)


_register(max_pool_op, max_pool_grad, max_pool_grad_grad)
_register(max_pool3d_op, max_pool3d_grad, max_pool3d_grad_grad)
_register_mean(avg_pool_op, avg_pool_grad)
_register_mean(avg_pool3d_op, avg_pool3d_grad)


@max_pool_with_argmax_op.gradient
def _(node: Operation, dy: Tensor, _: Any) -> list[Any]:
    names = ("ksize", "strides", "padding", "include_batch_in_index")
    return [
        max_pool_grad_with_argmax(node.inputs[0], dy, node.outputs[1], **{name: node.attrs[name] for name in names})
    ]
