"""Grey-scale morphology: dilation and erosion of images by a structuring function (max-plus convolutions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, merge, num_elements
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import reverse
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.elementwise import negative
from actorflow.graph.ops.nn.conv.functions import either
from actorflow.graph.ops.nn.conv.geometry import check_attributes, output_size
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _dilated(c: Inference) -> Shape:
    """The shape of a dilation. Raises ValueError where an attribute can't be, or images and filter have other depths."""
    images = require_rank(c, 0, 4) or (None,) * 4
    filters = require_rank(c, 1, 3) or (None,) * 3
    padding, strides, rates = c.attrs["padding"], c.attrs["strides"], c.attrs["rates"]
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"The padding of {c.op.type} is 'SAME' or 'VALID', not {padding!r}.")
    check_attributes(c.op.type, 4, "NHWC", padding, strides=strides, rates=rates)
    depth = merge(images[3:], filters[2:]) or (None,)
    height, width = map(output_size, images[1:3], filters[:2], strides[1:3], rates[1:3], [padding] * 2)
    return (images[0], height, width, *depth)


def _of_input(number: int) -> Any:
    """A gradient has the shape of what it is for; the output's gradient has that of a dilation."""

    def rule(c: Inference) -> Shape:
        merge(_dilated(c), require_rank(c, 2, 4))
        return c.shapes[number]

    return rule


def _each_tap(c: Inference) -> float:
    """Some operations for each element of the output and each of the filter."""
    output, filters = _dilated(c), c.shapes[1]
    if not is_static(output) or not is_static(filters):
        return 1e6
    return 3.0 * (num_elements(output) or 0) * (num_elements((filters or ())[:2]) or 0)


@op("Dilation2D", shape=_dilated, dtypes=REAL, work=_each_tap)
def dilation2d_op(
    input: TensorLike,
    filter: TensorLike,
    *,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The largest sum of an element of `input` and an element of `filter` in each window. See `dilation2d`."""


@op("Dilation2DBackpropInput", shape=_of_input(0), dtypes=REAL, gradient=None, work=_each_tap)
def dilation2d_backprop_input(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The gradient of Dilation2D for its input: of each window, the element of the (first) largest sum has all of it."""


@op("Dilation2DBackpropFilter", shape=_of_input(1), dtypes=REAL, gradient=None, work=_each_tap)
def dilation2d_backprop_filter(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The gradient of Dilation2D for its filter."""


@dilation2d_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, w = node.inputs
    attrs: Any = {name: node.attrs[name] for name in ("strides", "rates", "padding")}
    return [dilation2d_backprop_input(x, w, dy, **attrs), dilation2d_backprop_filter(x, w, dy, **attrs)]


@public("af.nn")
def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The grey-scale dilation of images (`tf.nn.dilation2d`): `max(input[b, y, x, c] + filter[i, j, c])` over each window.

    Example:
        >>> image = [[[[0.0], [0.0], [5.0], [0.0]]]]
        >>> af.nn.dilation2d(image, af.zeros([1, 3, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")[0, 0, :, 0]
        [0. 5. 5. 5.]

    Args:
        input: integers or floats, of shape [batch, height, width, depth].
        filter, filters: of the same type, of shape [height, width, depth]; `filters` is the newer name.
        strides: how far the window moves, one number for each dimension of the input, the first and the last 1.
        rates, dilations: from how far apart the elements are that a window sees, likewise; `dilations` is the newer
            name.
        padding: "SAME" (windows may reach over the edge, and see only what is inside) or "VALID" (none does).

    Returns:
        A tensor of shape [batch, places, places, depth]. Its second derivative is not defined.

    Raises:
        ValueError: the depths differ, the filter does not fit in, or a stride, rate or padding can't be.
            InvalidArgumentError in the run, where shapes are known only then.
    """
    if strides is None or padding is None:
        raise ValueError("dilation2d needs strides and a padding.")
    return dilation2d_op(
        input,
        either(filters, filter, "`filter` and `filters`"),
        strides=tuple(strides),
        rates=tuple(either(dilations, rates, "`rates` and `dilations`")),
        padding=padding,
        name=name,
    )


@public("af.nn")
def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The grey-scale erosion of images (`tf.nn.erosion2d`): `min(value[b, y, x, c] - kernel[-i, -j, c])` over each
    window.

    It is the dilation of the negative image by the mirrored kernel, negated. Result and errors are those of
    `dilation2d`.

    Example:
        >>> image = [[[[5.0], [5.0], [0.0], [5.0]]]]
        >>> af.nn.erosion2d(image, af.zeros([1, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")[0, 0, :, 0]
        [5. 0. 0.]

    Args:
        value: integers or floats, of shape [batch, height, width, depth].
        kernel: of the same type, of shape [height, width, depth].
        strides: how far the window moves, one number for each dimension of `value`, the first and the last 1.
        rates: from how far apart the elements are that a window sees, likewise.
        padding: "SAME" (windows may reach over the edge, and see only what is inside) or "VALID" (none does).
    """
    with composite(name, "erosion2d", value, kernel) as scope:
        mirrored = reverse(convert_to_tensor(kernel), [0, 1])
        dilated = dilation2d(negative(value), mirrored, strides=strides, rates=rates, padding=padding)
        return negative(dilated, name=scope)
