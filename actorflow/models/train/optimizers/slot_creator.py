"""Slots: the variables that an optimizer keeps for each variable that it changes (`tf.train.slot_creator`)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.base.shapes import is_static
from actorflow.graph.ops.array.constant import fill, zeros
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.store import get_variable_scope
from actorflow.graph.variables.variable import Variable


def create_slot(primary: Variable | Tensor, val: Any, name: str) -> Variable:
    """A slot named `<primary>/<name>`, made unique, with the initial value `val` (or what the function `val()` gives).

    It is a global variable that no optimizer trains, on the device of `primary` where that is a variable. The name scope
    in force does not add to its name, but an open variable scope does, as in TensorFlow.
    """
    graph, full = primary.graph, f"{primary.op.name}/{name}"
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        if scope := get_variable_scope().name:
            full = f"{scope}/{full}"
        beside = graph.colocate_with(primary.handle, ignore_existing=True) if isinstance(primary, Variable) else None
        with beside or nullcontext():
            slot = Variable(
                val,
                trainable=False,
                name=full,
                validate_shape=is_static(primary.static_shape),
            )
    if isinstance(primary, Variable) and (info := primary._save_slice_info) is not None and slot.static_shape:
        # The slot of a slice is a slice of the slot that the whole variable would have.
        rank = len(slot.static_shape)
        own = slot.op.name.removeprefix(f"{primary.op.name}/")
        whole = f"{info.full_name}/{own}", info.full_shape[:rank], info.var_offset[:rank], info.var_shape[:rank]
        slot._set_save_slice_info(type(info)(*whole))
    return slot


def create_filled_slot(primary: Variable | Tensor, value: float, name: str, dtype: DTypeLike | None = None) -> Variable:
    """A slot of the shape of `primary`, all of whose elements are `value`; of its type unless given."""
    kind = primary.dtype if dtype is None else as_dtype(dtype)

    def initial() -> Any:
        # A Fill node rather than a constant: the graph does not hold a copy of each variable's size.
        sizes = primary.static_shape
        is_known_size = is_static(sizes)
        target = (
            sizes if is_known_size else shape(primary.initialized_value() if isinstance(primary, Variable) else primary)
        )
        return zeros(target, kind) if value == 0 else fill(target, kind.numpy_dtype.type(value))

    return create_slot(primary, initial, name)


def create_zeros_slot(primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None) -> Variable:
    """A slot of zeros."""
    return create_filled_slot(primary, 0.0, name, dtype)
