"""The event loop on virtual time, for tests of one program: seconds cost nothing, and their number is exact."""

from __future__ import annotations

from actorflow.testing.loop import VirtualLoop
from actorflow.testing.running import run

__all__ = ["VirtualLoop", "run"]
