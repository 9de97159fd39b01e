"""One kernel of `Polynomial` for each of two device types; each notes that it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import actorflow as af
import polynomials as polynomials  # declares the op

launched: Counter[str] = Counter()


@af.kernel("Polynomial", device="CPU")
def by_horner(xp: Any, x: Any, *, coefficients: Sequence[float]) -> Any:
    launched["CPU"] += 1
    total = xp.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + x.dtype.type(c)
    return total


@af.kernel("Polynomial", device="SIM")
def by_powers(xp: Any, x: Any, *, coefficients: Sequence[float]) -> Any:
    launched["SIM"] += 1
    return sum((x.dtype.type(c) * x**power for power, c in enumerate(coefficients)), start=xp.zeros_like(x))
