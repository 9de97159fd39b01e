"""Writes the code of a coalesced loop: a generator of straight lines, with branches under `if` and inner loops of their own."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.device.base import Device
from actorflow.graph.node import Node, TensorId
from actorflow.passes.coalesce_loops import LoopBody
from actorflow.runtime.codegen.emitter import Emitter
from actorflow.runtime.codegen.jit import Compiler
from actorflow.runtime.codegen.jit_groups import FusedLoop
from actorflow.runtime.kernel_binding import ContextOf, kernel_of
from actorflow.shapes import Shape, is_static

if TYPE_CHECKING:
    from actorflow.runtime.codegen.coalesced_loop import CoalescedLoop

BATCH = 0.0003
"""Seconds that the iterations between two yields should take."""
MOST_ITERATIONS = 1 << 16
MOST_ROWS = 128
"""Rows of a product: those of more are computed by themselves."""
MOST_KEPT = 1024
"""Rows that are kept for one product."""
_ADDING = {"Add": 2, "_AddMatMul": 1}
"""Ops that add a term to one of their first inputs, with the number of those."""


class LoopEmitter(Emitter):
    """Writes a loop: the condition's members, then the body's, each under the predicates that guard it."""

    def __init__(
        self,
        loop: CoalescedLoop,
        body: LoopBody,
        pieces: Sequence[Node | FusedLoop],
        shapes: Sequence[Shape],
        device: Device,
        context_of: ContextOf,
        compiler: Compiler | None,
        without: AbstractSet[str],
    ) -> None:
        inputs = loop.node.attrs["inputs"]
        kept = [
            *inputs,
            body.condition,
            *(v.updated for v in body.variables),
            *body.aliases,
            *body.aliases.values(),
            *(pred for pred, _, _ in body.chosen.values()),
        ]
        members = [m for piece in pieces for m in (piece.members if isinstance(piece, FusedLoop) else (piece,))]
        super().__init__(inputs, shapes, members, kept, device, context_of, without)
        self._known = {TensorId(m.name, port): shape for m in members for port, shape in enumerate(m.shapes)}
        self._loop = loop
        self._body = body
        self._pieces = pieces
        self._compiler = compiler
        tested = {m.name for m in body.members[: body.tested]}
        self._sums: dict[str, str] = {}
        """The variable of each product that is added up at the end."""
        self._tested = sum(_first(piece).op == "Const" or _first(piece).name in tested for piece in pieces)

    def write(self, outputs: Sequence[int]) -> tuple[Callable[..., Any], str]:
        """The generator function, whose result are the variables at `outputs`, and the name of its file."""
        writer, body = self._writer, self._body
        first = max(1, min(MOST_ITERATIONS, int(BATCH * 1e9 / max(body.cost, 300.0))))
        for piece in self._pieces:
            if isinstance(piece, Node) and piece.op == "Const":
                self.emit(piece)
        self._accumulators()
        writer.add(f"most = {first}")
        writer.add("while True:")
        writer.indent += 1
        writer.add("for _ in range(most):")
        writer.indent += 1
        self._block(self._pieces[: self._tested])
        if body.members:
            self._mark(body.members[-1])
        writer.add(f"if not {self._spelled(body.condition)}: break")
        self._block(self._pieces[self._tested :])
        targets = [self._spelling[v.merged] for v in body.variables]
        updates = [self._spelled(v.updated) for v in body.variables]
        changed = [(t, u) for t, u in zip(targets, updates) if t != u]
        if changed:
            writer.add(f"{', '.join(t for t, _ in changed)} = {', '.join(u for _, u in changed)}")
            if temporary := sorted({u for _, u in changed if u.startswith("v")}):
                writer.add(f"del {', '.join(temporary)}")
        writer.indent -= 1
        writer.add("else:")
        writer.indent += 1
        writer.add("most = yield most")
        writer.add("continue")
        writer.indent -= 1
        writer.add("break")
        writer.indent -= 1
        for name in self._sums.values():
            writer.add(f"{name} = {name}.total()")
        return self.finish([body.variables[i].merged for i in outputs])

    def _accumulators(self) -> None:
        """Finds variables that do nothing but grow by a term in each iteration. Such a sum is added up in place, in a copy of
        what the variable begins with."""
        body, writer = self._body, self._writer
        uses = Counter(e for m in body.members for e in map(body.resolved, m.inputs))
        uses.update(map(body.resolved, (body.condition, *(v.updated for v in body.variables))))
        adding = {TensorId(p.name, 0): p for p in self._pieces if isinstance(p, Node) and p.op in _ADDING}
        for variable in body.variables:
            member = adding.get(body.resolved(variable.updated))
            if member is None:
                continue
            terms = [self._source(e, uses) for e in member.inputs[: _ADDING[member.op]]]
            if variable.merged not in terms:
                continue
            shapes = {*member.shapes, self._shapes[variable.merged]}
            dtype = member.dtypes[0].numpy_dtype
            if uses[variable.merged] != 1 or uses[body.resolved(variable.updated)] != 1 or len(shapes) != 1:
                continue
            if not is_static(member.shapes[0]) or member.shapes[0] == () or dtype.hasobject:
                continue
            entry = kernel_of(member, self._device, (), [self._shapes.get(e) for e in member.inputs], self._without)
            if member.op == "_AddMatMul" and self._adds_rows(member):
                self._sum_products(member, self._spelling[variable.merged])
            elif entry.takes_out:
                name = self._into[member.name] = self._spelling[variable.merged]
                self._mark(member)
                copy = f"{writer.bind(_copied)}({name}, {writer.bind(self._device.allocator.allocate)})"
                writer.add(f"{name} = {copy}")

    def _source(self, tensor_id: TensorId, uses: Mapping[TensorId, int]) -> TensorId:
        """The tensor that Identities with one user pass on."""
        passing = {TensorId(p.name, 0): p.inputs[0] for p in self._pieces if isinstance(p, Node) and p.op == "Identity"}
        while tensor_id in passing and uses[tensor_id] == 1:
            tensor_id = self._body.resolved(passing[tensor_id])
        return tensor_id

    def _adds_rows(self, member: Node) -> bool:
        """Whether a product is of turned matrices with a few rows, so that those of several iterations may be one product."""
        turned, shapes = member.attrs["transpose_a"], [self._known.get(e) for e in member.inputs[1:]]
        if not turned or member.attrs["transpose_b"] or any(shape is None or not is_static(shape) for shape in shapes):
            return False
        return all(shape[0] <= MOST_ROWS for shape in shapes)  # type: ignore[index,operator] # they are static matrices

    def _sum_products(self, member: Node, name: str) -> None:
        columns = [(None, size) for size in member.shapes[0] or ()]
        entry = kernel_of(member, self._device, (), [member.shapes[0], *columns], self._without)
        attrs = {name: member.attrs[name] for name in entry.attrs}
        compute = functools.partial(entry.function, self._device.xp, **attrs)
        self._sums[member.name] = name
        self._mark(member)
        allocate, bind = self._device.allocator.allocate, self._writer.bind
        self._writer.add(f"{name} = {bind(ProductSum)}({name}, {bind(allocate)}, {bind(compute)})")

    def _block(self, pieces: Sequence[Node | FusedLoop]) -> None:
        """Writes members under their guards; neighbours with equal ones share them."""
        open_guards: tuple[tuple[TensorId, int], ...] = ()
        base = self._writer.indent
        for piece in pieces:
            member = _first(piece)
            if member.op == "Const":
                continue
            guards = self._body.guards[member.name]
            if guards != open_guards:
                common = 0
                while common < min(len(guards), len(open_guards)) and guards[common] == open_guards[common]:
                    common += 1
                self._writer.indent = base + common
                for pred, side in guards[common:]:
                    self._mark(member)
                    self._writer.add(f"if {'' if side else 'not '}{self._spelled(pred)}:")
                    self._writer.indent += 1
                open_guards = guards
            if isinstance(piece, FusedLoop):
                assert self._compiler is not None
                self.emit_loop(piece, self._compiler.compile(piece.recipe))
            else:
                self._emit_one(piece)
        self._writer.indent = base

    def _emit_one(self, member: Node) -> None:
        if member.op == "Merge":
            pred, one, other = self._body.chosen[member.name]
            sides = {one: 0, other: 1}
            yes, no = (self._spelled(member.inputs[sides[side]]) for side in (1, 0))
            value, position = f"v{len(self._shapes)}", f"v{len(self._shapes) + 1}"
            for port, name in enumerate((value, position)):
                self._spelling[TensorId(member.name, port)] = name
                self._shapes[TensorId(member.name, port)] = member.shapes[port]
            self._mark(member)
            self._writer.add(f"{value} = {yes} if {self._spelled(pred)} else {no}")
            positions = [self._writer.bind(np.int32(sides[side])) for side in (1, 0)]
            if TensorId(member.name, 1) in self._last_use:
                self._writer.add(f"{position} = {positions[0]} if {self._spelled(pred)} else {positions[1]}")
        elif member.op == "_Loop":
            results = []
            arguments = ", ".join(self._spelled(e) for e in member.inputs)
            for port, shape in enumerate(member.shapes):
                results.append(f"v{len(self._shapes)}")
                self._spelling[TensorId(member.name, port)] = results[-1]
                self._shapes[TensorId(member.name, port)] = shape
            self._mark(member)
            call = f"yield from {self._writer.bind(self._loop.inner(member.name))}([{arguments}])"
            self._writer.add(f"{', '.join(results)} = {call}" if results else call)
        elif member.name in self._sums:
            name = self._spelling[TensorId(member.name, 0)] = self._sums[member.name]
            self._shapes[TensorId(member.name, 0)] = member.shapes[0]
            self._mark(member)
            self._writer.add(f"{name}.add({', '.join(self._spelled(e) for e in member.inputs[1:])})")
            self._release(member)
        else:
            self.emit(member)

    def _spelled(self, tensor_id: TensorId) -> str:
        found = self._body.resolved(tensor_id)
        return self._rank0.get(found, self._spelling[found])


class ProductSum:
    """A matrix to which a loop adds a product of each iteration: aᵀ b with a few rows. The rows of many iterations, one below the
    other, are one product, which a library computes faster than each by itself.

    Args:
        start: what the matrix begins with; it is copied.
        allocate: makes an array, of a shape and a type.
        compute: `compute(c, a, b, out=c)` adds a product.
    """

    __slots__ = ("_compute", "_left", "_matrix", "_right", "_rows")

    def __init__(self, start: Any, allocate: Callable[..., Any], compute: Callable[..., Any]) -> None:
        self._matrix = _copied(start, allocate)
        self._compute = compute
        self._left: list[Any] = []
        self._right: list[Any] = []
        self._rows = 0

    def add(self, left: Any, right: Any) -> None:
        """Adds leftᵀ · right, now or later."""
        self._left.append(left)
        self._right.append(right)
        self._rows += len(left)
        if self._rows >= MOST_KEPT:
            self.total()

    def total(self) -> Any:
        """The matrix with all that was added."""
        if self._left:
            matrix = self._matrix
            self._matrix = self._compute(matrix, np.concatenate(self._left), np.concatenate(self._right), out=matrix)
            self._left, self._right, self._rows = [], [], 0
        return self._matrix


def _copied(array: Any, allocate: Callable[..., Any]) -> Any:
    copy = allocate(array.shape, array.dtype)
    copy[...] = array
    return copy


def _first(piece: Node | FusedLoop) -> Node:
    return piece.members[0] if isinstance(piece, FusedLoop) else piece
