"""`Home`: the task of a cluster on which the variables of a function live that is sent there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorflow.eager.functions.func_graph import FuncGraph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.array.constant import placeholder_op
from actorflow.ops.state.variable import assign_target, read_variable
from actorflow.session.session import Session

if TYPE_CHECKING:
    from actorflow.eager.functions.concrete import Plans


class Place:
    """The place of a variable of the program: a target, and the devices that were asked for when it was first used there."""

    def __init__(self, home: Home, devices: Any, read: Tensor) -> None:
        self.target, self.devices = home.graph.target, devices
        self._home, self._read = home, read

    def read(self, variable: Any) -> Any:
        """The value now, fetched from there. Blocks."""
        plans, read = self._home.plans, self._read
        return plans.driver.call(lambda: plans.session.run(read))


class Home:
    """The variables of one graph, which a function with a target takes along before it runs for the first time."""

    def __init__(self, graph: FuncGraph, plans: Plans) -> None:
        self.graph, self.plans = graph, plans
        self._begun: list[tuple[Any, Tensor, Operation, Place]] = []
        if graph.target is not None:
            with graph.as_default(), graph.without_order():
                for variable, handle in list(graph.handles.values()):
                    if variable._home is None:
                        self._prepare(variable, handle)

    def _prepare(self, variable: Any, handle: Tensor) -> None:
        """Adds the nodes that give a variable its value there, and fetch it."""
        given = placeholder_op(dtype=variable.dtype, shape=variable.static_shape, name="taken_along")
        begin = assign_target(handle, given)
        place = Place(self, self.graph.devices_of[id(variable)], read_variable(handle, name="fetched"))
        self._begun.append((variable, given, begin, place))

    def settle(self) -> None:
        """Takes the variables there, which have to be there before the first run. Blocks."""
        if self._begun:
            self.plans.driver.call(lambda: self.settled(self.plans.session))

    async def settled(self, session: Session) -> None:
        """The same on the event loop of a session."""
        begun, self._begun = self._begun, []
        for variable, given, begin, place in begun:
            if variable._home is None:  # another function may have taken it there meanwhile
                await session.run(begin, {given: variable._state.read()})
                variable._home = place
