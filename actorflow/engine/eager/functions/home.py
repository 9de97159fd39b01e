"""`Home`: the task of a cluster on which the variables of a function live that is sent there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from actorflow.base.process import forks
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError, describe
from actorflow.graph.ops.array.constant import placeholder_op
from actorflow.graph.ops.state.variable import assign_target, read_variable
from actorflow.graph.tensor import Operation, Tensor

if TYPE_CHECKING:
    from actorflow.engine.eager.functions.concrete import GraphSessions

_lock = forks.new_lock()
_moves: dict[int, tuple[Future[None], asyncio.AbstractEventLoop]] = {}
"""The variables that are taken along just now, by identity: what ends then, and the event loop that does it."""


class ElsewhereError(FailedPreconditionError):
    """A variable lives on another device than the function was traced for. Nothing has run: trace it again."""


class VariablePlace:
    """The place of a variable of the program: a target, and the devices that were asked for when it was first used there."""

    def __init__(self, home: Home, devices: Any, begin: tuple[Tensor, Operation], read: Tensor) -> None:
        self.target, self.devices = home.graph.target, devices
        self.device = read.op.inputs[0].op.device
        self._home, self._begin, self._read = home, begin, read

    def read(self, variable: Any) -> Any:
        """The value now, fetched from there. Blocks."""
        plans, read = self._home.plans, self._read
        return plans.driver.call(lambda: plans.session.run(read))

    def assign(self, value: Any) -> None:
        """Gives the variable another value there. Blocks."""
        plans, (start, begin) = self._home.plans, self._begin
        plans.driver.call(lambda: plans.session.run(begin, {start: value}))


class Home:
    """The variables of one graph, which a function with a target takes along before it runs for the first time."""

    def __init__(self, graph: FuncGraph, plans: GraphSessions) -> None:
        self.graph, self.plans = graph, plans
        self._begun: dict[int, tuple[Any, Tensor, Operation, VariablePlace]] = {}
        """The variables that are not there yet, by identity, each with the nodes that take it there."""
        if graph.target is not None:
            with graph.as_default(), graph.without_order():
                for variable, handle in list(graph.handles.values()):
                    if variable._home is None:
                        self._prepare(variable, handle)

    def _prepare(self, variable: Any, handle: Tensor) -> None:
        """Adds the nodes that give a variable its value there, and fetch it."""
        start = placeholder_op(dtype=variable.dtype, shape=variable.static_shape, name="taken_along")
        begin = assign_target(handle, start)
        place = VariablePlace(
            self, self.graph.devices_of[id(variable)], (start, begin), read_variable(handle, name="fetched")
        )
        self._begun[id(variable)] = variable, start, begin, place

    def settle(self) -> None:
        """Takes the variables there, which have to be there before the first run. Blocks."""
        if self._begun:
            running = asyncio._get_running_loop()
            if running is not None and any(_moves.get(key, (None, None))[1] is running for key in list(self._begun)):
                raise RuntimeError(
                    describe(
                        "This event loop is taking the function's variables to their task, and can't wait for itself.",
                        hint="Await the calls: await f.run(...).",
                    )
                )
            self.plans.driver.call(lambda: self.settled(self.plans.session))

    async def settled(self, session: Session) -> None:
        """The same on the event loop of a session. It may be cancelled or fail: a later call takes along what is left.

        Raises:
            ElsewhereError: another function has taken a variable to another device meanwhile.
        """
        for key, (variable, start, begin, place) in list(self._begun.items()):
            async with _alone(variable):
                if variable._home is None:
                    await session.run(begin, {start: variable._state.read()})
                    variable._home = place
            home = variable._home
            if (home.target, home.device) != (place.target, place.device):
                raise ElsewhereError(
                    f"The variable {variable.name} lives on {home.device or home.target}, but the function was traced for "
                    f"{place.device or place.target}.",
                    hint="Trace the function again: it uses the variable where it lives.",
                )
            self._begun.pop(key, None)


@asynccontextmanager
async def _alone(variable: Any) -> AsyncIterator[None]:
    """A block in which this task alone takes a variable along, of those on all event loops."""
    ended: Future[None] = Future()
    ended.set_running_or_notify_cancel()  # a cancelled caller that waits for it does not cancel it
    while True:
        with _lock:
            pending, _ = _moves.setdefault(id(variable), (ended, asyncio.get_running_loop()))
        if pending is ended:
            break
        await asyncio.wrap_future(pending)
    try:
        yield
    finally:
        with _lock:
            del _moves[id(variable)]
        ended.set_result(None)
