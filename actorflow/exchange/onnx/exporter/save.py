"""`save`: a part of a session's graph as an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import actorflow.exchange.onnx.exporter.control
import actorflow.exchange.onnx.exporter.elementwise
import actorflow.exchange.onnx.exporter.networks
import actorflow.exchange.onnx.exporter.quantized
import actorflow.exchange.onnx.exporter.recurrent
import actorflow.exchange.onnx.exporter.segments
import actorflow.exchange.onnx.exporter.shapes
import actorflow.exchange.onnx.exporter.transposed  # noqa: F401  (they enter themselves into the table)
from actorflow import blocking
from actorflow.base.dtypes import DType, float32, int64, string
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.export.freezing import freeze
from actorflow.exchange.onnx.exporter.block import RULES, ExportedBlock, ExportedFile
from actorflow.exchange.onnx.exporter.control import frames_of
from actorflow.exchange.onnx.ports import MapPort, OptionalPort, SequencePort
from actorflow.exchange.onnx.protos import GraphProto, ModelProto, ValueInfoProto
from actorflow.exchange.onnx.tensors import tensor_proto
from actorflow.exchange.onnx.types import code_of, type_proto
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.ops.static import get_static_value
from actorflow.graph.tensor import Operation, Tensor
from actorflow.pending_calls import pending_if_awaited
from actorflow.public import public

_VERSIONS = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
"""The version of the file's form, for each version of the ops."""
_LARGEST = 2**31 - 1
_LEARNED = "ai.onnx.ml"
_WITHIN = {"LoopCond", "NextIteration", "NoOp", "Assert", "Placeholder"}
"""Ops that the rules of others write, or that have no value."""


@public("af.onnx")
@pending_if_awaited
def save(
    path: str | os.PathLike[str],
    session: Any,
    outputs: Any,
    inputs: Any = None,
    given: Mapping[Any, Any] | None = None,
    *,
    opset: int = 21,
) -> Any:
    """Writes the part of a session's graph that computes `outputs` as an ONNX model, with the present values of variables.

    The graph is frozen first (`af.export.freeze`). Branches become If, loops become Loop. With a blocking session the call does
    without `await`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> y = x * 3.0
        >>> await af.onnx.save("model.onnx", session, {"y": y}, {"x": x})
        >>> model = af.onnx.load("model.onnx")
        >>> await session.run(model.outputs, {model.inputs["x"]: [1.0, 2.0]})
        {'y': [3. 6.]}

    Args:
        path: the file, which is replaced as a whole.
        session: a session that has the values.
        outputs: tensors by the names that they get; or a list of tensors, which keep the names of their nodes.
        inputs: the same for what is fed; all placeholders that the outputs need, unless given.
        given: values that replace tensors for good, such as `{training: False}`.
        opset: the version of ONNX's ops: 18 to 23.

    Raises:
        UnimplementedError: nodes have no form in ONNX; all of them are named.
        InvalidArgumentError: something that the outputs need writes state, or the model has more than 2 GB.
        ValueError: there is no such opset, or a name comes twice.
    """
    if opset not in _VERSIONS:
        raise ValueError(f"opset is 18 to 23, not {opset}.")
    if isinstance(session, blocking.Session):
        return session._call(lambda: _saved(path, session._inner, outputs, inputs, given, opset))
    return _saved(path, session, outputs, inputs, given, opset)


