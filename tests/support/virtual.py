"""The event loop on virtual time, for tests of one program: seconds cost nothing, and their number is exact."""

from __future__ import annotations

from actorflow.testing.loop import VirtualLoop, run

__all__ = ["VirtualLoop", "run"]
