"""Cross entropies: losses of classifiers from their logits, in forms that don't overflow."""

from __future__ import annotations

import math
from typing import Any

from actorflow.base.dtypes import FLOATING, INDEX, DType, bfloat16, float16, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, broadcast, compatible, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, rank, reshape, shape, transpose
from actorflow.graph.ops.building import composite, known_value, outputs_of
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.flow.control import stop_gradient
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import abs, exp, log1p, negative
from actorflow.graph.ops.math.logic import where
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.nn.activation import log_softmax_op, relu, softmax_op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _cross_entropy(c: Inference) -> list[Shape]:
    logits, labels = require_rank(c, 0, 2), require_rank(c, 1, 2)
    both = broadcast(logits, labels) if logits is not None and labels is not None else None
    return [(None,), (None, None)] if both is None else [both[:1], both]


@op(
    "SoftmaxCrossEntropyWithLogits", shape=_cross_entropy, dtypes=FLOATING, result=lambda c: (c.dtypes[0],) * 2, work=30
)
def softmax_cross_entropy_op(
    features: TensorLike, labels: TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The cross entropy of each row, [batch], and its derivative softmax(features) - labels, [batch, classes]."""


def is_zero(tensor: Tensor) -> bool:
    """Whether the gradient of an output that nothing used is meant."""
    if tensor.op.type == "ZerosLike":
        return True
    value = known_value(tensor.op.inputs[1] if tensor.op.type == "Fill" else tensor)
    return value is not None and not value.any()


@softmax_cross_entropy_op.gradient
def _(node: Operation, d_loss: Tensor, d_backprop: Tensor) -> list[Any]:
    """The second output is the derivative of the first, so its own gradient makes the second derivative."""
    logits, labels = node.inputs
    column = expand_dims(d_loss, -1)
    of_logits = column * node.outputs[1]
    of_labels = -column * log_softmax_op(logits)
    if not is_zero(d_backprop):
        y = softmax_op(logits)
        of_logits = of_logits + (d_backprop - reduce_sum(d_backprop * y, -1, keepdims=True)) * y
        of_labels = of_labels - d_backprop
    return [_summed(of_logits, logits), _summed(of_labels, labels)]


def _summed(gradient: Tensor, operand: Tensor) -> Tensor:
    """`gradient` for an operand that may have been broadcast."""
    from actorflow.graph.ops.flow.control import sum_to

    if None not in (operand.static_shape or (None,)) and operand.static_shape == gradient.static_shape:
        return gradient
    return sum_to(gradient, shape(operand))


def _sparse_cross_entropy(c: Inference) -> list[Shape]:
    logits, labels = require_rank(c, 0, 2), c.shapes[1]
    if labels is not None and len(labels) != 1:
        raise ValueError(
            f"labels must be 1-D, but got shape {show(labels)}: Shape must be rank 1 but is rank {len(labels)}."
        )
    if logits is None:
        return [labels or (None,), (labels[0] if labels else None, None)]
    if not compatible(labels, logits[:1]):
        raise ValueError(f"There are {show(labels)} labels for logits of shape {show(logits)}.")
    batch = logits[0] if logits[0] is not None or labels is None else labels[0]
    return [(batch,), (batch, logits[1])]


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    shape=_sparse_cross_entropy,
    dtypes=FLOATING,
    types={"labels": INDEX},
    result=lambda c: (c.dtypes[0],) * 2,
    work=30,
)
def sparse_softmax_cross_entropy_op(
    features: TensorLike, labels: TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """As SoftmaxCrossEntropyWithLogits, with the number of the true class of each row, [batch], as labels."""


@sparse_softmax_cross_entropy_op.gradient
def _(node: Operation, d_loss: Tensor, d_backprop: Tensor) -> list[Any]:
    of_logits = expand_dims(d_loss, -1) * node.outputs[1]
    if not is_zero(d_backprop):
        y = softmax_op(node.inputs[0])
        of_logits = of_logits + (d_backprop - reduce_sum(d_backprop * y, -1, keepdims=True)) * y
    return [of_logits, None]


@public("af.nn")
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """-sum(labels · log(softmax(logits))) along `dim` (`tf.nn.softmax_cross_entropy_with_logits`).

    No gradient goes into the labels, unlike in `softmax_cross_entropy_with_logits_v2`.

    Example:
        >>> af.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0]], logits=[[0.0, 0.0]])
        [0.6931]

    Args:
        _sentinel: stands first so that the others have to be named; leave it out.
        labels: probabilities of the classes, of the shape and type of the logits.
        logits: floating; usually [batch, classes].
        dim, axis: the dimension of the classes, the last by default; `axis` is the newer name.

    Returns:
        The loss, of the shape of the logits without dimension `dim`.

    Raises:
        ValueError: arguments were given without their names, or the shapes differ.
    """
    _check_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return softmax_cross_entropy_with_logits_v2(
        stop_gradient(labels),
        logits,
        axis=dim if axis is None else axis,
        name=name or "softmax_cross_entropy_with_logits_sg",
    )


@public("af.nn")
def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike, logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """-sum(labels · log(softmax(logits))) along `axis`, with a gradient for the labels too
    (`tf.nn.softmax_cross_entropy_with_logits_v2`).

    Example:
        >>> af.nn.softmax_cross_entropy_with_logits_v2([[0.5, 0.5], [0.0, 1.0]], [[0.0, 0.0], [0.0, 3.0]])
        [0.6931 0.0486]

    Args:
        labels: probabilities of the classes, of the shape and type of the logits.
        logits: floating; usually [batch, classes].
        axis, dim: the dimension of the classes, the last by default; `dim` is the older name.

    Returns:
        The loss, of the shape of the logits without that dimension.

    Raises:
        ValueError: the shapes differ.
    """
    with composite(name, "softmax_cross_entropy_with_logits", logits, labels) as scope:
        x, t, kind = _precise(logits, labels)
        along = -1 if axis is None and dim is None else dim if axis is None else axis
        static_shape = x.static_shape
        if static_shape is not None:
            along = normalize_axis(along or 0, len(static_shape), "dim") if static_shape else 0
            if not static_shape:
                raise ValueError("Logits cannot be scalars: each row has a number for each class.")
            if along == len(static_shape) - 1:
                along = -1  # the labels' last dimension too, whose outer dimensions may be split in another way
        if (
            static_shape is not None
            and t.static_shape is not None
            and along == -1
            and len(static_shape) == 2 == len(t.static_shape)
        ):
            return cast(outputs_of(softmax_cross_entropy_op(x, t, name=scope))[0], kind)
        last_x, last_t = _last(x, along), _last(t, along)
        outer = shape(last_x)[:-1]
        loss = outputs_of(softmax_cross_entropy_op(_matrix(last_x), _matrix(last_t)))[0]
        result = reshape(loss, outer, name=scope)
        if static_shape is not None:
            classes = (along or 0) % len(static_shape)
            result.set_shape(tuple(s for i, s in enumerate(static_shape) if i != classes))
        return cast(result, kind)


def _precise(logits: TensorLike, labels: TensorLike | None) -> tuple[Tensor, Tensor, DType]:
    """Logits of 16 bits as float32, labels of the same type, and the type that was given."""
    x = convert_to_tensor(logits)
    kind = x.dtype
    precise = cast(x, float32) if kind in (float16, bfloat16) else x
    t = convert_to_tensor(labels, preferred_dtype=precise.dtype)
    return precise, cast(t, precise.dtype) if t.dtype.is_floating or t.dtype.is_integer else t, kind


def _last(tensor: Tensor, axis: Any) -> Tensor:
    """`tensor` with dimension `axis` brought to the end."""
    if tensor.static_shape is not None:
        dimensions = len(tensor.static_shape)
        if axis % dimensions == dimensions - 1:
            return tensor
        return transpose(tensor, [*(i for i in range(dimensions) if i != axis % dimensions), axis % dimensions])
    if axis == -1:
        return tensor
    from actorflow.graph.ops.math.cumulative import range_

    at, whole = axis % rank(tensor), rank(tensor)
    return transpose(tensor, concat([range_(at), range_(at + 1, whole), reshape(at, [1])], 0))


def _matrix(tensor: Tensor) -> Tensor:
    """`tensor` as a matrix, with all dimensions but the last joined."""
    static = tensor.static_shape
    if static is not None and static and static[-1]:
        return reshape(tensor, [-1, static[-1]])
    from actorflow.graph.ops.math.reduction import reduce_prod

    sizes = shape(tensor)
    return reshape(tensor, [reduce_prod(sizes[:-1]), sizes[-1]])


@public("af.nn")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """-log(softmax(logits)[labels]) for each row of classes (`tf.nn.sparse_softmax_cross_entropy_with_logits`).

    Example:
        >>> af.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0], logits=[[0.0, 3.0], [0.0, 3.0]])
        [0.0486 3.0486]

    Args:
        _sentinel: stands first so that the others have to be named; leave it out.
        labels: the number of the true class, int32 or int64, of the shape of the logits without the last dimension.
        logits: floating; usually [batch, classes].

    Returns:
        The loss, of the shape of the labels.

    Raises:
        ValueError: arguments were given without their names, or the shapes don't fit.
        InvalidArgumentError: a label is not a class, in the run.
    """
    _check_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with composite(name, "SparseSoftmaxCrossEntropyWithLogits", labels, logits) as scope:
        x, t = convert_to_tensor(logits), convert_to_tensor(labels)
        kind = x.dtype
        x = cast(x, float32) if kind in (float16, bfloat16) else x
        if x.static_shape is not None and t.static_shape is not None:
            if not x.static_shape:
                raise ValueError("Logits cannot be scalars: each row has a number for each class.")
            if len(t.static_shape) != len(x.static_shape) - 1:
                raise ValueError(
                    f"Rank mismatch: Rank of labels (received {len(t.static_shape)}) should equal rank of logits minus 1 "
                    f"(received {len(x.static_shape)})."
                )
            if not compatible(t.static_shape, x.static_shape[:-1]):
                raise ValueError(
                    f"The shape of labels, {show(t.static_shape)}, does not fit that of logits, {show(x.static_shape)}."
                )
        if x.static_shape is not None and len(x.static_shape) == 2:
            return cast(outputs_of(sparse_softmax_cross_entropy_op(x, t, name=scope))[0], kind)
        loss = outputs_of(sparse_softmax_cross_entropy_op(_matrix(x), reshape(t, [-1])))[0]
        result = reshape(loss, shape(t), name=scope)
        result.set_shape(t.static_shape)
        return cast(result, kind)


@public("af.nn")
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """-labels · log(sigmoid(logits)) - (1 - labels) · log(1 - sigmoid(logits)), elementwise
    (`tf.nn.sigmoid_cross_entropy_with_logits`).

    Computed as max(x, 0) - x · z + log(1 + exp(-|x|)), which does not overflow.

    Example:
        >>> af.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 1000.0])
        [   0.6931 1000.    ]

    Args:
        _sentinel: stands first so that the others have to be named; leave it out.
        labels: of the type and shape of the logits, in [0, 1].
        logits: floating, of any shape.

    Returns:
        The loss, of the shape of the logits.

    Raises:
        ValueError: arguments were given without their names, or the shapes differ.
    """
    _check_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with composite(name, "logistic_loss", logits, labels) as scope:
        from actorflow.graph.ops.math.arithmetic import add

        x = convert_to_tensor(logits)
        z = convert_to_tensor(labels, x.dtype)
        if not compatible(x.static_shape, z.static_shape):
            raise ValueError(
                f"logits and labels must have the same shape ({show(x.static_shape)} vs {show(z.static_shape)})."
            )
        zeros = zeros_like(x)
        # Chosen rather than computed with max and abs, so that the gradient is right at 0, too.
        positive = x >= zeros
        return add(where(positive, x, zeros) - x * z, log1p(exp(where(positive, negative(x), x))), name=scope)


@public("af.nn")
def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` with the part of positive labels times `pos_weight`
    (`tf.nn.weighted_cross_entropy_with_logits`).

    Example:
        >>> af.nn.weighted_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0], pos_weight=10.0)
        [6.9315 0.6931]

    Args:
        labels: of the type and shape of the logits, in [0, 1].
        logits: floating, of any shape.
        pos_weight: the factor, of the type of the logits, usually a scalar; it is broadcast to their shape.
        targets: an older name of `labels`.

    Returns:
        The loss, of the shape of the logits.

    Raises:
        ValueError: the shapes differ, something is missing, or both `labels` and `targets` are given.
    """
    if labels is not None and targets is not None:
        raise ValueError("Give labels or targets, which is their old name, but not both.")
    labels = targets if labels is None else labels
    if labels is None or logits is None or pos_weight is None:
        raise ValueError("weighted_cross_entropy_with_logits needs labels, logits and pos_weight.")
    with composite(name, "logistic_loss", logits, labels) as scope:
        from actorflow.graph.ops.math.arithmetic import add

        x = convert_to_tensor(logits)
        z = convert_to_tensor(labels, x.dtype)
        if not compatible(x.static_shape, z.static_shape):
            raise ValueError(
                f"logits and labels must have the same shape ({show(x.static_shape)} vs {show(z.static_shape)})."
            )
        weight = 1 + (convert_to_tensor(pos_weight, x.dtype) - 1) * z
        return add((1 - z) * x, weight * (log1p(exp(-abs(x))) + relu(-x)), name=scope)


