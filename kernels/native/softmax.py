"""Softmax along one dimension and its gradient, the cross entropy of labels that are numbers of classes, and attention.

Results have numpy's bits for fewer than 1024 elements, and cross entropies for up to 64 classes too. Others may differ in the
last bits. Attention takes queries, keys and values as they lie, whatever order their elements have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import num_elements
from actorflow.engine.runtime.state.variable_state import VariableState

from ..nn import activation as nn
from ..nn import fused
from ..state import paged
from .elementwise import FLOATS
from .library import function

_softmax = function("softmax", lambda logits, out=None, axis=-1: nn.softmax(np, logits, axis=axis, out=out))
_cross_entropy = function("cross_entropy", lambda logits, labels: nn.sparse_softmax_cross_entropy(np, logits, labels))


_softmax_grad = function(
    "softmax_grad", lambda dy, y, scale, out=None: fused.softmax_grad(np, dy, y, scale=scale, out=out)
)


def _attention_in_python(query: Any, key: Any, value: Any, bias: Any, scale: float, turned: bool) -> Any:
    return fused.attention(np, query, key, value, [] if bias is None else [bias], scale=scale, turned=turned)


_attention = function("attention", _attention_in_python)
_paged = function("paged_attention", paged.attend)
_rotary = function("rotary", lambda x, cosines, sines: fused.rotary(np, x, cosines, sines))


def _ranked(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0


def _some(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) > 1


def _matrix(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 2


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": FLOATS, "library": "native", "pays": _some}


@kernel("Softmax", can=_ranked, **_OPTIONS)
def softmax(xp: Any, logits: Any, *, axis: int, out: Any = None) -> Any:
    return _softmax(logits, out, axis)


@kernel("SparseSoftmaxCrossEntropyWithLogits", can=_matrix, **_OPTIONS)
def sparse_softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    return _cross_entropy(logits, labels)


@kernel("_SoftmaxGrad", **{**_OPTIONS, "dtypes": frozenset((dtypes.float32,))})
def softmax_grad(xp: Any, dy: Any, y: Any, *, scale: float, out: Any = None) -> Any:
    return _softmax_grad(dy, y, float(scale), out)


@kernel("_Attention", device="CPU", dtypes=frozenset((dtypes.float32,)), library="native")
def attention(xp: Any, query: Any, key: Any, value: Any, bias: Any, *, scale: float, turned: bool) -> Any:
    return _attention(query, key, value, sum(bias[1:], bias[0]) if bias else None, scale, turned)


@kernel("_Rotary", device="CPU", dtypes=frozenset((dtypes.float32,)), library="native")
def rotary(xp: Any, x: Any, cosines: Any, sines: Any) -> Any:
    return _rotary(x, cosines, sines)


@kernel("PagedAttention", device="CPU", dtypes=frozenset((dtypes.float32,)), library="native")
def paged_attention(
    xp: Any, keys: VariableState, values: VariableState, *inputs: Any, block_size: int, scale: float
) -> Any:
    rows = [
        np.ascontiguousarray(array) for array in inputs[:3]
    ]  # as they lie in one product for all heads, they are short
    return _paged(keys.writable(), values.writable(), *rows, *inputs[3:], block_size, float(scale))
