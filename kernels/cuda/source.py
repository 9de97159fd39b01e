"""C for the GPU from recipes: the body of a loop over elements, for CuPy's `ElementwiseKernel`.

Each instruction is one line and one operation, and nothing is contracted (`--fmad=false`), so that a kernel for several
nodes gives what their own kernels give, which round after each operation. The functions are CUDA's, as those of CuPy are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from actorflow.engine.runtime.codegen.jit_recipe import CALLED, COMPARISONS, Recipe, RecipeInstruction

OPTIONS = ("--fmad=false",)
C_TYPES = {
    "f4": "float",
    "f8": "double",
    "i1": "signed char",
    "i2": "short",
    "i4": "int",
    "i8": "long long",
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned int",
    "u8": "unsigned long long",
    "b1": "bool",
}
_BETWEEN = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OF_BOOLS = {"and": "&&", "or": "||", "xor": "!="}
_FUNCTIONS = CALLED | {"sqrt", "floor", "ceil", "rint"}


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The parts of an `ElementwiseKernel`. Its outputs are the recipe's fresh outputs, or the operands that are written over,
    in the order of the recipe's outputs. Its inputs are the other operands in their order."""

    inputs: str
    outputs: str
    body: str
    written: tuple[int, ...]
    """The numbers of the operands that are outputs."""


def literal(data: bytes, dtype: str) -> str:
    """A constant of an element type, exactly."""
    value = np.frombuffer(data, dtype)[0]
    if dtype == "b1":
        return "true" if value else "false"
    if dtype[0] == "f":
        single = dtype == "f4"
        if not math.isfinite(value):
            bits = value.view(np.uint32 if single else np.uint64)
            return f"__int_as_float(0x{bits:x}u)" if single else f"__longlong_as_double(0x{bits:x}ull)"
        text = f"{value:.9g}" if single else f"{value:.17g}"
        text = text if "." in text or "e" in text else text + ".0"
        return f"({text}{'f' if single else ''})"
    number = int(value)
    suffix = {"u4": "u", "u8": "ull", "i8": "ll"}.get(dtype, "")
    if number == np.iinfo(dtype).min and dtype in ("i4", "i8"):
        return f"({number + 1}{suffix} - 1)"  # C has no negative literals
    return f"({number}{suffix})"


def _expression(step: RecipeInstruction, arguments: Sequence[str], kind: str) -> str:
    """The expression that an instruction computes; `kind` is the type of its last argument."""
    op = step.op
    if op == "const":
        return literal(step.value, step.dtype)
    if op == "convert":
        return f"{arguments[0]} != 0" if step.dtype == "b1" else f"({C_TYPES[step.dtype]}){arguments[0]}"
    if op == "select":
        return f"{arguments[0]} ? {arguments[1]} : {arguments[2]}"
    if op in COMPARISONS:
        return f"{arguments[0]} {_COMPARED[op]} {arguments[1]}"
    if op in ("min", "max"):
        x, y = arguments
        nan = f" || {x} != {x}" if kind[0] == "f" else ""
        return f"{x} {'<=' if op == 'min' else '>='} {y}{nan} ? {x} : {y}"
    if op in _BETWEEN:
        return f"{arguments[0]} {_OF_BOOLS[op] if kind == 'b1' else _BETWEEN[op]} {arguments[1]}"
    if op in ("pow", "copysign"):
        return f"{op}({arguments[0]}, {arguments[1]})"
    if op == "sign":
        (x,) = arguments
        return f"{x} > 0 ? 1 : {x} < 0 ? -1 : {x} == 0 ? 0 : {x}"
    if op in _FUNCTIONS:
        return f"{op}({arguments[0]})"
    if op == "abs":
        return f"fabs({arguments[0]})" if kind[0] == "f" else f"{arguments[0]} < 0 ? -{arguments[0]} : {arguments[0]}"
    if op == "neg":
        return f"-{arguments[0]}"
    assert op == "not", op
    return f"!{arguments[0]}" if kind == "b1" else f"~{arguments[0]}"


def source_of(recipe: Recipe) -> KernelSource:
    """The kernel of a recipe."""
    count = len(recipe.operands)
    names = [f"a{k}" for k in range(count)] + [f"v{k}" for k in range(len(recipe.body))]
    lines = []
    for k, step in enumerate(recipe.body):
        arguments = [names[a] for a in step.arguments]
        kind = recipe.type_of(step.arguments[-1]) if step.arguments else step.dtype
        lines.append(f"{C_TYPES[step.dtype]} v{k} = {_expression(step, arguments, kind)};")
    written = tuple(into for _, into in recipe.outputs if into is not None)
    outputs = []
    for k, (value, into) in enumerate(recipe.outputs):
        target = names[into] if into is not None else f"o{k}"
        outputs.append((recipe.type_of(value), target))
        lines.append(f"{target} = {names[value]};")
    inputs = [(o.dtype, names[k]) for k, o in enumerate(recipe.operands) if k not in written]
    return KernelSource(_parameters(inputs), _parameters(outputs), "\n".join(lines), written)


def _parameters(parameters: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{np.dtype(dtype).name} {name}" for dtype, name in parameters)


_MADE: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def made_once(xp: Any, key: Any, make: Any) -> Any:
    """The result of `make()` for `key` and the array module `xp` when it was first asked for."""
    functions = _MADE.setdefault(xp, {})
    function = functions.get(key)
    if function is None:
        function = functions[key] = make()
    return function


_source_of = functools.lru_cache(maxsize=1024)(source_of)


def elementwise(xp: Any, recipe: Recipe, name: str) -> Any:
    """The kernel of a recipe, to be called with its inputs, and then its outputs unless the kernel makes them. It is compiled
    at its first launch, and kept by CuPy on disk."""

    def make() -> Any:
        source = _source_of(recipe)
        return xp.ElementwiseKernel(
            source.inputs, source.outputs, source.body, name, return_tuple=not source.written, no_return=bool(source.written),
            options=OPTIONS,
        )  # fmt: skip

    return made_once(xp, (recipe, name), make)
