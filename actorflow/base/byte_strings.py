"""Arrays of byte strings, as tensors of strings are, from arrays of Python's bytes and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_provided: list[Callable[[Any], Any]] = []


class NoStringError(ValueError):
    """An element is neither bytes nor text. `item` is the element."""

    def __init__(self, item: Any) -> None:
        super().__init__(f"A {type(item).__name__} is no byte string.")
        self.item = item


def byte_strings(value: Any) -> np.ndarray[Any, Any]:
    """The strings of `value` in an array of its own. Text becomes UTF-8.

    Args:
        value: an array, or what numpy takes for an array.

    Raises:
        NoStringError: an element is something else.

    Example:
        >>> from actorflow.base.byte_strings import byte_strings
        >>> byte_strings([["a", b"b"]])
        [[b'a' b'b']]
    """
    source = np.asarray(value, dtype=object, order="C")
    strings = _provided[0](source) if _provided else None
    if strings is None:
        strings = np.empty(source.shape, dtype=object)
        strings.reshape(-1)[:] = [
            item if isinstance(item, bytes) else _encoded(item) for item in source.reshape(-1).tolist()
        ]
    return strings


def _encoded(item: Any) -> bytes:
    if not isinstance(item, str):
        raise NoStringError(item)
    return item.encode()


def provide(function: Callable[[Any], Any]) -> None:
    """Declares a function that does the work of `byte_strings`.

    Args:
        function: takes an array of objects, and gives None for an array that it leaves to Python.
    """
    _provided[:] = [function]
