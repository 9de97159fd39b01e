"""`BatchNormalization`: the inputs with the mean and the variance of the batch taken out (`tf.layers.BatchNormalization`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.base.dtypes import DType, bfloat16, float16, float32
from actorflow.base.shapes import ShapeLike, TensorShape, as_shape, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import ones, ones_like, zeros, zeros_like
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import sqrt
from actorflow.graph.ops.math.logic import where
from actorflow.graph.ops.math.reduction import reduce_mean
from actorflow.graph.ops.nn.activation import relu
from actorflow.graph.ops.nn.moments import batch_normalization, moments
from actorflow.graph.ops.nn.normalization import fused_batch_norm
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.updates import move
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.arguments import (
    ONES,
    ZEROS,
    Constraint,
    Dtype,
    Initializer,
    Regularizer,
    choose,
    flag_of,
)
from actorflow.models.layers.input_spec import InputSpec
from actorflow.models.layers.layer import Layer
from actorflow.models.layers.renorm import Renorm
from actorflow.public import public

_HALVES = (float16, bfloat16)


@public("af.layers")
class BatchNormalization(Layer):
    """gamma · (inputs - mean) / √(variance + epsilon) + beta, for each channel (`tf.layers.BatchNormalization`).
    Ioffe and Szegedy, Batch Normalization.

    In training the mean and the variance are those of the batch, and two updates move `moving_mean` and `moving_variance` towards
    them, which are used outside of training. The updates are in the collection UPDATE_OPS: `minimize` of an optimizer runs them.

    Example:
        >>> images = af.placeholder(af.float32, [None, 8, 8, 3])
        >>> y = af.layers.BatchNormalization()(images, training=True)
        >>> updates = af.get_collection(af.GraphKeys.UPDATE_OPS)  # of the moving averages; `minimize` runs them
        >>> y.shape, len(updates)
        (TensorShape([None, 8, 8, 3]), 2)
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer = ZEROS,
        gamma_initializer: Initializer = ONES,
        moving_mean_initializer: Initializer = ZEROS,
        moving_variance_initializer: Initializer = ONES,
        beta_regularizer: Regularizer = None,
        gamma_regularizer: Regularizer = None,
        beta_constraint: Constraint = None,
        gamma_constraint: Constraint = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[[Tensor], tuple[Any, Any]] | None = None,
        name: str | None = None,
        reuse: bool | None = None,
        dtype: Dtype = None,
        **inherited: Any,
    ) -> None:
        """
        Args:
            axis: the dimension of the channels, or several: there is a mean for each index in them.
            momentum: which part of the moving averages an update keeps.
            epsilon: added to the variance.
            center: whether `beta` is added.
            scale: whether the result is multiplied by `gamma`.
            beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: `f(shape, dtype)` for the
                initial values: 0, 1, 0 and 1.
            beta_regularizer, gamma_regularizer: `f(variable)` gives a loss that is added to `losses`.
            beta_constraint, gamma_constraint: functions that optimizers apply to the value after each update.
            renorm: whether training corrects the batch's moments towards the moving moments (Ioffe, Batch Renormalization).
            renorm_clipping: bounds of the correction by name: `rmin`, `rmax` of its factor, `dmax` of its shift.
            renorm_momentum: which part of the averages for renorm an update keeps.
            fused: None or true: one node computes it if that is possible, which is of rank 4 and 5 with channels first or last;
                its moving variance is the unbiased variance. False: simple nodes do.
            trainable: whether optimizers change the variables; the moving averages are updated only if so.
            virtual_batch_size: the number of examples that are normalized together; it divides the size of the batch.
            adjustment: `f(shape)` gives a factor and a shift for the normalized values, in training.
            name: the name of the variable scope; `batch_normalization` unless given.
            reuse: whether the variables exist already.
            dtype: the type of the variables; that of the inputs unless given, but float32 for halves.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            TypeError: `axis` is neither an int nor a list of ints.
            ValueError: `renorm_clipping` has an unknown key; at a call: there is no such dimension, its size is not known, or
                arguments exclude each other.
        """
        super().__init__(trainable, name, dtype, reuse, **inherited)
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(
                f"batch_normalization: expected an int or a list/tuple of ints for the argument `axis`. Received: {axis!r:.60}"
            )
        unknown = set(renorm_clipping or ()) - {"rmin", "rmax", "dmax"}
        if unknown:
            raise ValueError(
                f"batch_normalization: the argument `renorm_clipping` contains unknown keys: {sorted(unknown)}. There are rmin, "
                "rmax and dmax."
            )
        self.axis: Any = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.fused = fused is not False
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.renorm = Renorm(renorm_momentum, dict(renorm_clipping or {})) if renorm else None

    # ---- the variables

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if shape is None:
            raise ValueError("batch_normalization: the rank of the inputs must be known.")
        axes = self._axes(len(shape))
        for axis in axes:
            if shape[axis] is None:
                raise ValueError(
                    f"batch_normalization: the inputs have an undefined dimension in the argument `axis`={list(axes)}: their "
                    f"shape is {show(shape)}."
                )
        self._check_virtual(axes)
        self.input_spec = InputSpec(ndim=len(shape), axes={axis: shape[axis] for axis in axes})
        self.fused = self.fused and self._fusible(len(shape), axes)
        if len(axes) == 1 and self.virtual_batch_size is None:
            parameters: list[int] = [shape[axes[0]] or 0]
        else:
            parameters = [size or 0 if axis in axes else 1 for axis, size in enumerate(shape)]
            if self.virtual_batch_size is not None:
                parameters.insert(1, 1)
                axes = tuple(axis + 1 for axis in axes)
        self.axis = list(axes)
        self._parameters = parameters
        self.gamma = self._learned("gamma") if self.scale else None
        self.beta = self._learned("beta") if self.center else None
        self.moving_mean = self._kept("moving_mean", self.moving_mean_initializer)
        self.moving_variance = self._kept("moving_variance", self.moving_variance_initializer)
        if self.renorm is not None:
            self.renorm.build(self._kept, self.moving_mean_initializer, self.moving_variance_initializer)
        self.built = True

    def _axes(self, rank: int) -> tuple[int, ...]:
        listed = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        axes = tuple(axis + rank if axis < 0 else axis for axis in listed)
        if any(not 0 <= axis < rank for axis in axes):
            raise ValueError(
                f"batch_normalization: invalid value for the argument `axis`: {self.axis}; the rank is {rank}."
            )
        if len(set(axes)) != len(axes):
            raise ValueError(f"batch_normalization: the argument `axis` has duplicates: {self.axis}.")
        return axes

    def _check_virtual(self, axes: Sequence[int]) -> None:
        size = self.virtual_batch_size
        if size is None:
            return
        if size <= 0:
            raise ValueError(
                "batch_normalization: the argument `virtual_batch_size` must be a positive integer that divides the true batch "
                f"size of the input tensor. Received: {size}"
            )
        if 0 in axes:
            raise ValueError(
                "batch_normalization: when using `virtual_batch_size`, the batch dimension must be 0 and thus `axis` cannot "
                "include 0."
            )
        if self.adjustment is not None:
            raise ValueError("batch_normalization: when using `virtual_batch_size`, `adjustment` cannot be specified.")

    def _fusible(self, rank: int, axes: Sequence[int]) -> bool:
        plain = self.renorm is None and self.virtual_batch_size is None and self.adjustment is None
        single = self._dtype in (*_HALVES, float32, None)
        return plain and single and rank in (4, 5) and len(axes) == 1 and axes[0] in (1, rank - 1)

    @property
    def _kind_of_parameters(self) -> DType:
        return float32 if self._dtype in (*_HALVES, None) else self._dtype

    def _learned(self, name: str) -> Variable:
        return self.add_weight(
            name,
            self._parameters,
            self._kind_of_parameters,
            getattr(self, f"{name}_initializer"),
            getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"),
        )

    def _kept(self, name: str, initializer: Any) -> Variable:
        """A moving average, which is not cut into slices."""
        return self.add_weight(name, self._parameters, self._kind_of_parameters, initializer, trainable=False)

    # ---- the values

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """The normalized inputs.

        Example:
            >>> layer = af.layers.BatchNormalization()
            >>> layer.build([None, 2])
            >>> layer.call(af.ones([4, 2])).shape
            TensorShape([4, 2])

        Args:
            inputs: a floating tensor.
            training: a bool, or a boolean scalar: whether by the batch's own moments, or by the moving averages.
        """
        flag = flag_of(training, "batch_normalization", "training")
        if self.fused:
            return self._fused(inputs, flag)
        x = cast(inputs, float32) if inputs.dtype in _HALVES else inputs
        shape = None
        if self.virtual_batch_size is not None:
            shape = concat([[-1], shape_of(x)[1:]], 0)
            x = reshape(x, concat([[self.virtual_batch_size, -1], shape[1:]], 0))
            sizes: list[int | None] = list(inputs.static_shape or ())
            x.set_shape([self.virtual_batch_size, None, *sizes[1:]])
        y = cast(self._plain(x, flag), inputs.dtype)
        if shape is not None:
            y = reshape(y, shape)
        y.set_shape(inputs.static_shape)
        return y

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """That of the input.

        Example:
            >>> af.layers.BatchNormalization().compute_output_shape([None, 8, 8, 3])
            TensorShape([None, 8, 8, 3])
        """
        return TensorShape(input_shape)

    def _fused(self, inputs: Tensor, training: bool | Tensor) -> Tensor:
        shape = inputs.static_shape or ()
        x = inputs
        first = self.axis == [1]
        if len(shape) == 5:  # as images: two dimensions of space are one there
            sizes = shape_of(inputs)
            x = reshape(
                inputs,
                [sizes[0], sizes[1], -1, sizes[4]] if first else [sizes[0], sizes[1] * sizes[2], sizes[3], sizes[4]],
            )
            x.set_shape([shape[0], shape[1] if first else None, None, shape[4]])
        gamma = ones(self._parameters, self._kind_of_parameters) if self.gamma is None else self.gamma
        beta = zeros(self._parameters, self._kind_of_parameters) if self.beta is None else self.beta

        def normalized(own: bool) -> tuple[Tensor, Tensor, Tensor]:
            mean, variance = (None, None) if own else (self.moving_mean, self.moving_variance)
            layout = "NCHW" if first else "NHWC"
            return fused_batch_norm(x, gamma, beta, mean, variance, self.epsilon, layout, own, name="FusedBatchNormV3")

        y, mean, variance = choose(training, lambda: normalized(True), lambda: normalized(False))
        self._move(training, mean, variance)
        if len(shape) == 5:
            y = reshape(y, shape_of(inputs))
        y.set_shape(shape)
        output: Tensor = y
        return output

    def _plain(self, x: Tensor, training: bool | Tensor) -> Tensor:
        rank = len(x.static_shape or ())
        over = [axis for axis in range(rank) if axis not in self.axis]
        if self.virtual_batch_size is not None:
            del over[1]  # each virtual batch has its own moments
        keep = self.virtual_batch_size is not None or len(self.axis) > 1
        sizes: list[int] = [1] * rank
        sizes[self.axis[0]] = self._parameters[0] if len(self._parameters) == 1 else 1

        def spread(value: Any) -> Any:
            """One number a channel, so that it broadcasts to `x`."""
            if value is None or len(value.static_shape or ()) == rank or over == list(range(rank - 1)):
                return value
            return reshape(value, sizes)

        def own() -> tuple[Tensor, Tensor]:
            return moments(cast(x, self._kind_of_parameters), over, keepdims=keep)

        kept = (self.moving_mean, self.moving_variance)
        mean, variance = choose(training, own, lambda: tuple(identity(tensor) for tensor in kept))
        scale, offset = spread(self.gamma), spread(self.beta)
        if training is not False:
            if self.adjustment is not None:
                factor, shift = self.adjustment(shape_of(x))
                factor = choose(training, lambda: identity(factor), lambda: ones_like(factor))
                shift = choose(training, lambda: identity(shift), lambda: zeros_like(shift))
                scale, offset = _after(factor, shift, scale, offset)
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean = reduce_mean(mean, [1], keepdims=True)
                new_variance = reduce_mean(variance, [1], keepdims=True)
            if self.renorm is not None:
                r, d, new_mean, new_variance = self.renorm.correct(
                    training, new_mean, new_variance, self.epsilon, moving_average
                )
                scale, offset = _after(spread(r), spread(d), scale, offset)
            self._move(training, new_mean, new_variance)
        kind = x.dtype
        scale, offset = (None if tensor is None else cast(tensor, kind) for tensor in (scale, offset))
        return batch_normalization(
            x, spread(cast(mean, kind)), spread(cast(variance, kind)), offset, scale, self.epsilon
        )

    def _move(self, training: bool | Tensor, mean: Tensor, variance: Tensor) -> None:
        """The updates of the moving averages."""
        if training is False:
            return
        self.add_update(moving_average(self.moving_mean, mean, self.momentum, training))
        if self.renorm is None:
            self.add_update(moving_average(self.moving_variance, variance, self.momentum, training))
            return
        stddev = self.renorm.moving_stddev
        moved = moving_average(stddev, sqrt(variance + self.epsilon), self.momentum, training)
        with stddev.graph.control_dependencies([moved]):
            square = relu(stddev.read_value() ** 2 - self.epsilon)
            target = choose(training, lambda: identity(square), lambda: self.moving_variance.read_value())
            self.add_update(self.moving_variance.assign(target, read_value=False, name="AssignNewValue"))


def moving_average(variable: Variable, value: Tensor, momentum: float, training: bool | Tensor) -> Operation:
    """`variable` moved towards `value`, by nothing where a run does not train."""
    kind = variable.dtype
    with get_default_graph().name_scope("AssignMovingAvg") as scope:
        step = convert_to_tensor(1.0 - momentum, kind, name="decay")
        if isinstance(training, Tensor):
            step = where(training, step, zeros([], kind))

        def write(mean: Tensor) -> Any:
            return variable.assign_sub((convert_to_tensor(variable) - mean) * step, read_value=False, name=scope)

        moved: Operation = move(variable, cast(value, kind), write)
    return moved


def _after(factor: Any, shift: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    """factor · x + shift, and then scale · that + offset, as one factor and one shift."""
    if scale is not None:
        factor, shift = factor * scale, shift * scale
    return factor, shift if offset is None else shift + offset
