"""`QueueRunner`: keeps a queue full, by running its enqueue operations over and over (`tf.train.QueueRunner`)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.base.process import forks
from actorflow.engine.session.blocking import Session as BlockingSession
from actorflow.engine.session.session import Session
from actorflow.errors import AbortedError, CancelledError, OpError, OutOfRangeError, UnavailableError
from actorflow.graph import tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.tensor import Operation
from actorflow.graph.variables.collections import GraphKeys, add_to_collection
from actorflow.models.queues import QueueBase
from actorflow.models.train.input.coordinator import Coordinator
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.protos import QueueRunnerDef

_CODES: dict[type[OpError], int] = {
    kind: kind.code for kind in (OutOfRangeError, CancelledError, AbortedError, UnavailableError)
}


public("tf.train:queue_runner")


@public("af.train")
class QueueRunner:
    """Runs the enqueue operations of a queue, each in a loop of its own: a thread of a blocking session, or a task.

    A loop ends when its operation raises an error of `queue_closed_exception_types`: its input is at its end. The last loop to
    end so closes the queue, whose consumers drain it. Any other error goes to the coordinator and stops all. A stop closes the
    queue and cancels what waits to enqueue.

    Example:
        >>> queue = af.FIFOQueue(10, af.float32, [[]])
        >>> count = af.train.limit_epochs(af.constant(1.0), 3)
        >>> af.train.add_queue_runner(af.train.QueueRunner(queue, [queue.enqueue(count)]))
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     async for value in af.train.prefetch(session, queue.dequeue()):
        ...         print(value)
        1.0
        1.0
        1.0
    """

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Operation] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: QueueRunnerDef | bytes | None = None,
        import_scope: str | None = None,
    ) -> None:
        """Adds operations that close the queue to its graph, where `close_op` and `cancel_op` are not given.

        Args:
            queue: the queue to fill.
            enqueue_ops: enqueue operations of the queue; each runs in a loop of its own. An operation may be in the
                list several times.
            close_op: closes the queue at the end of the input; `queue.close()` unless given.
            cancel_op: closes the queue at a stop and cancels waiting enqueues;
                `queue.close(cancel_pending_enqueues=True)` unless given.
            queue_closed_exception_types: a tuple of the errors that mean the end of the input; OutOfRangeError alone
                unless given.
            queue_runner_def: a message of `to_proto`, in place of all before; see `from_proto`.
            import_scope: what the import of the graph put before the names of the message.

        Raises:
            ValueError: no enqueue operation is given, or a message and a queue are.
            TypeError: the exception types are not a tuple of subclasses of `errors.OpError`.
        """
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = _parts(
                queue_runner_def, import_scope
            )
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        closed = (OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
        if not isinstance(closed, tuple) or not closed or not all(issubclass(t, OpError) for t in closed):
            raise TypeError(f"queue_closed_exception_types is a tuple of types of errors.OpError, not {closed!r}.")
        self.queue = queue
        self.enqueue_ops = list(enqueue_ops)
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self.queue_closed_exception_types = closed
        self._lock = forks.new_lock()
        self._loops: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._errors: list[Exception] = []

    def to_proto(self, export_scope: None = None) -> QueueRunnerDef:
        """The names of the queue and its operations as a message, for `from_proto`.

        Example:
            >>> with af.Graph().as_default():
            ...     queue = af.FIFOQueue(10, af.float32, [[]], name="numbers")
            ...     runner = af.train.QueueRunner(queue, [queue.enqueue(1.0)])
            >>> runner.to_proto().queue_name
            'numbers:0'
        """
        from actorflow.graph.graphdef.protos import QueueRunnerDef

        return QueueRunnerDef(
            queue_name=self.queue.queue_ref.name,
            enqueue_op_name=[op.name for op in self.enqueue_ops],
            close_op_name=self.close_op.name,
            cancel_op_name=self.cancel_op.name,
            queue_closed_exception_types=[_CODES[kind] for kind in self.queue_closed_exception_types],
        )

    @staticmethod
    def from_proto(queue_runner_def: QueueRunnerDef | bytes, import_scope: str | None = None) -> QueueRunner:
        """A runner of a queue that the default graph has already, by the names of its operations.

        Example:
            >>> with af.Graph().as_default():
            ...     queue = af.FIFOQueue(10, af.float32, [[]], name="numbers")
            ...     runner = af.train.QueueRunner(queue, [queue.enqueue(1.0)])
            ...     again = af.train.QueueRunner.from_proto(runner.to_proto())
            >>> [op.name for op in again.enqueue_ops]
            ['numbers_enqueue']

        Args:
            queue_runner_def: the message of `to_proto` (or of TensorFlow's), or its bytes.
            import_scope: what the import of the graph put before the names.

        Raises:
            UnknownNameError: the graph has no such queue or operation.
        """
        return QueueRunner(*_parts(queue_runner_def, import_scope))

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    @property
    def exceptions_raised(self) -> list[Exception]:
        """Errors of loops that had no coordinator to report them to."""
        return list(self._errors)

    # ---- what threads and tasks share

    def _begin(self, session: Any) -> bool:
        """Counts the loops of a session that start now; False if they run already."""
        with self._lock:
            if self._loops.get(session, 0) > 0:
                return False
            self._loops[session] = len(self.enqueue_ops)
            self._errors = []
            return True

    def _ended(self, session: Any, error: Exception | None, coord: Coordinator | None) -> bool:
        """A loop has ended. Says whether it has to close the queue; an error that is no end of input is reported."""
        with self._lock:
            self._loops[session] -= 1
            last = self._loops[session] == 0
        if isinstance(error, self.queue_closed_exception_types):
            return last
        if error is not None and coord is not None:
            coord.request_stop(error)
        elif error is not None:
            self._errors.append(error)
        return False

    # ---- threads

    def create_threads(
        self, sess: BlockingSession, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that run the enqueue operations in a blocking session, and a thread that closes the queue when `coord` stops.

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     queue = af.FIFOQueue(10, af.float32, [[]])
            ...     runner, coord = af.train.QueueRunner(queue, [queue.enqueue(1.0)]), af.train.Coordinator()
            ...     threads = runner.create_threads(blocking, coord, start=True)
            ...     print(blocking.run(queue.dequeue_many(3)))
            ...     coord.request_stop()
            ...     coord.join(threads)
            [1. 1. 1.]

        Args:
            sess: a blocking session.
            coord: stops the threads and gets their errors. Without it errors are kept in `exceptions_raised`.
            daemon: whether the process may end while the threads run.
            start: whether to start the threads; otherwise the caller does.

        Returns:
            The threads; an empty list where those of an earlier call still run.
        """
        if not self._begin(sess):
            return []
        threads = [
            threading.Thread(
                target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{op.name}", daemon=daemon
            )
            for op in self.enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                    daemon=daemon,
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, session: BlockingSession, operation: Operation, coord: Coordinator | None) -> None:
        error: Exception | None = None
        try:
            enqueue = session.make_callable(operation)
            while coord is None or not coord.should_stop():
                enqueue()
        except Exception as caught:
            error = caught
        if self._ended(session, error, coord):
            self._close(session, self.close_op)

    def _close_on_stop(self, session: BlockingSession, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._close(session, self.cancel_op)

    def _close(self, session: BlockingSession, operation: Operation) -> None:
        try:
            session.run(operation)
        except OpError:
            pass  # the queue is closed already, or the session, and the queue with it

    # ---- tasks

    def start(self, session: Session, coord: Coordinator) -> None:
        """Starts the same loops as tasks of `coord`, which has to be entered. Does nothing if they run already.

        Example:
            >>> queue = af.FIFOQueue(10, af.float32, [[]])
            >>> runner = af.train.QueueRunner(queue, [queue.enqueue(af.placeholder_with_default(1.0, []))])
            >>> async with af.train.Coordinator() as coord:
            ...     runner.start(session, coord)
            ...     print(await session.run(queue.dequeue_many(3)))
            ...     coord.request_stop()
            [1. 1. 1.]
        """
        if not self._begin(session):
            return
        for op in self.enqueue_ops:
            coord.start_soon(self._loop, session, op, coord, name=f"QueueRunner-{self.name}-{op.name}")
        coord.start_soon(self._stop_with, session, coord, name=f"QueueRunner-{self.name}-close_on_stop")

    async def _loop(self, session: Session, operation: Operation, coord: Coordinator) -> None:
        error: Exception | None = None
        try:
            enqueue = await session.make_callable(operation)
            while not coord.should_stop():
                await enqueue()
        except Exception as caught:
            error = caught
        if self._ended(session, error, coord):
            await self._close_async(session, self.close_op)

    async def _stop_with(self, session: Session, coord: Coordinator) -> None:
        await coord.stopped()
        await self._close_async(session, self.cancel_op)

    async def _close_async(self, session: Session, operation: Operation) -> None:
        try:
            await session.run(operation)
        except OpError:
            pass  # as in `_close`

    def __repr__(self) -> str:
        return f"<actorflow.train.QueueRunner of {self.name!r}, {len(self.enqueue_ops)} loops>"


@public("af.train")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the default graph, for `start_queue_runners`.

    Example:
        >>> queue = af.FIFOQueue(10, af.float32, [[]])
        >>> runner = af.train.QueueRunner(queue, [queue.enqueue(af.placeholder(af.float32, []))] * 4)
        >>> af.train.add_queue_runner(runner)
        >>> af.get_collection(af.GraphKeys.QUEUE_RUNNERS) == [runner], runner.queue is queue
        (True, True)
    """
    add_to_collection(collection, qr)


@public("af.train")
def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts all queue runners of the session's graph (`tf.train.start_queue_runners`).

    Example:
        >>> number = af.train.range_input_producer(3, shuffle=False).dequeue()
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     print(*[await session.run(number) for _ in range(4)])
        ...     coord.request_stop()
        0 1 2 0

    Args:
        sess: a blocking session, whose runners get threads; or an async session, whose runners become tasks of `coord`. The
            default session of `actorflow.compat.v1` unless given.
        coord: stops them; an async session needs an entered coordinator.
        daemon: whether the process may end while the threads run.
        start: whether to start the threads; otherwise the caller does.
        collection: the collection of the graph that has the runners.

    Returns:
        The threads; none for an async session.

    Raises:
        ValueError: there is no session, or an async one comes without a coordinator.
    """
    if sess is None:
        sess = None if tensor.default_session is None else tensor.default_session()
        if sess is None:
            raise ValueError("Cannot start queue runners: No default session is registered.")
    runners: Iterable[QueueRunner] = sess.graph.get_collection(collection)
    if isinstance(sess, Session):
        if coord is None:
            raise ValueError(
                "The queue runners of an async session are tasks of a coordinator: give one that is entered."
            )
        for runner in runners:
            runner.start(sess, coord)
        return []
    return [t for runner in runners for t in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]


def _parts(queue_runner_def: QueueRunnerDef | bytes, import_scope: str | None) -> tuple[Any, ...]:
    """The arguments of a QueueRunner that a message describes, in the default graph."""
    from actorflow.graph.graphdef.protos import QueueRunnerDef

    message = QueueRunnerDef.FromString(queue_runner_def) if isinstance(queue_runner_def, bytes) else queue_runner_def
    graph = get_default_graph()
    prefix = f"{import_scope.removesuffix('/')}/" if import_scope else ""
    node = graph.get_operation_by_name(prefix + message.queue_name.partition(":")[0])
    kinds = {code: kind for kind, code in _CODES.items()}
    return (
        QueueBase(node.get_attr("component_types"), node.get_attr("shapes") or None, None, node.outputs[0]),
        [graph.get_operation_by_name(prefix + name) for name in message.enqueue_op_name],
        graph.get_operation_by_name(prefix + message.close_op_name),
        graph.get_operation_by_name(prefix + message.cancel_op_name),
        tuple(kinds[code] for code in message.queue_closed_exception_types) or None,
    )
