"""Kernels of Send and Recv: both meet at the step's rendezvous, which decides how the token travels."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.runtime.context import StepHandle


@kernel("_Send")
def send(xp: Any, data: Any, *, key: str, step: StepHandle) -> None:
    step.rendezvous.send(key, data[0] if data else None)


@kernel("_Recv", aborts_itself=True)
async def recv(xp: Any, *, key: str, step: StepHandle) -> Any:
    return await step.rendezvous.recv(key)
