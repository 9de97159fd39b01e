"""Arrays and stacks of tensors that change in place, as TensorFlow 1's graphs keep them: what `import_graph_def` makes of
`TensorArrayV3`, `StackV2` and their kin. Programs have `TensorArray`, whose lists are values.

A handle is a `variant` tensor whose value all ops of a step share. `flow` is a number without a meaning, which says which op of
an array waits for which.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import ANY, DTypeLike, float32, int32, int64, variant
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_ARRAY = {"handle": variant, "flow_in": float32, "index": int32, "indices": int32}
_ELEMENT = ANY | {variant}


def _unknown(c: Inference) -> Shape:
    return None


def _two_scalars(c: Inference) -> list[Shape]:
    return [(), ()]


def _rows(c: Inference) -> Shape:
    shape: Shape = c.attrs["element_shape"]
    return None if shape is None else (None, *shape)


def _pieces(c: Inference) -> list[Shape]:
    shape: Shape = c.attrs["element_shape_except0"]
    return [None if shape is None else (None, *shape), (None,)]


def _array(inputs: str, **kinds: Any) -> dict[str, Any]:
    """The options that the ops of arrays share, with the types of inputs of these names, and of others."""
    types = {name: _ARRAY[name] for name in inputs.split()}
    return {"gradient": None, "stateful": True, "work": 0, "types": {**types, **kinds}}


@op("TensorArrayV3", shape=_two_scalars, result=(variant, float32), **_array("", size=int32))
def array(
    size: TensorLike,
    *,
    dtype: DTypeLike,
    element_shape: ShapeLike = None,
    dynamic_size: bool = False,
    clear_after_read: bool = True,
    identical_element_shapes: bool = False,
    tensor_array_name: str = "",
    name: str | None = None,
) -> list[Tensor]:
    """The handle of a new array of `size` elements, and its flow."""


@op("TensorArrayGradV3", shape=_two_scalars, result=(variant, float32), **_array("handle flow_in"))
def array_gradient(handle: TensorLike, flow_in: TensorLike, *, source: str, name: str | None = None) -> list[Tensor]:
    """The array of the gradients of an array, always the same array for a `source`. Writes to it are added up."""


@op(
    "TensorArrayGradWithShape",
    shape=_two_scalars,
    result=(variant, float32),
    **_array("handle flow_in", shape_to_prepend=int32),
)
def array_gradient_of_rows(
    handle: TensorLike, flow_in: TensorLike, shape_to_prepend: TensorLike, *, source: str, name: str | None = None
) -> list[Tensor]:
    """As `TensorArrayGradV3`, with sizes before the shapes of the elements."""


@op("TensorArrayWriteV3", shape=scalar, dtypes=_ELEMENT, result=float32, **_array("handle index flow_in"))
def write(
    handle: TensorLike, index: TensorLike, value: TensorLike, flow_in: TensorLike, *, name: str | None = None
) -> Tensor:
    """Writes an element. Gives the flow behind it."""


@op("TensorArrayReadV3", shape=_unknown, result="dtype", **_array("handle index flow_in"))
def read(
    handle: TensorLike, index: TensorLike, flow_in: TensorLike, *, dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """An element. Raises InvalidArgumentError in the run if the element was not written and its shape is not known."""


@op("TensorArrayGatherV3", shape=_rows, result="dtype", **_array("handle indices flow_in"))
def gather(
    handle: TensorLike,
    indices: TensorLike,
    flow_in: TensorLike,
    *,
    dtype: DTypeLike,
    element_shape: ShapeLike = None,
    name: str | None = None,
) -> Tensor:
    """The elements at `indices` as the rows of one tensor."""


@op("TensorArrayScatterV3", shape=scalar, dtypes=_ELEMENT, result=float32, **_array("handle indices flow_in"))
def scatter(
    handle: TensorLike, indices: TensorLike, value: TensorLike, flow_in: TensorLike, *, name: str | None = None
) -> Tensor:
    """Writes the rows of `value` at `indices`. Gives the flow behind it."""


@op("TensorArrayConcatV3", shape=_pieces, result=("dtype", int64), **_array("handle flow_in"))
def concat(
    handle: TensorLike,
    flow_in: TensorLike,
    *,
    dtype: DTypeLike,
    element_shape_except0: ShapeLike = None,
    name: str | None = None,
) -> list[Tensor]:
    """The rows of all elements, one element after the other, and how many each of them has."""


@op("TensorArraySplitV3", shape=scalar, dtypes=_ELEMENT, result=float32, **_array("handle flow_in", lengths=int64))
def split(
    handle: TensorLike, value: TensorLike, lengths: TensorLike, flow_in: TensorLike, *, name: str | None = None
) -> Tensor:
    """Writes pieces of `value`, with `lengths` as the rows of each. Gives the flow behind it."""


@op("TensorArraySizeV3", shape=scalar, result=int32, **_array("handle flow_in"))
def size(handle: TensorLike, flow_in: TensorLike, *, name: str | None = None) -> Tensor:
    """The number of elements."""


@op("TensorArrayCloseV3", shape=lambda c: [], result=None, **_array("handle"))
def close(handle: TensorLike, *, name: str | None = None) -> Operation:
    """Does nothing: an array goes when no one uses it."""


def _stack(**types: Any) -> dict[str, Any]:
    """The options that the ops of stacks share."""
    return {"gradient": None, "stateful": True, "work": 0, "types": types}


@op("StackV2", shape=scalar, result=variant, **_stack(max_size=int32))
def stack(max_size: TensorLike, *, elem_type: DTypeLike, stack_name: str = "", name: str | None = None) -> Tensor:
    """The handle of a new stack."""


def _pushed(c: Inference) -> Shape:
    return c.shapes[1]


@op("StackPushV2", shape=_pushed, dtypes=_ELEMENT, view=True, **_stack(handle=variant))
def push(handle: TensorLike, elem: TensorLike, *, swap_memory: bool = False, name: str | None = None) -> Tensor:
    """`elem`, when it is on the stack."""


@op("StackPopV2", shape=_unknown, result="elem_type", **_stack(handle=variant))
def pop(handle: TensorLike, *, elem_type: DTypeLike, name: str | None = None) -> Tensor:
    """Takes the top from the stack. Raises InvalidArgumentError in the run for an empty stack."""


@op("StackCloseV2", shape=lambda c: [], result=None, **_stack(handle=variant))
def close_stack(handle: TensorLike, *, name: str | None = None) -> Operation:
    """Does nothing: a stack goes when no one uses it."""
