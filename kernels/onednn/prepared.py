"""Convolutions and products whose weights are constants: the library gets them in its own layout, once, as a plan is made.

The bias and the activation are parts of the primitive. Products of a few rows are computed by a kernel of our own (`panels.py`).
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from actorflow.base.registry.series import offer
from actorflow.engine.runtime.kernel_context import MOST_THREADS

from ..native.library import loaded as library_in_c
from ..shared.series import WorkStep
from ..shared.thread_count import ThreadCount
from ..shared.threads import most_threads, thread_count_of, threaded
from . import panels
from .binding import Binding, Unsupported, loaded
from .constants import ConstantSlice, packed
from .panels import Matrix, Panels
from .parts import part_size, run_parts
from .program import ADDED, AFTER, BIAS, DST, SRC, WEIGHTS, CompiledProgram, ProgramBuilder, contiguous, destination

ACTIVATIONS: Mapping[str, tuple[int, float, float]] = {
    "Elu": (0x22, 1.0, 0.0),
    "Tanh": (0x21, 0.0, 0.0),
    "Sigmoid": (0x29, 0.0, 0.0),
    "_Swish": (0x2C, 1.0, 0.0),
    "_GeluTanh": (0x2B, 0.0, 0.0),
}
"""The library's functions of one element, with their two parameters."""
ALL = frozenset((*AFTER, *ACTIVATIONS))

_SUM = 0x1FFF0
_WORTH_SHARING = 5e5
"""The work that threads of the pool share. They are awake where other such work has come just before."""
_WORTH_A_PART = 1e5
"""The work that threads share in a series, in which they are beside each other anyway."""
_FEW_ROWS, _LINE = 16, 16
"""A thread with fewer rows than that takes as long to read the weights, so threads take columns of them instead: whole lines of
the cache, which no two threads write to."""


def finish(builder: ProgramBuilder, activation: str, adds: bool) -> Any:
    """Attributes of a primitive that adds another input to its result, which has the layout `y` (`adds`), and then takes the
    activation of that. None for neither."""
    by_library = activation not in AFTER
    if not by_library and not adds:
        return None
    binding = builder.binding
    lib = binding.lib
    ops = binding.make("post-ops", lib.dnnl_post_ops_create, destroy=lib.dnnl_post_ops_destroy)
    if adds:
        builder.layouts["added"] = builder.layouts["y"]
        binding.check(lib.dnnl_post_ops_append_binary(ops, _SUM, builder.layouts["y"]), "a sum")
    if by_library:
        binding.check(lib.dnnl_post_ops_append_eltwise(ops, *ACTIVATIONS[activation]), "an activation")
    attr = binding.attributes()
    binding.check(lib.dnnl_primitive_attr_set_post_ops(attr, ops), "post-ops")
    return attr


# ---- kernels


class Weighted:
    """The inputs of a kernel: x, weights, perhaps a bias, and perhaps what is added (`adds`). Constants are kept by the library,
    the others come with each call."""

    __slots__ = ("bias", "given", "weights")

    def __init__(self, constants: Sequence[Any], adds: bool = False) -> None:
        self.weights = constants[1]
        self.bias = constants[2] if len(constants) > 2 else None
        own = ("bias",) if len(constants) > 2 and self.bias is None else ()
        self.given = ("x", *own, *(("added",) if adds else ()), "y")

    def keep(self, builder: ProgramBuilder, columns: Columns | None = None) -> dict[int, str]:
        """Gives a builder whose layouts are named the constants, or columns of them. The arguments of the primitive."""
        args = {SRC: "x", WEIGHTS: "weights", DST: "y"}
        if columns is not None and columns.is_in_place:
            builder.kept["weights"] = contiguous(self.weights).reshape(-1)[columns.begin :]
        else:
            part = ConstantSlice(columns.axis, columns.begin, columns.end) if columns else None
            builder.kept["weights"] = packed(builder, self.weights, "w", "weights", part)
        if "bias" in builder.layouts:
            args[BIAS] = "bias"
            if self.bias is not None:
                builder.kept["bias"] = contiguous(self.bias[columns.begin : columns.end] if columns else self.bias)
        if "added" in builder.layouts:
            args[ADDED] = "added"
        return args


