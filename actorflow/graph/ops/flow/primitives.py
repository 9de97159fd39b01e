"""The primitives of control flow: Switch, Merge, Enter, Exit, NextIteration, LoopCond (paper section 4.4).

`cond` and `while_loop` are built from them (`actorflow.graph.control_flow`). How their tokens travel is the runtime's:
`actorflow.engine.runtime.frames`. All but Merge pass a value on as it is, of any type, references included.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.base.dtypes import ANY, BOOLEAN, DType, int32, variant
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, compatible, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.logic import equal
from actorflow.graph.ops.shape_rules import require_rank, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_CARRIED = ANY | {variant}


def _same_type(c: Inference) -> DType:
    """The first input's type; a reference stays a reference."""
    return c.dtypes[0]


def _switch_shapes(c: Inference) -> list[Shape]:
    require_rank(c, 1, 0)
    return [c.shapes[0], c.shapes[0]]


def _agreed(shapes: Sequence[Shape]) -> Shape:
    """The shape that holds for all of `shapes`."""
    first = shapes[0]
    if first is None or any(s is None or len(s) != len(first) for s in shapes):
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes))


def _enter_shape(c: Inference) -> Shape:
    invariant: Shape = c.attrs["shape"]
    if not c.attrs["invariant"]:
        return c.shapes[0]
    if not compatible(invariant, c.shapes[0]):
        raise ValueError(
            f"The loop variable starts with shape {show(c.shapes[0])}, which is not what its invariant "
            f"{show(invariant)} allows."
        )
    return invariant


@public("af")
@op(
    "Switch",
    role=roles.SWITCH,
    shape=_switch_shapes,
    dtypes=_CARRIED,
    types={"pred": BOOLEAN},
    result=lambda c: (c.dtypes[0], c.dtypes[0]),
    view=True,
    emits_dead=True,
    work=0,
)
def switch(data: TensorLike, pred: TensorLike, *, name: str | None = None) -> list[Tensor]:
    """`data` at output 1 (`output_true`) where the scalar `pred` holds, else at output 0 (`output_false`). The other
    output is dead: what depends on it does not run.

    Example:
        >>> x, pred = af.placeholder(af.float32), af.placeholder(af.bool)
        >>> dead, alive = af.switch(x, pred)
        >>> await session.run(alive + 1.0, {x: 2.0, pred: True})
        3.0
        >>> await session.run(dead + 1.0, {x: 2.0, pred: True})
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: The fetch add_1:0 has no value: it lies on the false branch, ...
    """


@public("af")
@op(
    "Merge",
    role=roles.MERGE,
    shape=lambda c: [_agreed(c.shapes), ()],
    dtypes=_CARRIED,
    result=lambda c: (c.dtypes[0], int32),
    view=True,
    fires_dead=True,
    emits_dead=True,
    work=0,
)
def merge(inputs: Sequence[TensorLike], *, name: str | None = None) -> list[Tensor]:
    """The live tensor of `inputs`, as soon as it comes, and its index (int32). Dead if all inputs are dead.

    Example:
        >>> x, pred = af.placeholder(af.float32), af.placeholder(af.bool)
        >>> small, large = af.switch(x, pred)
        >>> result, index = af.merge([-small, large * 100.0])
        >>> await session.run([result, index], {x: 2.0, pred: True})
        [200.0, 1]
    """


@public("af")
@op("Enter", role=roles.ENTER, shape=_enter_shape, dtypes=_CARRIED, result=_same_type, view=True, gradient=None, work=0)
def enter(
    data: TensorLike,
    *,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    invariant: bool = False,
    shape: ShapeLike = None,
    name: str | None = None,
) -> Tensor:
    """`data` in the frame of a loop: in the first iteration, or in each iteration.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> inside = af.enter(x, frame_name="loop")
        >>> await session.run(af.exit(inside * 2.0), {x: 3.0})
        6.0

    Args:
        data: a tensor or a variable's handle, of any type.
        frame_name: the loop's frame; all its Enter nodes name the same.
        is_constant: gives the value to each iteration, rather than to the first alone.
        parallel_iterations: how many iterations of the frame may run at once.
        invariant: the static shape is `shape`, to which all iterations keep.
        shape: the loop invariant; used only with `invariant`.

    Raises:
        ValueError: the value's shape is not what the invariant allows.
    """


@public("af:exit")
@op(
    "Exit",
    role=roles.EXIT,
    shape=unchanged,
    dtypes=_CARRIED,
    result=_same_type,
    view=True,
    gradient=None,
    emits_dead=True,
    work=0,
)
def exit_(data: TensorLike, *, name: str | None = None) -> Tensor:
    """`data` outside of the frame that it is in.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> await session.run(af.exit(af.enter(x, frame_name="loop")), {x: 3.0})
        3.0
    """


@public("af")
@op(
    "NextIteration",
    role=roles.NEXT_ITERATION,
    shape=unchanged,
    dtypes=_CARRIED,
    result=_same_type,
    view=True,
    gradient=None,
    work=0,
)
def next_iteration(data: TensorLike, *, name: str | None = None) -> Tensor:
    """`data` in the next iteration of the frame that it is in.

    Example:
        >>> x = af.next_iteration(af.placeholder(af.float32, []))
        >>> x.op.type
        'NextIteration'
    """


@public("af")
@op("LoopCond", role=roles.LOOP_CONDITION, shape=unchanged, dtypes=BOOLEAN, view=True, gradient=None, work=0)
def loop_cond(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The scalar that says whether the loop goes on; each frame has a single such scalar.

    Example:
        >>> goes_on = af.loop_cond(af.placeholder(af.bool, []))
        >>> goes_on.op.type
        'LoopCond'
    """


# Gradients of primitives that a program connects by itself. Those in a `cond` or a loop are given by
# `actorflow.graph.autodiff`, which knows what belongs together.


@switch.gradient
def _(node: Operation, dy_false: Tensor, dy_true: Tensor) -> list[Tensor | None]:
    pred = node.inputs[1]
    return [merge([switch(dy_false, pred)[0], switch(dy_true, pred)[1]])[0], None]


@merge.gradient
def _(node: Operation, dy: Tensor, d_index: Tensor | None) -> list[Tensor]:
    taken = node.outputs[1]
    return [switch(dy, equal(taken, position))[1] for position in range(len(node.inputs))]
