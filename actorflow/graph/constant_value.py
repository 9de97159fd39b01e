"""The value of a tensor where the graph alone decides it: what shape rules need of `reshape(x, [-1, 10])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from actorflow.graph.node import Endpoint, Node
from actorflow.shapes import is_static, num_elements

_DEPTH = 8


def constant_value(nodes: Mapping[str, Node], endpoint: Endpoint, depth: int = _DEPTH) -> np.ndarray[Any, Any] | None:
    """The value of `endpoint`, or None where a run decides it. Looks through shapes that are known and their parts."""
    node = nodes.get(endpoint.node)
    if node is None or depth == 0:
        return None
    if node.op == "Const":
        return np.asarray(node.attrs["value"])
    if node.op in ("Shape", "Size", "Rank"):
        source = nodes.get(node.inputs[0].node)
        shape = None if source is None else source.shapes[node.inputs[0].port]
        if shape is None:
            return None
        dtype = node.dtypes[0].as_numpy_dtype
        if node.op == "Rank":
            return np.asarray(len(shape), dtype)
        if not is_static(shape):
            return None
        return np.asarray(shape, dtype) if node.op == "Shape" else np.asarray(num_elements(shape), dtype)
    if node.op in ("Pack", "Identity", "Cast", "StridedSlice"):
        values = [constant_value(nodes, e, depth - 1) for e in node.inputs]
        if any(v is None for v in values):
            return None
        if node.op == "Pack":
            return np.stack(values, axis=node.attrs["axis"])  # type: ignore[arg-type]
        if node.op == "StridedSlice":
            from actorflow.graph.slicing import python_index

            value, begin, end, strides = values
            return np.asarray(value[python_index(begin, end, strides, node.attrs)])  # type: ignore[index]
        return np.asarray(values[0]).astype(node.dtypes[0].as_numpy_dtype)
    return None
