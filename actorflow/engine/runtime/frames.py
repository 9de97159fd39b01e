"""Frames and iterations: how tokens travel through loops and branches (paper section 4.4).

The rules are those of TensorFlow's executor. An Enter brings a token into the first iteration of its frame, or into each
iteration if it is constant. A NextIteration brings a token into the next iteration, which waits while
`parallel_iterations` of them go on. A dead token ends at a NextIteration. An Exit that is dead because the loop goes on is
forgotten; if the whole frame was dead, its Exits are dead outside. An iteration is over when nothing of it runs or is
ready and the iteration before it is over; a frame when its iterations are, and each Enter has brought its token.

These nodes, and in loops Identity, move tokens and compute nothing. They take their turn in the ready queue without a task
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from actorflow.base.registry import roles
from actorflow.base.registry.roles import Role
from actorflow.engine.runtime.tokens import DEAD, EMPTY

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.plan import Plan, PlanNode

Primitive: TypeAlias = "Callable[[ExecutorState, PlanNode], bool]"
"""Carries a node out; says whether it was alive."""


class Frame:
    """One run of a loop inside an iteration of the frame around it."""

    __slots__ = ("_awaited", "_constants", "_dead_exits", "_parked", "iterations", "last", "name", "parent", "plan")

    def __init__(self, name: str, plan: Plan, parent: ExecutorState) -> None:
        self.name = name
        self.plan = plan
        self.parent = parent
        self.last = 0
        """The number of the latest iteration that has begun."""
        self.iterations: dict[int, ExecutorState] = {0: parent.iteration(self, 0)}
        self._awaited = plan.enters
        self._constants: list[tuple[PlanNode, Any]] = []
        self._dead_exits: list[PlanNode] = []
        self._parked: list[tuple[PlanNode, Any]] = []
        """The tokens of an iteration that may not begin yet."""

    def enter(self, node: PlanNode, token: Any) -> None:
        """Takes the token of an Enter."""
        self._awaited -= 1
        if node.node.attrs["is_constant"]:
            self._constants.append((node, token))
            for iteration in list(self.iterations.values()):
                iteration.propagate(node, token)
        else:
            self.iterations[0].propagate(node, token)
        if not self._awaited:
            self._settle(0)

    def next(self, number: int, node: PlanNode, token: Any) -> None:
        """Takes a token for iteration `number`."""
        if number > self.last:
            if len(self.iterations) >= self.plan.parallel_iterations:
                self._parked.append((node, token))
                return
            self._begin()
        self.iterations[number].propagate(node, token)

    def exit(self, number: int, node: PlanNode, token: Any) -> None:
        """Takes the token of an Exit in iteration `number`."""
        if token is not DEAD:
            self.parent.propagate(node, token)
        elif number == self.last:
            self._dead_exits.append(node)

    def left(self, iteration: ExecutorState) -> None:
        """A node or an inner loop of `iteration` is done."""
        iteration.outstanding -= 1
        if not iteration.outstanding:
            self._settle(iteration.number)

    def _begin(self) -> None:
        self.last += 1
        self._dead_exits.clear()
        begun = self.iterations[self.last] = self.parent.iteration(self, self.last)
        for node, token in self._constants:
            begun.propagate(node, token)

    def _settle(self, number: int) -> None:
        """Ends iteration `number` if it is over, and those after it for which that was all that lacked."""
        while (iteration := self.iterations.get(number)) is not None:
            if iteration.outstanding or not number and self._awaited or number - 1 in self.iterations:
                return
            del self.iterations[number]
            self.parent.launched += iteration.launched
            self.parent.threaded += iteration.threaded
            if self._parked:
                parked, self._parked = self._parked, []
                self._begin()
                for node, token in parked:
                    self.iterations[self.last].propagate(node, token)
            number += 1
        if not self.iterations:
            parent = self.parent
            for node in self._dead_exits:
                parent.propagate(node, DEAD)
            del parent.frames[self.name]
            if parent.frame is not None:
                parent.frame.left(parent)

    def clear(self) -> None:
        """Lets go of all values, after a step that was stopped."""
        for iteration in self.iterations.values():
            iteration.clear()
        self.iterations.clear()
        self._constants.clear()
        self._parked.clear()


def carry_out(executor: ExecutorState, node: PlanNode, primitive: Primitive) -> None:
    """Carries a ready primitive out, in its turn of the ready queue."""
    step = executor.step
    if not step.stopped:
        try:
            if primitive(executor, node):
                executor.launched += 1
                if step.trace is not None:
                    now = perf_counter_ns()
                    step.trace.add(executor, node, now, now)
            if executor.frame is not None:
                executor.frame.left(executor)
        except BaseException as error:
            step.fail(executor, node, error)
    step.task_done()


def forward(executor: ExecutorState, node: PlanNode) -> bool:
    """Sends the token of the first input on."""
    token = _token(executor, node)
    executor.propagate(node, token)
    return token is not DEAD


def _token(executor: ExecutorState, node: PlanNode) -> Any:
    """The token at a primitive's first input, DEAD where any input was."""
    inputs = executor.take(node)
    return DEAD if node.index in executor.dead else inputs[0]


def _switch(executor: ExecutorState, node: PlanNode) -> bool:
    data, pred = executor.take(node)
    if node.index in executor.dead:
        executor.propagate(node, DEAD)
        return False
    executor.chosen[node.node.name] = taken = bool(pred)
    executor.propagate(node, (DEAD, data) if taken else (data, DEAD))
    return True


def _merge(executor: ExecutorState, node: PlanNode) -> bool:
    value, position = executor.take(node)
    alive = value is not DEAD and value is not EMPTY
    executor.propagate(node, (value, position) if alive else DEAD)
    return alive


def _enter(executor: ExecutorState, node: PlanNode) -> bool:
    token = _token(executor, node)
    name = node.node.attrs["frame_name"]
    frame = executor.frames.get(name)
    if frame is None:
        frame = executor.frames[name] = Frame(name, executor.plan.loops[name], executor)
        executor.outstanding += 1
    frame.enter(node, token)
    return token is not DEAD


def _exit(executor: ExecutorState, node: PlanNode) -> bool:
    assert executor.frame is not None
    token = _token(executor, node)
    executor.frame.exit(executor.number, node, token)
    return token is not DEAD


def _next_iteration(executor: ExecutorState, node: PlanNode) -> bool:
    assert executor.frame is not None
    token = _token(executor, node)
    if token is DEAD:
        return False
    executor.frame.next(executor.number + 1, node, token)
    return True


PRIMITIVES: Mapping[Role | None, Primitive] = MappingProxyType(
    {
        roles.SWITCH: _switch,
        roles.MERGE: _merge,
        roles.ENTER: _enter,
        roles.EXIT: _exit,
        roles.NEXT_ITERATION: _next_iteration,
        roles.LOOP_CONDITION: forward,
    }
)
