"""Convolutions: `Conv1D`, `Conv2D` and `Conv3D`, which differ by their rank alone (`tf.layers.Conv2D`)."""

from __future__ import annotations

from typing import Any, ClassVar

from actorflow.base.shapes import ShapeLike, TensorShape, as_shape, show
from actorflow.graph.ops.array.pad_tile import pad
from actorflow.graph.ops.nn.activation import bias_add
from actorflow.graph.ops.nn.conv.functions import convolution
from actorflow.graph.ops.nn.conv.geometry import FORMATS
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.arguments import (
    ZEROS,
    Activation,
    Constraint,
    Dtype,
    Initializer,
    Regularizer,
    Sizes,
    activation_of,
    layout_of,
    padding_of,
    sizes,
    whole,
)
from actorflow.models.layers.input_spec import InputSpec
from actorflow.models.layers.layer import Layer
from actorflow.public import public


class Windows(Layer):
    """The base of layers that slide windows over the dimensions of space: their layout, and the shapes they give."""

    rank: ClassVar[int]
    """The number of dimensions of space."""
    causal: ClassVar[bool] = False
    """Whether the padding may be `causal`."""
    data_format: str

    @property
    def _layout(self) -> str:
        """The name that ops have for the layout, such as "NHWC"."""
        last, first = FORMATS[self.rank + 2]
        return last if self.data_format == "channels_last" else first

    @property
    def _channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else 1

    def _channels(self, input_shape: Any) -> int:
        """The number of channels. Raises ValueError for another rank, or an unknown number."""
        shape = as_shape(input_shape)
        if shape is None or len(shape) != self.rank + 2:
            raise ValueError(
                f"{self._kind}: the inputs should have rank {self.rank + 2}. Full shape received: {show(shape)}"
            )
        channels = shape[self._channel_axis]
        if channels is None:
            raise ValueError(
                f"{self._kind}: The channel dimension of the inputs should be defined. Found `None`. It is dimension "
                f"{self._channel_axis} of {show(shape)}."
            )
        return channels

    def _space(self, input_shape: ShapeLike) -> list[int | None]:
        """The sizes of the dimensions of space."""
        shape = list(as_shape(input_shape) or [None] * (self.rank + 2))
        return shape[1:-1] if self.data_format == "channels_last" else shape[2:]

    def _arranged(self, input_shape: ShapeLike, space: list[int | None], channels: int | None) -> TensorShape:
        """A shape of these sizes, in the layer's layout."""
        batch = (as_shape(input_shape) or [None])[0]
        if any(size is not None and size <= 0 for size in space):
            raise ValueError(
                f"{self._kind}: one of the dimensions in the output is <= 0 due to downsampling in {self.name}. Consider "
                f"increasing the input size. The input shape {show(as_shape(input_shape))} would give sizes {space}."
            )
        return TensorShape([batch, *space, channels] if self._channel_axis == -1 else [batch, channels, *space])


def output_size(size: int | None, window: int, stride: int, padding: str) -> int | None:
    """The number of places of a window, along a dimension of this size."""
    if size is None:
        return None
    return ((size - window + 1 if padding == "valid" else size) + stride - 1) // stride


