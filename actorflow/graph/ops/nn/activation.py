"""Activations of neural networks, biases, and the softmax."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import FLOATING, NUMERIC, REAL, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, show
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.arithmetic import multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import exp, sigmoid
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank, scalar, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- activations


def _same(c: Inference) -> Shape:
    """Two inputs of one shape."""
    return merge(c.shapes[0], c.shapes[1])


@public("af.nn")
@op("Relu", shape=unchanged, dtypes=REAL)
def relu(features: TensorLike, *, name: str | None = None) -> Tensor:
    """max(features, 0), elementwise (`tf.nn.relu`).

    Example:
        >>> af.nn.relu([-1.0, 0.0, 2.0])
        [0. 0. 2.]
    """


@op("ReluGrad", shape=_same, dtypes=REAL, work=2)
def relu_grad(gradients: TensorLike, features: TensorLike, *, name: str | None = None) -> Tensor:
    """`gradients` where `features` is positive, else 0."""


@relu.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [relu_grad(dy, node.outputs[0])]


@relu_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    return [relu_grad(ddy, node.inputs[1]), zeros_like(node.inputs[1])]


@public("af.nn")
@op("Relu6", shape=unchanged, dtypes=REAL, work=2)
def relu6(features: TensorLike, *, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6), elementwise (`tf.nn.relu6`).

    Example:
        >>> af.nn.relu6([-1.0, 3.0, 8.0])
        [0. 3. 6.]
    """


@op("Relu6Grad", shape=_same, dtypes=REAL, work=4)
def relu6_grad(gradients: TensorLike, features: TensorLike, *, name: str | None = None) -> Tensor:
    """`gradients` where `features` is between 0 and 6, else 0."""


@relu6.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [relu6_grad(dy, node.outputs[0])]


@relu6_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    return [relu6_grad(ddy, node.inputs[1]), zeros_like(node.inputs[1])]


@op("LeakyRelu", shape=unchanged, dtypes=FLOATING, work=2)
def leaky_relu_op(features: TensorLike, *, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`features` where positive, else alpha · features. See `leaky_relu`."""


@op("LeakyReluGrad", shape=_same, dtypes=FLOATING, work=2)
def leaky_relu_grad(
    gradients: TensorLike, features: TensorLike, *, alpha: float = 0.2, name: str | None = None
) -> Tensor:
    """`gradients` where `features` is positive, else alpha · gradients."""


@leaky_relu_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [leaky_relu_grad(dy, node.inputs[0], alpha=node.get_attr("alpha"))]


@leaky_relu_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    features = node.inputs[1]
    return [leaky_relu_grad(ddy, features, alpha=node.get_attr("alpha")), zeros_like(features)]


@public("af.nn")
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`features` if they are positive, else alpha · features, elementwise (`tf.nn.leaky_relu`).

    Integers become float32.

    Example:
        >>> af.nn.leaky_relu([-1.0, 2.0], alpha=0.1)
        [-0.1  2. ]
    """
    tensor = convert_to_tensor(features)
    if tensor.dtype.is_integer:
        tensor = cast(tensor, float32)
    return leaky_relu_op(tensor, alpha=float(alpha), name=name)


@public("af.nn")
@op("Elu", shape=unchanged, dtypes=FLOATING, work=12)
def elu(features: TensorLike, *, name: str | None = None) -> Tensor:
    """exp(features) - 1 if they are negative, else the features, elementwise (`tf.nn.elu`).

    Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units.

    Example:
        >>> af.nn.elu([-100.0, -1.0, 2.0])
        [-1.     -0.6321  2.    ]
    """


@op("EluGrad", shape=_same, dtypes=FLOATING, work=3)
def elu_grad(gradients: TensorLike, outputs: TensorLike, *, name: str | None = None) -> Tensor:
    """gradients · (outputs + 1) where the outputs of Elu are negative, else the gradients."""


@elu.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [elu_grad(dy, node.outputs[0])]


@elu_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.logic import where

    dy, y = node.inputs
    return [elu_grad(ddy, y), where(y < 0, ddy * dy, zeros_like(y))]


@public("af.nn")
@op("Selu", shape=unchanged, dtypes=FLOATING, work=12)
def selu(features: TensorLike, *, name: str | None = None) -> Tensor:
    """scale · alpha · (exp(features) - 1) if they are negative, else scale · features (`tf.nn.selu`).

    Klambauer et al., Self-Normalizing Neural Networks, whose constants these are.

    Example:
        >>> af.nn.selu([-1.0, 0.0, 1.0])
        [-1.1113  0.      1.0507]
    """


@op("SeluGrad", shape=_same, dtypes=FLOATING, work=3)
def selu_grad(gradients: TensorLike, outputs: TensorLike, *, name: str | None = None) -> Tensor:
    """gradients · (outputs + scale · alpha) where the outputs of Selu are negative, else scale · gradients."""


@selu.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [selu_grad(dy, node.outputs[0])]


@selu_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.logic import where

    dy, y = node.inputs
    return [selu_grad(ddy, y), where(y < 0, ddy * dy, zeros_like(y))]


@public("af.math", "af.nn")
@op("Softplus", shape=unchanged, dtypes=FLOATING, work=20)
def softplus(features: TensorLike, *, name: str | None = None) -> Tensor:
    """log(exp(features) + 1), elementwise and without overflow (`tf.nn.softplus`).

    Example:
        >>> af.nn.softplus([-1000.0, 0.0, 1000.0])
        [   0.        0.6931 1000.    ]
    """


@softplus.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * sigmoid(node.inputs[0])]


