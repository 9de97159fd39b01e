"""Programs: single or several primitives of oneDNN, made for certain shapes, that run on arrays.

A program names its memories. Those that are `given` are bound to the arrays of each call; the others, such as weights in
the layout that the primitive prefers, belong to a set of buffers. A call takes a set that no other uses, so calls on
several threads don't meet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from actorflow.engine.runtime.kernel_context import MOST_THREADS

from ..native.library import function
from ..nn import fused
from ..shared.thread_count import ThreadCount
from .binding import Binding, Unsupported

FLOAT32, INT8, UINT8 = 3, 5, 6
_ANY = 1
SRC, DST, WEIGHTS, BIAS, WORKSPACE, SCRATCHPAD = 1, 17, 33, 41, 64, 80
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 129, 145, 161
ADDED = 0x8000 | 2
"""The argument that the first operation behind a primitive adds."""
SCALES = 0x1000
"""With the number of an argument: what its elements are multiplied by."""
QUERY = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133, DIFF_DST: 134, WORKSPACE: 135}
_QUERY_SCRATCHPAD = 136

_RESULTS = ("added", "y")
"""The names of a primitive's result, and of what is added to it before the activation."""

AFTER = ("", "Relu", "Relu6", "_Gelu")
"""The activations that are computed here, behind the library's primitives: of a NaN and of infinite numbers it makes others."""
SPLIT_FLOPS = 2e7
"""Below so much work a call takes one thread: several gain microseconds, and may lose a time slice."""
_MOST_PROGRAMS = 256


class ProgramBuilder:
    """The parts of a program, put together."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.layouts: dict[str, Any] = {}
        self.steps: list[tuple[Any, dict[int, str]]] = []
        self.described: list[Any] = []
        self.kept: dict[str, Any] = {}
        """The memories that hold a constant, and its bytes."""
        self.after = ""
        """The activation of the last array that is given, if the library does not have it."""
        self.columns: tuple[int, int] | None = None
        """How many columns of that array, and of an array that is added to it, are computed, and how many exist; None for
        all."""

    def strided(self, dims: Sequence[int], strides: Sequence[int], kind: int = FLOAT32) -> Any:
        """The layout of an array with strides in elements."""
        create, destroy = (
            self.binding.lib.dnnl_memory_desc_create_with_strides,
            self.binding.lib.dnnl_memory_desc_destroy,
        )
        return self.binding.make("a layout", create, len(dims), dims, kind, strides, destroy=destroy)

    def any(self, dims: Sequence[int], kind: int = FLOAT32) -> Any:
        """A layout that the primitive may choose."""
        create, destroy = self.binding.lib.dnnl_memory_desc_create_with_tag, self.binding.lib.dnnl_memory_desc_destroy
        return self.binding.make("a layout", create, len(dims), dims, kind, _ANY, destroy=destroy)

    def images(self, shape: Sequence[int], kind: int = FLOAT32) -> Any:
        """The layout of contiguous images [batch, height, width, channels]."""
        n, h, w, c = shape
        return self.strided((n, c, h, w), (h * w * c, 1, w * c, c), kind)

    def chosen(self, pd: Any, arg: int) -> Any:
        """The layout that a primitive has for an argument."""
        return self.binding.lib.dnnl_primitive_desc_query_md(pd, QUERY[arg], 0)

    def describe(self, what: str, create: Any, *arguments: Any, attr: Any = None) -> Any:
        """A primitive's description, which lives as long as the program. `attr` are its attributes, if it has some of its own."""
        return self._described(what, create, self.binding.engine, *arguments, attr=attr)

    def _described(self, what: str, create: Any, *arguments: Any, attr: Any = None) -> Any:
        b = self.binding
        pd = b.make(what, create, *arguments, attr or b.attr, destroy=b.lib.dnnl_primitive_desc_destroy)
        self.described.append(pd)  # it owns the layouts that it is asked for
        return pd

    def step(self, pd: Any, args: dict[int, str]) -> None:
        """Adds a primitive, and the names of the memories that it works on."""
        b = self.binding
        scratch = b.lib.dnnl_primitive_desc_query_md(pd, _QUERY_SCRATCHPAD, 0)
        if scratch != b.ffi.NULL and b.lib.dnnl_memory_desc_get_size(scratch):
            name = f"scratchpad {len(self.steps)}"
            self.layouts[name] = scratch
            args = {**args, SCRATCHPAD: name}
        create, destroy = b.lib.dnnl_primitive_create, b.lib.dnnl_primitive_destroy
        self.steps.append((b.make("a primitive", create, pd, destroy=destroy), args))

    def reordered(self, source: str, target: str) -> str:
        """Adds a copy from one layout to another, if they differ; the name of the memory that then holds the value."""
        b, layouts = self.binding, self.layouts
        if b.lib.dnnl_memory_desc_equal(layouts[source], layouts[target]):
            return source
        self.step(self.copy(source, target), {SRC: source, DST: target})
        return target

    def copy(self, source: str, target: str, attr: Any = None) -> Any:
        """The description of a copy from one layout to another."""
        b, layouts = self.binding, self.layouts
        create = b.lib.dnnl_reorder_primitive_desc_create
        return self._described("a reorder", create, layouts[source], b.engine, layouts[target], b.engine, attr=attr)


