"""`Batching`: how requests are put together; and `RequestBatch`: the rows of those that go through one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.public import public


@public("af")
@dataclass(frozen=True, slots=True)
class Batching:
    """How requests are put together.

    Example:
        >>> batching = af.Batching(max_size=8, max_delay=0.001, sizes=(1, 4, 8))
        >>> batching.max_size
        8

    Args:
        max_size: maximum rows per batch. A request with more rows runs alone.
        max_delay: how long a request waits for others while a step runs and there is room for another, in seconds: it tells
            nothing where `max_steps` is 1.
        max_queued: the most requests that wait; more are refused with `errors.Overloaded`.
        max_steps: how many steps run at a time.
        sizes: the numbers of rows that a step may have, increasing: a batch is padded with copies of its last row. Any
            number up to `max_size` unless given.

    Raises:
        ValueError: a number is not positive, or the sizes are not increasing up to `max_size`.
    """

    max_size: int = 32
    max_delay: float = 0.002
    max_queued: int = 1024
    max_steps: int = 1
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if min(self.max_size, self.max_queued, self.max_steps) < 1 or self.max_delay < 0:
            raise ValueError(f"The numbers of {self} have to be positive.")
        if self.sizes and (list(self.sizes) != sorted(set(self.sizes)) or self.sizes[-1] != self.max_size):
            raise ValueError(f"sizes has to increase and to end with max_size={self.max_size}, but it is {self.sizes}.")

    def padded(self, rows: int) -> int:
        """The number of rows that a step for `rows` has.

        Example:
            >>> af.Batching(max_size=8, sizes=(1, 4, 8)).padded(3)
            4
        """
        return next((size for size in self.sizes if size >= rows), rows)


class RequestRows(Protocol):
    """The part of a request that a batch takes."""

    key: tuple[Any, ...]
    arrays: list[Any]
    rows: int


class RequestBatch:
    """The rows of requests that go through one step together, and the division of its outputs."""

    __slots__ = ("_is_padded", "_size", "requests", "rows")

    def __init__(self, requests: Sequence[RequestRows], batching: Batching) -> None:
        self.requests = requests
        self.rows = sum([request.rows for request in requests])
        key = requests[0].key
        self._size = self.rows if key and type(key[-1]) is object else batching.padded(self.rows)
        self._is_padded = len(requests) > 1 or self._size != self.rows

    def arrays(self) -> list[Any]:
        """The inputs of the step."""
        if not self._is_padded:
            return self.requests[0].arrays
        return [_joined(several, self._size) for several in zip(*[request.arrays for request in self.requests])]

    def divided(self, outputs: Sequence[Any]) -> list[Sequence[Any]]:
        """The outputs of each request. Raises InvalidArgumentError for outputs without rows."""
        if not self._is_padded:
            return [outputs]
        for value in outputs:
            if not np.ndim(value) or value.shape[0] != self._size:
                raise InvalidArgumentError("An output has no row for each row of the inputs, so no step can be padded.")
        at = 0
        parts: list[Sequence[Any]] = []
        for request in self.requests:
            end = at + request.rows
            parts.append([value[at:end] for value in outputs])
            at = end
        return parts


def _joined(several: Sequence[Any], size: int) -> Any:
    stacked = np.concatenate(several) if len(several) > 1 else several[0]
    missing = size - stacked.shape[0]
    return np.concatenate([stacked, np.repeat(stacked[-1:], missing, axis=0)]) if missing > 0 else stacked
