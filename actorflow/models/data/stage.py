"""`Stage`: one stage at work; and `Running`, what the stages of one iterator have in common.

Elements go from stage to stage in **blocks**: a pull says how many elements it can take at most, and gets one element or more.
A block of n elements is what n pulls of one element would give. It ends before an element whose error is to be raised, which
the next pull does; and a stage that has one element does not wait for others. So blocks change how quick a pipeline is, and
nothing else.

One rule makes a stage: **what it has taken and not given yet is in the stage itself whenever it waits**, never in a variable of
a coroutine alone. So a pull that is cancelled takes nothing away, and the state of all stages can be read at any moment, also in
the middle of a pull: both leave the next element in its place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from time import perf_counter
from typing import Any, TypeVar

import msgpack

from actorflow import errors
from actorflow.base.dtypes import as_dtype
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.base.records.roots import FileRoots
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.models.data.node import DatasetNode, array, decode, encode, value_of
from actorflow.models.data.spec import Element

TURN = 1e-3
"""After how many seconds of work a source lets others have the event loop, and a block of calls ends."""
BLOCK = 512
"""How many elements a stage asks for at most if it could take any number."""

_UNTIMED = 16
"""Elements that a source gives without a look at the clock."""

S = TypeVar("S", bound="type[Stage]")
STAGES: dict[str, type[Stage]] = {}
"""The table of stages, by the kind of their nodes."""


class EndOfSequence(Exception):
    """There are no more elements."""


class Running:
    """The common state of one iterator's stages: its tasks, the folders that it may read, and whose turn it is on the loop."""

    def __init__(self, roots: FileRoots = None) -> None:
        self.roots = roots
        self.at_end: list[Callable[[], None]] = []
        """Called when the iterator ends, in whatever way."""
        self._tasks: BackgroundTasks | None = None
        self._pulls = 0
        self._until = 0.0
        self.closed = False

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """A task of the iterator: it goes on while no one pulls, and ends with the iterator."""
        if self._tasks is None:
            self._tasks = BackgroundTasks()
            self._tasks.closed = self.closed
        return self._tasks.start(coroutine)

    @property
    def is_busy(self) -> bool:
        """Whether there are tasks."""
        return self._tasks is not None and self._tasks.is_busy

    def abort(self) -> None:
        """Cancels all tasks, and waits for none."""
        self.closed = True
        if self._tasks is not None:
            self._tasks.abort()
        self._ended()

    async def close(self) -> None:
        """Cancels all tasks, and waits for their ends."""
        self.closed = True
        if self._tasks is not None:
            await self._tasks.close()
        self._ended()

    def _ended(self) -> None:
        callbacks, self.at_end = self.at_end, []
        for callback in callbacks:
            callback()

    def turn_is_over(self, count: int) -> bool:
        """Whether a source should let others have the event loop before it gives `count` elements."""
        self._pulls += count
        if self._pulls < _UNTIMED:
            return False
        self._pulls = 0
        now = perf_counter()
        if now < self._until:
            return False
        self._until = now + TURN
        return True

    def stage(self, node: DatasetNode) -> Stage:
        """A stage for a node, at its beginning. Raises UnimplementedError for an unknown kind."""
        kind = STAGES.get(node.kind)
        if kind is None:
            raise UnimplementedError(f"There is no stage {node.kind!r}.")
        return kind(node, self)


def check(node: DatasetNode) -> None:
    """Raises InvalidArgumentError for numbers of a description that none of its stages can work with."""
    kind = STAGES.get(node.kind)
    if kind is not None:
        kind.check(node)
    for source in node.inputs:
        check(source)


def stage(kind: str) -> Callable[[S], S]:
    """Puts a class into the table of stages."""

    def register(cls: S) -> S:
        STAGES[kind] = cls
        return cls

    return register


