"""A barrier: elements whose components arrive singly under a key, and are taken when they are complete.

TensorFlow's `barrier_ops.cc`. The complete elements stand in a queue by the order in which their keys were first seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from actorflow.errors import CancelledError, InvalidArgumentError, OpError, OutOfRangeError

from .core import END_OF_INPUT, QueueAttempt, QueueCore, QueueTake
from .stores import Prioritized

_MISSING = object()


class Insert(QueueAttempt):
    """Gives component `component` to some keys. Never waits."""

    __slots__ = ("component", "keys", "values")

    def __init__(self, component: int, keys: Sequence[bytes], values: Sequence[Any]) -> None:
        super().__init__()
        self.component = component
        self.keys = keys
        self.values = values


class BarrierCore(QueueCore):
    """The state of one barrier: `store` holds the complete elements, as (order, call, key, components...)."""

    def __init__(self, name: str, components: int) -> None:
        super().__init__(name, Prioritized())
        self._components = components
        self._incomplete: dict[bytes, tuple[int, int, list[Any]]] = {}
        self._orders = itertools.count()
        self._calls = itertools.count(-(2**63))
        self._closing = False
        self._cancelled = False

    @property
    def incomplete(self) -> int:
        """How many keys miss a component."""
        return len(self._incomplete)

    def submit(self, attempt: QueueAttempt) -> list[QueueAttempt]:
        if isinstance(attempt, Insert):
            attempt.finish(self._insert(attempt))
            return self._flush()
        if isinstance(attempt, QueueTake) and self._closing and not attempt.done:
            self._refuse_hopeless(attempt)
        return super().submit(attempt)

    def _refuse_hopeless(self, take: QueueTake) -> None:
        """While it closes, a take waits for what may still become complete, and for no more. A take that is content with less
        gets what is complete."""
        total = len(self)
        if take.up_to and total:
            take.count = min(take.count, total)
            return
        total += 0 if take.up_to else self.incomplete
        if total < take.count:
            take.finish(
                OutOfRangeError(
                    f"{self} is closed and has insufficient elements (requested {take.count}, total size {total}).",
                    hint=END_OF_INPUT,
                )
            )

    def _insert(self, insert: Insert) -> OpError | None:
        at = insert.component
        if not 0 <= at < self._components:
            return InvalidArgumentError(f"The component_index {at} is not in [0, {self._components}), for {self}.")
        if self._cancelled:
            return CancelledError(f"{self} is closed.")
        error: OpError | None = None
        call = next(self._calls)
        for key, value in zip(insert.keys, insert.values, strict=True):
            error = self._insert_one(at, call, key, value)
            if error is not None:
                break
        if self._closing and not self._incomplete:
            self.closed = True
        return error

    def _insert_one(self, at: int, call: int, key: bytes, value: Any) -> OpError | None:
        entry = self._incomplete.get(key)
        if entry is None:
            if self._closing:
                return CancelledError(f"{self} is closed, but attempted to insert a brand new key: {key!r}.")
            entry = self._incomplete[key] = (next(self._orders), call, [_MISSING] * self._components)
        order, call, parts = entry  # of the call that named the key first
        if parts[at] is not _MISSING:
            return InvalidArgumentError(f"Key {key!r} already has a value for component {at} in {self}.")
        parts[at] = value
        if all(part is not _MISSING for part in parts):
            del self._incomplete[key]
            self.store.add((order, call, key, *parts))
        return None

    def close(self, cancel: bool) -> list[QueueAttempt]:
        """Refuses new keys; those begun may be completed, unless `cancel`. A second close has to cancel more than the first.

        Raises:
            CancelledError: it is closed already.
        """
        if self._closing and (self._cancelled or not cancel):
            raise CancelledError(f"{self} is already closed.")
        self._closing = True
        self._cancelled = cancel
        if cancel:
            self._incomplete.clear()
        if not self._incomplete:
            self.closed = True
        return self._flush()

    def __str__(self) -> str:
        return f"Barrier {self.name!r}"
