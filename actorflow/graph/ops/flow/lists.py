"""Lists of tensors as values: the ops under `TensorArray`, and what the gradients of loops keep of their iterations.

A list is a `variant` tensor and never changes; an op that writes to one gives another. So a list may be a loop's
variable, both branches of a `cond` may have one of their own, and each op has a gradient.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import ANY, DTypeLike, float32, int32, int64, variant
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_ELEMENT = ANY | {variant}
_INT = {"index": int32}


def _index_first(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    return ()


def _element(c: Inference) -> Shape:
    if len(c.shapes) > 1:
        require_rank(c, 1, 0)
    shape: Shape = c.attrs["element_shape"]
    return shape


def _rows(c: Inference) -> Shape:
    shape: Shape = c.attrs["element_shape"]
    if shape is None:
        return None
    count = c.shapes[1] if len(c.shapes) > 1 else None
    return (count[0] if count else None, *shape)


def _flat_rows(c: Inference) -> Shape:
    shape: Shape = c.attrs["element_shape"]
    return None if shape is None or not shape else (None, *shape[1:])


@op("EmptyTensorList", shape=scalar, result=variant, gradient=None, work=0)
def empty_list(*, name: str | None = None) -> Tensor:
    """An empty stack of tensors."""


@op("TensorListPushBack", shape=scalar, dtypes=_ELEMENT, types={"input_handle": variant}, result=variant, work=0)
def push_back(input_handle: TensorLike, tensor: TensorLike, *, name: str | None = None) -> Tensor:
    """The stack with `tensor` on top."""


@op(
    "TensorListPopBack",
    shape=lambda c: [(), c.attrs["element_shape"]],
    types={"input_handle": variant},
    result=(variant, "element_dtype"),
    view=True,
    work=0,
)
def pop_back(
    input_handle: TensorLike, *, element_dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None
) -> list[Tensor]:
    """The stack without its top, and the top. Raises InvalidArgumentError in the run for an empty stack."""


@op(
    "TensorListReserve",
    shape=scalar,
    types={"num_elements": int32},
    result=variant,
    gradient=None,
    work=0,
)
def reserve(num_elements: TensorLike, *, name: str | None = None) -> Tensor:
    """A list of `num_elements` elements, of which none is there yet."""


@op("TensorListFromTensor", shape=scalar, dtypes=ANY, result=variant, view=True)
def from_tensor(tensor: TensorLike, *, name: str | None = None) -> Tensor:
    """The list of the rows of `tensor`."""


@op(
    "TensorListGetItem",
    shape=_element,
    types={"input_handle": variant, **_INT},
    result="element_dtype",
    view=True,
    work=0,
)
def get_item(
    input_handle: TensorLike,
    index: TensorLike,
    *,
    element_dtype: DTypeLike,
    element_shape: ShapeLike = None,
    name: str | None = None,
) -> Tensor:
    """One element. Raises InvalidArgumentError in the run for a wrong index, and for an element that was not written,
    unless `element_shape` is known: then it is zeros."""


@op(
    "TensorListSetItem",
    shape=_index_first,
    dtypes=_ELEMENT,
    types={"input_handle": variant, **_INT},
    result=variant,
    work=0,
)
def set_item(
    input_handle: TensorLike,
    index: TensorLike,
    item: TensorLike,
    *,
    once: bool = False,
    grows: bool = False,
    name: str | None = None,
) -> Tensor:
    """The list with `item` at `index`. With `once` it is an error that there is one already; with `grows` an index behind
    the end makes the list longer."""


@op(
    "TensorListInsertItem",
    shape=_index_first,
    dtypes=_ELEMENT,
    types={"input_handle": variant, **_INT},
    result=variant,
    gradient=None,
)
def insert_item(input_handle: TensorLike, index: TensorLike, item: TensorLike, *, name: str | None = None) -> Tensor:
    """The list with `item` before the element at `index`; behind all where that is the length."""


@op("TensorListRemoveItem", shape=_index_first, types={"input_handle": variant, **_INT}, result=variant, gradient=None)
def remove_item(input_handle: TensorLike, index: TensorLike, *, name: str | None = None) -> Tensor:
    """The list without its element at `index`, one shorter."""


@op("TensorListClearItem", shape=_index_first, types={"input_handle": variant, **_INT}, result=variant, work=0)
def clear_item(
    input_handle: TensorLike, index: TensorLike, *, element_dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """The list without the element at `index`, which then counts as zero."""


@op("TensorListStack", shape=_rows, types={"input_handle": variant}, result="element_dtype")
def stack_list(
    input_handle: TensorLike, *, element_dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None
) -> Tensor:
    """All elements as the rows of one tensor. Raises InvalidArgumentError where their shapes differ."""


@op(
    "TensorListGather",
    shape=_rows,
    types={"input_handle": variant, "indices": int32},
    result="element_dtype",
)
def gather_list(
    input_handle: TensorLike,
    indices: TensorLike,
    *,
    element_dtype: DTypeLike,
    element_shape: ShapeLike = None,
    name: str | None = None,
) -> Tensor:
    """The elements at `indices` as the rows of one tensor."""


@op("TensorListScatter", shape=scalar, dtypes=ANY, types={"input_handle": variant, "indices": int32}, result=variant)
def scatter_list(
    input_handle: TensorLike,
    indices: TensorLike,
    tensor: TensorLike,
    *,
    once: bool = False,
    adds: bool = False,
    grows: bool = False,
    name: str | None = None,
) -> Tensor:
    """The list with the rows of `tensor` at `indices`. With `adds` they are added to what is there."""


@op("TensorListClear", shape=scalar, types={"input_handle": variant, "indices": int32}, result=variant)
def clear_items(
    input_handle: TensorLike, indices: TensorLike, *, element_dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """The list without the elements at `indices`, which then count as zero."""


@op("TensorListConcat", shape=_flat_rows, types={"input_handle": variant}, result="element_dtype")
def concat_list(
    input_handle: TensorLike, *, element_dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None
) -> Tensor:
    """The rows of all elements, one element after the other."""


@op("TensorListSplit", shape=scalar, dtypes=ANY, types={"lengths": int64}, result=variant, view=True)
def split_list(tensor: TensorLike, lengths: TensorLike, *, name: str | None = None) -> Tensor:
    """The list of pieces of `tensor`, with `lengths` as the rows of each."""


@op("TensorListLengths", shape=lambda c: (None,), types={"input_handle": variant}, result=int64, gradient=None)
def lengths_of(input_handle: TensorLike, *, element_dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """The number of rows of each element."""


@op("TensorListLength", shape=scalar, types={"input_handle": variant}, result=int32, gradient=None, work=0)
def length(input_handle: TensorLike, *, name: str | None = None) -> Tensor:
    """The number of elements."""


@op("TensorListZerosLike", shape=scalar, types={"input_handle": variant}, result=variant, gradient=None, work=0)
def list_zeros_like(input_handle: TensorLike, *, name: str | None = None) -> Tensor:
    """A list of zeros, of the lengths and shapes of this list."""


@op("TensorListAdd", shape=scalar, types={"x": variant, "y": variant}, result=variant)
def add_lists(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The sums of the elements of two lists."""


