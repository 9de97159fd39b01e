"""Runs with compiled loops beside runs without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import actorflow as af
from actorflow.engine.runtime.codegen import jit
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.runtime.codegen.region import Region


def regions(session: af.Session) -> list[Region]:
    plans = [plan for compiled in session._engine.planner._plans.values() for plan in compiled.plans]
    return [node.region for plan in plans for node in plan.nodes if node.region is not None]


def loops(session: af.Session) -> int:
    return sum(region.loops for region in regions(session))


def assert_same(given: Any, wanted: Any) -> None:
    given, wanted = np.asarray(given), np.asarray(wanted)
    assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
    if given.dtype.kind == "f":
        nan = np.isnan(given)
        np.testing.assert_array_equal(nan, np.isnan(wanted))
        given, wanted = np.where(nan, 0, given), np.where(nan, 0, wanted)
    if given.tobytes() != wanted.tobytes():
        at = np.flatnonzero(given.ravel().view(f"V{given.itemsize}") != wanted.ravel().view(f"V{given.itemsize}"))
        pytest.fail(f"{at.size} of {given.size} differ, such as {given.ravel()[at[:4]]} from {wanted.ravel()[at[:4]]}")


async def run_hot(session: af.Session, fetches: Any, feeds: Any = None) -> Any:
    """The results of a run when the loops of its regions are there."""
    for _ in range(jit.RUNS):
        await session.run(fetches, feeds)
    assert background.wait(PATIENCE)
    return await session.run(fetches, feeds)


async def both_ways(graph: af.Graph, fetches: list[Any], feeds: dict[Any, Any]) -> int:
    """Checks that a run with loops gives what one without gives; the number of loops."""
    async with af.Session(graph=graph) as session, af.Session(graph=graph, options=af.PlanOptions(jit=False)) as plain:
        given, wanted = await run_hot(session, fetches, feeds), await plain.run(fetches, feeds)
        for one, other in zip(given, wanted, strict=True):
            assert_same(one, other)
        assert loops(plain) == 0
        return loops(session)
