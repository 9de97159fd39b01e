"""`Dense`: a product with a matrix of weights; and `Flatten`, which makes vectors for it (`tf.layers`)."""

from __future__ import annotations

import math
from typing import Any

from actorflow.base.shapes import ShapeLike, TensorShape, as_shape, show
from actorflow.graph.ops.array.shape import reshape, transpose
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.matmul import matmul, tensordot
from actorflow.graph.ops.math.reduction import reduce_prod
from actorflow.graph.ops.nn.activation import bias_add
from actorflow.graph.tensor import Tensor
from actorflow.models.layers.arguments import (
    ZEROS,
    Activation,
    Constraint,
    Dtype,
    Initializer,
    Regularizer,
    activation_of,
    layout_of,
    whole,
)
from actorflow.models.layers.input_spec import InputSpec
from actorflow.models.layers.layer import Layer
from actorflow.public import public


@public("af.layers")
class Dense(Layer):
    """activation(inputs · kernel + bias), over the last dimension of `inputs` (`tf.layers.Dense`).

    `kernel` has the shape [inputs, units], `bias` [units]. The outputs have the shape of the inputs with `units` last.

    Example:
        >>> layer = af.layers.Dense(2, kernel_initializer=af.ones_initializer())
        >>> y = layer(af.constant([[1.0, 2.0, 3.0]]))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(y)
        [[6. 6.]]
        >>> [v.name for v in layer.variables]
        ['dense/kernel:0', 'dense/bias:0']
    """

    def __init__(
        self,
        units: int,
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer = None,
        bias_initializer: Initializer = ZEROS,
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: bool | None = None,
        dtype: Dtype = None,
        **inherited: Any,
    ) -> None:
        """
        Args:
            units: the number of outputs.
            activation: a function of a tensor, such as `af.nn.relu`, or its name; None for none.
            use_bias: whether a bias is added.
            kernel_initializer, bias_initializer: `f(shape, dtype)` for the initial values; the kernel's is that of the variable
                scope, else glorot uniform, and the bias is 0.
            kernel_regularizer, bias_regularizer: `f(variable)` gives a loss that is added to `losses`.
            activity_regularizer: `f(output)` gives a loss, for each example.
            kernel_constraint, bias_constraint: functions that optimizers apply to the value after each update.
            trainable: whether optimizers change the variables.
            name: the name of the variable scope; `dense` unless given.
            reuse: whether the variables exist already.
            dtype: the type of the variables; that of the inputs unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: `units` is not a positive number; at a call: the inputs have fewer than two dimensions, or the size
                of the last is not known.
            TypeError: the inputs are not floating-point.
        """
        super().__init__(trainable, name, dtype, reuse, activity_regularizer, **inherited)
        self.units = whole(units, "dense", "units")
        if self.units < 0:
            raise ValueError(f"dense: the argument `units` must be a positive integer. Received: {units!r:.60}")
        self.activation = activation_of(activation, "dense")
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        if self._dtype is not None and not (self._dtype.is_floating or self._dtype.is_complex):
            raise TypeError(
                f"dense: the layer {self.name} can only be built with a floating-point dtype, not {self._dtype}. Cast the "
                "inputs, or give the argument `dtype`."
            )
        last = self._last(input_shape)
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.kernel = self.add_weight(
            "kernel",
            [last, self.units],
            None,
            self.kernel_initializer,
            self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                None,
                self.bias_initializer,
                self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """The products of the inputs and the weights, with the bias and the activation."""
        x = inputs if self._dtype in (None, inputs.dtype) else cast(inputs, self._dtype)
        rank = len(x.static_shape or (None, None))
        outputs = matmul(x, self.kernel, name="MatMul") if rank == 2 else tensordot(x, self.kernel, [[rank - 1], [0]])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the inputs with `units` last. Raises ValueError where the last size is not known.

        Example:
            >>> af.layers.Dense(10).compute_output_shape([None, 5, 3])
            TensorShape([None, 5, 10])
        """
        self._last(input_shape)
        return TensorShape([*(as_shape(input_shape) or ())[:-1], self.units])

    def _last(self, input_shape: ShapeLike) -> int:
        shape = as_shape(input_shape)
        if shape is None or len(shape) < 2 or shape[-1] is None:
            raise ValueError(
                "dense: the last dimension of the inputs to a Dense layer should be defined, and there are two or more. "
                f"Full input shape received: {show(shape)}"
            )
        return shape[-1]


@public("af.layers")
class Flatten(Layer):
    """All dimensions but that of the batch as one (`tf.layers.Flatten`).

    A vector becomes a column.

    Example:
        >>> af.layers.Flatten()(af.ones([2, 3, 4])).shape
        TensorShape([2, 12])
    """

    def __init__(self, data_format: str = "channels_last", name: str | None = None, **inherited: Any) -> None:
        """
        Args:
            data_format: "channels_last", or "channels_first": then the channels are moved behind space first.
            name: the name of the scope; `flatten` unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.
        """
        super().__init__(name=name, **inherited)
        self.data_format = layout_of(data_format, "flatten")
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Tensor:
        """The inputs with one axis behind that of the batch."""
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