@public("af.math", "af.nn")
@op("Softsign", shape=unchanged, dtypes=FLOATING, work=6)
def softsign(features: TensorLike, *, name: str | None = None) -> Tensor:
    """features / (1 + |features|), elementwise (`tf.nn.softsign`).

    Example:
        >>> af.nn.softsign([-1.0, 0.0, 3.0])
        [-0.5   0.    0.75]
    """


@op("SoftsignGrad", shape=_same, dtypes=FLOATING, work=6)
def softsign_grad(gradients: TensorLike, features: TensorLike, *, name: str | None = None) -> Tensor:
    """gradients / (1 + |features|)²."""


@softsign.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [softsign_grad(dy, node.inputs[0])]


@softsign_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.elementwise import abs, sign

    dy, x = node.inputs
    return [softsign_grad(ddy, x), -2 * ddy * dy * sign(x) / (1 + abs(x)) ** 3]


# ---- biases


def _channel(data_format: str, rank: int) -> int:
    return 1 if data_format == "NCHW" and rank > 1 else rank - 1


def _biased(c: Inference) -> Shape:
    value, bias = at_least_rank(c, 0, 2), require_rank(c, 1, 1)
    if value is None:
        return None
    at = _channel(c.attrs["data_format"], len(value))
    if bias is not None and not compatible(bias, (value[at],)):
        raise ValueError(
            f"Dimensions must be equal, but are {value[at]} and {bias[0]}: a bias is for dimension {at} of {show(value)}."
        )
    return value if bias is None else (*value[:at], bias[0] if value[at] is None else value[at], *value[at + 1 :])


