"""The compiler of elementwise loops: recipes to machine code, which the whole process shares."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.errors import InternalError
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit_recipe import Operand, Recipe

from .emit import module_text
from .rules import RULES, Ruled
from .team import prepare

_HOLDING = 20_000
"""Up to so many operations a loop holds the interpreter: to give it up and get it back may take longer."""
_SIZE = ctypes.c_ssize_t


class LlvmCompiler(Ruled):
    """What the runtime asks for loops: see `actorflow.runtime.codegen.codegen.jit.Compiler`."""

    name = "jit"
    device_type = "CPU"
    least = 2000
    """Elements: below, the calls of a few numpy functions cost no more than the loop's."""

    def __init__(self) -> None:
        super().__init__(RULES)

    def available(self) -> bool:
        return llvm.available()

    def compile(self, recipe: Recipe) -> Loop:
        return compiled(recipe)


@dataclass(frozen=True, slots=True)
class Loop:
    """A compiled recipe."""

    recipe: Recipe
    held: Any
    released: Any
    shared: Any

    def function(self, elements: int) -> Any:
        """`f(rows, columns, *arrays)` for arrays of so many elements: operands, then fresh outputs. It gives 0, or 1 where it
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


_compiling = threading.Lock()


@functools.lru_cache(maxsize=1024)
def _compiled(recipe: Recipe) -> Loop:
    code = llvm.compiled(module_text(recipe))
    objects = [ctypes.py_object] * (len(recipe.operands) + recipe.fresh)
    held, released = (code.bind("loop", _SIZE, _SIZE, *objects, releases=r) for r in (False, True))
    shared: Any = None
    if recipe.in_place:
        shared = code.bind("share", ctypes.c_void_p, _SIZE, _SIZE, *objects, releases=True)
        prepare()
    return Loop(recipe, held, released, shared)


def compiled(recipe: Recipe) -> Loop:
    """The loop for `recipe`, made once in a process."""
    with _compiling:
        return _compiled(recipe)
