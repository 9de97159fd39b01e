"""From what a step computed to what its caller gets: read-only arrays, numpy scalars, bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.graph.node import Endpoint
from actorflow.runtime.step import Step
from actorflow.runtime.tokens import DEAD


def fetched(step: Step, places: Sequence[tuple[int, int]], feeds: Mapping[Endpoint, Any]) -> list[Any]:
    """The values of a finished step's fetches.

    Raises:
        InvalidArgumentError: a fetch is dead: it lies on a branch that was not taken.
    """
    parts = step.parts
    return [result_of(step, part, position, parts[part].slots[position], feeds) for part, position in places]


def result_of(step: Step, part: int, position: int, value: Any, feeds: Mapping[Endpoint, Any]) -> Any:
    """One fetched value as its caller gets it."""
    if type(value) is np.ndarray:
        if not value.ndim:
            return value[()]
        if feeds and (value.base is not None or value.flags.writeable):
            for fed in feeds.values():
                if type(fed) is np.ndarray and (value is fed or np.may_share_memory(value, fed)):
                    value = value.copy()  # what the caller fed stays the caller's to write
                    break
        if value.flags.writeable:
            value.flags.writeable = False
        return value
    if value is DEAD:
        plan = step.parts[part].plan
        raise InvalidArgumentError(
            f"The fetch {plan.fetches[position]} has no value: it lies on a branch that this run did not take."
        )
    return value
