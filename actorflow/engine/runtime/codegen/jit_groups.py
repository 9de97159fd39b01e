"""Which members of a region one loop can compute together, and in which order the members run then.

Members join the loop of those that give them their inputs, as long as no path leads out of the loop and back. The loops and
the members that are left have to have an order. All members of a loop have one shape, which is that of its rows and
columns.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry import roles
from actorflow.base.registry.traits import Loop
from actorflow.base.shapes import Shape, is_static
from actorflow.engine.runtime.codegen.jit import LoopCompiler, ReplacedCalls
from actorflow.engine.runtime.codegen.jit_recipe import TYPES, Recipe, RecipeValue, RecipeWriter
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.node import Node, TensorId

MOST_MEMBERS = 64
MOST_ARRAYS = 24

Types = Mapping[TensorId, tuple[DType, Shape]]
OneCall = Callable[[Node, Sequence[Shape]], bool]
"""Whether one function computes a member of these input shapes, in one pass over its arrays."""


@dataclass(frozen=True, slots=True)
class FusedLoop:
    """Members that one loop computes. `inputs` are the arrays that it reads, of which `scalars` may be numpy scalars;
    `outputs` those that it fills."""

    members: tuple[Node, ...]
    recipe: Recipe
    rows: int
    columns: int
    inputs: tuple[TensorId, ...]
    scalars: frozenset[TensorId]
    outputs: tuple[TensorId, ...]


@dataclass(slots=True)
class _Unit:
    """A member, or those of a loop, among what is to be ordered. `before` are the units that it waits for, a bit for each,
    `above` all that these wait for too."""

    members: list[Node]
    before: int = 0
    above: int = 0
    shape: Any = None
    columns: int | None = None
    arrays: set[TensorId] = field(default_factory=set)


def accepts(compiler: LoopCompiler, loop: Loop | None, dtypes: Sequence[DType]) -> bool:
    """Whether the compiler has all that a kernel's loop needs for inputs of these types."""
    if loop is None or not dtypes or dtypes[0] not in loop.types or any(d not in TYPES for d in dtypes):
        return False
    return all(compiler.computes(function, TYPES[dtypes[0]]) for function in loop.calls)


def candidates(
    members: Sequence[Node], compiler: LoopCompiler, loop_of: Callable[[Node], Loop | None]
) -> dict[str, Loop]:
    """The members that may go into loops, with these: large enough, of types that loops have. `loop_of` gives the loop of a
    member's kernel."""
    fitting = [
        m
        for m in members
        if len(m.shapes) == 1
        and m.role is not roles.IDENTITY  # costs nothing as it is, and would be a copy in a loop
        and is_static(m.shapes[0])
        and _elements(m.shapes[0]) >= compiler.least
        and m.dtypes[0] in TYPES
        and m.inputs
    ]
    return {m.name: loop for m in fitting if (loop := loop_of(m)) is not None}


def arrange(
    members: Sequence[Node],
    types: Types,
    kept: AbstractSet[TensorId],
    given: AbstractSet[TensorId],
    compiler: LoopCompiler,
    chosen: Mapping[str, Loop],
    is_one_call: OneCall,
) -> list[Node | FusedLoop]:
    """The members in an order that computes what the given order does, those of loops together.

    `types` are of all tensors in the region, `kept` are needed after it, `given` come from outside. `chosen` are candidates.
    """
    members = _without_detours(members, given, chosen)
    arranger = _Arranger(members, types, given, compiler, chosen, is_one_call)
    units = arranger.units()
    where = {m.name: i for i, unit in enumerate(units) for m in unit.members}
    used = set(kept)
    for member in members:
        used.update(e for e in member.inputs if where.get(e.node) != where.get(member.name))
    arranged: list[Node | FusedLoop] = [m for m in members if m.role is roles.CONSTANT]
    for unit in units:
        fused = arranger.fuse(unit, used) if unit.shape is not None else None
        arranged.extend(unit.members if fused is None else [fused])
    return arranged


def _without_detours(members: Sequence[Node], inputs: AbstractSet[TensorId], chosen: Mapping[str, Loop]) -> list[Node]:
    """The members, of which those that may go into loops take what an Identity passes on from its source."""
    source: dict[TensorId, TensorId] = {}
    members_left = []
    for member in members:
        if member.role is roles.IDENTITY and not member.controls and TensorId(member.name, 0) not in inputs:
            source[TensorId(member.name, 0)] = source.get(member.inputs[0], member.inputs[0])
        elif member.name in chosen and any(e in source for e in member.inputs):
            member = replace(member, inputs=tuple([source.get(e, e) for e in member.inputs]))
        members_left.append(member)
    return members_left


