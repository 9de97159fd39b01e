"""The runtime against the sequential oracle, on random graphs: the same bits, whatever the order of the ready queue, the
passes, the number of devices, and where kernels run.

`ACTORFLOW_FUZZ` sets how many graphs a run takes (60), `ACTORFLOW_TEST_SEED` the first one's seed; a failure names the
seed of its graph, and `python -c "from random_graphs import random_graph; print(random_graph(SEED))"` shows it.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from engine.runtime.ready_queues import Lifo, Shuffled
from interpreter import Interpreter
from patience import PATIENCE
from random_graphs import RandomGraph, Request, random_graph

import actorflow as af
from actorflow.engine.runtime import actors, chain
from actorflow.engine.runtime.dispatcher import Dispatcher, ReadyQueue

GRAPHS = int(os.environ.get("ACTORFLOW_FUZZ", "60"))
BATCH = 25
NOTHING_INLINE, MOSTLY_INLINE, ALL_INLINE = 0.0, 2_000.0, 1e15


@dataclass(frozen=True)
class Setting:
    """One way to run a graph."""

    order: str
    coalesce: bool
    optimize: bool
    devices: int
    inline: float
    traced: bool

    def queue(self, seed: int) -> ReadyQueue:
        return {"fifo": deque, "lifo": Lifo}[self.order]() if self.order != "shuffled" else Shuffled(seed)  # type: ignore[no-any-return]


def settings(seed: int) -> list[Setting]:
    """The default one, and others that a seed picks."""
    rng = random.Random(seed)
    chosen = [Setting("fifo", True, True, 1, 1e6, False)]
    for order in ("shuffled", "shuffled", rng.choice(["fifo", "lifo"])):
        chosen.append(
            Setting(
                order,
                coalesce=rng.random() < 0.6,
                optimize=rng.random() < 0.6,
                devices=rng.choice((1, 3)),
                inline=rng.choices((NOTHING_INLINE, MOSTLY_INLINE, ALL_INLINE), (1, 1, 3))[0],
                traced=rng.random() < 0.1,
            )
        )
    return chosen


@pytest.fixture
def limit() -> Iterator[Callable[[float], None]]:
    """Sets from which cost on a kernel goes to the device's thread, or goes on there."""
    before = actors.INLINE_LIMIT_NS, chain.LEAST_NS

    def change(nanoseconds: float) -> None:
        actors.INLINE_LIMIT_NS = chain.LEAST_NS = nanoseconds

    yield change
    actors.INLINE_LIMIT_NS, chain.LEAST_NS = before


def expected(made: RandomGraph) -> list[list[Any]]:
    """The oracle's results for each request, and at the end the variables."""
    graph = made.graph
    oracle = Interpreter(graph)
    oracle.run([graph.get_operation_by_name(made.initializer)])
    results = []
    for request in [*made.requests, Request(list(made.variables), {})]:
        feeds = {graph.get_tensor_by_name(name): value for name, value in request.feeds.items()}
        results.append(oracle.run([graph.as_graph_element(name) for name in request.fetches], feeds))
    return results


async def actual(made: RandomGraph, setting: Setting, results: list[list[Any]]) -> None:
    """The same by a session, which is as it was when all is done. (`asyncio.run` prints the result of its task, arrays and
    all, for a name that it never shows; so they go into a list.)"""
    loop = asyncio.get_running_loop()
    Dispatcher.of(loop).queue = setting.queue(made.seed)
    count = {"CPU": setting.devices}
    async with af.Session(
        graph=made.graph, devices=count, options=af.PlanOptions(coalesce=setting.coalesce, optimize=setting.optimize)
    ) as session:
        await session.run(made.initializer)
        for request in [*made.requests, Request(list(made.variables), {})]:
            trace = af.Trace() if setting.traced else None
            copies = 3 if is_pure(made.graph, request) else 1
            runs = [session.run(request.fetches, request.feeds, timeout=PATIENCE, trace=trace) for _ in range(copies)]
            first, *others = await asyncio.gather(*runs)
            for other in others:
                assert all(map(same, first, other)), "a step changed the result of another"
            results.append(first)
        assert session.pending() == "no step is in flight"
        assert session.statistics().inflight == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


def is_pure(graph: af.Graph, request: Request) -> bool:
    """Whether a run has no effect, so that several may go on at once."""
    waiting = [graph.as_graph_element(name) for name in request.fetches]
    seen: set[af.Operation] = set()
    while waiting:
        element = waiting.pop()
        if isinstance(element, af.Tensor):
            if element.name in request.feeds:
                continue
            element = element.op
        if element not in seen:
            seen.add(element)
            waiting += [*element.inputs, *element.control_inputs]
    return not any(op.definition.writes or op.type == "RandomUniform" for op in seen)


def same(x: Any, y: Any) -> bool:
    """Whether two fetched values are the same bits."""
    if x is None or y is None:
        return x is y
    x, y = np.asarray(x), np.asarray(y)
    return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def differences(want: Sequence[Sequence[Any]], got: Sequence[Sequence[Any]], made: RandomGraph) -> list[str]:
    """The fetches whose bits differ."""
    found = []
    requests = [*made.requests, Request(list(made.variables), {})]
    for number, (request, wanted, given) in enumerate(zip(requests, want, got, strict=True)):
        for name, x, y in zip(request.fetches, wanted, given, strict=True):
            if not same(x, y):
                found.append(f"run {number}: {name} should be\n{x}\nbut is\n{y}")
    return found


def check(seed: int, limit: Callable[[float], None]) -> None:
    alone = random_graph(seed)
    want = expected(alone)
    for setting in settings(seed):
        made = alone if setting.devices == 1 else random_graph(seed, devices=3)
        limit(setting.inline)
        got: list[list[Any]] = []
        try:
            asyncio.run(actual(made, setting, got))
        except Exception as error:
            raise AssertionError(f"seed {seed} with {setting} fails: {error!r}") from error
        if found := differences(want, got, made):
            pytest.fail(f"seed {seed} with {setting}:\n" + "\n".join(found[:5]))


@pytest.mark.parametrize("batch", range(-(-GRAPHS // BATCH)))
def test_f22_f40_random_graphs_give_the_bits_of_the_oracle(batch: int, limit: Callable[[float], None]) -> None:
    first = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
    for seed in range(first + batch * BATCH, first + min((batch + 1) * BATCH, GRAPHS)):
        check(seed, limit)


def test_the_generator_makes_what_it_promises() -> None:
    """Each kind of node that the fuzz is about comes up often; requests feed inner tensors and ask twice; and more devices
    change nothing but devices."""
    graphs = [random_graph(seed) for seed in range(60)]
    for made in graphs[:10]:
        spread = random_graph(made.seed, devices=3)
        assert str(made) == str(spread) and made.requests[0].fetches == spread.requests[0].fetches
        assert len({node.device for node in spread.graph.nodes.values()}) > 2
    ops = {node.op for made in graphs for node in made.graph.nodes.values()}
    assert {"MatMul", "Split", "ConcatV2", "Cast", "Sum", "Reshape", "AssignAddVariableOp", "TestLater"} <= ops
    requests = [request for made in graphs for request in made.requests]
    assert sum(len(set(r.fetches)) < len(r.fetches) for r in requests) > 30
    inner = [name for r in requests for name in r.feeds if not name.startswith("Placeholder")]
    assert len(inner) > 30
    assert sum(bool(node.controls) for made in graphs for node in made.graph.nodes.values()) > 100
