"""Ops that carry, order and observe other ops: identity, groups, shapes that are checked, custom gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import ANY, BOOLEAN, INDEX, NUMERIC, variant
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.building import or_zeros, outputs_of
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.shape_rules import from_value, no_output, require_rank, unchanged
from actorflow.graph.structure.composites import is_composite
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af")
@op("Identity", role=roles.IDENTITY, shape=unchanged, dtypes=ANY | {variant}, view=True, work=0)
def identity(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, of its shape and type. Useful to put a control dependency on a value.

    Example:
        >>> count = af.Variable(0)
        >>> with af.control_dependencies([count.assign_add(1)]):
        ...     x = af.identity(5.0)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(x), await session.run(count)
        (5.0, 1)
    """


@identity.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [dy]


@public("af")
@op("StopGradient", role=roles.IDENTITY, shape=unchanged, view=True, gradient=None, work=0)
def stop_gradient(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, which `gradients` takes for a constant.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> await session.run(af.gradients(x * af.stop_gradient(x), x), {x: 3.0})
        [3.0]
    """


@public("af")
@op("NoOp", shape=no_output, result=None, gradient=None, stateful=True, work=0)
def no_op(*, name: str | None = None) -> Operation:
    """Does nothing: a target that waits for its control inputs.

    Example:
        >>> count = af.Variable(0)
        >>> with af.control_dependencies([count.assign_add(1)]):
        ...     step = af.no_op()
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(count)
        1
    """


@public("af")
@op(
    "ControlTrigger",
    role=roles.TRIGGER,
    shape=no_output,
    result=None,
    gradient=None,
    stateful=True,
    fires_dead=True,
    work=0,
)
def control_trigger(*, name: str | None = None) -> Operation:
    """A `no_op` that fires live although a control input is dead: an edge that only schedules ends in such a node.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> dead, alive = af.switch(x, True)
        >>> with af.control_dependencies([dead]):
        ...     trigger = af.control_trigger()
        >>> await session.run(trigger, {x: 1.0})
    """


@op("Assert", shape=no_output, result=None, types={"condition": BOOLEAN}, gradient=None, stateful=True)
def assert_op(condition: TensorLike, data: Sequence[Any], *, summarize: int = 3, name: str | None = None) -> Operation:
    """Raises InvalidArgumentError with `data` where not all of `condition` is true. See `Assert`."""


@public("af", "tf.debugging")
def Assert(
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that raises InvalidArgumentError with `data` unless all of `condition` is true (`tf.Assert`).

    Example:
        >>> x = af.placeholder(af.float32)
        >>> check = af.Assert(af.reduce_all(x > 0.0), ["A rate is positive.", "x =", x])
        >>> await session.run(check, {x: [1.0, -2.0]})
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: assertion failed: A rate is positive.

    Args:
        condition: a bool tensor of any shape.
        data: texts, with which the message begins, and tensors, whose elements it shows. A text that ends with `=` names the
            tensor behind it.
        summarize: how many elements of each tensor; 3 by default, -1 for all.
    """
    return assert_op(condition, list(data), summarize=3 if summarize is None else summarize, name=name)


@public("af")
def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that is done when all `inputs` (operations or tensors) are (`tf.group`).

    Example:
        >>> a, b = af.Variable(1), af.Variable(2)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(af.group(a.assign_add(10), b.assign_add(10)))
        >>> await session.run([a, b])
        [11, 12]
    """
    flat = [element for part in inputs for element in nest.flatten(part)]
    for element in flat:
        if not hasattr(element, "graph"):
            raise TypeError(f"group() takes operations and tensors, in any nest of lists, but not {element!r:.80}.")
    graph = flat[0].graph if flat else get_default_graph()
    with graph.control_dependencies(flat):
        with graph.as_default():
            return no_op(name=name or "group_deps")


@public("af", "tf:tuple")
def tuple_(tensors: Iterable[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None) -> list[Any]:
    """`tensors`, each of which is available only when all of them are (`tf.tuple`). None entries stay None.

    Example:
        >>> a, b = af.Variable(1), af.Variable(2)
        >>> await session.run(af.global_variables_initializer())
        >>> both = af.tuple_([a + 1, b + 1], control_inputs=[b.assign(5)])
        >>> await session.run(both), await session.run(b)
        ([2, 3], 5)
    """
    tensors = list(tensors)
    real = [t for t in tensors if t is not None]
    if not real:
        raise ValueError("tuple() needs at least one tensor.")
    graph = real[0].graph
    with graph.name_scope(name or "tuple"):
        gate = group(*real, *(control_inputs or ()))
        with graph.control_dependencies([gate]):
            return [None if t is None else _identity_of(t) for t in tensors]


@public("af")
def with_dependencies(dependencies: Sequence[Any], output: TensorLike, name: str | None = None) -> Tensor:
    """`output`, a tensor, slices or a sparse tensor, after all `dependencies` have run.

    Example:
        >>> count = af.Variable(0)
        >>> x = af.with_dependencies([count.assign_add(1)], af.constant(5.0))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(x), await session.run(count)
        (5.0, 1)
    """
    parts: Any = output if is_composite(output) else convert_to_tensor(output)
    with parts.graph.control_dependencies(dependencies):
        same: Tensor = _identity_of(parts, name)
        return same


def _identity_of(value: Any, name: str | None = None) -> Any:
    """The same tensor, or the same slices or sparse tensor, after what the caller waits for."""
    if not is_composite(value):
        return identity(value, name=name)
    values = identity(value.values, name=name)
    return type(value)(values=values, indices=value.indices, dense_shape=value.dense_shape)


# ---- Ops that hand tensors on unchanged, with something said or checked of them on the way.


def _checked(c: Inference) -> Shape:
    return merge(c.shapes[0], c.attrs["shape"])


@op("EnsureShape", shape=_checked, view=True, work=0)
def ensure_shape_op(input: TensorLike, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input`, whose shape is checked. See `ensure_shape`."""


@ensure_shape_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy]


