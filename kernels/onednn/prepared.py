"""Convolutions and products whose weights are constants: the library gets them in its own layout, once, as a plan is made.

The bias and the activation are parts of the primitive. Copies of a constant are shared by all that are made of it, whatever
plans they belong to, and go with the last.
"""

from __future__ import annotations

import inspect
import struct
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..native.library import loaded as native
from ..shared.threads import governed, most_threads
from .binding import Binding, Unsupported, loaded
from .parts import part_size
from .program import AFTER, BIAS, DST, SRC, WEIGHTS, Builder, Program, aligned, contiguous, destination

ACTIVATIONS: Mapping[str, tuple[int, float, float]] = {
    "Elu": (0x22, 1.0, 0.0),
    "Tanh": (0x21, 0.0, 0.0),
    "Sigmoid": (0x29, 0.0, 0.0),
    "_Swish": (0x2C, 1.0, 0.0),
    "_GeluTanh": (0x2B, 0.0, 0.0),
}
"""The library's functions of one element, with their two parameters."""
ALL = frozenset((*AFTER, *ACTIVATIONS))

_WORTH_SHARING = 2e6
"""The work that threads of the pool share. They are awake where other such work has come just before."""

# ---- constants in other layouts


class _Copies:
    """The copies of one constant: for each the layouts that it has and had, and what keeps those."""

    __slots__ = ("found", "of")

    def __init__(self, of: weakref.ref[Any]) -> None:
        self.of = of
        self.found: list[tuple[Any, Any, Builder, Any]] = []


_copies: dict[int, _Copies] = {}


def packed(builder: Builder, constant: Any, own: str, wanted: str) -> Any:
    """The bytes of a constant, whose layout is `own`, in the layout `wanted` (both by name)."""
    b, layouts = builder.binding, builder.layouts
    equal = b.lib.dnnl_memory_desc_equal
    if equal(layouts[own], layouts[wanted]) and constant.flags.c_contiguous:
        return constant
    known = _copies.get(id(constant))
    if known is None or known.of() is not constant:
        number = id(constant)
        known = _copies[number] = _Copies(weakref.ref(constant, lambda _: _copies.pop(number, None)))
    for before, after, _, found in known.found:
        if equal(before, layouts[own]) and equal(after, layouts[wanted]):
            return found
    made = aligned(b.lib.dnnl_memory_desc_get_size(layouts[wanted]))
    copying = Builder(b)
    copying.layouts = {"own": layouts[own], "wanted": layouts[wanted]}
    copying.kept["wanted"] = made
    copying.reordered("own", "wanted")
    Program(copying, ("own",))(contiguous(constant))
    known.found.append((layouts[own], layouts[wanted], builder, made))
    return made


def finishing(binding: Binding, activation: str, adds: bool = False) -> Any:
    """Attributes of a primitive that adds its result to what is there (`adds`), and then takes the activation of that. None for
    neither."""
    by_library = activation not in AFTER
    if not by_library and not adds:
        return None
    lib = binding.lib
    ops = binding.make("post-ops", lib.dnnl_post_ops_create, destroy=lib.dnnl_post_ops_destroy)
    if adds:
        binding.check(lib.dnnl_post_ops_append_sum(ops, 1.0, 0, 0), "a sum")
    if by_library:
        binding.check(lib.dnnl_post_ops_append_eltwise(ops, *ACTIVATIONS[activation]), "an activation")
    attr = binding.attributes()
    binding.check(lib.dnnl_primitive_attr_set_post_ops(attr, ops), "post-ops")
    return attr


# ---- kernels


class Weighted:
    """The inputs x, weights and bias of a kernel: constants are kept by the library, the others come with each call."""

    __slots__ = ("bias", "given", "weights")

    def __init__(self, constants: Sequence[Any]) -> None:
        self.weights = constants[1]
        self.bias = constants[2] if len(constants) > 2 else None
        self.given = ("x", "bias", "y") if len(constants) > 2 and self.bias is None else ("x", "y")

    def keep(self, builder: Builder) -> dict[int, str]:
        """Gives a builder whose layouts are named the constants. The arguments of the primitive."""
        args = {SRC: "x", WEIGHTS: "weights", DST: "y"}
        builder.kept["weights"] = packed(builder, self.weights, "w", "weights")
        if "bias" in builder.layouts:
            args[BIAS] = "bias"
            if self.bias is not None:
                builder.kept["bias"] = contiguous(self.bias)
        return args