class Convolving(Windows):
    """The base of convolutions: filters, and a bias and an activation after them."""

    bias: Variable | None

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Sizes = 1,
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
            filters: the number of channels of the outputs.
            kernel_size: the size of the window, one number or a number for each dimension of space.
            strides: how far the window moves, given in the same way.
            padding: "valid" (none), "same" (zeros around, so that only the strides make the output smaller), or for
                sequences "causal" (zeros before, so that no output depends on later inputs).
            data_format: "channels_last" or "channels_first" (after the batch).
            dilation_rate: from how far apart the elements are that a window sees, given as the strides are.
            activation: a function of a tensor, such as `af.nn.relu`, or its name; None for none.
            use_bias: whether a bias is added.
            kernel_initializer, bias_initializer: `f(shape, dtype)` for the initial values; the kernel's is that of the variable
                scope, else glorot uniform, and the bias is 0.
            kernel_regularizer, bias_regularizer: `f(variable)` gives a loss that is added to `losses`.
            activity_regularizer: `f(output)` gives a loss, for each example.
            kernel_constraint, bias_constraint: functions that optimizers apply to the value after each update.
            trainable: whether optimizers change the variables.
            name: the name of the variable scope; that of the class in snake case unless given.
            reuse: whether the variables exist already.
            dtype: the type of the variables; that of the inputs unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: an argument can't be, or strides and dilations are both more than 1; at a call: the inputs have another
                rank, the number of their channels is not known, or no window fits in.
        """
        super().__init__(trainable, name, dtype, reuse, activity_regularizer, **inherited)
        kind = self._kind
        self.filters = whole(filters, kind, "filters")
        if self.filters <= 0:
            raise ValueError(f"{kind}: the argument `filters` must be a positive integer. Received: {filters!r:.60}")
        self.kernel_size = sizes(kernel_size, self.rank, kind, "kernel_size")
        self.strides = sizes(strides, self.rank, kind, "strides")
        self.padding = padding_of(padding, kind, self.causal)
        self.data_format = layout_of(data_format, kind)
        self.dilation_rate = sizes(dilation_rate, self.rank, kind, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{kind}: `strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.activation = activation_of(activation, kind)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.compute_output_shape(input_shape)
        self._make_kernels(channels)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                None,
                self.bias_initializer,
                self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """The convolved inputs, with the bias and the activation."""
        outputs = self._convolve(inputs)
        if inputs.static_shape is not None:
            outputs.set_shape(self.compute_output_shape(inputs.static_shape))
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, data_format=self._layout)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the output for an input of this shape. Raises ValueError where no window fits in."""
        space = [
            output_size(size, (window - 1) * rate + 1, stride, self.padding)
            for size, window, stride, rate in zip(
                self._space(input_shape), self.kernel_size, self.strides, self.dilation_rate
            )
        ]
        return self._arranged(input_shape, space, self.filters)

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._kernel("kernel", [*self.kernel_size, channels, self.filters])

    def _kernel(self, name: str, shape: list[int]) -> Variable:
        kind = name.removesuffix("_kernel") if name != "kernel" else "kernel"
        return self.add_weight(
            name,
            shape,
            None,
            getattr(self, f"{kind}_initializer"),
            getattr(self, f"{kind}_regularizer"),
            constraint=getattr(self, f"{kind}_constraint"),
        )

    def _convolve(self, inputs: Tensor) -> Tensor:
        return convolution(
            self._behind(inputs),
            self.kernel,
            "VALID" if self.padding == "causal" else self.padding.upper(),
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            name=type(self).__name__,
            data_format=self._layout,
        )

    def _behind(self, inputs: Tensor) -> Tensor:
        """The inputs with the zeros before them that a causal window needs."""
        if self.padding != "causal":
            return inputs
        before = [(self.kernel_size[0] - 1) * self.dilation_rate[0], 0]
        return pad(inputs, [[0, 0], before, [0, 0]] if self._channel_axis == -1 else [[0, 0], [0, 0], before])


@public("af.layers")
class Conv1D(Convolving):
    """A convolution of sequences [batch, steps, channels] (`tf.layers.Conv1D`).

    `kernel` has the shape [window, in, out], `bias` [out].

    Example:
        >>> sequences = af.placeholder(af.float32, [None, 100, 3])
        >>> af.layers.Conv1D(filters=8, kernel_size=5, padding="causal")(sequences).shape
        TensorShape([None, 100, 8])
    """

    rank = 1
    causal = True


@public("af.layers")
class Conv2D(Convolving):
    """A convolution of images [batch, height, width, channels] (`tf.layers.Conv2D`).

    `kernel` has the shape [height, width, in, out], `bias` [out].

    Example:
        >>> images = af.placeholder(af.float32, [None, 28, 28, 1])
        >>> layer = af.layers.Conv2D(32, 3, padding="same", activation=af.nn.relu)
        >>> layer(images).shape, layer.kernel.shape
        (TensorShape([None, 28, 28, 32]), TensorShape([3, 3, 1, 32]))
    """

    rank = 2


@public("af.layers")
class Conv3D(Convolving):
    """A convolution of volumes [batch, depth, height, width, channels] (`tf.layers.Conv3D`).

    `kernel` has the shape [depth, height, width, in, out], `bias` [out].

    Example:
        >>> volumes = af.placeholder(af.float32, [None, 16, 32, 32, 1])
        >>> af.layers.Conv3D(4, kernel_size=3, strides=2, padding="same")(volumes).shape
        TensorShape([None, 8, 16, 16, 4])
    """

    rank = 3