async def _saved(
    path: str | os.PathLike[str], session: Session, outputs: Any, inputs: Any, fixed: Any, opset: int
) -> None:
    outputs, maps = _without_maps(outputs)
    ends, starts = _named(session, outputs), None if inputs is None else _named(session, inputs)
    fed = None if starts is None else list(starts.values())
    frozen = await freeze(session, list(ends.values()), fed, fixed)
    data = model_of(frozen, ends, starts, opset, maps).SerializeToString()
    if len(data) > _LARGEST:
        raise InvalidArgumentError(f"The model has {len(data)} bytes; a file of ONNX has at most {_LARGEST}.")
    target = Path(path)
    part = target.with_name(f"{target.name}.part{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _without_maps(outputs: Any) -> tuple[Any, dict[str, Any]]:
    """The outputs with the values of maps in their places, and the keys of the maps by the names of outputs."""
    if not isinstance(outputs, Mapping):
        return outputs, {}
    maps = {name: port for name, port in outputs.items() if isinstance(port, MapPort)}
    keys = {name: get_static_value(port.keys) for name, port in maps.items()}
    odd = [name for name, port in maps.items() if not port.rows or keys[name] is None]
    if odd:
        raise UnimplementedError(f"The output {odd[0]!r} is a map whose keys only a run knows; it has no form in ONNX.")
    return {name: maps[name].values if name in maps else value for name, value in outputs.items()}, keys


def _named(session: Session, values: Any) -> dict[str, str]:
    """The names of tensors in the graph, by those that they have in the file."""
    single = not isinstance(values, (Mapping, Sequence)) or isinstance(values, str)
    listed = [values] if single else values
    pairs = list(listed.items()) if isinstance(listed, Mapping) else [(None, value) for value in listed]
    names: dict[str, str] = {}
    for name, value in pairs:
        element = session.graph.as_graph_element(value) if isinstance(value, str) else value
        tensor = element.outputs[0] if isinstance(element, Operation) else element
        if isinstance(tensor, (SequencePort, OptionalPort, MapPort)):
            raise UnimplementedError(
                f"{name!r} is a {tensor!r}; an ONNX file that is saved has tensors as inputs and outputs."
            )
        tensor = tensor if isinstance(tensor, Tensor) else tensor.value()
        name = name or (tensor.op.name if tensor.name.endswith(":0") else tensor.name.replace(":", "_"))
        if name in names:
            raise ValueError(f"The name {name!r} comes twice.")
        names[name] = tensor.name
    return names


def model_of(
    graph_def: Any,
    outputs: Mapping[str, str],
    inputs: Mapping[str, str] | None,
    opset: int = 21,
    maps: Mapping[str, Any] | None = None,
) -> Any:
    """A frozen graph as a `ModelProto`.

    Args:
        graph_def: the message.
        outputs: names of tensors, by those that they get.
        inputs: the same for what is fed; all placeholders unless given.
        opset: the version of ONNX's ops.
        maps: for outputs that become maps the keys of their columns.
    """
    maps = maps or {}
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="")
    operations = graph.get_operations()
    _check_rules(operations)
    if inputs is None:
        inputs = {op.name: f"{op.name}:0" for op in operations if op.type == "Placeholder"}
    file = ExportedFile(frames_of(operations), {*inputs, *outputs}, opset=opset)
    block = ExportedBlock(file)
    proto = GraphProto(name="main")
    for name, text in inputs.items():
        tensor = graph.get_tensor_by_name(text)
        block.values[tensor.name] = name
        sizes = tuple(f"{name}_{at}" for at in range(len(tensor.static_shape or ())))
        proto.input.append(ValueInfoProto(name=name, type=type_proto(tensor.dtype, tensor.static_shape, sizes)))
    for name, text in outputs.items():
        tensor = graph.get_tensor_by_name(text)
        label = block.get(tensor)
        if name in maps:
            proto.output.append(_zipped(block, label, name, tensor.dtype, maps[name]))
            continue
        block.nodes.append(_renamed(label, name))
        sizes = tuple(f"{name}_{at}" for at in range(len(tensor.static_shape or ())))
        proto.output.append(ValueInfoProto(name=name, type=type_proto(tensor.dtype, tensor.static_shape, sizes)))
    proto.node.extend(block.nodes)
    used = set(_inputs(block.nodes))  # rules that change weights leave those behind that they had at first
    proto.initializer.extend(tensor_proto(value, name) for name, value in file.weights.items() if name in used)
    model = ModelProto(ir_version=_VERSIONS[opset], producer_name="actorflow")
    model.opset_import.add(domain="", version=opset)
    if maps:
        model.opset_import.add(domain=_LEARNED, version=1)
    model.graph.CopyFrom(proto)
    return model


def _inputs(nodes: Iterable[Any]) -> Iterator[str]:
    """The names that nodes take, and the graphs within them."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _inputs(attribute.g.node)
                yield from (output.name for output in attribute.g.output)


def _zipped(block: ExportedBlock, value: str, name: str, dtype: DType, keys: Any) -> Any:
    """Writes the maps of a tensor's rows, and gives the message of the output that they are."""
    words = keys.dtype == object
    labels = {"classlabels_strings" if words else "classlabels_int64s": keys.tolist()}
    zipped = block.node("ZipMap", block.cast(value, dtype, float32), domain=_LEARNED, **labels)
    block.nodes.append(_renamed(zipped, name))
    info = ValueInfoProto(name=name)
    inner = info.type.sequence_type.elem_type.map_type
    inner.key_type = code_of(string if words else int64)
    inner.value_type.CopyFrom(type_proto(float32, ()))
    return info


def _renamed(value: str, name: str) -> Any:
    from actorflow.exchange.onnx.protos import NodeProto

    return NodeProto(op_type="Identity", name=f"{name}/output", input=[value], output=[name])


def _check_rules(operations: Sequence[Operation]) -> None:
    missing = [op for op in operations if op.type not in RULES and op.type not in _WITHIN]
    if missing:
        lines = "".join(f"\n  {op.name} ({op.type})" for op in missing[:20])
        more = f"\n  and {len(missing) - 20} more" if len(missing) > 20 else ""
        raise UnimplementedError(f"These nodes have no form in ONNX:{lines}{more}")
