"""Generated loops for elementwise members of regions: who compiles them, and when.

A region runs as it is at first. When a version of its code has run a few times, the members that one loop can compute
together are compiled on a separate thread. The version is then replaced by a version that calls the loops; runs in flight
end in the version that they began. Compilers are found by the entry point group `actorflow.compilers`; without an installed
compiler, everything stays as it is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from actorflow.base.registry import plugins
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.runtime.codegen.jit_recipe import Recipe

T = TypeVar("T")
RUNS = 3
"""So often a version of a region's code runs, or anything else is asked for, before it is compiled."""


class CompiledRecipe(Protocol):
    """A compiled recipe."""

    def function(self, elements: int) -> Callable[..., int]:
        """`f(rows, columns, *arrays)` for arrays of `elements` elements: operands, then fresh outputs. It gives 0, or 1 if it
        did nothing, because an operand has to be fitted first."""

    def fitted(self, rows: int, columns: int, *arrays: Any) -> None:
        """The same for operands that need not be in order. Raises InternalError for those of another type or size."""


class LaunchedLoop(Protocol):
    """A recipe as one kernel of a device whose kernels are only launched."""

    def __call__(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        """Launches it on arrays of `xp` that broadcast to the shape of all results, and gives fresh arrays of that shape."""


@dataclass(frozen=True, slots=True)
class ReplacedCalls:
    """The calls that a loop takes the place of.

    Args:
        prepared: kernels that are one function of a library.
        functions: functions of numpy, of which other kernels need several.
        arrays: the arrays that all of them read and write, those of the size of the loop alone.
    """

    prepared: int
    functions: int
    arrays: int


class LoopCompiler(Protocol):
    """A compiler of the loops that stand at elementwise kernels (`actorflow.base.registry.traits.Loop`)."""

    name: str
    device_type: str
    """Of which devices it computes the kernels."""
    least: int
    """Elements: with fewer it does not pay."""

    def available(self) -> bool:
        """Whether what it needs is installed."""

    def pays(self, recipe: Recipe, elements: int, replaced: ReplacedCalls) -> bool:
        """Whether a loop over these elements is faster than the calls that it replaces."""

    def computes(self, function: str, dtype: str) -> bool:
        """Whether it has one of the functions in `jit_recipe.CALLED` for an element type."""


class Compiler(LoopCompiler, Protocol):
    """A compiler that turns elementwise ops into loops. Its results are those of the ops' kernels, bit for bit but for
    those of NaN."""

    def compile(self, recipe: Recipe) -> CompiledRecipe:
        """Takes some 10 ms, unless an equal recipe was compiled before. Called on any thread."""


class LaunchCompiler(LoopCompiler, Protocol):
    """The same for a device whose kernels are only launched."""

    def launched(self, recipe: Recipe) -> LaunchedLoop:
        """Takes next to no time; the kernel is compiled when it is first launched."""


@functools.cache
def _installed(device_type: str) -> Any:
    for plugin in plugins.load_all("compilers").values():
        compiler = plugin()
        if compiler.device_type == device_type and compiler.available():
            return compiler
    return None


def find_compiler(device_type: str, without: AbstractSet[str] = frozenset()) -> Any:
    """The compiler for the kernels of a device type: a `LaunchCompiler` if kernels are only launched, else a `Compiler`. None
    if the type has no compiler, if the compiler is among those `without`, and if `ACTORFLOW_KERNELS` asks for another
    library."""
    compiler = _installed(device_type)
    if compiler is None or compiler.name in without:
        return None
    return compiler if os.environ.get("ACTORFLOW_KERNELS", "") in ("", compiler.name) else None


class TieredCache(Generic[T]):
    """Values that take long to make: they are made in the background when they have been asked for a few times."""

    __slots__ = ("_asked", "_make", "made")

    def __init__(self, make: Callable[[], T | None]) -> None:
        self._make = make
        self._asked = 0
        self.made: T | None = None

    def get(self) -> T | None:
        """The value; None if the value is not made yet, or can't be made."""
        if self.made is None:
            self._asked += 1
            if self._asked == RUNS:
                background.add(self.make)
        return self.made

    def make(self) -> None:
        """Makes it now."""
        self.made = self._make()


class TierCounter:
    """A version of a region's code that asks for a better one when it has run a few times."""

    __slots__ = ("_left", "_wanted", "function")

    def __init__(self, function: Callable[..., Any], callback: Callable[[], None]) -> None:
        self.function = function
        self._wanted = callback
        self._left = RUNS

    def __call__(self, inputs: list[Any]) -> Any:
        self._left = left = self._left - 1
        if left == 0:
            background.add(self._wanted)
        return self.function(inputs)
