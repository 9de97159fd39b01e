"""The simulated file system under the name that the tests of checkpoints know it by."""

from __future__ import annotations

from actorflow.testing.files import Crash
from actorflow.testing.files import SimulatedFiles as VolatileFiles

__all__ = ["Crash", "VolatileFiles"]
