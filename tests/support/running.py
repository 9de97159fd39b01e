"""The runners of the graphs of tests: the oracle, and the session. Both keep variables between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from interpreter import Interpreter

from actorflow import blocking
from actorflow.graph.graph import Graph

Run = Callable[..., Any]


@pytest.fixture(params=["interpreter", "session"])
def start(request: pytest.FixtureRequest) -> Iterator[Callable[[Graph], Run]]:
    """`run = start(graph)`, then `run(fetches, feeds)`: fetches is one element of the graph or a list of them."""
    sessions: list[Any] = []

    def open_one(graph: Graph) -> Run:
        if request.param == "session":
            session = blocking.Session(graph=graph)
            sessions.append(session)
            return session.run
        return interpreted(graph)

    yield open_one
    for session in sessions:
        session.close()


def interpreted(graph: Graph) -> Run:
    """`run` by the oracle."""
    oracle = Interpreter(graph)

    def run(fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        several = isinstance(fetches, (list, tuple))
        wanted = [graph.as_graph_element(f) for f in (fetches if several else [fetches])]
        values = oracle.run(wanted, {graph.as_graph_element(k): v for k, v in (feeds or {}).items()})
        return values if several else values[0]

    return run
