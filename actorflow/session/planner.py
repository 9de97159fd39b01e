"""From signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from actorflow.device.base import Device
from actorflow.dtypes import DType
from actorflow.errors import OpError, UnimplementedError
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.passes import pace
from actorflow.passes.compile import Options, Signature, compile_subgraphs
from actorflow.passes.inline import inline
from actorflow.passes.pace import paced
from actorflow.passes.place import place
from actorflow.registry import kernel, opdef
from actorflow.runtime.context import KernelContext, NodeContexts
from actorflow.runtime.jit import find_compiler
from actorflow.runtime.launch import bind, kernel_of
from actorflow.runtime.plan import Plan, build_plan
from actorflow.runtime.resources import ResourceManager

T = TypeVar("T")
_LARGE_GRAPH = 30
"""From so many nodes on, a plan is made on a thread of its own, so that the event loop goes on meanwhile."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A signature's plans. `places` says, for each fetch in order, which part gives it and in which slot."""

    plans: tuple[Plan, ...]
    places: tuple[tuple[int, int], ...]
    executed: int


class Planner:
    """Makes and keeps the plans of one session. Placement is sticky: a node keeps the device that it first got."""

    def __init__(
        self, graph: Graph, devices: Sequence[Device], resources: Mapping[str, ResourceManager], options: Options
    ):
        self.compiled_plans = 0
        self.placements: dict[str, str] = {}
        self._graph = graph
        self._devices = {device.name: device for device in devices}
        self._resources = resources
        self._options = options
        self._lock = threading.Lock()
        self.contexts = NodeContexts()
        self._plans: dict[Any, Compiled] = {}

    async def plan(self, signature: Signature, *, coalesce: bool = True) -> Compiled:
        """The plan for `signature`, made now where there is none. Callers that ask for one being made wait for it."""
        key = (frozenset(signature.feeds), signature.fetches, frozenset(signature.targets), signature.partial, coalesce)
        found = self._plans.get(key)
        if found is not None:
            return found
        options = self._options if coalesce else replace(self._options, coalesce=False, fuse=False)
        if len(self._graph) <= _LARGE_GRAPH:
            return self._make(key, signature, options, self._graph.nodes)
        nodes = dict(self._graph.nodes)
        return await _on_thread(lambda: self._make(key, signature, options, nodes))

    def context_of(self, node: Node) -> KernelContext:
        """The kernel context of a node, the same for all plans of the session."""
        found = self.contexts.get(node.name)
        if found is None:
            device = self._devices[node.device]
            made = KernelContext(node, device, self._resources[device.name], nodes=self.contexts)
            found = self.contexts.setdefault(node.name, made)
            if self.contexts.restored:
                self.contexts.resume(node.name)
        return found

    def _make(self, key: Any, signature: Signature, options: Options, nodes: Mapping[str, Node]) -> Compiled:
        with self._lock:  # held for long by planning threads only, which a graph has once it is large
            found = self._plans.get(key)
            if found is not None:
                return found
            nodes, fetches = inline(nodes, signature.fetches, signature.feeds)
            signature = replace(signature, fetches=fetches)
            refused: dict[str, OpError] = {}
            if len(self.placements) != len(nodes):
                self.placements = place(nodes, list(self._devices.values()), self.placements, refused)
            without = frozenset(() if options.jit else ("jit",))
            parts, places = compile_subgraphs(
                nodes,
                self.placements,
                signature,
                options,
                self._evaluate,
                self._mergeable,
                next(iter(self._devices)),
                refused,
                partial(self._loopable, without),
            )
            plans = tuple(
                build_plan(part, self._devices[name], self.context_of, options.fold, without)
                for name, part in parts.items()
            )
            for plan in plans:
                for node in paced(plan.nodes):
                    if node.region is not None:
                        node.region.prepare()
            made = self._plans[key] = Compiled(plans, places, sum(plan.executed for plan in plans))
            self.compiled_plans += 1
            return made

    def _evaluate(self, node: Node, inputs: list[Any]) -> Any:
        """Runs a node's kernel now, for constant folding."""
        device = self._devices[node.device]
        entry = kernel_of(node, device, ())
        if entry.takes_context or entry.takes_step or entry.is_async:
            return None
        with np.errstate(all="ignore"):
            return bind(node, entry, device, self.context_of)(*inputs)

    def _loopable(self, without: frozenset[str], node: Node, dtypes: Sequence[DType]) -> bool:
        compiler = find_compiler(self._devices[node.device].type, without)
        return compiler is not None and compiler.accepts(node.op, dtypes)

    def _mergeable(self, node: Node) -> bool:
        definition = opdef.lookup(node.op)
        if definition.asynchronous or definition.fires_dead or definition.emits_dead:
            return False
        kind = self._devices[node.device].type
        if not node.dtypes and any(
            e.dtypes and e.device in (kind, kernel.ANY_DEVICE) for e in kernel.registered().get(node.op, ())
        ):
            return False  # only its inputs' types tell which kernel
        try:
            entry = kernel.lookup(node.op, kind, node.dtypes)
        except UnimplementedError:
            return False  # building the plan reports it
        return not (entry.is_async or entry.takes_step)


async def _on_thread(work: Callable[[], T]) -> T:
    """Runs `work` on a new thread. When the caller is cancelled the thread ends by itself, and its result is dropped."""
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
            pass  # the loop is closed: nobody waits any more

    thread = threading.Thread(target=run, name="actorflow planner", daemon=True)
    thread.start()
    return await future