def unprepared(kernel: Callable[[], Callable[..., Any]], attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """The kernel as it is for weights that are no constant, as a function without attributes."""

    def call(xp: Any, x: Any, w: Any, bias: Any, out: Any, c: Any = None) -> Any:
        function = kernel()
        named = {name: attrs[name] for name in inspect.signature(function).parameters if name in attrs}
        return function(xp, *(given for given in (c, x, w, bias) if given is not None), **named, out=out)

    return call


def product(library: Binding, m: int, k: int, n: int, turned: bool, biased: bool, attr: Any) -> tuple[Builder, Any]:
    """A builder with the layouts of a product of m rows, and its description. The weights are `turned` or not."""
    builder = Builder(library)
    layouts = builder.layouts
    layouts["x"], layouts["y"] = builder.strided((m, k), (k, 1)), builder.strided((m, n), (n, 1))
    layouts["w"] = builder.strided((k, n), (1, k) if turned else (n, 1))
    bias = library.ffi.NULL
    if biased:
        layouts["bias"] = bias = builder.strided((1, n), (n, 1))
    create = library.lib.dnnl_matmul_primitive_desc_create
    pd = builder.describe("a product", create, layouts["x"], builder.any((k, n)), bias, layouts["y"], attr=attr)
    layouts["weights"] = builder.chosen(pd, WEIGHTS)
    return builder, pd


class _Work:
    """Some work on images or rows: a program for all of them, and one for each part, where threads of the pool share them."""

    __slots__ = ("_count", "_key", "_offsets", "_parts", "_whole")

    def __init__(self, program_for: Callable[[int], Program], key: Hashable, count: int, flops: float) -> None:
        self._whole, self._key, self._count = program_for(count), key, count
        self._parts: list[Program] = []
        self._offsets: dict[int, bytes] = {}
        if flops >= _WORTH_SHARING and count > 1 and most_threads() > 1:
            size = part_size(count)
            made = {some: program_for(some) for some in {size, count % size} if some}
            self._parts = [made[min(size, count - begin)] for begin in range(0, count, size)]

    def __call__(self, *arrays: Any) -> None:
        if not self._parts:
            self._whole(*arrays)
            return
        governed(self._key, lambda threads: self._shared(arrays, threads) if threads > 1 else self._whole(*arrays))

    def _shared(self, arrays: tuple[Any, ...], threads: int) -> None:
        taken = [program.take() for program in self._parts]
        offsets = self._offsets.get(len(arrays)) or self._offsets.setdefault(len(arrays), self._places(arrays))
        recipes = tuple([buffers.recipe for buffers in taken])
        status = native().call("parts", threads, recipes, offsets, *arrays)
        for program, buffers in zip(self._parts, taken):
            program.give(buffers)
        if status is NotImplemented:
            self._whole(*arrays)
        elif status:
            self._whole.check(status)

    def _places(self, arrays: tuple[Any, ...]) -> bytes:
        """The elements of each array at which the parts begin: those of the first and the last one are divided."""
        size = part_size(self._count)
        steps = [array.size // self._count if at in (0, len(arrays) - 1) else 0 for at, array in enumerate(arrays)]
        numbers = [begin * step for begin in range(0, self._count, size) for step in steps]
        return struct.pack(f"={len(numbers)}q", *numbers)


def kernel_of(
    weighted: Weighted,
    count: int,
    flops: float,
    shapes: Sequence[Any],
    result: Sequence[int],
    described: Callable[[Binding, int], tuple[Builder, Any]],
    activation: str,
    otherwise: Callable[..., Any],
    adds: bool = False,
) -> Callable[..., Any] | None:
    """A kernel of such a node, or None where the library can't do it.

    Args:
        weighted: its constants.
        count: how many images there are, over which threads share the work; 1 for work that is not divided so.
        flops: the work of a call.
        shapes: those of the inputs.
        result: the shape of the output.
        described: a builder with layouts x, w, weights, y and perhaps bias, and the primitive's description, for some of the
            images.
        activation: what becomes of each element.
        otherwise: computes it for inputs that are not as expected.
        adds: whether the result is added to another input, which comes first.
    """
    library = loaded()
    if library is None:
        return None

    def program_for(some: int) -> Program:
        own = library.set_threads(1)
        try:
            builder, pd = described(library, some)
            builder.step(pd, weighted.keep(builder))
            builder.after = activation if activation in AFTER else ""
            return Program(builder, weighted.given)
        finally:
            library.set_threads(own)

    try:
        work = _Work(program_for, ("prepared", *map(tuple, shapes), *result), count, flops)
    except Unsupported:
        return None
    biased = "bias" in weighted.given
    expected, wanted = shapes[0], tuple(result)

    def run_on_top(xp: Any, c: Any, x: Any, w: Any, *, out: Any = None) -> Any:
        if x.shape != expected or c.shape != wanted:
            return otherwise(xp, x, w, None, out=out, c=c)
        y = destination(out, wanted)
        if y is not c:
            y[...] = c
        work(contiguous(x), y)
        return y

    def run(xp: Any, x: Any, w: Any, bias: Any = None, *, out: Any = None) -> Any:
        if x.shape != expected or (biased and bias.shape != shapes[2]):
            return otherwise(xp, x, w, bias, out=out)
        y = destination(out, wanted)
        if biased:
            work(contiguous(x), contiguous(bias), y)
        else:
            work(contiguous(x), y)
        return y

    return run_on_top if adds else run
