"""Kernels of ops that hand tensors on."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.shapes import compatible, show

from .strings import moving_kernel


@moving_kernel("EnsureShape")
def ensure_shape(xp: Any, x: Any, *, shape: Any) -> Any:
    if not compatible(x.shape, shape):
        raise ValueError(f"ensure_shape: the shape is {x.shape}, but {show(shape)} was promised.")
    return x


@kernel("IdentityN")
def identity_n(xp: Any, values: Any) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


@moving_kernel("GuaranteeConst")
def guarantee_const(xp: Any, x: Any) -> Any:
    return x
