"""Actors that can be seen: with `PlanOptions(coalesce=False)`, and in traced runs, each node that runs or waits is a named task.

Such a `NodeTask` starts eagerly in its turn of the ready queue, and is a task of the event loop. Tasks of CPython 3.11 can't
start eagerly: there it has the dispatcher in the place of its loop. asyncio goes by the loop: `all_tasks()` would leave such
a task out, and `current_task()` would give that of the caller. So a `NodeTask` says the event loop when it is asked for its
loop, and in its turns it is the current task there. Continuations and control-flow primitives, which have no task otherwise,
get a task. Sessions that coalesce have plain tasks out of sight, and pay nothing for this.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from actorflow.base.process.interpreter import EAGERLY, TASKS_START_EAGERLY, take_turn
from actorflow.engine.runtime.actors import (
    ExecutorState,
    fire_continuation,
    fire_primitive,
    fire_task,
    forward_dead,
    launch_continuing,
    run_node,
)
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.frames import Primitive, carry_out, forward
from actorflow.engine.runtime.plan import Fire, PlanNode
from actorflow.errors import Where
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.engine.runtime.step import Step

State: TypeAlias = Literal["ready", "runs", "waits", "on a thread"]


@public("af")
@dataclass(frozen=True, slots=True)
class TaskState:
    """A node that is ready, runs or waits, as `Session.tasks` gives it.

    Example:
        >>> queue = af.FIFOQueue(1, af.float32, [[]])
        >>> x = queue.dequeue(name="wait")
        >>> import anyio
        >>> async with anyio.create_task_group() as group:
        ...     _ = group.start_soon(session.run, x)
        ...     await anyio.sleep(0.01)
        ...     print([(task.name, task.state) for task in session.tasks()])
        ...     await session.run(queue.enqueue(1.0))
        [('wait', 'waits')]

    Args:
        step: the number of the node's step.
        name: the name of the node.
        op: the type of the node.
        where: the user's line that made it.
        state: `ready`: it waits for its turn on the event loop. `runs`: its kernel runs there now. `waits`: its kernel
            is asynchronous and waits for a tensor, a queue or a variable. `on a thread`: a device's thread or a thread
            of Python's computes it.
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

    __slots__ = ("executor", "node")

    def __init__(self, executor: ExecutorState, node: PlanNode, work: Coroutine[Any, Any, None]) -> None:
        self.executor, self.node = executor, node
        loop: Any = executor.step.loop if TASKS_START_EAGERLY else executor.dispatcher
        super().__init__(work, loop=loop, name=node.node.name, context=executor.step.context, **EAGERLY)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        return self.executor.step.loop

    def cancel(self, msg: Any = None) -> bool:
        """Does nothing."""
        return False


class Turns(Dispatcher):
    """The dispatcher as the tasks of one step ask it in CPython 3.11: in its turn a task is the current one of the event loop."""

    def __init__(self, dispatcher: Dispatcher, loop: asyncio.AbstractEventLoop) -> None:
        self._dispatcher, self._event_loop = dispatcher, loop
        self.pump, self.open_turn = dispatcher.pump, dispatcher.open_turn  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        """Its state is the dispatcher's."""
        return getattr(self._dispatcher, name)

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> None:
        """Queues a turn of a node's task, which asyncio's callback names. Other callbacks, such as those of a
        task that waits for this task, go to the event loop: they may end a step, which must not happen within another step."""
        try:
            task = callback.__self__  # type: ignore[attr-defined]
        except AttributeError:
            task = None
        if task.__class__ is not NodeTask:
            self._event_loop.call_soon(callback, *args, context=context)
            return
        dispatcher = self._dispatcher
        assert context is not None
        turn = callback if not args else partial(callback, *args)
        dispatcher.queue.append((context, partial(take_turn, self._event_loop, task, turn)))
        if not dispatcher.pumping and not dispatcher.turn_is_open:
            dispatcher.open_turn()


async def _carry_out(executor: ExecutorState, node: PlanNode, primitive: Primitive) -> None:
    carry_out(executor, node, primitive)


async def _continuation(over: asyncio.Future[Callable[[], None]]) -> None:
    (await over)()


def _start(executor: ExecutorState, node: PlanNode, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    if not TASKS_START_EAGERLY:
        NodeTask(executor, node, work())
        return
    executor.step.ready[id(executor), node.index] = (executor, node)
    executor.dispatcher.begin_soon(partial(_begin, executor, node, work))


def _begin(executor: ExecutorState, node: PlanNode, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    del executor.step.ready[id(executor), node.index]
    NodeTask(executor, node, work())


def _fire_task(executor: ExecutorState, node: PlanNode) -> None:
    _start(executor, node, partial(run_node, executor, node))


def _fire_primitive(executor: ExecutorState, node: PlanNode) -> None:
    _start(executor, node, partial(_carry_out, executor, node, node.launch))


def _forward_dead(executor: ExecutorState, node: PlanNode) -> None:
    _start(executor, node, partial(_carry_out, executor, node, forward))


def _fire_continuation(executor: ExecutorState, node: PlanNode) -> None:
    over = executor.dispatcher.future(executor.step.loop)
    _start(executor, node, partial(_continuation, over))
    launch_continuing(executor, node, over.set_result)


VISIBLE: Mapping[Fire, Fire] = MappingProxyType(
    {
        fire_task: _fire_task,
        fire_primitive: _fire_primitive,
        forward_dead: _forward_dead,
        fire_continuation: _fire_continuation,
    }
)
"""The ways in which a node fires out of sight, and the ways that asyncio shows in their place."""


def look(step: Step) -> list[TaskState]:
    """The nodes of a step that are ready, run or wait. On its loop's thread."""
    tasks: dict[tuple[int, int], TaskState] = {}

    def add(executor: ExecutorState, node: PlanNode, state: State, task: asyncio.Task[Any] | None = None) -> None:
        origin = node.node
        tasks.setdefault(
            (id(executor), node.index), TaskState(step.id, origin.name, origin.op, origin.where, state, task)
        )

    for executor, node in step.ready.values():
        add(executor, node, "ready")
    on_threads = {(id(executor), node.index) for executor, node in step.on_threads.values()}
    for task in asyncio.all_tasks(step.loop):
        if isinstance(task, NodeTask) and task.executor.step is step:
            on_thread = (id(task.executor), task.node.index) in on_threads
            add(task.executor, task.node, "on a thread" if on_thread else _state(task, "waits"), task)
    for task, (executor, node) in step.kernel_tasks():
        add(executor, node, _state(task, "on a thread" if node.is_threaded else "waits"), task)
    for executor, node in step.continuing.values():
        add(executor, node, "waits")
    for executor, node in step.on_threads.values():
        add(executor, node, "on a thread")
    for executor, node in step.looping.values():
        add(executor, node, "runs")
    return sorted(tasks.values(), key=lambda state: state.name)


def _state(task: asyncio.Task[Any], suspended: State) -> State:
    coroutine = task.get_coro()
    if not inspect.iscoroutine(coroutine):
        return suspended
    states: dict[str, State] = {inspect.CORO_CREATED: "ready", inspect.CORO_RUNNING: "runs"}
    return states.get(inspect.getcoroutinestate(coroutine), suspended)
