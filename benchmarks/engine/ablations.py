"""The gain of each mechanism: models with it and without it, in turns in one process, by the time of a call.

A figure is the geometric mean, over the models of a family, of the time without the mechanism by the time with it: above 1 the
mechanism gains. A mechanism that gains less than 1.15 in every family is not worth its lines.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

from benchmarks.harness.definitions import Case, Figure, Measurement, Options
from benchmarks.harness.sides import our_library
from benchmarks.models import attention, dense, embeddings, features, generative, numeric, recurrent, vision

FAMILIES: Mapping[str, tuple[Case, ...]] = {
    module.__name__.rpartition(".")[2]: (*module.TRAINING, *module.INFERENCE)
    for module in (dense, vision, recurrent, attention, embeddings, generative, numeric, features)
}
_WARM_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Something that may be left out.

    Args:
        name: its name.
        work: what it does.
        options: the options of a session without it.
    """

    name: str
    work: str
    options: Mapping[str, bool]


MECHANISMS = (
    Mechanism("coalesce", "cheap nodes as one tape", {"coalesce": False}),
    Mechanism("fuse", "fused nodes", {"fuse": False}),
    Mechanism("jit", "loops compiled by LLVM", {"jit": False}),
    Mechanism("freeze", "variables as constants", {"freeze": False}),
)


async def _opened(stack: AsyncExitStack, case: Case, options: Mapping[str, bool]) -> Callable[[], Awaitable[Any]]:
    """A call of the case in a session of its own."""
    af = our_library()
    work = case.build(af)
    session = await stack.enter_async_context(af.Session(graph=work.graph, options=af.PlanOptions(**options)))
    if work.init is not None:
        await session.run(work.init)
    prepared = await session.make_callable(work.fetches, list(work.placeholders))
    batches = itertools.cycle(work.batches)
    return lambda: prepared(*next(batches))


async def _round(call: Callable[[], Awaitable[Any]], seconds: float, clock: Callable[[], float]) -> float:
    """Seconds of one call, the mean over a round."""
    calls, begun, end = 0, clock(), perf_counter() + seconds
    while calls < 2 or perf_counter() < end:
        await call()
        calls += 1
    return (clock() - begun) / calls


async def gain(case: Case, mechanism: Mechanism, options: Options, clock: Callable[[], float] = perf_counter) -> float:
    """The time of a call without a mechanism by the time with it, the median over rounds.

    Args:
        case: a model.
        mechanism: what is left out.
        options: how many rounds, and how long each is.
        clock: the time that counts.

    Returns:
        Above 1 if the mechanism gains.
    """
    async with AsyncExitStack() as stack:
        with_it, without = await _opened(stack, case, {}), await _opened(stack, case, mechanism.options)
        await _round(with_it, _WARM_SECONDS, clock)
        await _round(without, _WARM_SECONDS, clock)
        ratios = []
        for _ in range(options.rounds):
            kept = await _round(with_it, options.seconds, clock)
            ratios.append(await _round(without, options.seconds, clock) / kept)
        return statistics.median(ratios)


async def _measured(mechanism: Mechanism, options: Options) -> Mapping[str, float]:
    figures = {}
    for family, cases in FAMILIES.items():
        logs = [math.log(await gain(case, mechanism, options)) for case in cases]
        figures[family] = math.exp(statistics.fmean(logs))
    return figures


BENCHMARKS = tuple(
    Measurement(
        mechanism.name,
        functools.partial(_measured, mechanism),
        tuple(Figure(family, f"{mechanism.work}: gain in {family}", "×") for family in FAMILIES),
        processes=1,
    )
    for mechanism in MECHANISMS
)


def rows(clock: Callable[[], float] = process_time, quick: bool = True) -> None:
    """Prints the gain of each mechanism for each model, by processor time, which other processes disturb less."""
    import anyio

    options = Options.quickly() if quick else Options()
    for mechanism in MECHANISMS:
        for family, cases in FAMILIES.items():
            for case in cases:
                value = anyio.run(gain, case, mechanism, options, clock)
                print(f"{mechanism.name:<10}{family:<12}{case.name:<28}{value:6.2f}", flush=True)


if __name__ == "__main__":
    rows()
