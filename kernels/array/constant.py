"""Kernels of constants, placeholders and tensors filled with one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import STRING, in_words
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, HANDS_ON, Gpu
from actorflow.base.shapes import show
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError, with_topic

from ..strings.objects import moving_kernel


@kernel("Const", gpu=HANDS_ON)
def const(xp: Any, *, value: Any) -> Any:
    return xp.asarray(value)


@kernel("Placeholder", gpu=HANDS_ON)
def placeholder(xp: Any, *, dtype: Any, shape: Any, ctx: KernelContext) -> Any:
    raise InvalidArgumentError(
        f"You must feed a value for placeholder tensor '{ctx.node.name}' with dtype {in_words(dtype)} and shape "
        f"{show(shape)}: the run does not feed it.",
        hint=with_topic("Add it to the feeds: session.run(fetches, {placeholder: value}).", "placeholder-not-fed"),
    )


# ---- Kernels of ops that make a tensor up from a shape or a rule.


@moving_kernel("PlaceholderWithDefault", gpu=HANDS_ON)
def placeholder_with_default(xp: Any, x: Any) -> Any:
    return x


@moving_kernel("Fill", gpu=Gpu(host=(0, 1), recorded=True))
def fill(xp: Any, dims: Any, value: Any, *, out: Any = None) -> Any:
    if dims.ndim != 1 or value.ndim:
        raise ValueError(f"fill takes a vector of sizes and a scalar, but got {dims.tolist()} and shape {value.shape}.")
    return xp.full(dims.tolist(), value, value.dtype) if out is None else filled(out, value)


def filled(out: Any, value: Any) -> Any:
    """`out` with `value` everywhere."""
    out[...] = value  # fill() would put an array of rank 0 itself into an array of objects
    return out


@kernel("ZerosLike", dtypes=STRING)
def empty_strings_like(xp: Any, x: Any) -> Any:
    return np.full(np.shape(x), b"", object)


@kernel("ZerosLike", gpu=ELEMENTWISE)
def zeros_like(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.zeros(x.shape, x.dtype) if out is None else filled(out, 0)


@kernel("OnesLike", gpu=ELEMENTWISE)
def ones_like(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.ones(x.shape, x.dtype) if out is None else filled(out, 1)


_FEW = 2000


_SHALLOW = 128


_WIDE = "ilq"  # characters of the signed types whose numbers no depth of one-hot vectors comes near