class CompiledProgram:
    """Compiled primitives in order. A call binds contiguous arrays to the memories that are given, and runs them."""

    def __init__(self, builder: ProgramBuilder, inputs: Sequence[str]) -> None:
        self._binding = builder.binding
        self._described = builder.described
        self._given = tuple(inputs)
        self._kept, self._after, self._columns = builder.kept, builder.after, builder.columns
        used = {name for _, args in builder.steps for name in args.values()}
        self._layouts = {name: layout for name, layout in builder.layouts.items() if name in used}
        self._steps = builder.steps
        self._threads = builder.binding.threads()
        self._free: list[_Buffers] = []

    def __call__(self, *arrays: Any) -> None:
        buffers = self.take()
        buffers.run(arrays)
        self.give(buffers)

    def take(self) -> _Buffers:
        """The buffers of a call, which no other call has until this call gives them back."""
        try:
            return self._free.pop()
        except IndexError:
            inputs, kept, after = self._given, self._kept, (self._after, self._columns)
            return _Buffers(self._binding, self._layouts, self._steps, inputs, kept, self._threads, after)

    def give(self, buffers: _Buffers) -> None:
        self._free.append(buffers)

    def check(self, status: int) -> None:
        """Raises the error that a status of the library stands for."""
        self._binding.check(status, "a primitive's run")


