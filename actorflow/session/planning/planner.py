"""From signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary.

A large graph is planned on a thread of its own, so that the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from actorflow import machine
from actorflow.analysis import cooperative as pace
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.passes.compile import Options, Signature, divide
from actorflow.passes.inline import inline
from actorflow.placement.feasible import Candidate
from actorflow.placement.measuring import NodeMeasurement
from actorflow.placement.placer import Placer
from actorflow.session.planning.builder import PlanBuilder

P = TypeVar("P")
T = TypeVar("T")
LARGE_GRAPH = 30
"""The number of nodes from which on a plan is made on a thread."""


@dataclass(frozen=True, slots=True)
class Divided:
    """A signature's subgraphs by device. `places` says, for each fetch in order, which of them gives it, and as which fetch of
    its own."""

    signature: Signature
    options: Options
    parts: Mapping[str, Subgraph]
    places: tuple[tuple[int, int], ...]


class Planner(Generic[P]):
    """Places the nodes of one session on `devices`, divides signatures over them, and keeps the plans that `make` makes of that:
    compiled ones where the devices are of this process, shares of tasks at a master. Placement is sticky: a node keeps the device
    that it first got, until `forget`.

    Args:
        folding: runs the kernels of constants that are folded.
        make: is called on the thread that plans, for one signature at a time.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[Candidate],
        folding: PlanBuilder,
        options: Options,
        make: Callable[[Divided], P],
    ) -> None:
        self.made = 0
        """The number of plans that were made."""
        self.placer = Placer(devices, soft=options.soft_placement)
        self.options = options
        self._graph = graph
        self._first = devices[0].name
        self._folding = folding
        self._make = make
        self._lock = threading.Lock()
        self._plans: dict[Any, P] = {}

    def plans(self) -> list[P]:
        """The plans that are kept. Safe on any thread."""
        with self._lock:
            return list(self._plans.values())

    def forget(self, found: Iterable[NodeMeasurement]) -> None:
        """Lets go of all plans; the next ones are placed by what runs have shown. See `Placer.forget`."""
        with self._lock:
            self.placer.forget(found)
            self._plans.clear()

    async def plan(self, signature: Signature, *, coalesce: bool = True, ordered: bool = False) -> P:
        """The plan for `signature`, made now where there is none. Callers that ask for one being made wait for it. A plan for the
        same feeds and targets in another order serves as well, unless they are `ordered`."""
        key = (signature.key, coalesce, (*signature.feeds, *signature.targets) if ordered else None)
        found = self._plans.get(key)
        if found is not None:
            return found
        options = self.options if coalesce else replace(self.options, coalesce=False, fuse=False)
        if len(self._graph) <= LARGE_GRAPH:
            return self._planned(key, signature, options, self._graph.nodes)
        nodes = dict(self._graph.nodes)
        return await on_thread(lambda: self._planned(key, signature, options, nodes))

    def _planned(self, key: Any, signature: Signature, options: Options, nodes: Mapping[str, Node]) -> P:
        with self._lock:  # held for long by planning threads only, which a graph has once it is large
            found = self._plans.get(key)
            if found is not None:
                return found
            nodes, fetches = inline(nodes, signature.fetches, signature.feeds)
            signature = replace(signature, fetches=fetches)
            if not self._folding.saves_memory(options):
                signature = replace(signature, sizes={})
            refused = self.placer.place(nodes)
            parts, places = divide(
                nodes, self.placer.placed, signature, options, self._folding.evaluate, self._first, refused
            )
            made = self._plans[key] = self._make(Divided(signature, options, parts, places))
            self.made += 1
            return made


async def on_thread(work: Callable[[], T]) -> T:
    """Runs `work` on a new thread. When the caller is cancelled the thread ends by itself, and its result is dropped."""
    if not machine.current().is_real:
        return work()
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def finish(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        pace.activate()
        result: T | None = None
        failure: BaseException | None = None
        try:
            with pace.collector.paused():
                result = context.run(work)
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(finish, result, failure)
        except RuntimeError:
            pass  # the loop is closed: no caller waits any more

    thread = threading.Thread(target=run, name="actorflow planner", daemon=True)
    thread.start()
    return await future
