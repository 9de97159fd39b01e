"""`Flatten`: all dimensions but the batch as one (`tf.layers.Flatten`)."""

from __future__ import annotations

import math

from actorflow.base.shapes import ShapeLike, TensorShape, as_shape
from actorflow.graph.ops.array.shape import reshape, transpose
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.math.reduction import reduce_prod
from actorflow.graph.tensor import Tensor
from actorflow.models.layers.arguments import layout_of
from actorflow.models.layers.input_spec import InputSpec
from actorflow.models.layers.layer import Layer
from actorflow.public import public


@public("af.layers")
class Flatten(Layer):
    """All dimensions but that of the batch as one (`tf.layers.Flatten`).

    A vector becomes a column.

    Example:
        >>> af.layers.Flatten()(af.ones([2, 3, 4])).shape
        TensorShape([2, 12])
    """

    def __init__(self, data_format: str = "channels_last", name: str | None = None) -> None:
        """
        Args:
            data_format: "channels_last", or "channels_first": then the channels are moved behind space first.
            name: the name of the scope; `flatten` unless given.
        """
        super().__init__(name=name)
        self.data_format = layout_of(data_format, "flatten")
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Tensor:
        shape = inputs.static_shape
        assert shape is not None
        x = inputs
        if self.data_format == "channels_first" and len(shape) > 2:
            x = transpose(inputs, [0, *range(2, len(shape)), 1])
        target = as_shape(self.compute_output_shape(shape))
        assert target is not None
        if target[1] is not None:
            return reshape(x, [-1 if target[0] is None else target[0], target[1]])
        if target[0] is not None:
            return reshape(x, [target[0], -1])
        sizes = shape_of(x)
        return reshape(x, [sizes[0], reduce_prod(sizes[1:])])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """[batch, the product of the other sizes].

        Example:
            >>> af.layers.Flatten().compute_output_shape([None, 2, 3])
            TensorShape([None, 6])
        """
        batch, *others = as_shape(input_shape) or (None, None)
        sizes = [size for size in others if size is not None]
        return TensorShape([batch, math.prod(sizes) if len(sizes) == len(others) else None])