class _Buffers:
    """The memory objects of one call at a time, and the arrays behind those that are not given."""

    def __init__(
        self,
        binding: Binding,
        layouts: dict[str, Any],
        steps: list[tuple[Any, dict[int, str]]],
        inputs: Sequence[str],
        kept: Mapping[str, Any],
        threads: int,
        after: tuple[str, tuple[int, int] | None],
    ) -> None:
        ffi, lib = binding.ffi, binding.lib
        self._binding = binding
        self._after, self._columns = after
        self._stream = binding.make(
            "a stream", lib.dnnl_stream_create, binding.engine, 1, destroy=lib.dnnl_stream_destroy
        )
        self._kept: list[Any] = []
        memories: dict[str, Any] = {}
        for name, layout in layouts.items():
            address = ffi.NULL
            if name not in inputs:
                array = kept[name] if name in kept else aligned(lib.dnnl_memory_desc_get_size(layout))
                address = ffi.from_buffer(array)
                self._kept += [array, address]
            memories[name] = binding.make(
                "a memory", lib.dnnl_memory_create, layout, binding.engine, address, destroy=lib.dnnl_memory_destroy
            )
        self._kept.append(memories)
        self._given = [memories[name] for name in inputs]
        self._steps = []
        for primitive, args in steps:
            listed = ffi.new("exec_arg[]", [(arg, memories[name]) for arg, name in args.items()])
            self._steps.append((primitive, len(args), listed))
        sizes = [lib.dnnl_memory_desc_get_size(layouts[name]) // 4 for name in inputs]
        if self._columns is not None:  # the library counts the last row whole
            width, step = self._columns
            last = {name: (size - 1) // step * step for name, size in zip(inputs, sizes)}
            sizes = [last[name] + width if name in _RESULTS else size for name, size in zip(inputs, sizes)]
        self.recipe = self._written(sizes, threads)

    def _written(self, sizes: Sequence[int], threads: int) -> bytes:
        """All of it as the kernel in C reads it (`native/src/primitives.c`)."""
        binding = self._binding
        columns = self._columns or (sizes[-1], sizes[-1])
        after = (AFTER.index(self._after), *columns)
        numbers = [*binding.functions, threads, *after, len(self._given), len(self._steps)]
        for memory, size in zip(self._given, sizes):
            numbers += [binding.address(memory), size]
        for primitive, count, args in self._steps:
            numbers += [binding.address(primitive), binding.address(self._stream), count, binding.address(args)]
        return struct.pack(f"={len(numbers)}q", *numbers)

    def run(self, arrays: Sequence[Any]) -> None:
        binding = self._binding
        status = _run(self.recipe, *arrays)
        if status is not None:
            if status:
                binding.check(status, "a primitive's run")
            return
        lib, check = binding.lib, binding.check
        pointers = [binding.pointer(array) for array in arrays]
        for memory, pointer in zip(self._given, pointers):
            check(lib.dnnl_memory_set_data_handle(memory, pointer), "an array")
        for primitive, count, args in self._steps:
            check(lib.dnnl_primitive_execute(primitive, self._stream, count, args), "a primitive's run")
        fused.activated(np, arrays[-1], self._after)


_run = function("primitives")


def aligned(size: int) -> Any:
    """An array of `size` bytes. The library is faster on whole cache lines."""
    array = np.empty(size + 64, np.uint8)
    return array[-array.ctypes.data % 64 :][:size]


class Governed:
    """Work that may run on one thread or on all, and does on as many as pay at present. The number of threads is fixed
    as a program is made, so each number has a program of its own."""

    def __init__(self, binding: Binding, make: Callable[[], Callable[..., None]], flops: float) -> None:
        self._binding = binding
        self._make = make
        self._made: dict[int, Callable[..., None]] = {}
        most = binding.most_threads
        self._count = ThreadCount(most) if flops >= SPLIT_FLOPS and most > 1 else None
        self._run(1, None)  # shows whether the library can do it

    def __call__(self, *arrays: Any) -> None:
        count = self._count
        if count is None or (MOST_THREADS.get() or self._binding.most_threads) < 2:
            self._run(1, arrays)
            return
        count.run(lambda threads: self._run(threads, arrays))

    @property
    def program(self) -> Callable[..., None]:
        """The program for one thread."""
        return self._made[1]

    def plain(self) -> Callable[..., None]:
        """The work of a call, with as little as possible around it if that is one thread's."""
        if self._count is not None:
            return self
        make, threads = self._made[1], self._binding.set_threads

        def call(*arrays: Any) -> None:
            own = threads(1)
            try:
                make(*arrays)
            finally:
                if own != 1:
                    threads(own)

        return call

    def _run(self, count: int, arrays: tuple[Any, ...] | None) -> None:
        own = self._binding.set_threads(count)
        try:
            run = self._made.get(count)
            if run is None:
                run = self._made[count] = self._make()
            if arrays is not None:
                run(*arrays)
        finally:
            if own != count:
                self._binding.set_threads(own)


class ProgramCache:
    """Programs by what they are made for: shapes and attributes. The shapes that the library can't do are remembered as
    well."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Governed | None] = {}

    def get(
        self, key: Hashable, binding: Binding, make: Callable[[], Callable[..., None]], flops: float
    ) -> Governed | None:
        """The program for `key`, which `make` makes at its first use; None where the library can't do it."""
        try:
            return self._known[key]
        except KeyError:
            pass
        try:
            program: Governed | None = Governed(binding, make, flops)
        except Unsupported:
            program = None
        if len(self._known) >= _MOST_PROGRAMS:
            self._known.clear()
        self._known[key] = program
        return program


def contiguous(array: Any) -> Any:
    """The array itself, or a copy of it, in C's order."""
    return array if array.flags.c_contiguous else _ordered(array)


_ordered = function("ordered", np.ascontiguousarray)


def destination(out: Any, shape: Sequence[int]) -> Any:
    """`out` where the library can write there, else a fresh array."""
    if out is not None and out.flags.c_contiguous:
        return out
    return np.empty(tuple(shape), np.float32)


def positive(shape: Sequence[int]) -> bool:
    return prod(shape) > 0
