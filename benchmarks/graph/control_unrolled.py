"""A recurrent model in a loop beside the same model unrolled, in one process and in turns."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from benchmarks.graph.graphs import Lstm
from benchmarks.harness import sides
from benchmarks.harness.definitions import Measure, Options, Side
from benchmarks.harness.spread import unevenness
from benchmarks.harness.worker import timed, timed_async

_LOOP, _UNROLLED = Lstm().loop, Lstm().unrolled


def by_unrolled(side: Side) -> Measure:
    """The measurement of one side."""
    return _ours if side == "ours" else _peer


async def _ours(options: Options) -> Mapping[str, float]:
    async with sides.ours(_LOOP, "callable") as loop, sides.ours(_UNROLLED, "callable") as unrolled:
        _agree([(await loop())[0] for _ in range(3)], [(await unrolled())[0] for _ in range(3)])
        rounds = []
        for _ in range(2 * options.rounds):
            rounds.append((await timed_async(loop, options.seconds), await timed_async(unrolled, options.seconds)))
        return _figures(rounds)


def _peer(options: Options) -> Mapping[str, float]:
    with sides.peer(_LOOP, "callable") as loop, sides.peer(_UNROLLED, "callable") as unrolled:
        _agree([loop()[0] for _ in range(3)], [unrolled()[0] for _ in range(3)])
        times = [(timed(loop, options.seconds), timed(unrolled, options.seconds)) for _ in range(2 * options.rounds)]
        return _figures(times)


def _agree(first: list[Any], second: list[Any]) -> None:
    if any(abs(a - b) > 1e-3 * abs(a) for a, b in zip(first, second)):
        raise ValueError(f"The loop's losses are {first}, but unrolled they are {second}.")


def _figures(rounds: list[tuple[dict[str, float], dict[str, float]]]) -> Mapping[str, float]:
    """Of the half of the rounds in which the machine's speed varied least."""
    even = sorted(rounds, key=unevenness)[: (len(rounds) + 1) // 2]
    return {
        "lstm_loop_us": statistics.median(loop["median"] for loop, _ in even),
        "lstm_unrolled_us": statistics.median(unrolled["median"] for _, unrolled in even),
        "loop_by_unrolled": statistics.median(loop["median"] / unrolled["median"] for loop, unrolled in even),
    }
