"""The compiler of elementwise loops: recipes to machine code, which the whole process shares."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.process import forks
from actorflow.engine.runtime.codegen import llvm
from actorflow.engine.runtime.codegen.jit import ReplacedCalls
from actorflow.engine.runtime.codegen.jit_recipe import Operand, Recipe
from actorflow.errors import InternalError

from ..native.library import loaded
from ..shared.threads import WORTH_DIVIDING, threaded
from .emit import module_text
from .ufuncs import inner_loop

_HOLDING = 20_000
"""Up to this number of operations a loop holds the interpreter: to give it up and get it back may take longer."""
_CHUNK = 1 << 15
"""Elements that a thread takes at a time."""
_PREPARED, _FUNCTION, _LOOP = 200.0, 900.0, 2000.0
"""Nanoseconds of a call on no elements: of a function in C by the tape, of numpy, and of a compiled loop by ctypes."""
_ELEMENT, _INSTRUCTION = 0.1, 0.05
"""Nanoseconds for each element of an array that is read or written, and for each instruction on an element."""
_GAIN = 0.8
"""A loop pays if it takes at most this part of the time of the calls: compiling it takes some time too."""
_SIZE = ctypes.c_ssize_t


class LlvmCompiler:
    """The compiler that the runtime asks for loops: see `actorflow.engine.runtime.codegen.jit.Compiler`."""

    name = "jit"
    device_type = "CPU"
    least = 2000
    """Elements: below, the calls of a few numpy functions cost no more than the loop's."""

    def available(self) -> bool:
        return llvm.available()

    def pays(self, recipe: Recipe, elements: int, replaced: ReplacedCalls) -> bool:
        calls = replaced.prepared * _PREPARED + replaced.functions * _FUNCTION + replaced.arrays * elements * _ELEMENT
        arrays = len(recipe.outputs) + sum(operand.layout == "full" for operand in recipe.operands)
        return _LOOP + elements * (arrays * _ELEMENT + len(recipe.body) * _INSTRUCTION) < _GAIN * calls

    def computes(self, function: str, dtype: str) -> bool:
        """Exponentials and the like are numpy's own inner loops, where these can be called."""
        return inner_loop(function, dtype) is not None

    def compile(self, recipe: Recipe) -> CompiledLoop:
        return compiled(recipe)


@dataclass(frozen=True, slots=True)
class CompiledLoop:
    """A compiled recipe."""

    recipe: Recipe
    held: Any
    released: Any
    part: int
    """The address of `@part`, where the recipe works in place."""

    def function(self, elements: int) -> Any:
        """`f(rows, columns, *arrays)` for arrays of `elements` elements: operands, then fresh outputs. It gives 0, or 1 if it
        did nothing, because an operand has to be fitted first."""
        work = elements * (len(self.recipe.body) + len(self.recipe.outputs))
        return self.held if work <= _HOLDING else self.released

    def fitted(self, rows: int, columns: int, *arrays: Any) -> None:
        """Runs the loop on arrays that need not be in order.

        Raises:
            InternalError: an array has another type or size than its kernel promised.
        """
        if self.released(rows, columns, *self.in_order(rows, columns, arrays)):
            raise InternalError("A generated loop refuses the arrays that were made for it.")

    def in_place(self, elements: int, arrays: list[Any]) -> None:
        """Runs a loop that works in place, on as many threads as pay. Its buffers and scalars are in order; its other operands
        may have to be fitted."""
        if elements < WORTH_DIVIDING:
            self._alone(elements, arrays)
            return

        def run(threads: int) -> None:
            if threads < 2:
                self._alone(elements, arrays)
                return
            arrays_given = self.in_order(1, elements, arrays)
            addresses = (ctypes.c_void_p * len(arrays_given))(*[a.__array_interface__["data"][0] for a in arrays_given])
            loaded().share(self.part, ctypes.addressof(addresses), elements, _CHUNK, threads)

        threaded((id(self), elements), run)

    def _alone(self, elements: int, arrays: list[Any]) -> None:
        if self.function(elements)(1, elements, *arrays):
            self.fitted(1, elements, *arrays)

    def in_order(self, rows: int, columns: int, arrays: Sequence[Any]) -> list[Any]:
        """The arrays, with copies of those operands that are not in order. Raises InternalError as `fitted` does."""
        counts = {"full": rows * columns, "scalar": 1, "row": columns, "column": rows}
        fitted = [_fitted(a, o, counts[o.layout]) for o, a in zip(self.recipe.operands, arrays)]
        for _, into in self.recipe.outputs:
            if into is not None and not np.may_share_memory(fitted[into], arrays[into]):
                raise InternalError("A variable's buffer is not in order, so that a loop can't update it.")
        return [*fitted, *arrays[len(fitted) :]]


def _fitted(value: Any, operand: Operand, elements: int) -> Any:
    array = np.asarray(value)
    if array.dtype != np.dtype(operand.dtype) or array.size != elements:
        raise InternalError(
            f"A kernel gave {array.dtype}{list(array.shape)} where {elements} elements of {np.dtype(operand.dtype)} were "
            "promised.",
            hint="A kernel returns arrays of the type and shape that its op declares.",
        )
    if array.dtype is not np.dtype(operand.dtype):
        array = array.view(np.dtype(operand.dtype))  # an equal type, but not numpy's own object: it was unpickled
    return np.require(array, requirements=["C", "A"])


_compiling = forks.new_library_lock()


@functools.lru_cache(maxsize=1024)
def _compiled(recipe: Recipe) -> CompiledLoop:
    code = llvm.compiled(module_text(recipe))
    objects = [ctypes.py_object] * (len(recipe.operands) + recipe.fresh)
    held, released = (code.bind("loop", _SIZE, _SIZE, *objects, releases=r) for r in (False, True))
    return CompiledLoop(recipe, held, released, code.engine.get_function_address("part") if recipe.in_place else 0)


def compiled(recipe: Recipe) -> CompiledLoop:
    """The loop for `recipe`, made once in a process."""
    with _compiling:
        return _compiled(recipe)
