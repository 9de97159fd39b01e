"""From an optimizer's formula (`actorflow.graph.ops.state.update`) to what computes it: numpy's calls, or a recipe for a
compiler.

A formula is written down once, as a recipe over the op's inputs. A GPU's kernel is that recipe. For the CPU an `UpdateProgram`
divides it: it computes once a run what depends on scalars only, makes the choices that depend on them, and leaves an `UpdateLoop`
over elements. The loop's calls of numpy write over the variable and its slots as soon as the old values are used up, and need
few temporaries.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.engine.runtime.codegen.jit_recipe import Operand, Recipe, RecipeInstruction, RecipeValue, RecipeWriter
from actorflow.engine.runtime.tape.tape import Instruction as Call
from actorflow.engine.runtime.tape.tape import runner
from actorflow.engine.runtime.tape.writer import TapeWriter
from actorflow.graph.node import Node
from actorflow.graph.ops.state.update import Formula, Update

_CALLS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "max": "maximum", "copysign": "copysign",
    "pow": "power", "neg": "negative", "abs": "absolute", "sign": "sign", "sqrt": "sqrt", "exp": "exp", "select": "where",
}  # fmt: skip
"""The functions of array modules for the instructions over elements."""
_ONCE: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "eq": operator.eq, "gt": operator.gt,
}  # fmt: skip
"""The functions that compute instructions over scalars; the array module does if no operator is there."""


class _Functions:
    """The functions of formulas, which write instructions (`actorflow.graph.ops.state.update.Functions`)."""

    def __init__(self, block: RecipeWriter, dtype: str) -> None:
        self._block, self._dtype = block, dtype
        for name in ("sqrt", "exp", "abs", "sign"):
            setattr(self, name, functools.partial(block.unary, name))
        for name, op in {
            "power": "pow",
            "maximum": "max",
            "copysign": "copysign",
            "equal": "eq",
            "greater": "gt",
        }.items():
            setattr(self, name, functools.partial(block.binary, op))
        self.where = block.select

    def number(self, x: RecipeValue) -> RecipeValue:
        return self._block.convert(x, self._dtype)


def written(formula: Formula, arrays: Sequence[str], scalars: Sequence[str], dtype: str, *flag: bool) -> Recipe:
    """The recipe of a formula for arrays and scalars of these types. It writes over those of the first arrays that change."""
    block = RecipeWriter()
    full = [block.operand(kind) for kind in arrays]
    numbers = [block.operand(kind, "scalar") for kind in scalars]
    results = formula(_Functions(block, dtype), *full, *numbers, *flag)
    return block.finish([(v, into) for v, into in zip(results, full) if v is not into])


@functools.lru_cache(maxsize=256)
def recipe_of(row: Update, flag: bool, dtype: str) -> Recipe:
    """The formula of a row. Its operands are the variable, the slots, the gradient, and the scalars in the order of the op's
    inputs."""
    scalars = ["i8" if name in row.types else dtype for name in row.scalars]
    return written(row.formula, [dtype] * (row.refs + 1), scalars, dtype, *([flag] if row.flag else ()))


class UpdateProgram:
    """A formula, divided. Numpy's calls take any type, whatever that of the recipe is."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        count = len(recipe.operands)
        self._scalars = [k for k, operand in enumerate(recipe.operands) if operand.layout == "scalar"]
        self._blank: list[Any] = [None] * (count + len(recipe.body))
        uniform = set(self._scalars)
        self._steps: list[tuple[Callable[..., Any] | None, str, tuple[int, ...], int]] = []
        chosen: list[int] = []
        for at, step in enumerate(recipe.body, count):
            if step.op == "const":
                self._blank[at] = _constant(step)
                uniform.add(at)
            elif uniform.issuperset(step.arguments):
                self._steps.append((_ONCE.get(step.op), step.op, step.arguments, at))
                uniform.add(at)
            elif step.op == "select" and step.arguments[0] in uniform:
                chosen.append(step.arguments[0])
        self._uniform = uniform
        self._chosen = tuple(dict.fromkeys(chosen))
        self._loops: dict[tuple[bool, ...] | None, UpdateLoop] = {}
        only = None if self._steps or self._chosen else self.loop(None)
        self.plain = only if only is not None and only.numbers == tuple(self._scalars) else None
        """The loop, if it needs the scalars as they are given, and nothing else."""
        self.straight = None if self._chosen else self._written_out()
        """A function of [arrays and scalars], in which each call of numpy is a line: for arrays so small that anything else
        would cost more than the calls. None where choices depend on scalars."""

    def numbers(self, xp: Any, dtype: Any, scalars: Iterable[Any]) -> list[Any]:
        """The values of a run that are the same for all elements, by their numbers in the recipe."""
        numbers = self._blank.copy()
        for at, scalar in zip(self._scalars, scalars):
            numbers[at] = scalar
        for function, op, arguments, at in self._steps:
            if function is not None:
                numbers[at] = function(*[numbers[a] for a in arguments])
            elif op == "convert":
                numbers[at] = xp.asarray(numbers[arguments[0]]).astype(dtype)[()]
            else:
                numbers[at] = getattr(xp, _CALLS[op])(*[numbers[a] for a in arguments])
        return numbers

    def _written_out(self) -> Callable[[list[Any]], Any] | None:
        loop = self.loop(())
        if loop.chooses:
            return None
        full = [k for k in range(len(self.recipe.operands)) if k not in self._scalars]
        writer = TapeWriter(len(self.recipe.operands))
        places = {number: place for place, number in enumerate((*full, *self._scalars))}
        places |= {number: writer.hold(value) for number, value in enumerate(self._blank) if value is not None}
        first = places[full[0]]
        for function, op, arguments, at in self._steps:
            inputs = [places[a] for a in arguments]
            if function is None and op == "convert":
                places[at] = writer.call(_UPDATE, _converted, [*inputs, first])
            else:
                places[at] = writer.call(_UPDATE, function or getattr(np, _CALLS[op]), inputs)
        values = [places[at] for at in (*full, *loop.numbers)] + [writer.hold(value) for value in loop.constants]
        values.extend(writer.call(_UPDATE, _scratch, [first]) for _ in range(loop.scratch))
        loop.write(writer, values)
        return runner(writer.finish())

    def loop(self, numbers: Sequence[Any] | None) -> UpdateLoop:
        """The work on each element; with `numbers`, choices that depend on them are made."""
        key = None if numbers is None else tuple([bool(numbers[c]) for c in self._chosen]) if self._chosen else ()
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = self._specialised(dict(zip(self._chosen, key)) if key is not None else {})
        return loop

    def _specialised(self, choices: Mapping[int, bool]) -> UpdateLoop:
        """The recipe over elements, without what is computed once and without what no result needs."""
        recipe, count = self.recipe, len(self.recipe.operands)

        def meant(value: int) -> int:
            while (
                value >= count and (step := recipe.body[value - count]).op == "select" and step.arguments[0] in choices
            ):
                value = step.arguments[1 if choices[step.arguments[0]] else 2]
            return value

        needed: set[int] = set()
        waiting = [meant(value) for value, _ in recipe.outputs]
        while waiting:
            value = waiting.pop()
            if value not in needed:
                needed.add(value)
                if value not in self._uniform and value >= count:
                    waiting += map(meant, recipe.body[value - count].arguments)
        constants = [
            v for v in sorted(needed) if v in self._uniform and v >= count and recipe.body[v - count].op == "const"
        ]
        numbers = [v for v in sorted(needed & self._uniform) if v not in constants]
        full = [k for k, operand in enumerate(recipe.operands) if operand.layout == "full"]
        body = [v for v in sorted(needed - self._uniform) if v >= count]
        place = {value: at for at, value in enumerate([*full, *numbers, *constants, *body])}
        operands = [recipe.operands[k] for k in full] + [Operand(recipe.type_of(v), "scalar") for v in numbers]
        steps = [recipe.body[v - count] for v in (*constants, *body)]
        instructions = [
            RecipeInstruction(s.op, tuple(place[meant(a)] for a in s.arguments), s.dtype, s.value) for s in steps
        ]
        outputs = [(place[meant(value)], None if into is None else place[into]) for value, into in recipe.outputs]
        return UpdateLoop(Recipe(tuple(operands), tuple(instructions), tuple(outputs)), numbers)


