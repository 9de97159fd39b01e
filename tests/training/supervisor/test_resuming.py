"""After a loss training goes on soon, in simulated clusters, which have nothing else to do: what is waited for beyond that is a
time limit, a pause or a retry that should not be there. `tests/chaos` measures the same with real processes."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator

import pytest
import structlog
from simulation.__main__ import quiet
from simulation.planning import shared_planning
from simulation.resuming import FAR, NEAR, resuming

SEED = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
FAULTS = 8
AIM, MOST = 3.0, 4.0
"""Virtual seconds from a fault, or its end, to the end of the next step: in the median, and of any."""
MOST_OF = {"partition": 6.0, "one-way partition": 6.0}
"""If two tasks answer and don't reach each other, tries come with pauses of four heartbeats."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Servers under faults have much to say."""
    quiet()
    yield
    structlog.reset_defaults()


@pytest.mark.real_memory
@pytest.mark.parametrize("kind", [*NEAR, *FAR])
def test_f65_training_goes_on_within_seconds_of_any_loss_and_of_many(kind: str) -> None:
    with shared_planning():
        took = resuming(kind, SEED, faults=FAULTS)
    assert len(took) == FAULTS
    assert max(took) < MOST_OF.get(kind, MOST) and statistics.median(took) < AIM, took
