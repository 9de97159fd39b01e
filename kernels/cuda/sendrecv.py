"""Send and Recv on a GPU: copies between host memory, this GPU and others, before and after the rendezvous."""

from __future__ import annotations

from typing import Any

from actorflow.device.base import as_asynchronous
from actorflow.device.sharing import as_sharing
from actorflow.graph.device_spec import DeviceSpec
from actorflow.registry.kernel import kernel
from actorflow.registry.traits import HANDS_ON
from actorflow.runtime.context import KernelContext, StepHandle
from actorflow.runtime.tokens import DEAD
from actorflow.transport.base import Callback

from .choices import GPU


@kernel("_Send", device=GPU, gpu=HANDS_ON)
def send(
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
    """Hands a token over when it is in host memory. Another GPU gets it as it is and copies it itself: one of this process, and
    one of another process of the host where that can read this GPU's memory."""
    token, meet, device = (data[0] if data else None), step.rendezvous, as_asynchronous(ctx.device)
    if device is None or token is DEAD or token is None:
        meet.send(key, token, iteration_tag, lossy=lossy)
        done(None, None)
        return
    if DeviceSpec.parse(recv_device).kind == GPU and getattr(meet, "is_local", False) and not lossy:
        meet.send(key, device.lend(token), iteration_tag)
        done(None, None)
        return
    border, sharing = getattr(meet, "border", _none)(key), as_sharing(device)
    if border is not None and sharing is not None and not lossy and (device.name, recv_device) in border.outward:
        shared = sharing.share(token, border)
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


@kernel("_Recv", device=GPU, gpu=HANDS_ON)
def recv(
    xp: Any, *, key: str, step: StepHandle, ctx: KernelContext, done: Callback, iteration_tag: bytes = b""
) -> None:
    """The token, on its way to the GPU where it is large."""
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
