"""`History`: all writes of one variable, whichever task makes them while it moves, and the rules that they keep."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.cluster.server import Server
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.testing import World

LEDGER = "ledger"
"""The name of the variable, to which each step adds one."""


@dataclass(frozen=True, slots=True)
class Write:
    """A value that a task has given the ledger: by an update, or as a whole (a move or a restore)."""

    seconds: float
    task: str
    server: int
    epoch: int
    is_update: bool
    value: int


class History:
    """All writes of the ledger, in the order of the world's time, whichever task has made them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._servers: dict[Any, Server] = {}
        self.writes: list[Write] = []

    def begins(self, server: Server) -> None:
        """A task begins; its writes come from its own event loop."""
        self._servers[asyncio.get_running_loop()] = server

    def note(self, state: VariableState, value: Any, *, is_update: bool) -> None:
        """A write of a variable; only those of the ledger are kept. Its initial value is brought as a whole."""
        server = self._servers.get(asyncio.get_running_loop())
        if state.name == LEDGER and server is not None:
            number = int(np.asarray(value))
            row = Write(self._world.now, server.task, id(server), server.epoch, is_update and number > 0, number)
            self.writes.append(row)

    def check(self) -> None:
        """Raises AssertionError where two tasks update at once, an older epoch writes behind a newer, or an update is lost or is
        there twice: between two values that were brought as a whole, or by a move, which begins no epoch."""
        for former, row in itertools.pairwise(self.writes):
            assert row.epoch >= former.epoch, f"an older epoch writes behind a newer: {former}, {row}"
            if row.is_update:
                assert (row.task, row.server) == (former.task, former.server), f"two tasks update: {former}, {row}"
                assert row.value == former.value + 1, f"an update is lost or there twice: {former}, {row}"
            elif row.epoch == former.epoch and row.value:
                assert row.value == former.value, f"a move brings another value: {former}, {row}"


@contextmanager
def recorded(history: History) -> Iterator[None]:
    """Writes of variables are noted in the block."""
    assign, adopt = VariableState.assign, VariableState.adopt

    def noted_assign(self: VariableState, value: Any) -> None:
        assign(self, value)
        history.note(self, value, is_update=True)

    def noted_adopt(self: VariableState, buffer: Any) -> None:
        adopt(self, buffer)
        history.note(self, buffer, is_update=False)

    VariableState.assign, VariableState.adopt = noted_assign, noted_adopt  # type: ignore[method-assign]
    try:
        yield
    finally:
        VariableState.assign, VariableState.adopt = assign, adopt  # type: ignore[method-assign]
