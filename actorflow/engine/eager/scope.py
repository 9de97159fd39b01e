"""`eager`: where ops run at once. It makes an `EagerGraph` the default graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph, set_process_graph
from actorflow.graph.graph import Graph
from actorflow.public import public


def eager_graph() -> Graph:
    """The graph that runs each node as it is made. It is imported when it is first asked for."""
    global _graph
    if _graph is None:
        import actorflow.engine.eager.dispatch  # noqa: F401  (it tells the ops of tensors that have values)
        from actorflow.engine.eager.graph import GRAPH

        _graph = GRAPH
    return _graph


_graph: Graph | None = None
T = TypeVar("T")


@public("af")
class eager:
    """A block in which ops run at once, and give tensors that have their values.

    It belongs to the coroutine or thread that enters it. Inside of `with graph.as_default():` ops add nodes to that graph
    again. Tensors keep their values after the block, and what is computed from them outside of any entered graph is
    computed at once too.

    Tensors never change, so threads may share them. A variable is for one thread at a time: an update such as `v.assign_add(1.0)`
    reads the value, computes and writes, and two threads that do so at once may lose one of their updates. Threads that share a
    variable take a `threading.Lock` around what they do with it. Coroutines of one event loop need none.

    In a coroutine, an op on large tensors holds the event loop up as long as its kernel takes. `async with af.eager(threads=1)`
    is the same block with a thread for ops that are expected to take 0.7 ms or more, by their shapes and then by measurements.
    Ops that take their results run there too, in the order of the program. A call gives a tensor at once, which is still
    computed. `await` it, and others have the event loop until its value is there. Other questions for the value, such as
    `float(y)` or `if y > 0:`, hold the loop until then. An error is raised where a value is asked for, with the line that
    called the op; or, if no caller has asked, at the end of the block, which waits for all its ops.

    Example:
        >>> with af.eager():
        ...     x = af.constant(3.0)
        ...     while x > 1.0:
        ...         x = x / 2.0
        ...     print(float(x))
        0.75
        >>> async with af.eager(threads=1) as scope:
        ...     x = af.ones([500, 500])
        ...     y = af.reduce_sum(x @ x)  # it is computed on a thread
        ...     print(float(await y))
        ...     print(float(await scope.run(lambda: y / 2.0)))  # a function of Python on a thread
        125000000.0
        62500000.0

    Args:
        threads: how many calls of `run` compute at once; others wait for their turn. Ops that are called plainly have one thread,
            which keeps their order.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is a positive number, but it is {threads}.")
        self._entered: list[ExitStack] = []
        self._threads = threads
        self._turns: Any = None
        self._launches: Any = None

    def __enter__(self) -> None:
        self._enter(eager_graph().as_default())

    def _enter(self, *blocks: AbstractContextManager[Any]) -> None:
        with ExitStack() as stack:
            for block in blocks:
                stack.enter_context(block)
            self._entered.append(stack.pop_all())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.pop().__exit__(kind, error, trace)

    async def __aenter__(self) -> eager:
        graph = eager_graph()
        from actorflow.engine.eager.launches import LaunchQueue

        if self._launches is not None:
            raise RuntimeError("This block is entered already: `async with af.eager(...)` makes a new one each time.")
        self._launches = LaunchQueue()
        self._enter(graph.as_default(), scopes.changed(graph, launches=self._launches))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import anyio  # not at the import of actorflow, as asyncio

        launches, self._launches = self._launches, None
        self.__exit__(kind, error, trace)
        launches.stopped = error is not None
        with anyio.CancelScope(shield=True):
            await launches.close()
        if error is None:
            launches.raise_untold()

    async def wait(self) -> None:
        """Returns when all ops have run that were called in the block before. Others have the event loop until then.

        Example:
            >>> async with af.eager(threads=1) as scope:
            ...     v = af.Variable(af.zeros([500, 500]))
            ...     for _ in range(3):
            ...         _ = v.assign_add(af.ones([500, 500]) @ af.ones([500, 500]))
            ...     await scope.wait()
            >>> float(v[0, 0])
            1500.0

        Raises:
            OpError: an op has failed, and its result was not asked for.
            RuntimeError: the block is not entered by `async with`.
        """
        if self._launches is None:
            raise RuntimeError("No op is on its way: wait() is for within `async with af.eager(...) as scope:`.")
        await self._launches.ended()
        self._launches.raise_untold()

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """`function(*args)` on a thread, where its ops run at once and hold up nothing else. Tapes of the caller watch them.

        A kernel that runs can't be stopped: a caller that is cancelled waits for the function's end.

        Example:
            >>> async with af.eager() as scope:
            ...     print(await scope.run(lambda x: x * x, af.constant(3.0)))
            actorflow.Tensor(9.0, shape=(), dtype=float32)

        Args:
            function: a function of Python, or an op.
            args: its arguments.
        """
        from actorflow.base.process import machine

        if self._turns is None:
            import anyio

            self._turns = anyio.Semaphore(self._threads)
        context, where, graph = copy_context(), user_line(), eager_graph()

        def compute() -> T:
            with graph.as_default(), scopes.changed(graph, launches=None):
                try:
                    return function(*args)
                except Exception as error:
                    error.add_note(f"  while it ran on a thread for {where}")
                    raise

        async with self._turns:
            return await machine.on_thread(partial(context.run, compute))


