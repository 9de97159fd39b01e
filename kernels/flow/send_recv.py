"""Kernels of Send and Recv, which meet at the step's rendezvous, and of copies to the host's memory and back."""

from __future__ import annotations

from typing import Any

from actorflow.device.base import as_swapping
from actorflow.registry.kernel import kernel
from actorflow.registry.traits import LAUNCHED
from actorflow.runtime.context import KernelContext, StepHandle
from actorflow.transport.base import Callback


@kernel("_Send")
def send(xp: Any, data: Any, *, key: str, lossy: bool, step: StepHandle, iteration_tag: bytes = b"") -> None:
    step.rendezvous.send(key, data[0] if data else None, iteration_tag, lossy=lossy)


@kernel("_Recv")
def recv(xp: Any, *, key: str, step: StepHandle, iteration_tag: bytes = b"", done: Callback) -> None:
    step.rendezvous.expect(key, iteration_tag, done)


# ---- Kernels of swapping: a device with memory of its own copies by its own means; for others the host's memory is theirs.


@kernel("_SwapOut", gpu=LAUNCHED)
def swap_out(xp: Any, value: Any, *, ctx: KernelContext, done: Callback) -> None:
    device = as_swapping(ctx.device)
    if device is None:
        done(value, None)
    else:
        device.swap_out(value, done)


@kernel("_SwapIn", gpu=LAUNCHED)
def swap_in(xp: Any, value: Any, *, ctx: KernelContext, done: Callback) -> None:
    device = as_swapping(ctx.device)
    if device is None:
        done(value, None)
    else:
        device.swap_in(value, done)
