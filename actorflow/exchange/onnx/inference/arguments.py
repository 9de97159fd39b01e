"""`NodeArg` and `ModelMetadata`: what a file says of its inputs and outputs, and of itself, in onnxruntime's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape
from actorflow.exchange.onnx.inference.options import SessionOptions
from actorflow.exchange.onnx.types import ValueType, value_type
from actorflow.public import public

_NAMES = {
    dt.float32: "float", dt.float64: "double", dt.float8_e4m3fn: "float8e4m3fn", dt.float8_e4m3fnuz: "float8e4m3fnuz",
    dt.float8_e5m2: "float8e5m2", dt.float8_e5m2fnuz: "float8e5m2fnuz", dt.float4_e2m1fn: "float4e2m1",
}  # fmt: skip
"""Names of element types that are others than actorflow's."""
_NO_VERSION = 2**63 - 1


@public("af.onnx")
@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output of a model.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3], name="x")
        >>> await af.onnx.save("double.onnx", session, {"y": x * 2.0}, {"x": x})
        >>> af.onnx.InferenceSession("double.onnx").get_inputs()[0].type
        'tensor(float)'

    Args:
        name: its name.
        type: its type, such as `tensor(float)`, `seq(tensor(int64))` or `optional(tensor(string))`.
        shape: its sizes. Those that the file leaves open are their names, or None without a name.
    """

    name: str
    type: str
    shape: Sequence[int | str | None]


@public("af.onnx")
@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """A file's description of itself.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3], name="x")
        >>> await af.onnx.save("double.onnx", session, {"y": x * 2.0}, {"x": x})
        >>> af.onnx.InferenceSession("double.onnx").get_modelmeta().producer_name
        'actorflow'

    Args:
        producer_name: the program that wrote it.
        graph_name, graph_description: of the graph in it.
        domain: a name space for the model, such as `org.example`.
        description: what it is for.
        version: the version of the model; the largest integer where the file has none.
        custom_metadata_map: further texts by name.
    """

    producer_name: str
    graph_name: str
    graph_description: str
    domain: str
    description: str
    version: int
    custom_metadata_map: Mapping[str, str]

    @staticmethod
    def of(proto: Any) -> ModelMetadata:
        """The description in the message of a file."""
        return ModelMetadata(
            proto.producer_name,
            proto.graph.name,
            proto.graph.doc_string,
            proto.domain,
            proto.doc_string,
            proto.model_version if proto.HasField("model_version") else _NO_VERSION,
            {entry.key: entry.value for entry in proto.metadata_props},
        )


def tensor_type(dtype: DType | None) -> str:
    """The type of a tensor in onnxruntime's words."""
    return f"tensor({'undefined' if dtype is None else _NAMES.get(dtype, dtype.name)})"


def type_text(kind: ValueType) -> str:
    """A type in onnxruntime's words."""
    inner = tensor_type(kind.dtype)
    if kind.kind == "map" or kind.inside == "map":
        key = dt.string if kind.key is None else kind.key
        inner = f"map({_NAMES.get(key, key.name)},{inner})"
    if kind.kind in ("tensor", "map"):
        return inner
    if kind.inside == "sequence":
        inner = f"seq({inner})"
    return f"{'seq' if kind.kind == 'sequence' else kind.kind}({inner})"


def declared(info: Any, options: SessionOptions) -> ValueType:
    """The type that a file says, with the sizes that options fix.

    Args:
        info: the message about an input or output.
        options: the options of the session.
    """
    kind = value_type(info.type, info.name)
    if kind.kind != "tensor" or kind.shape is None or not (options.sizes or options.denotations):
        return kind
    sizes: list[int | None] = []
    for size, dimension in zip(kind.shape, info.type.tensor_type.shape.dim):
        fixed = options.sizes.get(dimension.dim_param or "")
        fixed = options.denotations.get(dimension.denotation or "") if fixed is None else fixed
        sizes.append(fixed if size is None else size)
    return ValueType(kind.kind, kind.dtype, tuple(sizes), kind.inside, kind.names, kind.key)


def node_arg(name: str, kind: ValueType, inferred: Shape = None, dtype: DType | None = None) -> NodeArg:
    """An argument for a type.

    Args:
        name: the name.
        kind: the type that the file says.
        inferred: the shape that the graph knows, which fills what the file leaves open.
        dtype: the element type that the graph knows, where the file says none.
    """
    if kind.dtype is None and dtype is not None:
        kind = ValueType(kind.kind, dtype, kind.shape, kind.inside, kind.names, kind.key)
    if kind.kind == "sequence":
        return NodeArg(name, type_text(kind), [])
    shape = kind.shape if kind.shape is not None else inferred or ()
    names = kind.names if kind.shape is not None else ()
    filled: list[int | str | None] = []
    for at, size in enumerate(shape):
        extent = size if size is not None or inferred is None or len(inferred) != len(shape) else inferred[at]
        filled.append(extent if extent is not None else (names[at] if at < len(names) else None) or None)
    return NodeArg(name, type_text(kind), filled)