class UpdateLoop:
    """The work of a run on each element. The operands of `recipe` are the arrays, and then those of the program's
    values that `numbers` names. `run` computes it by calls of an array module."""

    def __init__(self, recipe: Recipe, numbers: Sequence[int]) -> None:
        self.recipe = recipe
        self.numbers = tuple(numbers)
        self.arrays = len(recipe.operands) - len(numbers)
        self.written = [into for _, into in recipe.outputs if into is not None]
        count = len(recipe.operands)
        self.constants = [_constant(step) for step in recipe.body if step.op == "const"]
        self._begin = count + len(self.constants)
        self._names: list[tuple[str, tuple[int, ...], int]] = []
        self._copies: list[tuple[int, int]] = []
        self.scratch = self._assign_places()
        self.chooses = any(name == "where" for name, _, _ in self._names)
        self._calls = self._calls_of(np)

    def _assign_places(self) -> int:
        """Says for each instruction where its result goes: over an array whose old value has been used up, else to a temporary.
        Gives how many of these there are."""
        recipe, count = self.recipe, len(self.recipe.operands)
        last = {a: at for at, step in enumerate(recipe.body, count) for a in step.arguments}
        target = {value: into for value, into in recipe.outputs if into is not None}
        place = {value: value for value in range(self._begin)}
        free: list[int] = []
        used = 0
        for at, step in enumerate(recipe.body[len(self.constants) :], self._begin):
            into = target.get(at)
            arguments = tuple(place[a] for a in step.arguments)
            free += [
                place[a] for a in set(step.arguments) if last[a] == at and place[a] >= self._begin and a not in target
            ]
            if into is not None and last.get(into, -1) <= at and step.op != "select":
                place[at] = into
            else:
                if not free:
                    free.append(self._begin + used)
                    used += 1
                place[at] = free.pop()
            self._names.append((_CALLS[step.op], arguments, place[at]))
        self._copies = [(into, place[value]) for value, into in target.items() if place[value] != into]
        return used

    def _calls_of(self, xp: Any) -> list[tuple[Any, int, int, int]]:
        """(function, first argument, second argument or -1, result) of each call."""
        return [(getattr(xp, name), at[0], at[1] if len(at) > 1 else -1, into) for name, at, into in self._names]

    def steps(self, kinds: Mapping[str, int]) -> Any:
        """The calls as rows of whole numbers: which of `kinds` a call is, the places of its arguments, and that of its result.
        The copies are at the end. None where a call is of no such kind."""
        rows = []
        for name, arguments, into in [
            *self._names,
            *[("copyto", (source,), target) for target, source in self._copies],
        ]:
            if name not in kinds:
                return None
            rows.append((kinds[name], arguments[0], arguments[-1], into))
        return np.array(rows, np.int32).reshape(-1, 4)

    def run(self, xp: Any, values: list[Any]) -> None:
        """Computes it on arrays of one shape: `values` are these, the `numbers`, the `constants`, and `scratch` temporaries."""
        if self.chooses:
            self._run_with_choices(xp, values)
        else:
            for function, first, second, into in self._calls if xp is np else self._calls_of(xp):
                if second < 0:
                    function(values[first], out=values[into])
                else:
                    function(values[first], values[second], out=values[into])
        for target, source in self._copies:
            xp.copyto(values[target], values[source])

    def write(self, writer: TapeWriter, values: Sequence[int]) -> None:
        """`run` as instructions, for numpy; `values` are places."""
        for function, first, second, into in self._calls:
            operands = [values[first]] if second < 0 else [values[first], values[second]]
            writer.instructions.append(Call(_UPDATE, function, (*operands, values[into]), names=("out",)))
        for target, source in self._copies:
            writer.instructions.append(Call(_UPDATE, np.copyto, (values[target], values[source])))

    def _run_with_choices(self, xp: Any, values: list[Any]) -> None:
        for name, arguments, into in self._names:
            function = getattr(xp, name)
            if name == "where":
                values[into] = function(*[values[a] for a in arguments])
            else:
                function(*[values[a] for a in arguments], out=values[into])


def _constant(step: RecipeInstruction) -> Any:
    """A constant as a number of Python, whose type is that of what stands beside it."""
    value = np.frombuffer(step.value, step.dtype)[0].item()
    return int(value) if value == int(value) else value


@functools.lru_cache(maxsize=256)
def program_of(row: Update, flag: bool, dtype: str = "f8") -> UpdateProgram:
    """The program of a row. `dtype` is that of a compiled loop."""
    return UpdateProgram(recipe_of(row, flag, dtype))


_UPDATE = Node(name="update", op="Update")


def _converted(value: Any, like: Any) -> Any:
    """A scalar of the type of an array."""
    return np.asarray(value).astype(like.dtype)[()]


def _scratch(like: Any) -> Any:
    return np.empty(like.shape, like.dtype)
