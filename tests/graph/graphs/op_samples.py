"""A node of each op, with inputs of types that are told apart wherever the op lets them differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.registry.opdef import REQUIRED, Inference, OpDef
from actorflow.graph.node import Node, TensorId

_VALUES: dict[str, Any] = {
    "str": "text", "bytes": b"", "int": 1, "float": 1.0, "bool": False, "DTypeLike": dtypes.float32, "ShapeLike": (2, 3),
    "Sequence[int]": (1, 1, 1, 1), "Sequence[float]": (1.0,), "Sequence[str]": ("a",), "Keys": ("a", "b"),
    "Types": (dtypes.float32,) * 2, "Shapes": ((2,), (2,)), "Sequence[DType]": (dtypes.float32,),
    "Any": np.array(1.0, np.float32), "tuple[Any, ...]": (), "DTypeLike | None": dtypes.float32,
}  # fmt: skip
"""A value for each kind of attribute that has no default."""
_TEXTS = {"padding": "SAME", "mode": "REFLECT", "output_encoding": "UTF-8", "dtype": dtypes.float32}
ORDERS = {
    "narrow": (dtypes.float32, dtypes.int32, dtypes.int64, dtypes.string, dtypes.bool),
    "wide": (dtypes.float64, dtypes.int64, dtypes.int32, dtypes.string, dtypes.bool),
    "mixed": (dtypes.float32, dtypes.int64, dtypes.int32, dtypes.string, dtypes.float64, dtypes.bool),
}
"""The types that inputs have, the first that an op takes. In `mixed` ones several inputs have different types."""
_LISTS = {
    "DynamicStitch": (dtypes.int32, dtypes.int32, dtypes.float32, dtypes.float32),
    "SparseConcat": (dtypes.int64,) * 2 + (dtypes.float32,) * 2 + (dtypes.int64,) * 2,
}
"""The types of inputs that an op has as several lists in one."""


def _type(allowed: frozenset[DType], taken: set[DType], order: str) -> DType:
    several = [*(d for d in ORDERS[order] if d in allowed), *sorted(allowed, key=lambda dtype: dtype.code)]
    return next((d for d in several if order != "mixed" or d not in taken), several[0])


def sample(definition: OpDef, order: str) -> tuple[dict[str, Node], Node]:
    """The nodes of the inputs by name, and a node of the op. Lists have two tensors."""
    sources: dict[str, Node] = {}
    groups: dict[str, DType] = {}
    inputs: list[TensorId] = []
    for spec in definition.inputs:
        key = spec.group or spec.name
        dtype = groups.get(key) or _type(spec.allowed, set(groups.values()), order)
        groups[key] = dtype
        several = _LISTS.get(definition.type, (dtype,) * (2 if spec.kind == "list" else 1))
        for number, dtype in enumerate(several):
            name = f"{spec.name}_{number}"
            kind = dtype.ref if spec.kind == "ref" and dtype not in (dtypes.resource, dtypes.variant) else dtype
            sources[name] = Node(name, "VariableV2" if kind.is_ref else "Placeholder", dtypes=(kind,), shapes=(None,))
            inputs.append(TensorId(name, 0))
    attrs = {
        a.name: _TEXTS.get(a.name, _VALUES.get(a.kind)) if a.default is REQUIRED else a.default
        for a in definition.attrs
    }
    if "N" in attrs:
        attrs["N"] = len(inputs)
    types = [sources[e.node].dtypes[0] for e in inputs]
    results = definition.dtype_rule(Inference(definition, attrs, types, [None] * len(types), lambda _: None))
    node = Node("node", definition.type, tuple(inputs), attrs=attrs, dtypes=results, shapes=(None,) * len(results))
    return {**sources, "node": node}, node
