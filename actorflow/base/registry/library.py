"""Kernels from optimised libraries: which of an op's kernels a node gets, once the shapes of its inputs are known.

An op has a kernel that takes all that the op takes, and may have others on the same device type that call a library, with
two questions about the attributes and the static shapes of the inputs: `can` the library do it, and does it `pay`.
If shapes are known as a plan or a region's code is made, the choice is made there. Otherwise each call looks the choice
for its shapes up. If several can and pay, the library that was declared last is taken: a module that leaves to another library
what it does not take imports that library first.

A kernel of a library may be prepared for the constants among a node's inputs, such as the weights of a frozen model
(`KernelDef.prepare`). Those are brought into the library's own form once, as the plan is made.

The environment variable ACTORFLOW_KERNELS changes the rule for plans that are made from then on: `numpy` uses no library,
the name of a library uses that library wherever it can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.packed_strings import shaped, unpacked
from actorflow.base.registry import kernel
from actorflow.base.registry.kernel import KernelDef
from actorflow.base.shapes import Shape, is_static
from actorflow.errors import InvalidArgumentError

_AVAILABLE: dict[str, Callable[[], bool]] = {}
_MOST_SHAPES = 64


def provide(name: str, available: Callable[[], bool]) -> None:
    """Declares a library. `available` says whether it is there; it is asked when a kernel of it would be chosen, and has to
    remember its answer."""
    _AVAILABLE[name] = available


def best(
    base: KernelDef,
    device: str,
    dtypes: Sequence[DType],
    attrs: Mapping[str, Any],
    shapes: Sequence[Shape],
    without: AbstractSet[str] = frozenset(),
    constants: Sequence[Any] = (),
) -> KernelDef:
    """The kernel for inputs of these static shapes: `base`, or a kernel from a library. With open shapes, a kernel that chooses
    in each call. Those `without` are left out. `constants` has the values of inputs that never change, None for others.

    Raises:
        InvalidArgumentError: ACTORFLOW_KERNELS names no library.
    """
    others = [
        k
        for k in kernel.from_libraries(base.op)
        if k.device == device and k.accepts(dtypes) and k.library not in without
    ]
    if not others:
        return base
    setting = os.environ.get("ACTORFLOW_KERNELS", "")
    if setting == "numpy":
        return base
    if setting and setting not in _AVAILABLE:
        raise InvalidArgumentError(
            f"ACTORFLOW_KERNELS is {setting!r}; it may be 'numpy'{''.join(f' or {name!r}' for name in sorted(_AVAILABLE))}."
        )
    if setting:
        others = [k for k in others if k.library == setting]
    if all(is_static(shape) for shape in shapes):
        return _chosen(base, others, attrs, shapes, bool(setting), constants)
    others = [k for k in others if _is_there(k.library)]  # loaded while the plan is made, not in the middle of a run
    return _by_call(base, others, attrs, bool(setting), constants) if others else base


def _chosen(
    base: KernelDef,
    others: Sequence[KernelDef],
    attrs: Mapping[str, Any],
    shapes: Sequence[Any],
    always: bool,
    constants: Sequence[Any],
) -> KernelDef:
    for other in reversed(others if any(value is not None for value in constants) else ()):
        if other.prepare is not None and other.can(attrs, shapes) and _is_there(other.library):
            function = other.prepare(attrs, shapes, constants)
            if function is not None:
                return replace(other, function=function, attrs=(), direct=None)
    for other in reversed(others):
        if other.can(attrs, shapes) and (always or other.pays(attrs, shapes)) and _is_there(other.library):
            return other
    return base


def _is_there(name: str) -> bool:
    available = _AVAILABLE.get(name)
    return available is not None and available()


def _by_call(
    base: KernelDef, others: Sequence[KernelDef], attrs: Mapping[str, Any], always: bool, constants: Sequence[Any]
) -> KernelDef:
    by_shapes: dict[tuple[Any, ...], Callable[..., Any]] = {}
    packs = base.takes_packs or any(other.takes_packs for other in others)
    packed = base.packed or next((other.packed for other in others if other.packed), "")

    def choose(xp: Any, *inputs: Any, **keywords: Any) -> Any:
        shapes = tuple([getattr(x, "shape", None) for x in inputs])
        function = by_shapes.get(shapes)
        if function is None:
            if len(by_shapes) >= _MOST_SHAPES:  # what would be prepared for constants would be so in each call
                entry = _chosen(base, others, attrs, shapes, always, ())
                return _called(entry, keywords, packed)(xp, *inputs, **keywords)
            function = _called(_chosen(base, others, attrs, shapes, always, constants), keywords, packed)
            by_shapes[shapes] = function
        return function(xp, *inputs, **keywords)

    return replace(base, function=choose, direct=None, takes_packs=packs, packed=packed)


def of_objects(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that takes strings as arrays of objects alone, for packed strings."""

    def call(xp: Any, *inputs: Any, packs: Any = (), **options: Any) -> Any:
        return function(xp, *[unpacked(value) for value in inputs], **options)

    return call


def of_shaped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose inputs all have a shape, for single strings that come as Python's bytes."""

    def call(xp: Any, *inputs: Any, **options: Any) -> Any:
        return function(xp, *[shaped(value) for value in inputs], **options)

    return call


def _without_packs(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(xp: Any, *inputs: Any, packs: Any = (), **options: Any) -> Any:
        return function(xp, *inputs, **options)

    return call


def _called(entry: KernelDef, keywords: Mapping[str, Any], packed: str = "") -> Callable[..., Any]:
    """The function of a kernel, for calls with the attributes as keywords, which a prepared kernel does not take."""
    function = entry.function
    if packed and not entry.packed:
        return of_objects(function)
    if "packs" in keywords and not entry.takes_packs:
        return _without_packs(function)
    if entry.prepare is None or entry.attrs or not any(name != "out" for name in keywords):
        return function

    def call(xp: Any, *inputs: Any, **options: Any) -> Any:
        return function(xp, *inputs, out=options["out"]) if "out" in options else function(xp, *inputs)

    return call