@op("BiasAdd", shape=_biased, dtypes=NUMERIC)
def bias_add_op(value: TensorLike, bias: TensorLike, *, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """`value` with the vector `bias` added to its channels. See `bias_add`."""


def _channels(c: Inference) -> Shape:
    value = at_least_rank(c, 0, 2)
    return (None,) if value is None else (value[_channel(c.attrs["data_format"], len(value))],)


@op("BiasAddGrad", shape=_channels, dtypes=NUMERIC)
def bias_add_grad(out_backprop: TensorLike, *, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The sum over all dimensions but the channels: the gradient of BiasAdd for the bias."""


@bias_add_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, bias_add_grad(dy, data_format=node.get_attr("data_format"))]


@bias_add_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    return [bias_add_op(zeros_like(node.inputs[0]), ddy, data_format=node.get_attr("data_format"))]


@public("af.nn")
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """`value` with the vector `bias` added to its channels (`tf.nn.bias_add`).

    Example:
        >>> af.nn.bias_add([[1, 2], [3, 4]], [10, 20])
        [[11 22]
         [13 24]]

    Args:
        value: numbers, of rank 2 or more.
        bias: of the same type, [channels].
        data_format: "NHWC" (by default): the channels are the last dimension; "NCHW": they are dimension 1.

    Raises:
        ValueError: the bias is not as long as there are channels, `value` has fewer than two dimensions, or another
            data format.
    """
    layout = data_format or "NHWC"
    if layout.startswith("NC"):
        layout = "NCHW"
    elif layout.startswith("N") and layout.endswith("C"):
        layout = "NHWC"
    else:
        raise ValueError(f"`data_format` is 'NHWC' or 'NCHW', not {data_format!r}.")
    return bias_add_op(value, bias, data_format=layout, name=name or "BiasAdd")


@public("af.nn")
@op("L2Loss", shape=scalar, dtypes=FLOATING, work=2)
def l2_loss(t: TensorLike, *, name: str | None = None) -> Tensor:
    """sum(t²) / 2 over all elements, as a scalar (`tf.nn.l2_loss`).

    Example:
        >>> af.nn.l2_loss([3.0, 4.0])
        12.5
    """


@l2_loss.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [multiply(node.inputs[0], dy)]


# ---- softmax


def _along(c: Inference) -> Shape:
    return at_least_rank(c, 0, 1)


@op("Softmax", shape=_along, dtypes=FLOATING, work=20)
def softmax_op(logits: TensorLike, *, axis: int = -1, name: str | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis`. See `softmax`."""


@softmax_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y, axis = node.outputs[0], node.get_attr("axis")
    return [(dy - reduce_sum(dy * y, axis, keepdims=True)) * y]


@op("LogSoftmax", shape=_along, dtypes=FLOATING, work=20)
def log_softmax_op(logits: TensorLike, *, axis: int = -1, name: str | None = None) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis`. See `log_softmax`."""


@log_softmax_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y, axis = node.outputs[0], node.get_attr("axis")
    return [dy - reduce_sum(dy, axis, keepdims=True) * exp(y)]


@public("af.math", "af.nn")
def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)), without overflow (`tf.nn.softmax`).

    Example:
        >>> af.nn.softmax([[1.0, 1.0], [1.0, 3.0]])
        [[0.5    0.5   ]
         [0.1192 0.8808]]

    Args:
        logits: floating, of rank 1 or more.
        axis: the dimension of the classes; the last by default.
        dim: the older name of `axis`.

    Returns:
        A tensor of the shape of the logits.

    Raises:
        ValueError: there is no such dimension.
    """
    at = _axis(logits, axis, dim)
    if isinstance(at, int):
        return softmax_op(logits, axis=at, name=name)
    with composite(name, "Softmax", logits):
        return exp(_log_softmax_along(logits, at))


@public("af.math", "af.nn")
def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """logits - log(sum(exp(logits))), without overflow (`tf.nn.log_softmax`).

    Example:
        >>> af.nn.log_softmax([[0.0, 0.0], [1000.0, 0.0]])
        [[   -0.6931    -0.6931]
         [    0.     -1000.    ]]

    Args:
        logits: floating, of rank 1 or more.
        axis: the dimension of the classes; the last by default.
        dim: the older name of `axis`.

    Returns:
        A tensor of the shape of the logits.

    Raises:
        ValueError: there is no such dimension.
    """
    at = _axis(logits, axis, dim)
    if isinstance(at, int):
        return log_softmax_op(logits, axis=at, name=name)
    with composite(name, "LogSoftmax", logits):
        return _log_softmax_along(logits, at)


def _log_softmax_along(logits: TensorLike, axis: Tensor) -> Tensor:
    """`log_softmax` along a dimension that is known in a run."""
    from actorflow.graph.ops.flow.control import stop_gradient
    from actorflow.graph.ops.math.reduction import reduce_max
    from actorflow.graph.ops.math.statistics import reduce_logsumexp

    values = convert_to_tensor(logits)
    shifted = values - stop_gradient(reduce_max(values, axis, keepdims=True))
    return shifted - reduce_logsumexp(shifted, axis, keepdims=True)


def _axis(logits: TensorLike, axis: Any, dim: Any) -> Any:
    from actorflow.base.shapes import normalize_axis

    chosen = dim if axis is None else axis
    if is_symbolic(chosen):
        value = known_value(chosen)
        if value is None:
            return chosen
        chosen = int(value)
    shape = convert_to_tensor(logits).static_shape
    if chosen is None or shape == ():
        return -1
    if shape is None:
        return chosen
    axis = normalize_axis(chosen, len(shape))
    return -1 if axis == len(shape) - 1 else axis  # TensorFlow's op knows the last one alone
