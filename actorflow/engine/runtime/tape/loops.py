"""`LoopBuilder`: a coalesced loop becomes a tape with jumps, which pauses after some iterations."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.registry import roles
from actorflow.base.shapes import Shape, is_static
from actorflow.engine.device.base import Device
from actorflow.engine.passes.coalesce_loops import LoopBody
from actorflow.engine.runtime.codegen.jit import Compiler
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop
from actorflow.engine.runtime.kernel_binding import ContextOf
from actorflow.engine.runtime.tape.builder import TapeBuilder
from actorflow.engine.runtime.tape.product_sum import MOST_ROWS, ProductSum, copied
from actorflow.engine.runtime.tape.tape import Instruction, InstructionKind, Tape
from actorflow.graph.node import Node, TensorId

InnerLoops = Callable[[str], Callable[[list[Any]], Any]]
"""Gives the function that begins the inner loop of a name."""
_ADDING = {"Add": 2, "_AddMatMul": 1}
"""Ops that add a term to one of their first inputs, with the number of those."""


class LoopBuilder(TapeBuilder):
    """Writes a loop: the condition's members, then the body's, each behind jumps for the predicates that guard it.

    Args:
        body: the loop.
        pieces: its members, constants first, with groups of them that are compiled loops.
        inputs: the tensors that the tape is given: what the variables begin with, and what does not change.
        shapes: their shapes, as far as they are known.
        device: runs the kernels.
        context_of: gives the context of a member's kernel.
        compiler: compiles groups of members.
        inner: gives the inner loops.
        without: libraries whose kernels are not used.
    """

    def __init__(
        self,
        body: LoopBody,
        pieces: Sequence[Node | FusedLoop],
        inputs: Sequence[TensorId],
        shapes: Sequence[Shape],
        device: Device,
        context_of: ContextOf,
        compiler: Compiler | None,
        inner: InnerLoops,
        without: AbstractSet[str] = frozenset(),
    ) -> None:
        members = [m for piece in pieces for m in (piece.members if isinstance(piece, FusedLoop) else (piece,))]
        super().__init__(inputs, shapes, members, (), device, context_of, without)
        self._body, self._pieces, self._compiler, self._inner = body, pieces, compiler, inner
        self._last_member = body.members[-1] if body.members else Node(name="loop", op="_Loop")
        tested = {m.name for m in body.members[: body.tested]}
        self._tested = sum(_first(piece).role is roles.CONSTANT or _first(piece).name in tested for piece in pieces)
        self._sums: dict[str, int] = {}
        """The place of each product that is added up at the end."""

    def loop(self, outputs: Sequence[int]) -> Tape:
        """The tape, whose results are the variables with these numbers."""
        body = self._body
        for piece in self._pieces:
            if isinstance(piece, Node) and piece.role is roles.CONSTANT:
                self.add(piece)
        self._accumulate()
        begin = len(self.instructions)
        self._block(self._pieces[: self._tested])
        leave = self._jump(self._last_member, self._value_of(body.condition), sense=False)
        self._block(self._pieces[self._tested :])
        updates = [(self._value_of(v.updated), self._places[v.merged]) for v in body.variables]
        changes = [(source, target) for source, target in updates if source != target]
        if changes:
            self._move([source for source, _ in changes], [target for _, target in changes])
        self.instructions.append(Instruction(self._last_member, kind=InstructionKind.TURN))
        self._land(self._jump(self._last_member), begin)
        self._land(leave)
        for place in self._sums.values():
            self.instructions.append(Instruction(self._last_member, ProductSum.total, (place,), (place,)))
        return self.build([body.variables[number].merged for number in outputs])

    # ---- jumps

    def _jump(self, node: Node, place: int | None = None, sense: bool = True) -> int:
        """Adds a jump whose target is to be set. Its number."""
        inputs = () if place is None else (place,)
        self.instructions.append(Instruction(node, inputs=inputs, kind=InstructionKind.JUMP, sense=sense))
        return len(self.instructions) - 1

    def _land(self, jump: int, target: int | None = None) -> None:
        """Has a jump go to an instruction, or to the next instruction."""
        target = len(self.instructions) if target is None else target
        self.instructions[jump] = replace(self.instructions[jump], target=target)

    def _move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        move = Instruction(self._last_member, inputs=tuple(sources), outputs=tuple(targets), kind=InstructionKind.MOVE)
        self.instructions.append(move)

    def _value_of(self, tensor_id: TensorId) -> int:
        """The place of a tensor that may be passed on by a Switch; of a constant of rank 0, that of the scalar."""
        source = self._body.resolved(tensor_id)
        return self._scalars.get(source, self._places[source])

    # ---- members

    def _block(self, pieces: Sequence[Node | FusedLoop]) -> None:
        """Adds members behind their guards; neighbours with equal guards share the jumps."""
        guards: tuple[tuple[TensorId, int], ...] = ()
        jumps: list[int] = []
        for piece in pieces:
            member = _first(piece)
            if member.role is roles.CONSTANT:
                continue
            following = self._body.guards[member.name]
            if following != guards:
                common = 0
                while common < min(len(following), len(guards)) and following[common] == guards[common]:
                    common += 1
                while len(jumps) > common:
                    self._land(jumps.pop())
                for predicate, side in following[common:]:
                    jumps.append(self._jump(member, self._value_of(predicate), sense=not side))
                guards = following
            if isinstance(piece, FusedLoop):
                assert self._compiler is not None
                self.add_loop(piece, self._compiler.compile(piece.recipe))
            else:
                self._add_member(piece)
        while jumps:
            self._land(jumps.pop())

    def _add_member(self, member: Node) -> None:
        if member.role is roles.MERGE:
            self._choose(member)
        elif member.role is roles.LOOP:
            outputs = tuple([self._result(TensorId(member.name, port)) for port in range(len(member.shapes))])
            inputs = tuple(map(self._value_of, member.inputs))
            enter = Instruction(member, self._inner(member.name), inputs, outputs, kind=InstructionKind.ENTER)
            self.instructions.append(enter)
        elif member.name in self._sums:
            place = self._sums[member.name]
            self._alias(TensorId(member.name, 0), place, member.shapes[0])
            terms = tuple(map(self._value_of, member.inputs[1:]))
            self.instructions.append(Instruction(member, ProductSum.add, (place, *terms)))
        else:
            self.add(member)

    def _choose(self, member: Node) -> None:
        """A Merge takes the value of one side, and tells which."""
        predicate, false, true = self._body.chosen[member.name]
        value, position = (self._result(TensorId(member.name, port)) for port in (0, 1))
        other = self._jump(member, self._value_of(predicate), sense=False)
        self._move([self._value_of(member.inputs[true]), self.hold(_position(true))], [value, position])
        over = self._jump(member)
        self._land(other)
        self._move([self._value_of(member.inputs[false]), self.hold(_position(false))], [value, position])
        self._land(over)

    # ---- sums

    def _accumulate(self) -> None:
        """Finds variables that do nothing but grow by a term in each iteration. Such a sum is added up in place, in a copy of
        what the variable begins with."""
        body = self._body
        uses = Counter(e for m in body.members for e in map(body.resolved, m.inputs))
        uses.update(map(body.resolved, (body.condition, *(v.updated for v in body.variables))))
        adding = {TensorId(p.name, 0): p for p in self._pieces if isinstance(p, Node) and p.op in _ADDING}
        for variable in body.variables:
            member = adding.get(body.resolved(variable.updated))
            if member is None:
                continue
            terms = [self._source(e, uses) for e in member.inputs[: _ADDING[member.op]]]
            shapes = {*member.shapes, self._shapes[variable.merged]}
            once = uses[variable.merged] == 1 and uses[body.resolved(variable.updated)] == 1
            if variable.merged not in terms or not once or len(shapes) != 1:
                continue
            if not is_static(member.shapes[0]) or member.shapes[0] == () or member.dtypes[0].numpy_dtype.hasobject:
                continue
            place = self._places[variable.merged]
            if member.op == "_AddMatMul" and self._adds_rows(member):
                self._sum_products(member, place)
            elif self._entry(member).takes_out:
                self._into[member.name] = place
                self.instructions.append(Instruction(member, copied, (place, self.hold(self._allocate)), (place,)))

    def _source(self, tensor_id: TensorId, uses: Mapping[TensorId, int]) -> TensorId:
        """The tensor that Identities with one user pass on."""
        passing = {
            TensorId(p.name, 0): p.inputs[0] for p in self._pieces if isinstance(p, Node) and p.role is roles.IDENTITY
        }
        while tensor_id in passing and uses[tensor_id] == 1:
            tensor_id = self._body.resolved(passing[tensor_id])
        return tensor_id

    def _adds_rows(self, member: Node) -> bool:
        """Whether a product is of turned matrices with a few rows, so that those of several iterations may be one product."""
        shapes = [self._declared.get(e) for e in member.inputs[1:]]
        if not member.attrs["transpose_a"] or member.attrs["transpose_b"]:
            return False
        return all(shape and is_static(shape) and (shape[0] or 0) <= MOST_ROWS for shape in shapes)

    def _sum_products(self, member: Node, place: int) -> None:
        columns: list[Shape] = [(None, size) for size in member.shapes[0] or ()]
        entry = self._kernel_for(member, [member.shapes[0], *columns])
        attrs = {name: member.attrs[name] for name in entry.attrs}
        compute = functools.partial(entry.function, self._device.xp, **attrs)
        self._sums[member.name] = place
        arguments = (place, self.hold(self._allocate), self.hold(compute))
        self.instructions.append(Instruction(member, ProductSum, arguments, (place,)))


def _first(piece: Node | FusedLoop) -> Node:
    return piece.members[0] if isinstance(piece, FusedLoop) else piece


@functools.cache
def _position(number: int) -> Any:
    """The position of an input as a Merge tells it."""
    return np.int32(number)
