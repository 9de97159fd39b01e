"""erf and what is made of it, x times a sigmoid, and rows that are normalized, with gradients. Results may differ from the Python
kernels' in the last bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import num_elements

from ..math import special
from ..nn import fused
from .library import function


def _of(name: str, base: Any) -> Any:
    return function(name, lambda x, out=None: base(np, x, out=out))


_erf = _of("erf", special.erf)
_gelu = _of("gelu", fused.gelu)
_gelu_tanh = _of("gelu_tanh", fused.gelu_tanh)
_swish = _of("swish", fused.swish)


def _python(x: Any, scale: Any, offset: Any, epsilon: float, out: Any = None) -> Any:
    if offset is None:
        return fused.rms_norm(np, x, scale, epsilon=epsilon, out=out)
    return fused.layer_norm(np, x, scale, offset, epsilon=epsilon, out=out)


_standardized = function("standardized", _python)
_layer_norm_grad = function(
    "layer_norm_grad",
    lambda dy, x, scale, epsilon, out=None: fused.layer_norm_grad(np, dy, x, scale, epsilon=epsilon, out=out),
)
_layer_norm_scale_grad = function(
    "layer_norm_scale_grad", lambda dy, x, epsilon: fused.layer_norm_scale_grad(np, dy, x, epsilon=epsilon)
)


def _some(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) > 1


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "dtypes": frozenset((dtypes.float32,)),
    "library": "native",
    "pays": _some,
}


@kernel("Erf", **_OPTIONS)
def erf(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _erf(x, out)


@kernel("_Gelu", **_OPTIONS)
def gelu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _gelu(x, out)


@kernel("_GeluTanh", **_OPTIONS)
def gelu_tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _gelu_tanh(x, out)


@kernel("_Swish", **_OPTIONS)
def swish(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _swish(x, out)


@kernel("_LayerNorm", **_OPTIONS)
def layer_norm(xp: Any, x: Any, scale: Any, offset: Any, *, epsilon: float, out: Any = None) -> Any:
    return _standardized(x, scale, offset, float(epsilon), out)


@kernel("_LayerNormGrad", **_OPTIONS)
def layer_norm_grad(xp: Any, dy: Any, x: Any, scale: Any, *, epsilon: float, out: Any = None) -> Any:
    return _layer_norm_grad(dy, x, scale, float(epsilon), out)


@kernel("_LayerNormScaleGrad", **_OPTIONS)
def layer_norm_scale_grad(xp: Any, dy: Any, x: Any, *, epsilon: float) -> Any:
    return _layer_norm_scale_grad(dy, x, float(epsilon))


@kernel("_RmsNorm", **_OPTIONS)
def rms_norm(xp: Any, x: Any, scale: Any, *, epsilon: float, out: Any = None) -> Any:
    return _standardized(x, scale, None, float(epsilon), out)
