"""Lists of tensors: what actorflow does to a list in one node, and TensorFlow in several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from actorflow.base.dtypes import DType, int32, int64, variant
from actorflow.graph.graphdef.rewrites.builder import ExpansionBuilder


def _element(b: ExpansionBuilder, name: str, handle: str, index: str, op: str, dtype: DType) -> str:
    """An element or several, of whatever shape they have."""
    shape = b.constant("shape", -1)
    return b.add(name, op, [handle, index, shape], element_dtype=dtype)


def _add(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    b.add("", "AddN", b.inputs, T=variant, N=2)


def _zeros_like(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    b.add("", "ZerosLike", b.inputs, T=variant)


def _clear_item(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    (handle, index), dtype = b.inputs, b.node.attrs["element_dtype"]
    item = _element(b, "item", handle, index, "TensorListGetItem", dtype)
    zeros = b.add("zeros", "ZerosLike", [item], T=dtype)
    b.add("", "TensorListSetItem", [handle, index, zeros], element_dtype=dtype)


def _clear(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    (handle, indices), dtype = b.inputs, b.node.attrs["element_dtype"]
    rows = _element(b, "rows", handle, indices, "TensorListGather", dtype)
    zeros = b.add("zeros", "ZerosLike", [rows], T=dtype)
    b.add("", "TensorListScatterIntoExistingList", [handle, zeros, indices], element_dtype=dtype)


def _lengths(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    dtype = b.node.attrs["element_dtype"]
    joined = b.add("joined", "TensorListConcat", b.inputs, element_dtype=dtype)
    b.add("", "Identity", [f"{joined}:1"], T=int64)


def _scatter(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    handle, indices, rows = b.inputs
    dtype = types[2]
    if not b.node.attrs["adds"]:
        b.add("", "TensorListScatterIntoExistingList", [handle, rows, indices], element_dtype=dtype)
        return
    shape = b.constant("shape", -1)
    every = b.add("every", "TensorListStack", [handle, shape], element_dtype=dtype)
    places = b.add("places", "ExpandDims", [indices, b.constant("axis", 1)], T=int32, Tdim=int32)
    added = b.add("added", "TensorScatterAdd", [every, places, rows], T=dtype, Tindices=int32)
    b.add("", "TensorListFromTensor", [added, shape], element_dtype=dtype, shape_type=int32)


LISTS: Mapping[str, Callable[[ExpansionBuilder, Sequence[DType]], None]] = {
    "TensorListAdd": _add,
    "TensorListClear": _clear,
    "TensorListClearItem": _clear_item,
    "TensorListLengths": _lengths,
    "TensorListScatter": _scatter,
    "TensorListZerosLike": _zeros_like,
}