def unprepared(kernel: Callable[[], Callable[..., Any]], attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """The kernel as it is for weights that are no constant, as a function without attributes."""

    def call(xp: Any, x: Any, w: Any, bias: Any, out: Any, c: Any = None) -> Any:
        function = kernel()
        named = {name: attrs[name] for name in inspect.signature(function).parameters if name in attrs}
        return function(xp, *(array for array in (c, x, w, bias) if array is not None), **named, out=out)

    return call


def product(
    library: Binding, piece: int | Columns, k: int, n: int, turned: bool, biased: bool, activation: str, adds: bool
) -> tuple[ProgramBuilder, Any]:
    """A builder with the layouts of a product of some rows, or of some columns, and its description. The weights are `turned` or
    not."""
    builder = ProgramBuilder(library)
    layouts = builder.layouts
    m, step, line = piece.rows if isinstance(piece, Columns) else piece, n, n
    if isinstance(piece, Columns):
        n = piece.end - piece.begin
        builder.columns = n, step
        line = step if piece.is_in_place else n
    layouts["x"], layouts["y"] = builder.strided((m, k), (k, 1)), builder.strided((m, n), (step, 1))
    layouts["w"] = builder.strided((k, n), (1, k) if turned else (line, 1))
    bias = library.ffi.NULL
    if biased:
        layouts["bias"] = bias = builder.strided((1, n), (n, 1))
    create, attr = library.lib.dnnl_matmul_primitive_desc_create, finish(builder, activation, adds)
    # A single row is multiplied the fastest with weights that lie row by row, but the library chooses other layouts.
    free = builder.strided((k, n), (line, 1)) if m == 1 else builder.any((k, n))
    pd = builder.describe("a product", create, layouts["x"], free, bias, layouts["y"], attr=attr)
    layouts["weights"] = builder.chosen(pd, WEIGHTS)
    return builder, pd


@dataclass(frozen=True, slots=True)
class Share:
    """A part of some work: what is computed, and the elements of the input and of the output at which it begins."""

    piece: Any
    x: int = 0
    y: int = 0
    bias: int = 0


@dataclass(frozen=True, slots=True)
class Columns:
    """Some columns of a product, and its number of rows: those that come from the weights from `begin` to `end` along their
    dimension `axis`."""

    rows: int
    axis: int
    begin: int
    end: int

    @property
    def is_in_place(self) -> bool:
        """Whether the constant itself is read: a single row takes weights whose columns lie side by side."""
        return self.rows == 1 and self.axis > 0


def shares_of_product(rows: int, k: int, n: int, axis: int) -> list[Share]:
    """Rows of a product for each thread, or columns if the rows are few. `axis` is the dimension of the weights along which
    columns differ."""
    if rows >= _FEW_ROWS * most_threads():
        return shares_of_rows(rows, k, n)
    size = part_size(n, _LINE)
    pieces = [Columns(rows, axis, begin, min(n, begin + size)) for begin in range(0, n, size)]
    return [Share(columns, 0, columns.begin, columns.begin) for columns in pieces]


def shares_of_rows(count: int, x: int, y: int) -> list[Share]:
    """Rows, or images, divided among threads. Each is `x` elements of the input and `y` of the output."""
    size = part_size(count)
    return [Share(min(size, count - begin), begin * x, begin * y) for begin in range(0, count, size)]


class PreparedWork:
    """Some work: a program for all of it, and a program for each part, where threads of the pool share it. One thread does
    columns of a product in turn, so that no program for all has their weights in its layout once more."""

    __slots__ = (
        "_count",
        "_flops",
        "_given",
        "_in_columns",
        "_kept",
        "_key",
        "_most",
        "_parts",
        "_places",
        "_program_for",
        "_shares",
        "_whole",
        "_whole_program",
    )

    def __init__(
        self,
        program_for: Callable[[Any], CompiledProgram | Panels],
        key: Hashable,
        inputs: Sequence[str],
        whole: Any,
        shares: Callable[[], Sequence[Share]],
        flops: float,
    ) -> None:
        self._program_for, self._whole, self._key = program_for, whole, key
        self._given, self._shares, self._flops = inputs, shares, flops
        divided = shares() if flops >= _WORTH_SHARING and most_threads() > 1 else ()
        self._in_columns = len(divided) > 1 and isinstance(divided[0].piece, Columns)
        self._whole_program = None if self._in_columns else program_for(whole)
        self._kept: list[Any] = []
        self._most = most_threads()
        self._count: ThreadCount | None = None
        self._parts, self._places = self._divided(divided)

    def _divided(self, shares: Sequence[Share]) -> tuple[list[CompiledProgram | Panels], bytes]:
        """The programs of parts, and the places at which they begin; none for a single part."""
        if len(shares) < 2:
            return [], b""
        programs = {piece: self._program_for(piece) for piece in {share.piece for share in shares}}
        places = [{"x": share.x, "bias": share.bias}.get(name, share.y) for share in shares for name in self._given]
        return [programs[share.piece] for share in shares], struct.pack(f"={len(places)}q", *places)

    def programs(self) -> tuple[Sequence[CompiledProgram | Panels], Sequence[CompiledProgram | Panels], bytes]:
        """The program of all the work, if it exists; the programs of parts, also where parts are shared in a series only; and
        the places of parts."""
        parts, places = self._parts, self._places
        if not parts and self._flops >= _WORTH_A_PART and self._most > 1:
            shares = self._shares()
            if not isinstance(shares[0].piece, Columns):  # parts of columns would have weights of their own
                parts, places = self._divided(shares)
        return [] if self._in_columns else [self._all()], parts, places

    def written(self, input_shape: Sequence[int], result: Sequence[int]) -> tuple[Any, ...]:
        """The work as the function in C reads it (`native/src/primitives.c`). The first array and the result have these
        shapes."""
        sizes = [struct.pack(f"={len(shape)}q", *shape) for shape in (input_shape, result)]
        memory = None
        if self._parts:
            # The function in C reads the memory. Another object of this key would not know of it.
            self._count = thread_count_of(self._key, self._most)
            memory = self._count.memory
        return *sizes, *map(self._apart, ([] if self._in_columns else [self._all()], self._parts)), self._places, memory

    def _apart(self, programs: Sequence[CompiledProgram | Panels]) -> list[tuple[bytes, ...]]:
        """A list with the recipes of programs, on buffers that nothing else takes. A call takes them there, and puts them
        back."""
        buffers = [program.take() for program in programs]
        self._kept += buffers
        return [tuple([buffer.recipe for buffer in buffers])] if buffers else []

    @property
    def limited(self) -> tuple[Callable[[], int | None] | None, int]:
        """The function that gives a session's limit of threads, where that matters, and how many threads the work is for."""
        return (MOST_THREADS.get if self._parts else None), self._most

    def __call__(self, *arrays: Any) -> None:
        if self._parts:
            threaded(self._key, lambda threads: self._run(arrays, threads), count=self._count)
        else:
            self._all()(*arrays)

    def _all(self) -> CompiledProgram | Panels:
        if self._whole_program is None:
            self._whole_program = self._program_for(self._whole)
        return self._whole_program

    def _run(self, arrays: tuple[Any, ...], threads: int) -> None:
        if threads < 2 and not self._in_columns:
            self._all()(*arrays)
            return
        status = run_parts(self._parts, self._places, arrays, threads)
        if status is NotImplemented:
            self._all()(*arrays)
        elif status:
            self._parts[0].check(status)


def _panels(weighted: Weighted, matrix: Matrix, piece: Any, activation: str) -> Panels:
    """A product of matrices, or the columns of a piece of it, by panels."""
    part = piece if isinstance(piece, Columns) else Columns(piece, 0, 0, matrix.n)
    return Panels(part.rows, part.begin, part.end, weighted.weights, matrix, weighted.bias, weighted.given, activation)


def kernel_of(
    weighted: Weighted,
    *,
    whole: Any,
    shares: Callable[[], Sequence[Share]],
    flops: float,
    shapes: Sequence[Any],
    result: Sequence[int],
    described: Callable[[Binding, Any], tuple[ProgramBuilder, Any]],
    activation: str,
    otherwise: Callable[..., Any],
    adds: bool = False,
    matrix: Matrix | None = None,
) -> Callable[..., Any] | None:
    """A kernel of such a node, or None where the library can't do it.

    Args:
        weighted: its constants.
        whole: all of the work, for `described`.
        shares: the parts that threads take if the work is large enough.
        flops: the work of a call.
        shapes: those of the inputs.
        result: the shape of the output.
        described: a builder with layouts x, w, weights, y and perhaps bias, and the primitive's description, for a piece of the
            work.
        activation: what becomes of each element.
        otherwise: computes it for inputs that are not as expected.
        adds: whether another input, which comes first, is added to the result before the activation.
        matrix: the weights of a product of matrices.
    """
    library = loaded()
    if library is None:
        return None

    # One kind of program does the whole and all parts, so that bits do not depend on which of them is called.
    in_panels = matrix is not None and panels.suits(prod(result[:-1]), activation)

    def program_for(piece: Any) -> CompiledProgram | Panels:
        if in_panels:
            assert matrix is not None
            return _panels(weighted, matrix, piece, activation)
        own = library.set_threads(1)
        try:
            builder, pd = described(library, piece)
            builder.step(pd, weighted.keep(builder, piece if isinstance(piece, Columns) else None))
            builder.after = activation if activation in AFTER else ""
            return CompiledProgram(builder, weighted.given)
        finally:
            library.set_threads(own)

    key = ("prepared", *map(tuple, shapes), *result)
    try:
        work = PreparedWork(program_for, key, weighted.given, whole, shares, flops)
    except Unsupported:
        return None
    biased = "bias" in weighted.given
    expected, target = shapes[0], tuple(result)

    def run_on_top(xp: Any, c: Any, x: Any, w: Any, bias: Any = None, *, out: Any = None) -> Any:
        if x.shape != expected or c.shape != target or (biased and bias.shape != shapes[2]):
            return otherwise(xp, x, w, bias, out=out, c=c)
        y = destination(out, target)
        own = (contiguous(bias),) if biased else ()
        work(contiguous(x), *own, contiguous(c), y)
        return y

    def run(xp: Any, x: Any, w: Any, bias: Any = None, *, out: Any = None) -> Any:
        if x.shape != expected or (biased and bias.shape != shapes[2]):
            return otherwise(xp, x, w, bias, out=out)
        y = destination(out, target)
        if biased:
            work(contiguous(x), contiguous(bias), y)
        else:
            work(contiguous(x), y)
        return y

    kernel = run_on_top if adds else run
    native = library_in_c()
    if biased or native is None:
        return kernel
    function: Callable[..., Any] = native.prepared(work.written(expected, target), kernel, adds, *work.limited)
    offer(function, WorkStep(work, key, (1, 0) if adds else (0,), (expected, *([target] if adds else []), target)))
    return function
