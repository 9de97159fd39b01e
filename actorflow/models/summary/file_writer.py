"""`FileWriter`: writes summaries, graphs and sessions' logs for TensorBoard (`tf.summary.FileWriter`)."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import anyio

from actorflow.base.paths import path_text
from actorflow.base.process import forks, machine
from actorflow.base.records import summaries
from actorflow.base.records.wire import write_field
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import InvalidArgumentError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.protos import GraphDef, MetaGraphDef
from actorflow.models.summary.event_file import EventFile
from actorflow.models.summary.event_queue import SummaryQueue, WriterStatistics
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.trace import Trace
    from actorflow.models.summary.protos import Event, RunMetadata, SessionLog, Summary

_GRAPH, _SUMMARY, _SESSION_LOG, _RUN_METADATA, _META_GRAPH = 4, 5, 7, 8, 9


@public("af.summary", "tf.train:SummaryWriter")
class FileWriter:
    """Writes what TensorBoard shows to a file in a folder (`tf.summary.FileWriter`).

    `add_...` puts an event in a queue and returns; a thread writes. No disk ends a training: while writing fails, events wait in
    memory, and one warning is logged. The oldest that don't fit in `max_pending` are given up and counted, and when the disk
    takes events again, writing goes on. A folder that was removed is made again.

    Give each process or worker a folder of its own: TensorBoard takes one folder for one run. It drops points of a run whose
    steps go back, so write steps in their order, and after a restart `SessionLog.START` with the first step.

    A block, `with` or `async with`, closes the writer at its end.

    Example:
        >>> loss = af.placeholder(af.float32, [])
        >>> summary = af.summary.scalar("loss", loss)
        >>> with af.summary.FileWriter("logs/run1", session.graph) as writer:
        ...     for step, value in enumerate([3.0, 1.0]):
        ...         writer.add_summary(await session.run(summary, {loss: value}), step)
        >>> events = list(af.summary.read_events("logs/run1"))
        >>> [(event.step, value.simple_value) for event in events for value in event.summary.value]
        [(0, 3.0), (1, 1.0)]
    """

    __reduce_ex__ = unpicklable("A writer is not pickled: its file is open in this process. Hand over the folder.")

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | GraphDef | None = None,
        max_queue: int = 10,
        flush_secs: float = 2.0,
        graph_def: GraphDef | None = None,
        filename_suffix: str | None = None,
        session: None = None,
        *,
        max_bytes: int = 1 << 30,
        max_pending: int = 64 << 20,
    ) -> None:
        """Makes the folder and the file.

        Args:
            logdir: the folder.
            graph: a graph to write at once, with its static shapes; see `add_graph`.
            max_queue: as many events that wait are written at once.
            flush_secs: an event is in the file after this number of seconds (TensorFlow's default is 120).
            graph_def: the graph as a message.
            filename_suffix: what stands at the end of the file's name.
            session: has to be None; TensorFlow's writers within graphs are not here.
            max_bytes: a file that is as large is followed by another file.
            max_pending: bytes that may wait in memory while writing fails.

        Raises:
            InvalidArgumentError: the folder can't be: a part of its path is a file, or may not be written.
        """
        if session is not None:
            raise ValueError("FileWriter takes no session: it writes what a program fetches and hands to add_summary.")
        self._folder = Path(path_text(logdir, "logdir"))
        self._options = (filename_suffix or "", max_bytes, max_queue, flush_secs, max_pending)
        self._known_tags: set[str] = set()
        self._run_tags: set[str] = set()
        self._open()
        if graph is not None or graph_def is not None:
            self._add_first_graph(graph, graph_def)

    def _open(self) -> None:
        suffix, max_bytes, max_queue, flush_secs, max_pending = self._options
        file = EventFile(self._folder, suffix, max_bytes)
        self._queue = SummaryQueue(file, max(1, max_queue), flush_secs, max_pending)
        self._finalizer = weakref.finalize(self, self._queue.close)
        self._closed = False
        try:
            file.append(())
        except (NotADirectoryError, FileExistsError, PermissionError) as error:
            self.close()
            raise InvalidArgumentError(
                f"No summaries can be written in {str(self._folder)!r}: {error.strerror or error}.",
                hint="Name a folder that this process may write in.",
            ) from error
        except OSError:
            pass  # the disk, which may do better at the first event

    def _add_first_graph(self, graph: Graph | GraphDef | None, graph_def: GraphDef | None) -> None:
        """Writes the graph as `add_graph` does, and as a `MetaGraphDef`."""
        data = _graph_bytes(graph, graph_def)
        self._add(_GRAPH, data, None)
        self._add(_META_GRAPH, write_field(2, data), None)

    # ---- what is written

    def add_summary(self, summary: bytes | Summary, global_step: Any = None) -> None:
        """Writes a summary.

        Example:
            >>> summary = af.summary.Summary(value=[af.summary.Summary.Value(tag="loss", simple_value=0.5)])
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_summary(summary, global_step=1)
            >>> [(event.step, event.summary.value[0].tag) for event in af.summary.read_events("logs") if event.summary.value]
            [(1, 'loss')]

        Args:
            summary: what a summary op gave, or a `Summary`.
            global_step: the training step.
        """
        data = summary if isinstance(summary, bytes) else _bytes(summary)
        self._add(_SUMMARY, summaries.without_known_metadata(data, self._known_tags), global_step)

    def add_event(self, event: Event | bytes) -> None:
        """Writes an event as it is.

        Example:
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_event(af.summary.Event(wall_time=1.0, step=7))
            >>> [event.step for event in af.summary.read_events("logs")]
            [0, 7]
        """
        if self._warns_if_closed(3):
            return
        self._queue.put(event if isinstance(event, bytes) else _bytes(event))

    def add_graph(
        self, graph: Graph | GraphDef | None, global_step: Any = None, graph_def: GraphDef | None = None
    ) -> None:
        """Writes a graph, which TensorBoard draws.

        Example:
            >>> x = af.placeholder(af.float32, [2], name="x")
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_graph(x.graph)
            >>> [bool(event.graph_def) for event in af.summary.read_events("logs")]
            [False, True]

        Args:
            graph: the graph; its static shapes are written too.
            global_step: the training step.
            graph_def: a message in its place.

        Raises:
            ValueError: both are given.
            TypeError: neither is, or it is something else.
        """
        self._add(_GRAPH, _graph_bytes(graph, graph_def), global_step)

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: Any = None) -> None:
        """Writes a `MetaGraphDef`. Raises TypeError for anything else.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_meta_graph(af.train.export_meta_graph())
            >>> [bool(event.meta_graph_def) for event in af.summary.read_events("logs")]
            [False, True]
        """
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def).__name__}")
        self._add(_META_GRAPH, meta_graph_def.SerializeToString(), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Writes that a session began, ended or wrote a checkpoint. After a START, TensorBoard drops later steps of before.

        Example:
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_session_log(af.summary.SessionLog(status=af.summary.SessionLog.START), global_step=5)
            >>> [event.step for event in af.summary.read_events("logs")]
            [0, 5]
        """
        self._add(_SESSION_LOG, _bytes(session_log), global_step)

    def add_run_metadata(self, run_metadata: RunMetadata | Trace, tag: str, global_step: Any = None) -> None:
        """Writes what ran when in a step, which TensorBoard shows as times of the graph's nodes.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> trace = af.Trace()
            >>> _ = await session.run(af.square(x), {x: 3.0}, trace=trace)
            >>> with af.summary.FileWriter("logs", graph=x.graph) as writer:
            ...     writer.add_run_metadata(trace, "step 1", global_step=1)

        Args:
            run_metadata: a `RunMetadata`, or the `Trace` of a run.
            tag: the name under which it is found there.
            global_step: the training step.

        Raises:
            ValueError: the tag was used before.
        """
        from actorflow.engine.runtime.diagnostics.trace import Trace
        from actorflow.models.summary.run_metadata import run_metadata_of

        if tag in self._run_tags:
            raise ValueError(f"The provided tag was already used for this event type: {tag!r}.")
        self._run_tags.add(tag)
        message = run_metadata_of(run_metadata) if isinstance(run_metadata, Trace) else run_metadata
        self._add(_RUN_METADATA, write_field(1, tag.encode()) + write_field(2, _bytes(message)), global_step)

    def _add(self, field: int, payload: bytes, global_step: Any) -> None:
        if self._warns_if_closed():
            return
        step = 0 if global_step is None else int(global_step)
        self._queue.put(summaries.event(time.time(), step, field, payload))

    def _warns_if_closed(self, stacklevel: int = 4) -> bool:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly "
                "reopened.",
                stacklevel=stacklevel,
            )
        return self._closed

    # ---- its life

    def get_logdir(self) -> str:
        """The folder.

        Example:
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.get_logdir()
            'logs'
        """
        return str(self._folder)

    def statistics(self) -> WriterStatistics:
        """How many events were written, wait and were lost.

        Example:
            >>> with af.summary.FileWriter("logs") as writer:
            ...     writer.add_event(af.summary.Event(step=7))
            ...     writer.flush()
            ...     print(writer.statistics().written)
            1
        """
        return self._queue.statistics()

    def flush(self) -> None:
        """Writes what waits, in this thread. It raises nothing: `statistics` says what could not be written.

        Example:
            >>> with af.summary.FileWriter("logs", flush_secs=3600) as writer:
            ...     writer.add_event(af.summary.Event(step=7))
            ...     writer.flush()
            ...     print([event.step for event in af.summary.read_events("logs")])
            [0, 7]
        """
        if not self._warns_if_closed(3):
            self._queue.flush()

    async def aflush(self) -> None:
        """`flush`, on a thread.

        Example:
            >>> with af.summary.FileWriter("logs", flush_secs=3600) as writer:
            ...     writer.add_event(af.summary.Event(step=7))
            ...     await writer.aflush()
            ...     print([event.step for event in af.summary.read_events("logs")])
            [0, 7]
        """
        await machine.on_thread(self.flush)

    def close(self) -> None:
        """Writes what waits and closes the file. A second call does nothing.

        Example:
            >>> writer = af.summary.FileWriter("logs")
            >>> writer.add_event(af.summary.Event(step=7))
            >>> writer.close()
            >>> [event.step for event in af.summary.read_events("logs")]
            [0, 7]
        """
        self._closed = True
        self._finalizer()

    async def aclose(self) -> None:
        """`close`, on a thread.

        Example:
            >>> writer = af.summary.FileWriter("logs")
            >>> writer.add_event(af.summary.Event(step=7))
            >>> await writer.aclose()
            >>> [event.step for event in af.summary.read_events("logs")]
            [0, 7]
        """
        with anyio.CancelScope(shield=True):
            await machine.on_thread(self.close)

    def reopen(self) -> None:
        """After `close`, goes on in a new file; before it, does nothing.

        Example:
            >>> writer = af.summary.FileWriter("logs")
            >>> writer.close()
            >>> writer.reopen()
            >>> writer.add_event(af.summary.Event(step=7))
            >>> writer.close()
            >>> [event.step for event in af.summary.read_events("logs")]
            [0, 0, 7]
        """
        if self._closed:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _graph_bytes(graph: Graph | GraphDef | None, graph_def: GraphDef | None) -> bytes:
    if graph is not None and graph_def is not None:
        raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
    source: Any = graph if graph is not None else graph_def
    if isinstance(source, Graph):
        source = source.as_graph_def(add_shapes=True)
    if not isinstance(source, GraphDef):
        raise TypeError(
            f"The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, not {type(source).__name__}."
        )
    return source.SerializeToString()


def _bytes(message: Any) -> bytes:
    """A serialised message, ours or that of Protocol Buffers. Raises TypeError for anything else."""
    if isinstance(message, bytes):
        return message
    if not hasattr(message, "SerializeToString"):
        raise TypeError(f"A message (or its bytes) is written, but a {type(message).__name__} was given.")
    data: bytes = message.SerializeToString()
    return data


@public("af.summary")
class FileWriterCache:
    """One `FileWriter` for each folder (`tf.summary.FileWriterCache`).

    Example:
        >>> writer = af.summary.FileWriterCache.get("logs/run1")
        >>> af.summary.FileWriterCache.get("logs/run1") is writer
        True
        >>> af.summary.FileWriterCache.clear()
    """

    _cache: ClassVar[dict[str, FileWriter]] = {}
    _lock = forks.new_lock()

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """The writer of a folder; a new one writes the default graph first."""
        with FileWriterCache._lock:
            folder = path_text(logdir, "logdir")
            if folder not in FileWriterCache._cache:
                FileWriterCache._cache[folder] = FileWriter(folder, graph=get_default_graph())
            return FileWriterCache._cache[folder]

    @staticmethod
    def clear() -> None:
        """Closes all of them, and forgets them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()