def _elements(shape: Any) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _layout(shape: Shape, whole: tuple[int, ...]) -> tuple[str, int | None] | None:
    """How an operand lies in an array of shape `whole`, and how many columns that takes; None without a rule."""
    if shape is None or not is_static(shape) or len(shape) > len(whole):
        return None
    sizes: tuple[Any, ...] = (1,) * (len(whole) - len(shape)) + tuple(shape)
    if sizes == whole:
        return "full", None
    if all(size == 1 for size in sizes):
        return "scalar", None
    for cut in range(1, len(whole)):
        if sizes[cut:] == whole[cut:] and all(size == 1 for size in sizes[:cut]):
            return "row", _elements(sizes)
        if sizes[:cut] == whole[:cut] and all(size == 1 for size in sizes[cut:]):
            return "column", _elements(whole) // _elements(sizes)
    return None


class _Arranger:
    def __init__(
        self,
        members: Sequence[Node],
        types: Types,
        inputs: AbstractSet[TensorId],
        compiler: LoopCompiler,
        chosen: Mapping[str, Loop],
        is_one_call: OneCall,
    ) -> None:
        self._members = members
        self._position = {m.name: position for position, m in enumerate(members)}
        self._types = types
        self._given = inputs
        self._compiler = compiler
        self._chosen = chosen
        self._is_one_call = is_one_call
        self._constants = {m.name: m.attrs["value"] for m in members if m.role is roles.CONSTANT}
        self._units: dict[int, _Unit] = {}
        self._unit_of: dict[str, int] = {}

    def units(self) -> list[_Unit]:
        """The units in an order that their edges allow, otherwise in that of the members."""
        for position, member in enumerate(yielding(self._members)):
            if member.role is not roles.CONSTANT:
                self._place(position, member)
        waiting = {i: unit.before.bit_count() for i, unit in self._units.items()}
        after: dict[int, list[int]] = {}
        for i, unit in self._units.items():
            for need in _bits(unit.before):
                after.setdefault(need, []).append(i)
        rank = {i: max(self._position[m.name] for m in unit.members) for i, unit in self._units.items()}
        ready = [(rank[i], i) for i, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        order = []
        while ready:
            _, i = heapq.heappop(ready)
            order.append(self._units[i])
            for user in after.get(i, ()):
                waiting[user] -= 1
                if waiting[user] == 0:
                    heapq.heappush(ready, (rank[user], user))
        return order

    def _place(self, position: int, member: Node) -> None:
        """Puts a member into the loop of one of its inputs, with which other loops of its inputs may be joined."""
        needs = [e.node for e in member.inputs if e not in self._given] + list(member.controls)
        before = 0
        for need in needs:
            if need in self._unit_of:
                before |= 1 << self._unit_of[need]
        unit = _Unit([member], before)
        for i in _bits(before):
            unit.above |= self._units[i].above | 1 << i
        self._units[position] = unit
        self._unit_of[member.name] = position
        columns = self._fits(member)
        if columns is None:
            return
        unit.shape, unit.columns = member.shapes[0], columns or None
        unit.arrays = {e for e in (*member.inputs, TensorId(member.name, 0)) if e.node not in self._constants}
        for other in sorted(_bits(before)):
            if other in self._units:
                self._join(other, self._unit_of[member.name])

    def _fits(self, member: Node) -> int | None:
        """How many columns a member that may go into a loop asks for, 0 for any; None for others."""
        if (
            member.name not in self._chosen
            or TensorId(member.name, 0) in self._given
            or len(member.inputs) >= MOST_ARRAYS
        ):
            return None
        types = [self._types[e] for e in member.inputs]
        loop = self._chosen[member.name]
        if not accepts(self._compiler, loop, [d for d, _ in types]):
            return None
        whole: Any = member.shapes[0]
        columns = 0
        for _, shape in types:
            layout = _layout(shape, whole)
            if layout is None or not loop.broadcasts and layout[0] not in ("full", "scalar"):
                return None
            if layout[1] is not None:
                if columns not in (0, layout[1]):
                    return None
                columns = layout[1]
        shapes: list[Any] = [shape for _, shape in types]
        if np.broadcast_shapes(*shapes) != whole or self._lowered(member) is None:
            return None
        return columns

    def _lowered(self, member: Node) -> RecipeValue | None:
        """Whether there is a rule for the member's attributes and types, tried on operands of no loop."""
        block = RecipeWriter()
        return self._written(member, [block.operand(TYPES[self._types[e][0]]) for e in member.inputs])

    def _written(self, member: Node, values: Sequence[RecipeValue]) -> RecipeValue | None:
        """The value of a member, in its inputs' block; None for attributes or types that have no loop."""
        result: RecipeValue | None = self._chosen[member.name].lower(member.attrs, *values)
        return result

    def _join(self, left: int, other: int) -> None:
        """Makes one loop of two if they fit, and no path between them leads through a third unit."""
        a, b = self._units[left], self._units[other]
        if left == other or a.shape != b.shape or a.shape is None:
            return
        if None not in (a.columns, b.columns) and a.columns != b.columns:
            return
        if len(a.members) + len(b.members) > MOST_MEMBERS or len(a.arrays | b.arrays) > MOST_ARRAYS:
            return
        for first, then in ((left, b), (other, a)):
            if any(self._units[i].above >> first & 1 for i in _bits(then.before & ~(1 << first))):
                return
        both = 1 << left | 1 << other
        a.members.extend(b.members)
        a.before = (a.before | b.before) & ~both
        a.above = (a.above | b.above) & ~both
        a.columns = a.columns or b.columns
        a.arrays |= b.arrays
        del self._units[other]
        for member in b.members:
            self._unit_of[member.name] = left
        for unit in self._units.values():
            if unit.before >> other & 1:
                unit.before = unit.before & ~(1 << other) | 1 << left
            if unit.above & both:
                unit.above = unit.above & ~(1 << other) | 1 << left | a.above

    def fuse(self, unit: _Unit, outside: AbstractSet[TensorId]) -> FusedLoop | None:
        """The loop of a unit; None if the compiler says that the loop does not pay."""
        members = sorted(unit.members, key=lambda m: self._position[m.name])
        whole: Any = unit.shape
        columns = unit.columns or (whole[-1] if len(whole) > 1 else _elements(whole))
        block = RecipeWriter()
        values: dict[TensorId, RecipeValue] = {}
        inputs: list[TensorId] = []
        scalars: set[TensorId] = set()
        inside = {m.name for m in members}
        prepared = functions = arrays = 0
        for member in members:
            work = block.work
            for tensor_id in member.inputs:
                if tensor_id in values:
                    continue
                dtype, shape = self._types[tensor_id]
                kind = TYPES[dtype]
                constant = self._constants.get(tensor_id.node) if tensor_id not in self._given else None
                if constant is not None and constant.size == 1:
                    values[tensor_id] = block.constant(constant.reshape(()), kind)
                    continue
                layout = _layout(shape, whole)
                assert layout is not None and tensor_id.node not in inside, tensor_id
                values[tensor_id] = block.operand(kind, layout[0])
                inputs.append(tensor_id)
                if layout[0] == "scalar":
                    scalars.add(tensor_id)
            result = self._written(member, [values[e] for e in member.inputs])
            assert result is not None, member.op
            values[TensorId(member.name, 0)] = result
            shapes = [self._types[e][1] for e in member.inputs]
            if self._is_one_call(member, shapes):
                prepared += 1
                arrays += 1 + sum(_layout(shape, whole) == ("full", None) for shape in shapes)
            else:
                functions += block.work - work
                arrays += 3 * (block.work - work)
        outputs = [e for m in members if (e := TensorId(m.name, 0)) in outside]
        if not outputs:
            return None
        recipe = block.finish([(values[e], None) for e in outputs])
        if not self._compiler.pays(recipe, _elements(whole), ReplacedCalls(prepared, functions, arrays)):
            return None
        rows = _elements(whole) // columns
        return FusedLoop(tuple(members), recipe, rows, columns, tuple(inputs), frozenset(scalars), tuple(outputs))


def _bits(mask: int) -> list[int]:
    positions = []
    while mask:
        lowest = mask & -mask
        positions.append(lowest.bit_length() - 1)
        mask ^= lowest
    return positions
