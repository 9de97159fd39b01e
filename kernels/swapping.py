"""Kernels of swapping: a device with memory of its own copies by its own means; for others the host's memory is theirs."""

from __future__ import annotations

from typing import Any

from actorflow.device.base import as_swapping
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext
from actorflow.transport.base import Callback


@kernel("_SwapOut")
def swap_out(xp: Any, value: Any, *, ctx: KernelContext, done: Callback) -> None:
    device = as_swapping(ctx.device)
    if device is None:
        done(value, None)
    else:
        device.swap_out(value, done)


@kernel("_SwapIn")
def swap_in(xp: Any, value: Any, *, ctx: KernelContext, done: Callback) -> None:
    device = as_swapping(ctx.device)
    if device is None:
        done(value, None)
    else:
        device.swap_in(value, done)
