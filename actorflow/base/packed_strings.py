"""`PackedStrings`: a tensor of strings as places and bytes, as it goes from kernel to kernel within a step.

People, Python functions and most kernels see a tensor of strings as an array of Python's bytes. To make and to drop an object for
each string takes longer than most ops on strings do. So a kernel in C may give packed strings to kernels that take them. A pass
of the plan decides it (`actorflow.engine.passes.pack_strings`): a kernel packs an output if each of its consumers takes packed
strings. Fetches, other devices, loops, variables and all other consumers get arrays of objects.

Parts of strings, and strings that are only picked, moved and joined, share the bytes with the strings that they are of. Nothing
changes places or data once they are in a `PackedStrings`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

_OBJECT: Final = np.dtype(object)


@final
class PackedStrings:
    """A tensor of strings that are packed.

    Args:
        places: int64, of the tensor's shape, with two numbers for each string: its first byte among the data, and how many bytes
            it has.
        data: the bytes of all strings, uint8.

    Example:
        >>> from actorflow.base.packed_strings import PackedStrings
        >>> import numpy as np
        >>> words = PackedStrings(np.array([[0, 5], [5, 2]]), np.frombuffer(b"graphop", np.uint8))
        >>> words.tolist()
        [b'graph', b'op']
    """

    __slots__ = ("data", "places")

    dtype = _OBJECT

    def __init__(self, places: Any, data: Any) -> None:
        self.places = places
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        shape: tuple[int, ...] = self.places.shape[:-1]
        return shape

    @property
    def ndim(self) -> int:
        """The tensor's rank."""
        rank: int = self.places.ndim - 1
        return rank

    @property
    def size(self) -> int:
        """How many strings there are."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of places and data."""
        return int(self.places.nbytes + self.data.nbytes)

    def __len__(self) -> int:
        return len(self.places)

    def reshape(self, *shape: Any) -> PackedStrings:
        """The same strings in another shape, as of an array."""
        sizes: Sequence[int] = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return PackedStrings(self.places.reshape(*sizes, 2), self.data)

    def tolist(self) -> Any:
        """The strings in nested lists."""
        return self.objects().tolist()

    def item(self) -> bytes:
        """The string of a tensor of one string."""
        string: bytes = self.objects().item()
        return string

    def objects(self) -> np.ndarray[Any, Any]:
        """The strings in an array of objects."""
        data, strings = self.data.tobytes(), np.empty(self.size, object)
        strings[:] = [data[begin : begin + size] for begin, size in self.places.reshape(-1, 2).tolist()]
        return strings.reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.objects(), dtype)

    def elements(self) -> np.ndarray[Any, Any]:
        """An element of 16 bytes for each string, in an array of the tensor's shape: for functions that move elements."""
        return np.asarray(self.places, order="C").view(np.complex128)[..., 0]

    @staticmethod
    def of_elements(elements: Any, data: Any) -> PackedStrings:
        """The strings of elements that were moved.

        Args:
            elements: what a function made of `elements()`.
            data: the bytes of all strings.
        """
        moved = np.asarray(elements, order="C")
        return PackedStrings(moved.reshape(*moved.shape, 1).view(np.int64), data)


def pack(strings: Any) -> PackedStrings:
    """Strings in an array of objects as packed strings.

    Args:
        strings: the array.
    """
    flat = strings.reshape(-1).tolist()
    sizes = np.fromiter(map(len, flat), np.int64, len(flat))
    places = np.stack([np.cumsum(sizes) - sizes, sizes], 1)
    return PackedStrings(places.reshape(*strings.shape, 2), np.frombuffer(b"".join(flat), np.uint8))


def together(parts: Sequence[Any]) -> tuple[list[Any], Any]:
    """The elements of several tensors of strings, with the data of all behind each other.

    Args:
        parts: packed strings, and arrays of objects.
    """
    packed = [part if isinstance(part, PackedStrings) else pack(part) for part in parts]
    if all(part.data is packed[0].data for part in packed):
        return [part.elements() for part in packed], packed[0].data
    elements, before = [], 0
    for part in packed:
        moved = part.places + np.array([before, 0]) if before else part.places
        elements.append(PackedStrings(moved, part.data).elements())
        before += len(part.data)
    return elements, np.concatenate([part.data for part in packed])


def unpacked(value: Any) -> Any:
    """`value`, with packed strings as an array of objects; a list or tuple, with its parts so."""
    if isinstance(value, PackedStrings):
        return value.objects()
    if isinstance(value, (list, tuple)):
        return type(value)([unpacked(part) for part in value])
    return value


def shaped(value: Any) -> Any:
    """`value`, with a single string as an array of rank 0, which has a shape and a type; a list or tuple, with its parts so.

    Args:
        value: what a kernel takes: numpy, Python functions and files hand out a single string as Python's bytes.
    """
    if isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array
    if isinstance(value, (list, tuple)):
        return type(value)([shaped(part) for part in value])
    return value
