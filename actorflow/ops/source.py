"""Sources: constants and placeholders (paper sections 2 and 4.2)."""

from __future__ import annotations

from typing import Any

from actorflow import dtypes, shapes
from actorflow.dtypes import DTypeLike
from actorflow.graph.convert import as_array
from actorflow.graph.graph import get_default_graph
from actorflow.graph.tensor import Tensor
from actorflow.ops.shape_rules import from_attr
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, ShapeLike


def _value_shape(c: Inference) -> Shape:
    shape: tuple[int, ...] = c.attrs["value"].shape
    return shape


@op("Const", shape=_value_shape, result="dtype", gradient=None)
def const(*, value: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """The array `value` (which the node holds) of type `dtype`. Made by `constant`."""


@op("Placeholder", shape=from_attr("shape"), result="dtype", gradient=None, stateful=True)
def placeholder_op(*, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A value that each run feeds. Made by `placeholder`."""


@public("af")
def constant(
    value: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor that holds `value` (paper section 2; `tf.constant`).

    Args:
        dtype: its element type; by default that of a numpy array, float32 for Python floats, int32 for ints.
        shape: the value is filled up to it with its last element.
        verify_shape: the value has to have exactly this shape.

    Raises:
        TypeError: the value has no such type, or is a tensor.
        ValueError: the value has more elements than `shape`.
    """
    if isinstance(value, Tensor):
        raise TypeError(f"{value.name} is a tensor already, so it can't be made a constant.")
    array = as_array(value, None if dtype is None else dtypes.as_dtype(dtype))
    if shape is not None:
        array = _filled(array, shape, verify_shape)
    attrs = {"value": array, "dtype": dtypes.as_dtype(array.dtype)}
    return get_default_graph().create_op("Const", (), attrs, name).outputs[0]


def _filled(array: Any, shape: ShapeLike, verify: bool) -> Any:
    import numpy as np

    wanted = shapes.as_shape(shape)
    size = shapes.num_elements(wanted)
    if wanted is None or size is None:
        raise ValueError("The shape of a constant has to be fully known.")
    if verify and array.shape != wanted:
        raise TypeError(f"The value has shape {array.shape}, but {shapes.show(wanted)} was asked for.")
    if array.size > size:
        raise ValueError(f"The value has {array.size} elements, more than the shape {shapes.show(wanted)} holds.")
    if array.size < size and array.size == 0:
        raise ValueError(f"An empty value can't fill the shape {shapes.show(wanted)}.")
    flat = array.reshape(-1)
    if array.size < size:
        flat = np.concatenate([flat, np.repeat(flat[-1:], size - array.size)])
    filled = flat.reshape(wanted)
    filled.flags.writeable = False
    return filled


@public("af")
def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor that has to be fed in each run that needs it (`tf.placeholder`); with no `shape`, any shape may be fed."""
    return placeholder_op(dtype=dtype, shape=shape, name=name)
