"""The values of `variant` tensors: immutable lists of tensors, cheap to change.

`Stack` is a chain that shares its lower part with what it was made from. `Items` is an array: all versions of an array share a
store, the latest reads it directly and older versions keep what was overwritten (after H. Baker, "Shallow binding makes
functional arrays fast", 1991), so that a loop that writes one element an iteration copies nothing. A second write to one
version begins a store of its own.

The zeros of a list are a list that makes its elements when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.process import forks
from actorflow.errors import InvalidArgumentError

Zeros: TypeAlias = "Callable[[Any], Any]"


class Stack:
    """A stack of tensors. `push` and `pop` take constant time, and leave this stack as it is."""

    __slots__ = ("_below", "_item", "size")

    def __init__(self, below: Stack | None = None, item: Any = None) -> None:
        self._below = below
        self._item = item
        self.size: int = 0 if below is None else below.size + 1

    def push(self, item: Any) -> Stack:
        return Stack(self, item)

    def pop(self) -> tuple[Stack, Any]:
        """The stack below the top, and the top. Raises InvalidArgumentError for an empty stack."""
        if self._below is None:
            raise InvalidArgumentError("An element is taken from an empty list.")
        return self._below, self._item

    def zeros(self) -> Stack:
        return _ZeroStack(self)

    def __add__(self, other: Stack) -> Stack:
        if isinstance(other, _ZeroStack):
            return self
        if isinstance(self, _ZeroStack):
            return other
        pairs = []
        left, right = self, other
        while left.size and right.size:
            left, top = left.pop()
            right, two = right.pop()
            pairs.append(top + two)
        base = left if left.size else right
        for item in reversed(pairs):
            base = base.push(item)
        return base


class _ZeroStack(Stack):
    """A stack of the sizes of another, with zeros in place of its elements."""

    __slots__ = ("_like",)

    def __init__(self, like: Stack) -> None:
        super().__init__()
        self._like = like
        self.size = like.size

    def pop(self) -> tuple[Stack, Any]:
        below, item = self._like.pop()
        return _ZeroStack(below), zeros_of(item)


class _Store:
    """The store that the versions of an `Items` share: the elements of the latest version, by index."""

    __slots__ = ("content", "lock")

    def __init__(self, content: dict[int, Any]) -> None:
        self.content = content
        self.lock = forks.new_lock()


_ABSENT = object()


class Items:
    """An array of tensors of which some may be missing. `like` gives the shapes of those that count as zero."""

    __slots__ = ("_index", "_newer", "_old", "_store", "like", "size")

    def __init__(self, size: int, content: dict[int, Any] | None = None, like: Items | None = None) -> None:
        self.size = size
        self.like = like
        self._store = _Store({} if content is None else content)
        self._newer: Items | None = None
        self._index = 0
        self._old: Any = _ABSENT

    @staticmethod
    def of(items: Iterable[Any]) -> Items:
        content = dict(enumerate(items))
        return Items(len(content), content)

    def get(self, index: int) -> Any:
        """The element, or None for a missing element."""
        with self._store.lock:
            if self._newer is not None:
                self._reroot()
            return self._store.content.get(index)

    def has(self, index: int) -> bool:
        """Whether the element is there. Unlike `get` it does not make ready for more questions to this version."""
        with self._store.lock:
            version = self
            while version._newer is not None:
                if version._index == index:
                    return version._old is not _ABSENT
                version = version._newer
            return index in self._store.content

    def set(self, index: int, item: Any, size: int | None = None) -> Items:
        """A version with `item` (None: nothing) at `index`, and of another size if `size` is given."""
        version = object.__new__(Items)
        version.like = self.like
        version.size = self.size if size is None else size
        version._newer, version._index, version._old = None, 0, _ABSENT
        with self._store.lock:
            if self._newer is None:
                version._store = self._store
                content = self._store.content
                self._newer, self._index, self._old = version, index, content.get(index, _ABSENT)
            else:  # a second line of versions: if both shared the store, reads of both in turns would take long
                content = self._content()
                version._store = _Store(content)
            if item is None:
                content.pop(index, None)
            else:
                content[index] = item
        return version

    def items(self) -> list[tuple[int, Any]]:
        """(index, element) of those that are there."""
        with self._store.lock:
            self._reroot()
            return list(self._store.content.items())

    def all(self, shape: Any = None, dtype: Any = None) -> list[Any]:
        """All elements in order; a missing element is zeros, if its shape is known.

        Raises:
            InvalidArgumentError: the shape of a missing element is not known.
        """
        by_index = dict(self.items())
        return [by_index[i] if i in by_index else self.missing(i, shape, dtype) for i in range(self.size)]

    def missing(self, index: int, shape: Any = None, dtype: Any = None) -> Any:
        """Zeros for an element that is not there."""
        if self.like is not None:
            there = self.like.get(index)
            return zeros_of(self.like.missing(index, shape, dtype) if there is None else there)
        if shape is not None and None not in shape:
            return np.zeros(shape, dtype)
        example = next((item for _, item in self.items()), None)
        if example is not None and shape is not None:  # a part of the shape was said: all elements have one shape
            return np.zeros(example.shape, dtype)
        if example is not None:
            raise InvalidArgumentError(f"Element {index} of the list is read before it was written.")
        raise InvalidArgumentError(
            f"Element {index} of the list was never written, and its shape is not known.",
            hint="Write each element, or give element_shape.",
        )

    def zeros(self) -> Items:
        return Items(self.size, like=self)

    def __add__(self, other: Items) -> Items:
        mine, theirs = self.items(), other.items()
        base, less = (self, theirs) if len(mine) >= len(theirs) else (other, mine)
        if base.like is None and (like := self.like or other.like) is not None:
            base = Items(base.size, dict(base.items()), like)
        for index, item in less:
            present = base.get(index)
            base = base.set(index, item if present is None else present + item)
        size = max(self.size, other.size)
        return base if base.size == size else base.resized(size)

    def resized(self, size: int) -> Items:
        return Items(size, dict(self.items()), self.like)

    def check(self, index: int, says: str) -> None:
        """Raises InvalidArgumentError for an index out of range; `says` has places for `index` and `size`."""
        if not 0 <= index < self.size:
            raise InvalidArgumentError(says.format(index=index, size=self.size))

    def _path(self) -> list[Items]:
        """The versions from this version to the version that the store holds, without the latter."""
        path = []
        version = self
        while version._newer is not None:
            path.append(version)
            version = version._newer
        return path

    def _content(self) -> dict[int, Any]:
        """A copy of the elements of this version. The caller has the lock."""
        content = dict(self._store.content)
        for older in reversed(self._path()):
            if older._old is _ABSENT:
                content.pop(older._index, None)
            else:
                content[older._index] = older._old
        return content

    def _reroot(self) -> None:
        """Makes this the version that the store holds. The caller has the lock."""
        path = self._path()
        content = self._store.content
        for older in reversed(path):
            newer = older._newer
            assert newer is not None
            newer._newer, newer._index, newer._old = older, older._index, content.get(older._index, _ABSENT)
            if older._old is _ABSENT:
                content.pop(older._index, None)
            else:
                content[older._index] = older._old
            older._newer, older._old = None, _ABSENT

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())


def zeros_of(value: Any) -> Any:
    """Zeros of the shape and type of a tensor, or of a list."""
    if isinstance(value, (Stack, Items)):
        return value.zeros()
    return np.zeros_like(value)[()]
