"""Medians and their spread, without numpy: the parent process imports nothing that a worker measures."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


def unevenness(samples: Iterable[Mapping[str, float]]) -> float:
    """How much slower, relatively, the machine was at its slowest than at its fastest moment around some samples."""
    probes = [sample[key] for sample in samples for key in ("before", "after")]
    return max(probes) / min(probes) - 1


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of the values lie, with linear interpolation."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and how far the values lie around it.

    `low95` and `high95` bound the median with 95 % confidence (bootstrap over processes, then over their rounds).
    """

    median: float
    p10: float
    p90: float
    min: float
    max: float
    low95: float
    high95: float
    n: int

    @classmethod
    def of(cls, groups: Sequence[Sequence[float]]) -> Spread:
        """Of values in groups, one group for each pair of processes. Rounds of one process are not independent."""
        values = [value for group in groups for value in group]
        low, high = _bootstrap([group for group in groups if group])
        return cls(
            median=statistics.median(values),
            p10=quantile(values, 0.1),
            p90=quantile(values, 0.9),
            min=min(values),
            max=max(values),
            low95=low,
            high95=high,
            n=len(values),
        )

    def as_json(self) -> dict[str, float]:
        """The median, the quantiles, and of how many values they are."""
        return {name: round(getattr(self, name), 5) for name in ("median", "p10", "p90", "n")}


def _bootstrap(groups: Sequence[Sequence[float]], repeats: int = 1000) -> tuple[float, float]:
    rng = random.Random(20151109)  # fixed, so that the same rounds give the same interval
    medians: list[float] = []
    for _ in range(repeats):
        drawn: list[float] = []
        for group in rng.choices(groups, k=len(groups)):
            drawn.extend(rng.choices(group, k=len(group)))
        medians.append(statistics.median(drawn))
    return quantile(medians, 0.025), quantile(medians, 0.975)