def _check_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(f"Call {function} with named arguments: {function}(labels=..., logits=...).")
    if labels is None or logits is None:
        raise ValueError(f"{function} needs both labels and logits.")


@public("af.nn")
def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(log_input) - log_input · targets, elementwise: minus the log likelihood of counts under a Poisson distribution,
    up to a constant (`tf.nn.log_poisson_loss`).

    Example:
        >>> af.nn.log_poisson_loss([1.0, 3.0], af.log([1.0, 3.0]))
        [ 1.     -0.2958]

    Args:
        targets: of the shape and type of `log_input`.
        log_input: logs of the expected counts; floating.
        compute_full_loss: adds Stirling's approximation of log(targets!), for targets above 1.

    Raises:
        ValueError: the shapes differ.
    """
    with composite(name, "log_poisson_loss", log_input, targets):
        from actorflow.graph.ops.math.elementwise import log
        from actorflow.graph.ops.math.logic import logical_and

        x = convert_to_tensor(log_input)
        z = convert_to_tensor(targets, x.dtype)
        if not compatible(x.static_shape, z.static_shape):
            raise ValueError(f"Log inputs {show(x.static_shape)} and targets {show(z.static_shape)} differ in shape.")
        result = exp(x) - x * z
        if compute_full_loss:
            stirling = z * log(z) - z + 0.5 * log(2.0 * math.pi * z)
            zeros = zeros_like(z)
            result = result + where(logical_and(z >= zeros, z <= zeros + 1.0), zeros, stirling)
        return result
