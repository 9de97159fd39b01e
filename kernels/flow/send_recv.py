"""Kernels of Send and Recv, which meet at the step's rendezvous, and of copies to the host's memory and back.

A device with memory of its own copies between that and the host's, before and after the rendezvous: `copying` registers the
kernels for its type.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import HANDS_ON, LAUNCHED
from actorflow.engine.device.base import as_asynchronous, as_swapping
from actorflow.engine.device.sharing import as_sharing
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import Callback
from actorflow.graph.device_spec import DeviceSpec


@kernel("_Send")
def send(xp: Any, data: Any, *, key: str, lossy: bool, step: StepHandle, iteration_tag: bytes = b"") -> None:
    step.rendezvous.send(key, data[0] if data else None, iteration_tag, lossy=lossy)


@kernel("_Recv")
def recv(xp: Any, *, key: str, step: StepHandle, iteration_tag: bytes = b"", done: Callback) -> None:
    step.rendezvous.expect(key, iteration_tag, done)


# ---- devices with memory of their own


def copying(device: str) -> None:
    """Registers Send and Recv for a type of device whose kernels are only launched."""
    kernel("_Send", device=device, gpu=HANDS_ON)(_send_from_device)
    kernel("_Recv", device=device, gpu=HANDS_ON)(_recv_to_device)


def _send_from_device(
    xp: Any,
    data: Any,
    *,
    key: str,
    lossy: bool,
    recv_device: str,
    step: StepHandle,
    ctx: KernelContext,
    done: Callback,
    iteration_tag: bytes = b"",
) -> None:
    """Hands a token over when it is in host memory. Another device of the type gets it as it is and copies it itself: a device
    of this process, or of another process of the host that can read this device's memory."""
    token, meet, device = (data[0] if data else None), step.rendezvous, as_asynchronous(ctx.device)
    if device is None or token is DEAD or token is None:
        meet.send(key, token, iteration_tag, lossy=lossy)
        done(None, None)
        return
    if DeviceSpec.parse(recv_device).kind == ctx.device.type and getattr(meet, "is_local", False) and not lossy:
        meet.send(key, device.lend(token), iteration_tag)
        done(None, None)
        return
    peer_memory, sharing = getattr(meet, "peer_memory", _none)(key), as_sharing(device)
    if (
        peer_memory is not None
        and sharing is not None
        and not lossy
        and (device.name, recv_device) in peer_memory.outward
    ):
        shared = sharing.share(token, peer_memory)
        if shared is not None:
            meet.send(key, shared, iteration_tag)
            done(None, None)
            return

    def arrived(value: Any, error: BaseException | None) -> None:
        if error is None:
            try:
                meet.send(key, value, iteration_tag, lossy=lossy)
            except Exception as refused:
                error = refused
        done(None, error)

    device.take(token, arrived)


def _recv_to_device(
    xp: Any, *, key: str, step: StepHandle, ctx: KernelContext, done: Callback, iteration_tag: bytes = b""
) -> None:
    """The token; a large token is on its way to the device."""
    device = as_asynchronous(ctx.device)

    def come(token: Any, error: BaseException | None) -> None:
        if device is not None and error is None and token is not DEAD:
            try:
                token = device.bring(token)
            except Exception as failed:
                token, error = None, failed
        done(token, error)

    step.rendezvous.expect(key, iteration_tag, come)


def _none(key: str) -> None:
    """A step of one process has no edge to another."""


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
