"""The buffer of a variable, its snapshots, and writes that never change a value that was read.

A read hands out one read-only array over the buffer, the *snapshot*, shared by all reads until the next write. The
variable keeps only a weak reference to it. The snapshot is the base of each view that is cut from it (see `owned_buffer`),
so the weak reference is dead exactly when the last view is gone: then a write may go in place. While it lives, a write fills a
fresh buffer instead. A training step whose reads are used up before its update copies no weights.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.process import forks
from actorflow.base.shapes import Shape, compatible, show
from actorflow.engine.device.base import Allocator
from actorflow.engine.device.memory import owned_buffer
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, with_topic

_watching = forks.new_lock()


class Watcher(Protocol):
    """It knows the value of variables."""

    def thaw(self) -> None:
        """A variable is about to have another value. Called on any thread."""


class VariableState:
    """One variable's value on a device that computes with numpy. Used only on the event loop's thread, or by the one
    kernel that holds `writer`."""

    __slots__ = (
        "__weakref__",
        "_allocator",
        "_memory",
        "_root",
        "_snapshot",
        "_watchers",
        "copies",
        "dtype",
        "name",
        "shape",
        "writer",
    )

    def __init__(self, name: str, dtype: DType, shape: Shape, allocator: Allocator) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.copies = 0
        """How often a write had to leave the buffer to a snapshot that was still in use."""
        self.writer: Any = None
        """Set by the dispatcher while a kernel on another thread writes; other accesses wait for it."""
        self._allocator = allocator
        self._root: np.ndarray[Any, Any] | None = None
        self._memory: memoryview | None = None
        self._snapshot: weakref.ref[np.ndarray[Any, Any]] | None = None
        self._watchers: tuple[weakref.ref[Watcher], ...] = ()

    @property
    def initialized(self) -> bool:
        return self._root is not None

    def read(self) -> Any:
        """The value as a read-only array (a numpy scalar for rank 0) that no later write changes.

        Raises:
            FailedPreconditionError: nothing was assigned yet.
        """
        snapshot = self._snapshot and self._snapshot()
        if snapshot is not None:
            return snapshot
        root = self._root
        if root is None:
            raise self._uninitialized()
        if root.ndim == 0:
            return root[()]
        if self._memory is None:
            return root  # byte strings: never written in place
        snapshot = np.ndarray(root.shape, root.dtype, self._memory)
        self._snapshot = weakref.ref(snapshot)
        return snapshot

    def on_host(self) -> Any:
        """The value that `read` gives, in host memory; a device with memory of its own has to wait for it."""
        return self.read()

    def assign(self, value: Any) -> None:
        """Makes a copy of `value` the new value. Raises InvalidArgumentError where its shape is not the variable's."""
        value = np.asarray(value)
        if not compatible(self.shape, value.shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {show(self.shape)}, but the value assigned has {value.shape}."
            )
        if self._watchers:
            self._tell_watchers()
        root = self._root
        if root is not None and root.shape == value.shape and not self._leased() and self._memory is not None:
            np.copyto(root, value)
        else:
            self._replace(self._fresh(value.shape), value)

    def buffer(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """A fresh buffer of the variable's type, its contents undefined, to be filled and given to `adopt`. Any thread may
        call it. Raises InvalidArgumentError where the variable can't have this shape."""
        if not compatible(self.shape, shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {show(self.shape)}, but a value of shape {shape} is to be assigned."
            )
        return self._fresh(shape)

    def adopt(self, buffer: np.ndarray[Any, Any]) -> None:
        """Makes what is in a `buffer` of ours the value, without a copy. No one else may keep the buffer."""
        if self._watchers:
            self._tell_watchers()
        self._take(buffer)

    def writable(self) -> np.ndarray[Any, Any]:
        """The buffer, for a kernel that changes it in place before it returns. A snapshot in use keeps the old buffer.

        Raises:
            FailedPreconditionError: nothing was assigned yet.
        """
        if self._watchers:
            self._tell_watchers()
        root = self._root
        if root is None:
            raise self._uninitialized()
        if self._memory is None or self._leased():
            self.copies += 1
            self._replace(self._fresh(root.shape), root)
            root = self._root
            assert root is not None
        return root

    def watch(self, watcher: Watcher) -> None:
        """Has `watcher` told once: before the next write, or when the variable is dropped. Called on the event loop, while
        `writer` is None. A watcher is not kept alive."""
        with _watching:
            self._watchers = (*[each for each in self._watchers if each() is not None], weakref.ref(watcher))

    def unwatch(self, watcher: Watcher) -> None:
        """Takes `watch` back, if it was not told yet."""
        with _watching:
            self._watchers = tuple([each for each in self._watchers if each() not in (None, watcher)])

    def close(self) -> None:
        """The variable is dropped from its container."""
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        with _watching:
            watchers, self._watchers = self._watchers, ()
        for watcher in watchers:
            target = watcher()
            if target is not None:
                target.thaw()

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raises InvalidArgumentError unless an update of this shape fits the value exactly."""
        if self._root is None:
            raise self._uninitialized()
        if self._root.shape != tuple(shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {self._root.shape}, but the update has {tuple(shape)}."
            )

    def scratch(self) -> Any:
        """A buffer of the value's shape and type, its contents undefined, for what a kernel computes on the way."""
        assert self._root is not None, "an update has opened the variable"
        return self._fresh(self._root.shape)

    def _leased(self) -> bool:
        return self._snapshot is not None and self._snapshot() is not None

    def _fresh(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return self._allocator.allocate(shape, self.dtype.numpy_dtype)  # type: ignore[no-any-return]

    def _replace(self, fresh: np.ndarray[Any, Any], value: Any) -> None:
        np.copyto(fresh, value)
        self._take(fresh)

    def _take(self, fresh: np.ndarray[Any, Any]) -> None:
        self._root = fresh
        self._snapshot = None
        self._memory = None if fresh.dtype.hasobject or not fresh.size else owned_buffer(fresh).toreadonly()

    def _uninitialized(self) -> FailedPreconditionError:
        return FailedPreconditionError(
            f"Attempting to use uninitialized value {self.name}: the variable has no value yet.",
            hint=with_topic(
                "Run its initializer first: await session.run(af.global_variables_initializer()).",
                "variable-without-value",
            ),
        )

    def __repr__(self) -> str:
        return f"<variable {self.name!r} {self.dtype} {show(self.shape)}>"
