"""The arguments of an op's call: inputs become tensors, each group of one element type, and attributes what nodes keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DType, as_dtype, float32, int32, string
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry.opdef import AttrDef, InputDef, OpDef
from actorflow.base.shapes import as_shape
from actorflow.errors import with_topic
from actorflow.graph.convert import as_array, convert_to_tensor, is_symbolic, read_reference, symbolic_dtype
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor


def convert_inputs(definition: OpDef, values: Sequence[Any], graph: Graph) -> list[Tensor]:
    """The inputs as tensors, each group of one element type. Constants get the names of the inputs."""
    dtypes: dict[str, DType] = {}
    for spec, value in zip(definition.inputs, values, strict=True):
        if spec.group not in dtypes and (dtype := _deciding_dtype(spec, value)) is not None:
            dtypes[spec.group] = dtype
    if any([spec.group and spec.group not in dtypes for spec in definition.inputs]):
        values = [_decided(spec, value, dtypes, graph) for spec, value in zip(definition.inputs, values, strict=True)]
    for spec, value in zip(definition.inputs, values, strict=True):
        if spec.group and spec.group not in dtypes and any(map(is_empty, _parts(spec, value))):
            _decide_by_sibling(definition, values, spec, dtypes)
    inputs: list[Tensor] = []
    for spec, value in zip(definition.inputs, values, strict=True):
        if spec.kind == "list":
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"Input {spec.name!r} is a list of tensors, but a {_type_name(value)} was given.")
            for index, part in enumerate(value):
                inputs.append(_convert_one(spec, part, dtypes, graph, f"{spec.name}_{index}"))
        elif spec.kind == "ref":
            inputs.append(_reference(spec, value, dtypes))
        else:
            inputs.append(_convert_one(spec, value, dtypes, graph, spec.name))
    return inputs


def is_empty(value: Any) -> bool:
    """Whether a value has neither elements nor a type that somebody chose."""
    if isinstance(value, np.ndarray):
        return value.size == 0 and value.dtype == np.float64
    return isinstance(value, (list, tuple)) and all(map(is_empty, value))


def _parts(spec: InputDef, value: Any) -> Sequence[Any]:
    """The values of an input: a single value, or those of a list."""
    return value if spec.kind == "list" and isinstance(value, (list, tuple)) else (value,)


def _decide_by_sibling(definition: OpDef, values: Sequence[Any], empty: InputDef, dtypes: dict[str, DType]) -> None:
    """Gives the group of an input without elements the type of the first value in it that has some."""
    for spec, value in zip(definition.inputs, values, strict=True):
        for part in _parts(spec, value):
            if spec.group == empty.group and spec.kind != "ref" and not is_empty(part):
                dtypes[empty.group] = as_dtype(as_array(part, None, spec.prefer).dtype)
                return
    kinds = [dtype for dtype in (empty.prefer, float32, int32, bool_dtype, string) if dtype in empty.allowed]
    if kinds and kinds[0] is not float32:
        dtypes[empty.group] = kinds[0]  # TensorFlow's float32 is no type that the op takes


def _as_allowed(spec: InputDef, value: Any) -> Any:
    """An array of a type that an input does not take, in the type that the input prefers, if its values can be that. An
    array without elements can be of any type, and an integer of any other integer type that holds it."""
    preferred = spec.prefer
    if not isinstance(value, (np.ndarray, np.generic)) or preferred is None or value.dtype.kind in "SUO":
        return value
    empty = is_empty(value)
    if as_dtype(value.dtype) in spec.allowed and not empty:
        return value
    target = preferred.numpy_dtype
    castable = np.can_cast(value.dtype, target, "same_kind") or value.dtype.kind in "iu" and preferred.is_integer
    fits = not preferred.is_integer or not value.size or preferred.min <= value.min() and value.max() <= preferred.max
    return np.asarray(value).astype(target) if empty or castable and fits else value


def _deciding_dtype(spec: InputDef, value: Any) -> DType | None:
    """The element type that the first tensor among the values of an input brings."""
    return next((dtype for part in _parts(spec, value) if (dtype := symbolic_dtype(part)) is not None), None)


def _decided(spec: InputDef, value: Any, dtypes: dict[str, DType], graph: Graph) -> Any:
    """A value as it is; its tensor where only the conversion tells its type, which decides that of its group."""
    if spec.kind == "list" and isinstance(value, (list, tuple)):
        return [_decided(replace(spec, kind="tensor"), part, dtypes, graph) for part in value]
    if spec.kind != "tensor" or spec.group in dtypes or not is_symbolic(value):
        return value
    return _convert_one(spec, value, dtypes, graph, spec.name)


def _convert_one(spec: InputDef, value: Any, dtypes: dict[str, DType], graph: Graph, name: str) -> Tensor:
    target = dtypes.get(spec.group) if spec.group else None
    if isinstance(value, Tensor):
        tensor = value
    else:
        if not is_symbolic(value) and value is None:
            raise TypeError(f"Input {spec.name!r} is None, which is no tensor.")
        try:
            if target is None:
                value = _as_allowed(spec, value)
            tensor = convert_to_tensor(value, target, name, preferred_dtype=spec.prefer, graph=graph)
        except (TypeError, ValueError) as error:
            if target is not None and target.is_integer and isinstance(value, (float, np.floating)):
                raise TypeError(
                    with_topic(
                        f"Input {spec.name!r} is {value!r}, a float, but the other inputs have type {target}; convert "
                        "those: af.cast(x, af.float32).",
                        "different-types",
                    )
                ) from None
            raise type(error)(f"Input {spec.name!r}: {error}") from None
    dtype = tensor.dtype
    if dtype.is_ref:
        if dtype is dt.resource:
            raise TypeError(f"Input {spec.name!r} takes a value, but {tensor.name} is the handle of a resource.")
        tensor = read_reference(tensor)
        dtype = tensor.dtype
    if target is not None and dtype is not target:
        raise TypeError(
            with_topic(
                f"Input {spec.name!r} ({tensor.name}) has type {dtype}, but the other inputs have {target}; convert one: "
                f"af.cast(x, af.{target}).",
                "different-types",
            )
        )
    if dtype not in spec.allowed:
        raise TypeError(
            f"Input {spec.name!r} has type {dtype}, but it takes: {', '.join(d.name for d in dt.ALL if d in spec.allowed)}."
        )
    dtypes.setdefault(spec.group, dtype)
    return tensor


def _reference(spec: InputDef, value: Any, dtypes: dict[str, DType]) -> Tensor:
    handle = getattr(value, "handle", value)
    if not isinstance(handle, Tensor) or not handle.dtype.is_ref:
        kind = "handle of a queue or another resource" if dt.resource in spec.allowed else "variable (or its handle)"
        raise TypeError(f"Input {spec.name!r} takes a {kind}, but a {_type_name(value)} was given.")
    if handle.dtype.base_dtype not in spec.allowed:
        raise TypeError(f"Input {spec.name!r}: a variable of {handle.dtype.base_dtype} is not allowed here.")
    dtypes.setdefault(spec.group, handle.dtype.base_dtype)
    return handle


def _type_name(value: Any) -> str:
    return f"{type(value).__name__} ({value!r:.40})" if not isinstance(value, (Tensor, Operation)) else repr(value)


_PLAIN_KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def attribute_value(spec: AttrDef, value: Any) -> Any:
    """An attribute's value in the immutable form in which nodes keep it."""
    if isinstance(value, (Tensor, Operation)):
        raise TypeError(
            f"Attribute {spec.name!r} is fixed as the graph is built, but the tensor {value.name} was given."
        )
    if "DTypeLike" in spec.kind:
        return None if value is None else as_dtype(value)
    if "ShapeLike" in spec.kind:
        return as_shape(value)
    if isinstance(value, (list, tuple)):
        return tuple(attribute_value(spec, v) for v in value)
    if isinstance(value, np.generic):
        value = value.item()
    expected = _PLAIN_KINDS.get(spec.kind)
    if expected is not None and (not isinstance(value, expected) or spec.kind == "int" and isinstance(value, bool)):
        raise TypeError(
            f"Attribute {spec.name!r} is {'an' if spec.kind == 'int' else 'a'} {spec.kind}, but {value!r} was given."
        )
    return value
