"""Kernels of Send and Recv: both meet at the step's rendezvous, which decides how the token travels."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.runtime.context import StepHandle
from actorflow.transport.base import Callback


@kernel("_Send")
def send(xp: Any, data: Any, *, key: str, lossy: bool, step: StepHandle, iteration_tag: bytes = b"") -> None:
    step.rendezvous.send(key, data[0] if data else None, iteration_tag, lossy=lossy)


@kernel("_Recv")
def recv(xp: Any, *, key: str, step: StepHandle, iteration_tag: bytes = b"", done: Callback) -> None:
    step.rendezvous.expect(key, iteration_tag, done)
