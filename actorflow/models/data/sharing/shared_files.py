"""`SharedFiles`: files that the workers of a cluster read together, each file once an epoch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import anyio

from actorflow.base.dtypes import string
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.base.reports.user_line import user_line
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import OpError, OutOfRangeError, describe
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.io import file_pools as ops
from actorflow.graph.tensor import TensorLike
from actorflow.models.data.dataset import Dataset
from actorflow.public import public

_LOG = get_logger("data")

_RENEWALS = 3
"""How often a lease is renewed in its time."""


@public("af.data")
class SharedFiles:
    """Files that several workers read together: a ready worker takes the next file, and each file is read once an epoch.

    Each worker's program makes this object in its own graph, under the same `shared_name` and within the `af.device` of the
    same task, such as "/job:ps/task:0", which knows who reads what. Each program runs the initializer, and the first run
    counts. A file counts as read when its reader asks for the next file. A worker that is lost stops renewing its lease; once
    another worker has nothing else to read, it reads that file, from its beginning. So no file is left out, and a file is read
    a second time only if its reader is lost, or is held up for longer than the lease.

    Checkpoints of sessions on that task have the files that are not read yet.

    Example:
        >>> for name in ["a.txt", "b.txt"]:
        ...     with open(name, "w") as file:
        ...         print("line of", name, file=file)
        >>> files = af.data.SharedFiles(["a.txt", "b.txt"])
        >>> await session.run(files.initializer)
        >>> sorted([line async for line in files.read(session, af.data.TextLineDataset)])
        [b'line of a.txt', b'line of b.txt']

    Args:
        names: the names, a vector of strings. Each is there once.
        epochs: how often each is read; None for without end. An epoch begins when all files of the epoch before it are read.
        lease: for how many seconds a reader that is not heard of keeps its file.
        seed: of the order of the files in each epoch, which is that of `names` unless given.
        shared_name: by which workers find the same files. Each run of a program needs another name, such as f"train {number}":
            a pool whose files are all read stays at its end as long as its task lives. Without a name no object shares it.

    Raises:
        ValueError: `lease` or `epochs` is not positive, or the files are on a task of a cluster and there is no `shared_name`.
        InvalidArgumentError: when the initializer runs: the pool has begun with other names, epochs, lease or seed.
    """

    def __init__(
        self,
        names: TensorLike,
        epochs: int | None = 1,
        lease: float = 30.0,
        seed: int | None = None,
        shared_name: str | None = None,
    ) -> None:
        if lease <= 0 or epochs is not None and epochs < 1:
            raise ValueError(f"`lease` and `epochs` are positive numbers, but they are {lease} and {epochs}.")
        container = scopes.of(get_default_graph()).container
        pool = ops.file_pool(container=container, shared_name=shared_name or "")
        if not shared_name and "/job:" in pool.op.device:
            raise ValueError(
                describe(
                    f"Files on {pool.op.device} are shared, so they need a shared_name.",
                    where=user_line(),
                    hint="Give all workers of a run the same one, and each run another one.",
                )
            )
        self._lease = lease
        self._reader = placeholder(string, [], name="reader")
        self._next = ops.file_pool_take(pool, self._reader)
        self._renewed = ops.file_pool_renew(pool, self._reader)
        self.initializer = ops.file_pool_begin(
            pool, names, epochs=-1 if epochs is None else epochs, lease=lease, seed=-1 if seed is None else seed
        )
        """The operation that puts the names there, where none has done so before."""

    def read(self, session: Any, open: Callable[[Any], Dataset]) -> Dataset:
        """The elements of the files that this worker gets, one file after another.

        The worker's program goes through them with `async for` and feeds them. The names come through its session, so an iterator
        of a graph can use them in this process only. An iterator on a task takes `Dataset.list_files(...).shard(workers, index)`.

        The state of an iteration has the place in the file that it reads. An iteration that goes on there takes the files that no
        worker has taken; a file that was lost with the former iteration is read again when its lease is over.

        Example:
            >>> with open("a.txt", "w") as file:
            ...     print("line", file=file)
            >>> files = af.data.SharedFiles(["a.txt"])
            >>> await session.run(files.initializer)
            >>> [line async for line in files.read(session, af.data.TextLineDataset)]
            [b'line']

        Args:
            session: the worker's session, an `af.Session`. It has to be open as long as elements are asked for.
            open: makes a dataset of the name of a file, such as `af.data.TFRecordDataset`.

        Raises:
            TypeError: `open` gives something else.
        """

        def names() -> AsyncIterator[bytes]:
            return self._names(session)

        node = Dataset.from_generator(names, string, []).node
        return Dataset(replace(node, options={"goes_on": True})).flat_map(open)

    async def _names(self, session: Any) -> AsyncIterator[bytes]:
        reader = machine.fresh_hex(8)
        renewing = BackgroundTasks()
        renewing.start(self._renew(session, reader))
        try:
            while True:
                try:
                    name = await session.run(self._next, {self._reader: reader})
                except OutOfRangeError:
                    return
                yield name
        finally:
            await renewing.close()

    async def _renew(self, session: Any, reader: str) -> None:
        while True:
            await anyio.sleep(self._lease / _RENEWALS)
            try:
                await session.run(self._renewed, {self._reader: reader})
            except OpError as error:  # the next file will tell, if it lasts
                _LOG.warning("a lease of a file is not renewed", reader=reader, error=str(error))
