"""Kernels: what an op computes on a device type, and the table in which the runtime finds them (paper section 2).

A kernel is a function of the array module `xp` (numpy or cupy), the op's inputs in order (a list input as one list) and,
by keyword, those of the op's attributes that it names. It may also name

- `out`: a buffer of the output's shape and type from the device's allocator, or None for a small output;
- `ctx`: the `KernelContext` of its node: resources, the device, what it keeps between runs;
- `step`: the `StepHandle` of the run: its rendezvous and its cancellation;
- `packs`: the numbers of those outputs that may be packed strings (`actorflow.base.packed_strings`); its default is for none;
- `iteration_tag`: bytes that tell apart the iterations of loops in which the node runs; its default is for nodes in none;
- `done`: what it calls with `(result, None)` or `(None, error)`, once and on the event loop, instead of returning. Like an
  `async def` kernel it waits without a thread, and without a task too (paper section 5.3, "a continuation").

Each input has a shape and a type: a single string comes as an array of rank 0, also where another kernel gave Python's bytes.

It returns an array (or a numpy scalar, or bytes, where the rank is 0), a tuple of them for several outputs, or None for none. It
never changes its inputs. An `async def` kernel holds no thread while it waits. `with step.waits_for("..."):` around its wait
says for what, to everybody who asks what a step waits for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef
from actorflow.base.registry.traits import LAUNCHED, Direct, Gpu, Loop
from actorflow.errors import UnimplementedError
from actorflow.public import public

ANY_DEVICE = "*"
PACKS = "_packs"
"""The attribute of a node that may be given packed strings: the numbers of the outputs that it may pack."""
_OWN_KEYWORDS = frozenset(("out", "ctx", "step", "iteration_tag", "done", "packs"))
"""Keywords of kernels that are no attributes of ops."""
F = TypeVar("F", bound=Callable[..., Any])
Question = Callable[[Mapping[str, Any], Sequence[Any]], bool]
"""Asked of a node's attributes and the static shapes of its inputs."""
Prepare = Callable[[Mapping[str, Any], Sequence[Any], Sequence[Any]], Callable[..., Any] | None]
"""Makes a kernel for one node, of its attributes, the static shapes of its inputs, and those inputs that are constants (None in
the place of each other input). None where that does not pay."""


