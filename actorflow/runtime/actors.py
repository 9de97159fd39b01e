"""Actors that can be seen: with `Session(coalesce=False)`, and in traced runs, each node that runs or waits is a named task.

A node's task asks the dispatcher, not the event loop, for its turns. asyncio goes by the loop: `all_tasks()` would leave such a
task out, and `current_task()` would give that of the caller. So a `NodeTask` says the event loop when it is asked for its loop,
and while it runs it is the current task there. Continuations and control-flow primitives, which have no task otherwise,
get one. Sessions that coalesce have plain tasks, and pay nothing for this.
"""

from __future__ import annotations

import asyncio
import inspect
import types
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from actorflow.public import public
from actorflow.runtime.frames import Frame, run_primitive
from actorflow.runtime.part import Part, run_node, start_continuing
from actorflow.runtime.plan import SINK, PlanNode
from actorflow.user_line import Where

if TYPE_CHECKING:
    from actorflow.runtime.step import Step

State: TypeAlias = Literal["ready", "runs", "waits", "on a thread"]


@public("af")
@dataclass(frozen=True, slots=True)
class TaskState:
    """A node that is ready, runs or waits, as `Session.tasks` gives it.

    Args:
        step: the number of the node's step.
        name: the name of the node.
        op: the type of the node.
        where: the user's line that made it.
        state: `ready`: it waits for its turn on the event loop. `runs`: its kernel runs there now. `waits`: its kernel
            is asynchronous and waits for a tensor, a queue or a variable. `on a thread`: a device's thread or one of
            Python's computes it.
        task: the node's asyncio task; None in a session that coalesces, and behind another kernel on a device's thread.
    """

    step: int
    name: str
    op: str
    where: Where | None
    state: State
    task: asyncio.Task[Any] | None = field(default=None, repr=False)

    def __reduce__(self) -> Any:
        """Pickled and copied without the task, which belongs to this process."""
        return TaskState, (self.step, self.name, self.op, self.where, self.state)


class NodeTask(asyncio.Task[None]):
    """The task of a node, which carries its name.

    It can be looked at and waited for as any other. It is not cancelled: who awaits the run stops the step.
    """

    def __init__(self, part: Part, node: PlanNode, work: Callable[[Part, PlanNode], Coroutine[Any, Any, None]]) -> None:
        self.part = part
        self.node = node
        dispatcher: Any = part.dispatcher  # is asked for nothing but `call_soon`
        super().__init__(work(part, node), loop=dispatcher, name=node.node.name, context=part.step.context)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        return self.part.step.loop

    def cancel(self, msg: Any = None) -> bool:
        """Does nothing."""
        return False

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        """See `asyncio.Future`. The event loop calls `fn`, which may be somebody's step: not the dispatcher in between."""
        super().add_done_callback(_OnLoop(fn, self.get_loop(), context))


class _OnLoop:
    """A callback that has its turn on the event loop. It equals what it calls, so that it can be taken back."""

    def __init__(
        self, callback: Callable[[Any], object], loop: asyncio.AbstractEventLoop, context: Context | None
    ) -> None:
        self._callback, self._loop, self._context = callback, loop, context

    def __call__(self, task: Any) -> None:
        self._loop.call_soon(self._callback, task, context=self._context)

    def __eq__(self, other: object) -> bool:
        return other is self or bool(other == self._callback)

    def __hash__(self) -> int:
        return hash(self._callback)


def _change(loop: asyncio.AbstractEventLoop, now: asyncio.Task[Any] | None, then: asyncio.Task[Any] | None) -> None:
    """Makes `then` the current task of a loop in the place of `now`."""
    if now is not None:
        _leave_task(loop, now)
    if then is not None:
        _enter_task(loop, then)


def _own(part: Part) -> asyncio.Task[Any]:
    """The task that the dispatcher runs, which is the caller."""
    dispatcher: Any = part.dispatcher
    task: asyncio.Task[Any] | None = asyncio.current_task(dispatcher)
    assert task is not None
    return task


async def _primitive(part: Part, node: PlanNode) -> None:
    """The task of a control-flow primitive."""
    loop, task = part.step.loop, _own(part)
    outer = asyncio.current_task(loop)
    _change(loop, outer, task)
    try:
        run_primitive(part, node)
    finally:
        _change(loop, task, outer)


async def _node(part: Part, node: PlanNode) -> None:
    """The task of any other node: while it runs it is the current one of the event loop."""
    await _as_current(_own(part), part.step.loop, run_node(part, node))


@types.coroutine
def _as_current(
    task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]
) -> Generator[Any, None, None]:
    try:
        while True:
            outer = asyncio.current_task(loop)
            _change(loop, outer, task)
            try:
                waited = work.send(None)
            except StopIteration:
                return
            finally:
                _change(loop, task, outer)
            yield waited
    finally:
        work.close()


async def _go_on(over: asyncio.Future[Callable[[], None]], part: Part, node: PlanNode) -> None:
    """The task of a kernel that calls a continuation: waits for that, and sends on what it gave."""
    (await over)()


class ActorPart(Part):
    """A part each of whose nodes is a task that can be seen."""

    __slots__ = ()

    def iteration(self, loop: Frame, number: int) -> Part:
        return ActorPart(self.step, loop.plan, self.dispatcher, loop, number)

    def fire(self, index: int) -> None:
        node = self.nodes[index]
        asynchronous = node.asynchronous and node.primitive is None and (node.fires_dead or index not in self.dead)
        if index == SINK or asynchronous and not node.takes_done:
            super().fire(index)
            return
        self.step.live += 1
        if self.loop is not None:
            self.outstanding += 1
        if asynchronous:
            dispatcher: Any = self.dispatcher
            over: asyncio.Future[Callable[[], None]] = asyncio.Future(loop=dispatcher)
            NodeTask(self, node, partial(_go_on, over))
            start_continuing(self, node, over)
        else:
            NodeTask(self, node, _node if node.primitive is None else _primitive)


def look(step: Step) -> list[TaskState]:
    """The nodes of a step that are ready, run or wait. On its loop's thread."""
    made: dict[tuple[int, int], TaskState] = {}

    def add(part: Part, node: PlanNode, state: State, task: asyncio.Task[Any] | None = None) -> None:
        origin = node.node
        made.setdefault((id(part), node.index), TaskState(step.id, origin.name, origin.op, origin.where, state, task))

    on_threads = {(id(part), node.index) for part, node in step.on_threads.values()}
    for task in asyncio.all_tasks(step.loop):
        if isinstance(task, NodeTask) and task.part.step is step:
            on_thread = (id(task.part), task.node.index) in on_threads
            add(task.part, task.node, "on a thread" if on_thread else _state(task, "waits"), task)
    for task, (part, node) in step.kernel_tasks():
        add(part, node, _state(task, "on a thread" if node.is_threaded else "waits"), task)
    for part, node in step.continuing.values():
        add(part, node, "waits")
    for part, node in step.on_threads.values():
        add(part, node, "on a thread")
    for part, node in step.looping.values():
        add(part, node, "runs")
    return sorted(made.values(), key=lambda one: one.name)


def _state(task: asyncio.Task[Any], suspended: State) -> State:
    coroutine = task.get_coro()
    if not inspect.iscoroutine(coroutine):
        return suspended
    states: dict[str, State] = {inspect.CORO_CREATED: "ready", inspect.CORO_RUNNING: "runs"}
    return states.get(inspect.getcoroutinestate(coroutine), suspended)
