"""`packed`: constants in the library's layouts.

Copies of a constant are shared by all programs that want it in one layout, whatever plans they belong to. They go with the
constant.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .program import CompiledProgram, ProgramBuilder, aligned, contiguous


class _PackedCopies:
    """The packed copies of one constant: `slices` has the copies of its parts, `foreign` the copies of other libraries."""

    __slots__ = ("foreign", "of", "slices")

    def __init__(self, of: weakref.ref[Any]) -> None:
        self.of = of
        self.foreign: dict[Hashable, Any] = {}
        self.slices: list[tuple[Any, Any, Any, ProgramBuilder, Any]] = []


_copies: dict[int, _PackedCopies] = {}


@dataclass(frozen=True, slots=True)
class ConstantSlice:
    """Those of an array's elements whose index along `axis` is within a range."""

    axis: int
    begin: int
    end: int

    def of(self, array: Any) -> Any:
        return array[(slice(None),) * self.axis + (slice(self.begin, self.end),)]


def packed(builder: ProgramBuilder, constant: Any, own: str, wanted: str, part: ConstantSlice | None = None) -> Any:
    """The bytes of a constant in another layout.

    Args:
        builder: has both layouts, by name.
        constant: an array, which never changes.
        own: its layout, or that of its part.
        wanted: the other layout.
        part: the part that is copied; None for all.
    """
    layouts, equal = builder.layouts, builder.binding.lib.dnnl_memory_desc_equal
    if part is None and equal(layouts[own], layouts[wanted]) and constant.flags.c_contiguous:
        return constant
    copies = _copies_of(constant)
    for which, before, after, _, copy in copies.slices:
        if which == part and equal(before, layouts[own]) and equal(after, layouts[wanted]):
            return copy
    array = copied(builder, constant if part is None else part.of(constant), own, wanted)
    copies.slices.append((part, layouts[own], layouts[wanted], builder, array))
    return array


def kept_copy(constant: Any, key: Hashable, make: Callable[[], Any]) -> Any:
    """The copy of a constant that `make` gives: a copy for each key."""
    copies = _copies_of(constant).foreign
    if key not in copies:
        copies[key] = make()
    return copies[key]


def _copies_of(constant: Any) -> _PackedCopies:
    number = id(constant)
    copies = _copies.get(number)
    if copies is None or copies.of() is not constant:
        copies = _copies[number] = _PackedCopies(weakref.ref(constant, lambda _: _copies.pop(number, None)))
    return copies


def copied(builder: ProgramBuilder, array: Any, own: str, layout: str) -> Any:
    """The same for an array that may change: a copy for this call."""
    binding, layouts = builder.binding, builder.layouts
    target_array = aligned(binding.lib.dnnl_memory_desc_get_size(layouts[layout]))
    copying = ProgramBuilder(binding)
    copying.layouts = {"own": layouts[own], "wanted": layouts[layout]}
    copying.kept["wanted"] = target_array
    if copying.reordered("own", "wanted") == "own":
        return contiguous(array)
    CompiledProgram(copying, ("own",))(contiguous(array))
    return target_array