def _element_of(tensor: Tensor) -> dict[str, Any]:
    return {"element_dtype": tensor.dtype, "element_shape": tensor.static_shape}


@push_back.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return pop_back(dy, **_element_of(node.inputs[1]))


@pop_back.gradient
def _(node: Operation, d_list: Tensor, d_item: Tensor | None) -> list[Tensor]:
    if d_item is None:
        from actorflow.graph.ops.array.constant import zeros_like

        d_item = zeros_like(node.outputs[1])
    return [push_back(d_list, d_item)]


@from_tensor.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    tensor = node.inputs[0]
    rows = tensor.static_shape
    return [stack_list(dy, element_dtype=tensor.dtype, element_shape=None if rows is None else rows[1:])]


@get_item.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [set_item(list_zeros_like(node.inputs[0]), node.inputs[1], dy), None]


@set_item.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    index = node.inputs[1]
    return [
        clear_item(dy, index, element_dtype=node.inputs[2].dtype),
        None,
        get_item(dy, index, **_element_of(node.inputs[2])),
    ]


@clear_item.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [clear_item(dy, node.inputs[1], element_dtype=node.attrs["element_dtype"]), None]


@stack_list.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [from_tensor(dy)]


@gather_list.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [scatter_list(list_zeros_like(node.inputs[0]), node.inputs[1], dy, adds=True), None]


@scatter_list.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    indices, tensor = node.inputs[1:]
    rows = tensor.static_shape
    d_rows = gather_list(dy, indices, element_dtype=tensor.dtype, element_shape=None if rows is None else rows[1:])
    kept = dy if node.attrs["adds"] else clear_items(dy, indices, element_dtype=tensor.dtype)
    return [kept, None, d_rows]


@clear_items.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [clear_items(dy, node.inputs[1], element_dtype=node.attrs["element_dtype"]), None]


@concat_list.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [split_list(dy, lengths_of(node.inputs[0], element_dtype=dy.dtype))]


@split_list.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [concat_list(dy, **_element_of(node.inputs[0])), None]


@add_lists.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [dy, dy]