def _yes(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class KernelDef:
    """One registered kernel. `device` is a device type such as CPU, or `*` for each; `dtypes` None takes every type."""

    op: str
    device: str
    function: Callable[..., Any]
    dtypes: frozenset[DType] | None
    attrs: tuple[str, ...]
    takes_out: bool
    takes_context: bool
    takes_step: bool
    takes_tag: bool
    takes_done: bool
    takes_packs: bool
    is_async: bool
    aborts_itself: bool = False
    is_threaded: bool = False
    library: str = ""
    can: Question = _yes
    pays: Question = _yes
    prepare: Prepare | None = None
    warm: Callable[[], None] | None = None
    gpu: Gpu | None = None
    loop: Loop | None = None
    direct: Direct | None = None
    packed: str = ""

    def accepts(self, dtypes: Sequence[DType]) -> bool:
        return self.dtypes is None or all(d.base_dtype in self.dtypes for d in dtypes)


_KERNELS: dict[str, list[KernelDef]] = {}
_OWN_MEMORY: dict[str, frozenset[DType]] = {}
"""The device types with memory of their own, each with the element types that its array module lacks."""
_FROM_LIBRARIES: dict[str, list[KernelDef]] = {}


@public("af")
def kernel(
    *ops: str,
    device: str = ANY_DEVICE,
    dtypes: frozenset[DType] | None = None,
    aborts_itself: bool = False,
    threaded: bool = False,
    library: str = "",
    can: Question = _yes,
    pays: Question = _yes,
    prepare: Prepare | None = None,
    warm: Callable[[], None] | None = None,
    gpu: Gpu | None = None,
    loop: Loop | None = None,
    direct: Direct | None = None,
    packed: str = "",
) -> Callable[[F], F]:
    """Registers the decorated function as the kernel of each of `ops`.

    A kernel for a named device type goes before a kernel for every device, and a kernel for named types before a kernel for
    every type. A kernel with a keyword `out` may get memory for its result there, or for the first of several, and then fills
    it; `out` is None if the kernel has to make the memory itself. The result is what it returns, which may have the elements of
    that memory in another order.

    Example:
        >>> @af.op("ExampleThirds", shape=lambda c: c.shapes[0], gradient=None)
        ... def thirds(x: af.Tensor, *, name=None):
        ...     "A third of each element."
        >>> @af.kernel("ExampleThirds")
        ... def _(xp, x):
        ...     return x / 3
        >>> x = af.placeholder(af.float32, [None])
        >>> await session.run(thirds(x), {x: [3.0, 6.0]})
        [1. 2.]

    Args:
        ops: the types of the operations.
        device: the device type, such as "CPU"; every type unless given.
        dtypes: the element types of the outputs (of the inputs, for an op without outputs) that it takes; every type
            unless given.
        aborts_itself: whether an asynchronous kernel ends soon after a callback that it gave to `step.on_cancel` is
            called. Others are cancelled through an anyio scope, which costs more.
        threaded: whether an asynchronous kernel is at work, on a thread of its own, except within `step.waits()`. Its
            step then counts among those that run, not among those that wait.
        library: the name of the library that it uses (`actorflow.base.registry.library`). Such a kernel stands beside the
            others, and has the keywords of the kernel that it replaces.
        can: `can(attrs, shapes)` says whether the library's kernel computes this; it always does unless given.
        pays: `pays(attrs, shapes)` says whether the library's kernel is worth its costs; it always is unless given.
        prepare: `prepare(attrs, shapes, constants)` makes the kernel of a node of which some inputs are constants, or gives None.
            It is called as the plan is made, whatever `pays` says, and may change constants into a form that the library is
            faster with; that lives as long as the plan. The kernel that it makes takes all inputs, and by keyword `out`.
        warm: begins what the library does once in a process, before its first call, and returns at once. It is called, maybe
            often, as soon as a plan is begun in which this kernel pays.
        gpu: what a device with memory of its own, such as a GPU, may do with the kernel (`actorflow.base.registry.traits`). A
            kernel of actorflow for every device is not for these devices unless this is given.
        loop: what an elementwise kernel computes for one element (`actorflow.base.registry.traits.Loop`). With it, several ops
            are compiled into one loop.
        direct: functions that take nothing but the inputs, by position, and do what the kernel does with numpy
            (`actorflow.base.registry.traits.Direct`). A tape calls them without the kernel's Python between.
        packed: how it takes packed strings (`actorflow.base.packed_strings`): "" as arrays of objects, "read" as they are, and
            "moved" if it gives the same strings on, and its output may be packed.

    Raises:
        TypeError: the function's parameters are not those that a kernel has.
        ValueError: there is such a kernel already. An interactive program may register one again.
    """

    def decorate(function: F) -> F:
        parameters = _parameters(function)
        if parameters.first != "xp":
            raise TypeError(f"The kernel {function.__qualname__} for {ops[0]} has to take `xp` first.")
        keywords = parameters.keywords
        for op in ops:
            definition = KernelDef(
                op=op,
                device=device,
                function=function,
                dtypes=dtypes,
                attrs=tuple(k for k in keywords if k not in _OWN_KEYWORDS),
                takes_out="out" in keywords,
                takes_context="ctx" in keywords,
                takes_step="step" in keywords,
                takes_tag="iteration_tag" in keywords,
                is_async=inspect.iscoroutinefunction(function) or "done" in keywords,
                takes_done="done" in keywords,
                takes_packs="packs" in keywords,
                aborts_itself=aborts_itself,
                is_threaded=threaded,
                library=library,
                can=can,
                pays=pays,
                prepare=prepare,
                warm=warm,
                gpu=gpu,
                loop=loop,
                direct=direct,
                packed=packed,
            )
            _register(definition)
        return function

    return decorate


def _register(definition: KernelDef) -> None:
    """Adds a kernel to those of its op. Raises ValueError if another function is the kernel for the same device and types."""
    entries = (_FROM_LIBRARIES if definition.library else _KERNELS).setdefault(definition.op, [])
    same = (definition.device, definition.dtypes, definition.library)
    twin = next((e for e in entries if (e.device, e.dtypes, e.library) == same), None)
    if twin is not None:
        old, new = twin.function, definition.function
        if _where(old) != _where(new) and not old.__module__ == new.__module__ == "__main__":
            raise ValueError(
                f"Op {definition.op} has a kernel for device {definition.device} already: {old.__qualname__} at "
                f"{_where(old)}. This one is {new.__qualname__} at {_where(new)}."
            )
        entries.remove(twin)
    entries.append(definition)
    traits.cache_clear()
    packing.cache_clear()
    entries.sort(key=lambda k: (k.device == ANY_DEVICE, k.dtypes is None))


class _Parameters(NamedTuple):
    """The parameters of a function: the first, how many by position at least and at most, and the keywords."""

    first: str | None
    least: int
    most: int
    is_open: bool
    keywords: tuple[str, ...]


def _parameters(function: Callable[..., Any]) -> _Parameters:
    """The parameters of a kernel. A process that starts registers a thousand of them, so a plain function's code tells them here:
    `inspect.signature` takes much longer."""
    if type(function) is FunctionType and not function.__dict__:
        code, names = function.__code__, function.__code__.co_varnames
        most, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        is_open = bool(code.co_flags & inspect.CO_VARARGS)
        place = end if is_open and not most else 0  # the code has `*rest` behind the keywords
        first = names[place] if end or is_open or code.co_flags & inspect.CO_VARKEYWORDS else None
        return _Parameters(first, most - len(function.__defaults__ or ()), most, is_open, names[most:end])
    parameters = inspect.signature(function).parameters
    values = parameters.values()
    positional = [p for p in values if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return _Parameters(
        next(iter(parameters), None),
        sum(p.default is p.empty for p in positional),
        len(positional),
        any(p.kind is p.VAR_POSITIONAL for p in values),
        tuple(p.name for p in values if p.kind is p.KEYWORD_ONLY),
    )


def _where(function: Callable[..., Any]) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether `function` can be called with `count` positional arguments."""
    parameters = _parameters(function)
    return parameters.is_open or parameters.least <= count <= parameters.most


def lookup(op: str, device: str, dtypes: Sequence[DType]) -> KernelDef:
    """The kernel of `op` for a device type and the element types of its outputs.

    Raises:
        UnimplementedError: there is none; the message lists those that there are.
    """
    entries = _KERNELS.get(op, ())
    for entry in entries:
        if entry.device in (device, ANY_DEVICE) and entry.accepts(dtypes) and _takes_part(entry, device, dtypes):
            return entry
    if not entries:
        raise UnimplementedError(f"Op {op} has no kernel on any device.", hint="Import the package that registers it.")
    kinds = [
        f"{e.device}: {'any type' if e.dtypes is None else ', '.join(sorted(map(str, e.dtypes)))}" for e in entries
    ]
    raise UnimplementedError(
        f"Op {op} has no kernel for device type {device} and types ({', '.join(map(str, dtypes))}).",
        details=["It has kernels for " + "; ".join(kinds)],
        hint="Place the node on a device that has one: with af.device('/device:CPU:0'): ...",
    )


def own_memory(device: str, *, without: Iterable[DType] = ()) -> None:
    """Says that a type of device has memory of its own, and an array module in the manner of CuPy. Such a device takes those of
    actorflow's kernels for every device that have the trait `gpu`, and all that other packages have for every device.

    Args:
        device: the device type.
        without: element types that its array module lacks.
    """
    _OWN_MEMORY[device] = frozenset(without)
    traits.cache_clear()


def _takes_part(entry: KernelDef, device: str, dtypes: Sequence[DType]) -> bool:
    """Whether a kernel for every device is a kernel for this type too."""
    without = _OWN_MEMORY.get(device) if entry.device == ANY_DEVICE else None
    if without is None or not entry.function.__module__.startswith("actorflow."):
        return True
    return entry.gpu is not None and not any(d.base_dtype in without for d in dtypes)


@functools.cache
def traits(op: str, device: str) -> Gpu:
    """The rights of a type of device with memory of its own on the kernel of an op: the trait of its own kernel, or that of the
    kernel for every device."""
    entries = [entry for entry in _KERNELS.get(op, ()) if entry.device in (device, ANY_DEVICE)]
    return next((entry.gpu for entry in entries if entry.gpu is not None), LAUNCHED)


def devices_of(op: str, dtypes: Sequence[DType] = ()) -> tuple[str, ...]:
    """The device types for which `op` has a kernel that takes these element types; `*` stands for each device, and a type
    with a `-` before it for a type that is not among them. `includes` reads it."""
    accepting = [entry for entry in _KERNELS.get(op, ()) if entry.accepts(dtypes)]
    shared = [entry for entry in accepting if entry.device == ANY_DEVICE]
    refusing = [d for d in _OWN_MEMORY if shared and not any(_takes_part(entry, d, dtypes) for entry in shared)]
    return tuple(dict.fromkeys([*(entry.device for entry in accepting), *("-" + device for device in refusing)]))


def includes(kinds: Sequence[str], device: str) -> bool:
    """Whether a device type is among those that `devices_of` gave."""
    return device in kinds or (ANY_DEVICE in kinds and "-" + device not in kinds)


@functools.cache
def packing(op: str) -> tuple[str, bool]:
    """How kernels of `op` take packed strings, and whether any of them gives packed strings."""
    entries = (*_KERNELS.get(op, ()), *_FROM_LIBRARIES.get(op, ()))
    return max((e.packed for e in entries), default=""), any(e.takes_packs or e.packed == "moved" for e in entries)


def registered() -> Mapping[str, Sequence[KernelDef]]:
    """All kernels by op."""
    return _KERNELS


def from_libraries(op: str) -> Sequence[KernelDef]:
    """The kernels of `op` that call a library."""
    return _FROM_LIBRARIES.get(op, ())


def warmed_ops() -> frozenset[str]:
    """The ops with kernels of libraries that have something to do before their first call."""
    return frozenset(op for op, entries in _FROM_LIBRARIES.items() if any(e.warm is not None for e in entries))


def verify() -> None:
    """Raises TypeError for a kernel whose op does not exist, has another number of inputs, or lacks an attribute that it
    names."""
    for op, entries in (*_KERNELS.items(), *_FROM_LIBRARIES.items()):
        try:
            definition = opdef.lookup(op)
        except KeyError:
            function = entries[0].function
            raise TypeError(
                f"The kernel {function.__qualname__} at {_where(function)} is for {op!r}, which is no op."
            ) from None
        declared = {a.name for a in definition.attrs}
        for entry in entries:
            if not _takes(entry.function, 1 + len(definition.inputs)):
                raise TypeError(
                    f"The kernel of {op} at {_where(entry.function)} has to take xp and {len(definition.inputs)} inputs."
                )
            if unknown := [a for a in entry.attrs if a not in declared]:
                raise TypeError(
                    f"The kernel of {op} at {_where(entry.function)} names {unknown}, but the op's attributes are "
                    f"{sorted(declared)}."
                )
            if entry.library:
                _verify_library(entry)


def _verify_library(entry: KernelDef) -> None:
    """A kernel from a library is called as the kernel in whose place it stands."""
    for base in _KERNELS.get(entry.op, ()):
        if base.device in (entry.device, ANY_DEVICE) and (
            base.dtypes is None or (entry.dtypes or base.dtypes) <= base.dtypes
        ):
            alike = set(base.attrs) == set(entry.attrs) and base.takes_context == entry.takes_context
            if not alike or (base.takes_out and not entry.takes_out):
                raise TypeError(
                    f"The kernel of {entry.op} from {entry.library} at {_where(entry.function)} has other keywords than the "
                    f"one at {_where(base.function)}, in whose place it stands."
                )
            return
    raise TypeError(f"The kernel of {entry.op} from {entry.library} stands in for no other that takes its types.")
