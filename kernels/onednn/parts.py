"""Parts of a library's work that threads of the pool take in turns: some images of a batch, some rows or columns of a product.

The library's own threads wait for each other several times in a call, and if a thread has lost its core the others wait with
it. In the pool, a thread that gets no core leaves the parts to the caller. If one thread does it all, it does so in one call,
which takes a little less.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..native.library import loaded as native
from ..shared.threads import in_pieces, most_threads, threaded
from .binding import Binding, Unsupported
from .panels import Panels
from .program import CompiledProgram, Governed

WORTH_FLOPS = 4e6
"""The work that several threads share."""
_MOST_KNOWN = 256


def are_shared(library: Binding, flops: float, count: int = 2) -> bool:
    """Whether work on `count` images or rows is done in parts. If not, the library's own threads do it."""
    return flops >= WORTH_FLOPS and count > 1 and library.most_threads > 1 and most_threads() > 1


def shared(
    library: Binding, work: Callable[[int, int], None], count: int, key: Hashable, even: int = 1, whole: Any = None
) -> None:
    """Calls `work(begin, end)` for each part of `count`, a multiple of `even`, or `whole()` for all; with one thread of the
    library's for each call."""
    size = part_size(count, even)

    def part(number: int) -> None:
        own = library.set_threads(1)
        try:
            work(number * size, min(count, (number + 1) * size))
        finally:
            if own != 1:
                library.set_threads(own)

    def all_parts() -> None:
        own = library.set_threads(1)
        try:
            whole()
        finally:
            if own != 1:
                library.set_threads(own)

    in_pieces(part, -(-count // size), key, all_parts if whole is not None else None)


def part_size(count: int, even: int = 1) -> int:
    """How many images or rows a part has: there is a part for each thread."""
    return -(-count // (most_threads() * even)) * even


class ImageBatch:
    """Work that gives something for each image: the program for all of them, and those for parts of a batch where several
    threads share it. `program_for(images, flops)` makes a program, or gives None where the library can't do it.

    Raises:
        Unsupported: the library can't do it.
    """

    __slots__ = ("_count", "_key", "_library", "_of_parts", "_offsets", "_parts", "_program")

    def __init__(
        self,
        key: Hashable,
        library: Binding,
        count: int,
        flops: float,
        program_for: Callable[[int, float], Governed | None],
    ) -> None:
        self._key, self._library, self._count = key, library, count
        divides = are_shared(library, flops, count)
        program = program_for(count, 0.0 if divides else flops)
        if program is None:
            raise Unsupported(f"{key}")
        self._program = program
        size = part_size(count)
        programs = {some: program_for(some, 0.0) for some in (size, count % size) if some} if divides else {}
        self._of_parts: dict[int, Any] = {} if None in programs.values() else programs
        self._parts: list[CompiledProgram] = []
        self._offsets = b""

    def run(
        self,
        given: list[Any],
        batches: tuple[int, ...],
        y: Any,
        fits: Callable[[int, int], bool] | None = None,
    ) -> Any:
        """Fills `y` and returns it. `batches` says which of the arrays that are `given` are batches. If any range of images
        does not pass `fits`, the result is None."""
        if fits is None:
            if self._of_parts:
                threaded(self._key, lambda threads: self._divided(threads, [*given, y], batches))
            else:
                self._program(*given, y)
            return y
        strange: list[int] = []

        def some(begin: int, end: int) -> None:
            if not fits(begin, end):
                strange.append(begin)
                return
            part = y[begin:end]
            self._of_parts[end - begin](*[a[begin:end] if i in batches else a for i, a in enumerate(given)], part)

        def whole() -> None:
            if not fits(0, self._count):
                strange.append(0)
                return
            self._program(*given, y)

        if self._of_parts:
            shared(self._library, some, self._count, self._key, whole=whole)
        else:
            whole()
        return None if strange else y

    def _divided(self, threads: int, arrays: list[Any], batches: tuple[int, ...]) -> None:
        if threads < 2:
            self._program(*arrays)
            return
        if not self._parts:
            size = part_size(self._count)
            begins = range(0, self._count, size)
            parts = [self._of_parts[min(size, self._count - begin)].program for begin in begins]
            each = [a.size // self._count if i in batches or i == len(arrays) - 1 else 0 for i, a in enumerate(arrays)]
            offsets = [begin * elements for begin in begins for elements in each]
            self._offsets = struct.pack(f"={len(offsets)}q", *offsets)
            self._parts = parts
        status = run_parts(self._parts, self._offsets, arrays, threads)
        if status is NotImplemented:
            self._program(*arrays)
        else:
            self._library.check(status, "a primitive's run")


def run_parts(parts: Sequence[CompiledProgram | Panels], offsets: bytes, arrays: Sequence[Any], threads: int) -> Any:
    """Runs programs, each from its places in the arrays on, on threads of the pool.

    Args:
        parts: the programs. One may be there several times.
        offsets: for each program and array the element at which it begins, as integers of 64 bits.
        arrays: what the programs are given, whole.
        threads: how many there may be.

    Returns:
        the library's status, or NotImplemented where the arrays are others than those that the programs were made for.
    """
    taken: list[Any] = [program.take() for program in parts]
    status = native().call("parts", threads, tuple([buffers.recipe for buffers in taken]), offsets, *arrays)
    for program, buffers in zip(parts, taken):
        program.give(buffers)
    return status


class ImageBatches:
    """Batches by what they are made for. The shapes that the library can't do are remembered as well."""

    def __init__(self) -> None:
        self._known: dict[Hashable, ImageBatch | None] = {}

    def get(
        self,
        key: Hashable,
        library: Binding,
        count: int,
        flops: float,
        program_for: Callable[[int, float], Governed | None],
    ) -> ImageBatch | None:
        try:
            return self._known[key]
        except KeyError:
            pass
        try:
            batch: ImageBatch | None = ImageBatch(key, library, count, flops, program_for)
        except Unsupported:
            batch = None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = batch
        return batch