@public("af")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`x` itself, of which the graph then knows that it has `shape`, in part unknown perhaps (`tf.ensure_shape`).

    Raises ValueError where what is known of the shape of `x` contradicts, and InvalidArgumentError in the run where the
    value does.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> y = af.ensure_shape(x, [None, 2])
        >>> y.shape
        TensorShape([None, 2])
        >>> await session.run(y, {x: [[1.0, 2.0, 3.0]]})
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Shapes [1,3] and [?,2] are not compatible: Dimension 1 in ...
    """
    return ensure_shape_op(x, shape=shape, name=name)


def _each(c: Inference) -> list[Shape]:
    if not c.shapes:
        raise ValueError("identity_n needs one tensor or more.")
    return list(c.shapes)


@op("IdentityN", shape=_each, result=lambda c: tuple(c.dtypes), view=True, work=0)
def identity_n_op(input: Sequence[Any], *, name: str | None = None) -> list[Tensor]:
    """The tensors `input` themselves. See `identity_n`."""


@identity_n_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    return or_zeros(dys, node.outputs)


@public("af")
def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """The tensors `input` themselves, each of which is given when all of them are there (`tf.identity_n`).

    Raises ValueError for an empty list.

    Example:
        >>> af.identity_n([1.0, "a"])
        [1.0, b'a']
    """
    return outputs_of(identity_n_op(list(input), name=name))


@public("af")
@op("GuaranteeConst", shape=unchanged, view=True, gradient=None, work=0)
def guarantee_const(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, with the promise that its value never changes (`tf.guarantee_const`). Nothing is checked, and there
    is no gradient.

    Example:
        >>> af.guarantee_const([1.0, 2.0])
        [1. 2.]
    """


# ---- Ops that only the gradient walk makes.


@op("SumTo", shape=from_value(1), dtypes=NUMERIC, types={"shape": INDEX}, view=True)
def sum_to(gradient: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """`gradient` summed down to `shape`, from which it may have been broadcast; itself where the shapes are equal.

    Leading dimensions that `shape` lacks are summed away, dimensions that have size 1 there are summed to 1.
    Raises InvalidArgumentError in the run where `shape` does not broadcast to the gradient's shape.
    """


@sum_to.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.shape import broadcast_to, shape

    return [broadcast_to(dy, shape(node.inputs[0])), None]


def _axes_of_sums(c: Inference) -> list[Shape]:
    require_rank(c, 0, 1)
    require_rank(c, 1, 1)
    first, second = c.shape_value(0), c.shape_value(1)
    if first is None or second is None or None in (*first, *second):
        return [(None,), (None,)]
    axes = broadcast_axes(first, second)
    return [(None,), (None,)] if axes is None else [(len(axes[0]),), (len(axes[1]),)]


def broadcast_axes(first: Sequence[int | None], second: Sequence[int | None]) -> tuple[list[int], list[int]] | None:
    """The axes over which the gradient of each of two shapes is summed; None for shapes that can't be broadcast together."""
    rank = max(len(first), len(second))
    if tuple(first) == tuple(second):
        return [], []
    wide = [(1,) * (rank - len(sizes)) + tuple(sizes) for sizes in (first, second)]
    if any(a != b and 1 not in (a, b) for a, b in zip(*wide)):
        return None
    return [i for i, size in enumerate(wide[0]) if size == 1], [i for i, size in enumerate(wide[1]) if size == 1]


@op("BroadcastGradientArgs", shape=_axes_of_sums, dtypes=INDEX, result=(T, T), gradient=None)
def broadcast_gradient_args(s0: TensorLike, s1: TensorLike, *, name: str | None = None) -> list[Tensor]:
    """The axes over which a gradient is summed for each of two tensors of the shapes `s0` and `s1` that were broadcast: those
    that it lacks, and those of size 1. TensorFlow's gradients of binary ops ask for them; here they use `SumTo`.

    Raises InvalidArgumentError in the run where the shapes can't be broadcast together."""


@op(
    "CustomGradient",
    shape=lambda c: list(c.shapes),
    result=lambda c: tuple(d.base_dtype for d in c.dtypes),
    view=True,
    work=0,
)
def custom_gradient_op(values: Sequence[Any], *, rule: str, name: str | None = None) -> Any:
    """`values` themselves: results of a function, then what it was computed from. The gradient of the results goes to
    the latter by the Python function that the graph keeps under the name `rule`. See `custom_gradient`."""


@custom_gradient_op.gradient
def _(node: Operation, *dys: Tensor) -> list[Any]:
    from actorflow.graph.autodiff.custom import rule_of

    return rule_of(node)(*dys)