@public("af")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """From now on ops run at once in the whole process, wherever no graph is entered (`tf.enable_eager_execution`).

    It may be called at any time. Inside of `with graph.as_default():` ops add nodes as before. Prefer `with af.eager():`,
    which ends.

    Example:
        >>> af.enable_eager_execution()
        >>> af.executing_eagerly()
        True
        >>> af.disable_eager_execution()

    Args:
        config, device_policy, execution_mode: accepted for compatibility, without effect.
    """
    set_process_graph(eager_graph())


@public("af")
def disable_eager_execution() -> None:
    """Takes `enable_eager_execution` back: ops add to a new default graph from now on (`tf.disable_eager_execution`).

    Example:
        >>> af.enable_eager_execution()
        >>> af.disable_eager_execution()
    """
    from actorflow.graph.default_graph import process_graph

    if process_graph().eager:
        set_process_graph(Graph())


@public("af")
def executing_eagerly() -> bool:
    """Whether an op that is called here runs at once: not inside of a graph, nor while a function is traced.

    Example:
        >>> with af.eager():
        ...     print(af.executing_eagerly())
        True
        >>> with af.Graph().as_default():
        ...     print(af.executing_eagerly())
        False
    """
    return get_default_graph().eager


@public("af")
@contextmanager
def init_scope() -> Iterator[None]:
    """A block that is outside of functions that are being traced (`tf.init_scope`): what is made in it is made once, at once, and
    no tape watches it. Inside of a graph that is entered it changes nothing.

    Example:
        >>> @af.function
        ... def traced(x):
        ...     inside = af.executing_eagerly()
        ...     with af.init_scope():
        ...         print(inside, af.executing_eagerly())
        ...     return x
        >>> traced(1.0)
        False True
        1.0
    """
    from actorflow.engine.eager.tapes import recording as tapes

    entered = scopes.entered_graph()
    if entered is not None and not entered.eager and not entered.takes_values:
        yield
        return
    with eager_graph().as_default(), tapes.only(()):
        yield


def eager_handle_graph() -> Any:
    """The graph of the function that is being traced here, or None where ops run at once.

    Raises:
        RuntimeError: another graph is entered.
    """
    graph = graph_for_values()
    return None if graph.eager else graph


def graph_for_values() -> Graph:
    """The graph to which an op adds whose inputs have values.

    Raises:
        RuntimeError: a graph is entered that is neither eager nor of a function that is being traced.
    """
    entered = scopes.entered_graph()
    if entered is None or entered.eager:
        return _graph or eager_graph()
    if entered.takes_values:
        return entered
    raise RuntimeError(
        describe(
            "Attempting to capture an EagerTensor without building a function: a tensor that has its value can't be an "
            "input of a node of this graph.",
            where=user_line(),
            hint="Take its value in as a constant, af.constant(x.numpy()), or feed it; or compute outside of the graph.",
        )
    )
