"""`Pass` and `run_passes`: a pipeline is a tuple of passes, and one driver runs, times and tells them all.

`compile.py` has the tuples. To see what each pass makes of a graph:

    with watched(print):  # fold: 120 -> 88 nodes in 0.41 ms
        await session.warmup(fetches)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from actorflow.graph.analysis.subgraph import Subgraph

Graphs = TypeVar("Graphs", Subgraph, dict[str, Subgraph])
Context = TypeVar("Context")


def always(context: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Pass(Generic[Graphs, Context]):
    """One rewrite of a pipeline.

    name: that of the function that does it.
    run: makes the new graph, or the new parts of devices, and leaves the old as it is.
    wanted: whether this pipeline runs it; the context has the options.
    """

    name: str
    run: Callable[[Graphs, Context], Graphs]
    wanted: Callable[[Context], bool] = always


@dataclass(frozen=True, slots=True)
class PassReport:
    """The report of a pass: its name, the graphs before and after by device ("" before the division), and the seconds it took."""

    name: str
    before: Mapping[str, Subgraph]
    after: Mapping[str, Subgraph]
    seconds: float

    def __str__(self) -> str:
        return f"{self.name}: {_size(self.before)} -> {_size(self.after)} nodes in {self.seconds * 1e3:.2f} ms"


Watch: TypeAlias = Callable[[PassReport], object]
_watching: list[Watch] = []


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """A block in which `watch` is called after each pass of each plan that this process makes, on the thread that makes it.

    Args:
        watch: takes the report. An error that it raises ends the planning.
    """
    _watching.append(watch)
    try:
        yield
    finally:
        _watching.remove(watch)


def run_passes(passes: Sequence[Pass[Graphs, Context]], graphs: Graphs, context: Context) -> Graphs:
    """The graphs that `passes` make of `graphs`, in sequence.

    Args:
        passes: the pipeline.
        graphs: a graph, or the parts of devices.
        context: what the passes ask besides.

    Raises:
        OpError, ValueError: what a pass raises.
    """
    for step in passes:
        if step.wanted(context):
            begun = time.perf_counter() if _watching else 0.0
            rewritten = step.run(graphs, context)
            for watch in tuple(_watching):
                watch(PassReport(step.name, _parts(graphs), _parts(rewritten), time.perf_counter() - begun))
            graphs = rewritten
    return graphs


def validate(report: PassReport) -> None:
    """Checks what holds after every pass; tests watch with it.

    Raises:
        AssertionError: a node is not kept by its own name, uses what is not there, or comes before what it waits for.
    """
    for device, graph in report.after.items():
        where = f"after {report.name} on {device}" if device else f"after {report.name}"
        seen: set[str] = set()
        for name, node in graph.nodes.items():
            assert name == node.name, f"{where}: {node.name} is kept as {name}"
            for tensor_id in node.inputs:
                source = graph.nodes.get(tensor_id.node)
                assert tensor_id in graph.feeds or source is not None, (
                    f"{where}: {name} takes {tensor_id}, which nothing makes"
                )
            for needed in graph.predecessors(node):
                assert needed in seen, f"{where}: {name} comes before {needed}"
            seen.add(name)
        for tensor_id in graph.fetches:
            assert tensor_id in graph.feeds or tensor_id.node in seen, (
                f"{where}: {tensor_id} is fetched, and nothing makes it"
            )
        for target in graph.targets:
            assert target in seen, f"{where}: {target} is a target, and is not there"


def _parts(graphs: Subgraph | dict[str, Subgraph]) -> Mapping[str, Subgraph]:
    return {"": graphs} if isinstance(graphs, Subgraph) else graphs


def _size(graphs: Mapping[str, Subgraph]) -> int:
    return sum(len(graph.nodes) for graph in graphs.values())