class Stage:
    """A stage at work. Others pull from it; it pulls from its `inputs`. Only one pulls at a time."""

    def __init__(self, node: DatasetNode, running: Running) -> None:
        self.node, self.running = node, running
        self.given = 0
        """How many elements it has given."""
        self.seconds = 0.0
        """How long pulls from it took, those from its inputs included."""
        self.since: float | None = None
        """When the pull began that it is busy with."""
        self.inputs: list[Stage] = []
        """The stages that it pulls from now."""
        self.check(node)
        self.setup()

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        """Raises InvalidArgumentError for numbers that the stage can't work with. An iterator's initializer asks for it too."""

    def setup(self) -> None:
        """Its beginning: inputs and what it keeps."""

    def open(self, index: int = 0) -> Stage:
        """The stage of one of its node's inputs, at its beginning."""
        return self.running.stage(self.node.inputs[index])

    async def pull(self) -> Element:
        """The next element. Raises EndOfSequence, or the error of the element, after which the next element comes."""
        (element,) = await self.block(1)
        return element

    async def block(self, most: int) -> list[Element]:
        """At least one element, at most `most`. Raises EndOfSequence, or the error of the next element, which it passes."""
        began = self.since = perf_counter()
        try:
            elements = await self.next(most)
            self.given += len(elements)
            return elements
        finally:
            self.seconds += perf_counter() - began
            self.since = None

    async def next(self, most: int) -> list[Element]:
        """The elements that `block` gives; each class has its own."""
        raise NotImplementedError

    # Its state

    def state(self) -> Any:
        """Its place, with its inputs, in terms of msgpack."""
        return [self.own(), [below.state() for below in self.inputs]]

    def restore(self, state: Any) -> None:
        """Goes to where a fresh stage of the same node was that gave `state`."""
        own, below = state
        self.set_own(own)
        if len(below) != len(self.inputs):
            raise InvalidArgumentError(f"The state is none of the stage {self.node}.")
        for source, its in zip(self.inputs, below):
            source.restore(its)

    def own(self) -> Any:
        """Its own part of the state."""
        return None

    def set_own(self, state: Any) -> None:
        """Takes what `own` gave, and makes those of its `inputs` that are there only in the midst of work."""


class OneInput(Stage):
    """A stage that pulls from one other."""

    def setup(self) -> None:
        self.inputs = [self.open()]
        self.input = self.inputs[0]


class SourceStage(Stage):
    """A stage that pulls from none and waits for nothing: `take` gives its next elements."""

    def setup(self) -> None:
        self.index = 0

    async def next(self, most: int) -> list[Element]:
        if self.running.turn_is_over(most):
            await asyncio.sleep(0)
        block = self.take(min(most, BLOCK))
        if not block:
            raise EndOfSequence
        self.index += len(block)
        return block

    def take(self, most: int) -> list[Element]:
        """Up to `most` elements from its index on; none at the end."""
        raise NotImplementedError

    def own(self) -> Any:
        return self.index

    def set_own(self, state: Any) -> None:
        self.index = state


# ---- elements and errors in turn

Entry = Element | Exception
"""An element, or the error that stands at its place."""


def taken_from(ready: deque[Entry], most: int) -> list[Element]:
    """Up to `most` elements from the front, as far as the first error. Raises the error that is at the front."""
    block: list[Element] = []
    while ready and len(block) < most:
        entry = ready[0]
        if isinstance(entry, Exception):
            if block:
                break
            ready.popleft()
            raise entry
        block.append(entry)
        ready.popleft()
    return block


# ---- elements in states


def pack_entries(entries: Iterable[Entry]) -> list[Any]:
    """Elements and errors in terms of msgpack."""
    return [pack_error(entry) if isinstance(entry, Exception) else pack(entry) for entry in entries]


def unpack_entries(state: Sequence[Any]) -> list[Entry]:
    """The entries of `pack_entries`."""
    return [unpack_error(entry) if isinstance(entry, dict) else unpack(entry) for entry in state]


def pack_error(error: Exception) -> dict[str, Any]:
    """An error in terms of msgpack: its code and its text."""
    code = error.code if isinstance(error, errors.OpError) else errors.UnknownError.code
    return {"code": code, "error": str(error)}


def unpack_error(state: dict[str, Any]) -> Exception:
    """The error of `pack_error`."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.OpError)]
    return next((kind for kind in kinds if kind.code == state["code"]), errors.UnknownError)(state["error"])


def pack(element: Element) -> list[Any]:
    """An element in terms of msgpack."""
    return [pack_value(value) for value in element]


def pack_value(value: Any) -> Any:
    """A leaf in terms of msgpack: a tensor as a message, a dataset as its description with its tensors."""
    if isinstance(value, DatasetNode):
        tensors: dict[Any, int] = {}
        description = encode(value, tensors)
        return [description, [pack_value(value_of(key)) for key in tensors]]
    number = array(value)
    return write_tensor(number, as_dtype(number.dtype))


def unpack(state: Sequence[Any]) -> Element:
    """The element of `pack`."""
    return tuple([unpack_value(value) for value in state])


def unpack_value(state: Any) -> Any:
    """The leaf of `pack_value`."""
    if isinstance(state, bytes):
        whole = read_tensor(state)[1]
        return whole if whole.ndim else whole[()]
    description, tensors = state
    return decode(description, [unpack_value(tensor) for tensor in tensors])


def write_state(state: Any) -> bytes:
    """The state of a stage as bytes."""
    packed: bytes = msgpack.packb(state, use_bin_type=True, unicode_errors="surrogateescape")
    return packed


def read_state(state: bytes) -> Any:
    """The state of `write_state`. Raises InvalidArgumentError for what is none."""
    try:
        return msgpack.unpackb(state, raw=False, strict_map_key=False, unicode_errors="surrogateescape")
    except Exception as error:
        raise InvalidArgumentError(f"The data of {len(state)} bytes is no state of an iterator.") from error
