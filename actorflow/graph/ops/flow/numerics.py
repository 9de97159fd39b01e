"""Checks of numbers: NaN and infinities (`tf.check_numerics` and its family)."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.flow.control import group, with_dependencies
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af", "tf.debugging:assert_all_finite")
def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """`t` itself, after a check that all of it is finite (`tf.verify_tensor_all_finite`).

    Example:
        >>> af.verify_tensor_all_finite([1.0, np.inf], "The loss is not finite.")
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: The loss is not finite. : Tensor had Inf values

    Args:
        t: a floating tensor.
        msg: the text with which the error begins.
        x, message: other names of `t` and `msg`.

    Raises:
        InvalidArgumentError: there is a NaN or an infinity, in the run.
        ValueError: the tensor or the message is left out.
    """
    source: Any = t if x is None else x
    text = msg if message is None else message
    if source is None or text is None:
        raise ValueError("verify_tensor_all_finite needs a tensor and a message.")
    tensor = convert_to_tensor(source)
    with tensor.graph.name_scope(name or "VerifyFinite"), tensor.graph.as_default():
        return with_dependencies([check_numerics(tensor, text)], tensor)


@public("af")
def add_check_numerics_ops() -> Operation:
    """An operation that checks each floating tensor of the default graph (`tf.add_check_numerics_ops`).

    A run of the operation fails with InvalidArgumentError if such a tensor, or a tensor that it is computed from, is not
    finite; the message names the tensor.

    Raises:
        ValueError: the graph has branches or loops, whose tensors can't be checked from outside.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> y = af.log(x)
        >>> check = af.add_check_numerics_ops()
        >>> await session.run([y, check], {x: -1.0})
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Log:0 : Tensor had NaN values
    """
    graph = get_default_graph()
    if any(graph.flow_of(operation.name) is not None for operation in graph.get_operations()):
        raise ValueError(
            "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as `tf.cond()` or "
            "`tf.while_loop()`. Check single tensors with check_numerics, in the branch or the body that computes them."
        )
    check: list[Operation] = []
    for operation in graph.get_operations():
        for output in operation.outputs:
            if output.dtype.is_floating and not output.dtype.is_ref:
                # Tensor after tensor in the order of the graph, so that the message names the first bad tensor.
                with graph.control_dependencies(check):
                    check = [check_numerics(output, output.name).op]
    return group(*check)


@op("CheckNumerics", shape=unchanged, dtypes=dt.FLOATING, view=True)
def check_numerics_op(tensor: TensorLike, *, message: str, name: str | None = None) -> Tensor:
    """`tensor`, if all of it is finite. See `check_numerics`."""


@check_numerics_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    message = f"Not a number (NaN) or infinity (Inf) values detected in gradient. {node.get_attr('message')}"
    return [check_numerics_op(dy, message=message)]


@public("af", "tf.debugging")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tensor` itself (`tf.check_numerics`). Raises InvalidArgumentError with `message` in the run for a NaN or an
    infinity.

    Example:
        >>> af.check_numerics([1.0, 2.0], "The loss")
        [1. 2.]
        >>> af.check_numerics([1.0, np.nan], "The loss")
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: The loss : Tensor had NaN values
    """
    return check_numerics_op(convert_to_tensor(tensor), message=message, name=name)
