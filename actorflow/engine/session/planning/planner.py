"""From signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary.

A large graph is planned on a thread of its own, so that the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from anyio.lowlevel import RunVar

from actorflow.base.process import machine
from actorflow.base.process.lanes import Lane
from actorflow.engine.passes.compile import RunSignature, divide
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.choose import Posed
from actorflow.engine.placement.feasible import Candidate
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.placer import Placer
from actorflow.engine.placement.search.apart import search_apart
from actorflow.engine.placement.search.problem import SearchProblem, SearchResult
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.search.searched import Searched
from actorflow.engine.placement.simulation.link_costs import LinkCosts
from actorflow.engine.session.planning.builder import PlanBuilder
from actorflow.graph.analysis import cooperative as pace
from actorflow.graph.analysis.inline import inline
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node

P = TypeVar("P")
T = TypeVar("T")
LARGE_GRAPH = 30
"""The number of nodes from which on a plan is made on a thread."""
MOST_AT_ONCE = 16
"""The number of threads that plan for the sessions of an event loop. They share the interpreter."""

KEPT = "It is not faster than the one in force, which was kept."
ON_TRIAL = "Steps run by it and by the former one in turns, until one of them is seen to be faster."
NO_CHOICE = "No node has a choice of its device."
NO_STEP = "There is no step to look at yet: run one first, or call await session.warmup(fetches)."
_LEAST_GAIN = 0.005
"""A placement that is expected to be faster by less is not worth a trial."""


@dataclass(frozen=True, slots=True)
class SearchReport:
    """A search for a placement, as `Session.replan` tells of it. Times are simulated seconds of a step.

    Args:
        present: of the placement in force.
        found: of the best placement of the search.
        bound: no placement takes less.
        trials: the number of simulated steps.
        exhaustive: whether these were all placements.
        better: whether the best placement goes on trial.
        text: what became of it so far.
    """

    present: float
    found: float
    bound: float
    trials: int
    seed: int
    exhaustive: bool
    better: bool
    text: str


@dataclass(frozen=True, slots=True)
class Divided:
    """A signature's subgraphs by device. `places` says, for each fetch in order, which of them gives it, and as which fetch of
    its own."""

    signature: RunSignature
    options: PlanOptions
    parts: Mapping[str, Subgraph]
    places: tuple[tuple[int, int], ...]


class Planner(Generic[P]):
    """Places the nodes of one session on `devices`, divides signatures over them, and keeps the plans that `make` makes of
    that. They are compiled if the devices are of this process, and shares of tasks at a master. Placement is sticky: a node
    keeps the device that it first got, until `forget`.

    Args:
        folding: runs the kernels of constants that are folded.
        make: is called on the thread that plans, for one signature at a time.
    """

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[Candidate],
        folding: PlanBuilder,
        options: PlanOptions,
        make: Callable[[Divided], P],
    ) -> None:
        self.made = 0
        """The number of plans that were made."""
        self.placer = Placer(devices, soft=options.soft_placement)
        self.options = options
        self.graph = graph
        self._first = devices[0].name
        self._folding = folding
        self._make = make
        self._lock = threading.Lock()
        self._turn = asyncio.Lock()
        """Plans are made in turn: a thread for each waiting plan would do nothing else."""
        self._devices = devices
        self._plans: dict[Any, P] = {}
        self._signatures: dict[Any, RunSignature] = {}
        self._candidate: Planner[P] | None = None
        """Plans by the placement that is on trial."""

    def plans(self) -> list[P]:
        """The plans that are kept. Safe on any thread, and never waits for a plan that is being made."""
        return list(self._plans.values())

    def forget(self, measurements: Iterable[NodeMeasurement]) -> None:
        """Lets go of all plans; later plans are placed by the measurements of runs. See `Placer.forget`."""
        with self._lock:
            self.placer.forget(measurements)
            self._plans.clear()
            self._candidate = None

    @property
    def devices(self) -> Sequence[Candidate]:
        """The devices on which it places nodes."""
        return self._devices

    async def use(self, devices: Sequence[Candidate]) -> AbstractSet[str]:
        """Places nodes on these devices from now on, and lets go of all plans. The result has the names of the nodes that are
        placed again; see `Placer.use`."""

        def change() -> AbstractSet[str]:
            with self._lock:
                self._devices = list(devices)
                placed_again = self.placer.use(self._devices)
                self._plans.clear()
                self._candidate = None
            return placed_again

        return await on_thread(change)

    async def move(self, devices: Mapping[str, str]) -> AbstractSet[str]:
        """Gives nodes other devices, and lets go of all plans; see `Placer.move`."""

        def change() -> AbstractSet[str]:
            with self._lock:
                moved = self.placer.move(devices, self.graph.nodes)
                if moved:
                    self._plans.clear()
                    self._candidate = None
            return moved

        return await on_thread(change)

    def learn(self, learned: Sequence[NodeMeasurement], links: LinkCosts | None) -> None:
        """Takes costs that other runs have taught; see `Placer.learn`."""
        with self._lock:
            self.placer.learn(learned, links)

    async def posed(self, measurements: Sequence[NodeMeasurement]) -> SearchProblem | None:
        """The question to a search, with the placement in force; None where nothing is placed yet."""

        def pose() -> SearchProblem | None:
            with self._lock:
                problem = self.placer.pose(measurements).problem
            return problem if problem is not None and problem.work.names else None

        return await on_thread(pose)

    async def search(
        self, measurements: Sequence[NodeMeasurement], seconds: float, seed: int, trials: int | None = None
    ) -> SearchReport:
        """Looks for a better placement by what runs have shown. A placement that is expected to be faster is kept for `plan`
        with `trial`, until `settle`. See `actorflow.engine.placement.search`.

        Raises:
            ResourceExhaustedError: no placement that it tries fits into the devices' memory.
        """
        stop = threading.Event()

        def look() -> tuple[Posed, SearchResult | None]:
            with self._lock:
                problem_request = self.placer.pose(measurements)
            if problem_request.problem is None or not problem_request.problem.free:
                return problem_request, None
            if trials is not None:
                return problem_request, search(problem_request.problem, trials=trials, seed=seed, stop=stop.is_set)
            return problem_request, search_apart(problem_request.problem, seconds, seed=seed, stop=stop)

        try:
            search_request, result = await on_thread(look)
        finally:
            stop.set()
        self._candidate = None
        if result is None or search_request.problem is None:
            return SearchReport(0.0, 0.0, 0.0, 0, seed, False, False, NO_CHOICE if self.placer.placed else NO_STEP)
        present = result.seconds if result.present is None else result.present
        better = result.seconds < present * (1 - _LEAST_GAIN)
        searched = self.placer.searched = Searched(search_request.problem, search_request.numbers, result, KEPT)
        if better:
            searched.verdict = ON_TRIAL
            self._candidate = self._like(self.placer.moved(search_request, result))
            self._candidate.placer.searched = searched
        return SearchReport(
            present, result.seconds, result.bound, result.trials, seed, result.exhaustive, better, searched.verdict
        )

    def _like(self, placer: Placer) -> Planner[P]:
        planner = Planner(self.graph, self._devices, self._folding, self.options, self._make)
        planner.placer = placer
        return planner

    def settle(self, adopt: bool, verdict: str) -> bool:
        """Ends the trial of the placement that the last search has found: from now on it is in force, or forgotten. Gives
        whether it was there, and is in force."""
        with self._lock:
            candidate, self._candidate = self._candidate, None
            if self.placer.searched is not None:
                self.placer.searched.verdict = verdict
            if candidate is None or not adopt:
                return False
            self.placer, self._plans = candidate.placer, candidate._plans
            self.made += candidate.made
            return True

    def asked(self, plan: P) -> tuple[RunSignature, bool] | None:
        """The signature of a plan that is kept, and whether it is coalesced."""
        with self._lock:
            for key, kept in self._plans.items():
                if kept is plan:
                    return self._signatures[key], key[1]
        return None

    async def plan(
        self, signature: RunSignature, *, coalesce: bool = True, ordered: bool = False, trial: bool = False
    ) -> P:
        """The plan for `signature`, which is made at its first use. Callers that ask for a plan in the making wait for it. A
        plan for the same feeds and targets in another order serves as well, unless they are `ordered`. With `trial` it is
        placed as the last search has found, where that is on trial."""
        if trial and self._candidate is not None:
            return await self._candidate.plan(signature, coalesce=coalesce, ordered=ordered)
        key = (signature.key, coalesce, (*signature.feeds, *signature.targets) if ordered else None)
        plan = self._plans.get(key)
        if plan is not None:
            return plan
        options = self.options if coalesce else replace(self.options, coalesce=False, fuse=False)
        if len(self.graph) <= LARGE_GRAPH:
            return self._planned(key, signature, options, self.graph.nodes)
        async with self._turn:
            plan = self._plans.get(key)
            if plan is not None:
                return plan
            nodes = dict(self.graph.nodes)
            return await on_thread(lambda: self._planned(key, signature, options, nodes))

    def _planned(self, key: Any, signature: RunSignature, options: PlanOptions, nodes: Mapping[str, Node]) -> P:
        with self._lock:  # held for long by planning threads only, even after their caller was cancelled
            plan = self._plans.get(key)
            if plan is not None:
                return plan
            self._signatures[key] = signature
            nodes, fetches = inline(nodes, signature.fetches, signature.feeds)
            signature = replace(signature, fetches=fetches)
            if not self._folding.saves_memory(options):
                signature = replace(signature, sizes={})
            refused = self.placer.place(nodes)
            parts, places = divide(
                nodes, self.placer.placed, signature, options, self._folding.evaluate, self._first, refused
            )
            new = self._plans[key] = self._make(Divided(signature, options, self.placer.ranked(parts), places))
            self.made += 1
            return new


_lanes: RunVar[Lane] = RunVar("actorflow_planning")


async def on_thread(work: Callable[[], T]) -> T:
    """Runs `work` on a thread, at most `MOST_AT_ONCE` of an event loop at a time. When the caller is cancelled the thread goes
    on, and its result is dropped."""
    if not machine.current().is_real:
        return work()
    try:
        lane = _lanes.get()
    except LookupError:
        lane = Lane(MOST_AT_ONCE)
        _lanes.set(lane)
    return await lane.run(_plan, work)


def _plan(work: Callable[[], T]) -> T:
    with pace.planning(), pace.collector.paused():
        return work()
