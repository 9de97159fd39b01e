"""Functions of a model: each becomes a function of the graph, which is called as often as the model calls it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.importer import Scope
from actorflow.exchange.onnx.nodes import OnnxNode, attribute_value
from actorflow.graph.control_flow.function import Defun
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.tensor import Tensor

_LARGEST_KEY = 4096


def called(node: OnnxNode) -> list[Any]:
    """The outputs of a call. Arrays and sequences enter the body as they are, so that it can be folded; tensors are its
    parameters."""
    function = node.attrs.pop("")
    attrs = {a.name: attribute_value(a, node.scope.file.folder) for a in function.attribute_proto} | node.attrs
    opsets = {("" if i.domain == "ai.onnx" else i.domain): i.version for i in function.opset_import}
    depth = node.scope.depth + 1
    names = list(function.input)
    if len(node.inputs) > len(names):
        raise InvalidArgumentError(f"{node} has {len(node.inputs)} inputs, but the function takes {len(names)}.")
    inputs = [*node.inputs, *[None] * (len(names) - len(node.inputs))]

    def build(values: list[Any]) -> list[Any]:
        inner = Scope(node.scope.file, attrs=attrs, opsets=opsets)
        inner.depth = depth
        inner.check_depth()
        inner.values.update(zip(names, values))
        inner.build_nodes(function.node)
        return [inner.get(name) for name in function.output]

    tensors = [at for at, value in enumerate(inputs) if isinstance(value, Tensor)]
    simple = all(value is None or isinstance(value, (Tensor, np.ndarray)) for value in inputs)
    graph = get_default_graph()
    if not simple or not tensors or graph.eager:
        return build(inputs)
    key = _key(function, attrs, inputs)
    entry = node.scope.file.calls.get(key) if key is not None else None
    if entry is None:
        forms: list[Any] = []

        def body(*arguments: Any) -> list[Any]:
            values = list(inputs)
            for at, argument in zip(tensors, arguments):
                values[at] = argument
            returned = build(values)
            forms[:] = [None if isinstance(value, Tensor) else value for value in returned]
            return [value for value in returned if isinstance(value, Tensor)]

        name = re.sub(r"\W", "_", function.name, flags=re.ASCII).strip("_") or "function"
        traced = Defun(*((inputs[at].dtype, inputs[at].static_shape) for at in tensors), func_name=name)(body)
        entry = (traced, forms)
        if key is not None:
            node.scope.file.calls[key] = entry
    traced, forms = entry
    results = traced(*(inputs[at] for at in tensors))
    outputs = iter(results if isinstance(results, list) else [results])
    return [next(outputs) if form is None else form for form in forms]


def _key(function: Any, attrs: Any, arguments: list[Any]) -> Any:
    """All that decides about the body of a call, or None where that is large."""
    parts: list[Any] = [id(function)]
    for value in arguments:
        if isinstance(value, Tensor):
            parts.append((value.dtype.name, value.static_shape))
        elif value is None:
            parts.append(None)
        elif value.nbytes > _LARGEST_KEY or value.dtype.hasobject:
            return None
        else:
            parts.append((value.dtype.str, value.shape, value.tobytes()))
    for name, value in sorted(attrs.items()):
        if not isinstance(value, (int, float, str)) and not (isinstance(value, list) and len(value) < _LARGEST_KEY):
            return None
        parts.append((name, str(value)))
    return tuple(parts)
