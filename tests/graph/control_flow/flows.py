"""A session over the graph that a test builds, once with coalescing and once without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from patience import PATIENCE

import actorflow as af
from actorflow import blocking

Run: TypeAlias = "Callable[..., Any]"


@pytest.fixture(params=[True, False], ids=["coalesced", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """`run(fetches, feeds)`, of the default graph; variables keep their values between runs."""
    with (
        af.Graph().as_default() as graph,
        blocking.Session(graph=graph, options=af.PlanOptions(coalesce=request.param)) as session,
    ):
        yield lambda fetches, feeds=None, timeout=PATIENCE, trace=None: session.run(
            fetches, feeds, timeout=timeout, trace=trace
        )


def initialize(run: Run) -> None:
    run(af.global_variables_initializer())
