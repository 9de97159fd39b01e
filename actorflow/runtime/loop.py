"""The kernel of a coalesced loop: a generated loop that comes back to the event loop in time.

The code is a generator. It goes through a number of iterations and yields that number; who drives it answers with the
next one, so that a step that was stopped ends soon, and other work has its turn, however many iterations there are.
"""

from __future__ import annotations

import itertools
import types
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow import machine
from actorflow.device.base import Device
from actorflow.dtypes import DType
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.coalesce_loops import LoopBody
from actorflow.registry import opdef
from actorflow.runtime.emitter import Emitter
from actorflow.runtime.jit import Compiler, Counted
from actorflow.runtime.jit_groups import Fused, Types, arrange
from actorflow.runtime.launch import ContextOf, kernel_of
from actorflow.runtime.region import Region
from actorflow.shapes import Shape, is_static

if TYPE_CHECKING:
    from actorflow.runtime.part import Part
    from actorflow.runtime.plan import PlanNode

SLICE = 0.001
"""Seconds after which a loop gives others their turn."""
_BATCH = 0.0003
"""Seconds that the iterations between two yields should take."""
_MOST_ITERATIONS = 1 << 16

_ADDING = {"Add": 2, "_AddMatMul": 1}
"""Ops that add a term to one of their first inputs, so many."""

Iterations = Generator[int, int, Any]


class Loop(Region):
    """A coalesced loop: `loop(inputs)` gives the generator that runs it, and empties the list of inputs.

    Each tuple of input shapes has a version of its own, in which all shapes are known if no variable changes its shape.
    """

    def __init__(
        self,
        node: Node,
        input_types: Sequence[tuple[DType, Shape]],
        device: Device,
        context_of: ContextOf,
        compiler: Compiler | None = None,
        without: AbstractSet[str] = frozenset(),
    ) -> None:
        self._body: LoopBody = node.attrs["body"]
        self._inner: dict[str, Loop] = {}
        super().__init__(node, input_types, device, context_of, compiler=compiler, without=without)

    def _check_kernels(self) -> None:
        for member in self.members:
            if member.op == "_Loop":
                types = [(dtype, shape) for dtype, shape in member.attrs["input_types"]]
                self._inner[member.name] = Loop(
                    member, types, self._device, self._context_of, self._compiler, self._without
                )
        self.members = tuple(m for m in self.members if m.op not in ("_Loop", "Merge"))
        super()._check_kernels()

    def _order(self, members: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(members)

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        known = self._refined(shapes) if all(is_static(s) for s in shapes) else None
        if known is None:
            return self._written(self._pieces(self._body.members), shapes)
        code = self._written(self._pieces(known[0]), shapes)
        return self._counted(code, shapes) if self._may_improve(known[0], shapes) else code

    def compile_loops(self, key: tuple[Any, ...], shapes: Sequence[Shape]) -> None:
        known = self._refined(shapes)
        assert known is not None
        pieces = self._pieces(*known)
        fused = [p for p in pieces if isinstance(p, Fused)]
        if fused:
            self._versions[key] = self._written(pieces, shapes)
            self.loops = len(fused)
        elif isinstance(counted := self._versions[key], Counted):
            self._versions[key] = counted.function

    def _written(self, pieces: Sequence[Node | Fused], shapes: Sequence[Shape]) -> Callable[..., Any]:
        if not all(is_static(s) for s in shapes):
            shapes = [shape for _, shape in self._input_types]
        emitter = _LoopEmitter(
            self, self._body, pieces, shapes, self._device, self._context_of, self._compiler, self._without
        )
        function, file = emitter.write(self.node.attrs["outputs"])
        self._places[file] = emitter.places
        return function

    def _pieces(self, members: Sequence[Node], types: Types | None = None) -> list[Node | Fused]:
        """The members, constants first, which take what Switches pass on from its source. With `types`, groups of those that
        run together are compiled loops."""
        body = self._body
        members = [
            m if m.op in ("Const", "Merge") else replace(m, inputs=tuple(map(body.resolved, m.inputs))) for m in members
        ]
        constants = [m for m in members if m.op == "Const"]
        if types is None:
            return [*constants, *(m for m in members if m.op != "Const")]
        assert self._compiler is not None
        chosen = frozenset(self._candidates([m for m in members if m.op not in ("Merge", "_Loop")]))
        pieces: list[Node | Fused] = list(constants)
        for run in _runs(body, members):
            if not any(m.name in chosen for m in run):
                pieces.extend(run)
                continue
            names = {m.name for m in (*run, *constants)}
            kept = {body.resolved(e) for m in members if m.name not in names for e in m.inputs}
            kept.update(map(body.resolved, (body.condition, *(v.updated for v in body.variables))))
            kept.update(body.resolved(pred) for pred, _, _ in body.chosen.values())
            kept.update(body.resolved(pred) for guards in body.guards.values() for pred, _ in guards)
            given = {e for m in run for e in m.inputs if e.node not in names}
            arranged = arrange(
                [*constants, *run], types, kept, given, self._compiler, [m.name for m in run if m.name in chosen]
            )
            pieces.extend(arranged[len(constants) :])
        return pieces

    def _refined(self, shapes: Sequence[Shape]) -> tuple[list[Node], Types] | None:
        """The members with the shapes that follow from the inputs', and the types of all tensors; None where a variable does
        not keep its shape."""
        types: dict[Endpoint, tuple[DType, Shape]] = {
            endpoint: (dtype, shape)
            for endpoint, (dtype, _), shape in zip(self.node.attrs["inputs"], self._input_types, shapes, strict=True)
        }
        for alias, source in self._body.aliases.items():
            if source in types:
                types[alias] = types[source]
        refined: dict[str, Node] = {}
        for member in self._body.members:
            definition = opdef.lookup(member.op)
            inferred: Sequence[Shape] = member.shapes
            if member.op not in ("_Loop", "Const"):
                inputs = [self._type(types, e) for e in member.inputs]
                if any(kind is None for kind in inputs):
                    return None

                def value(index: int, member: Node = member) -> Any:
                    return constant_value(refined, member.inputs[index])

                try:
                    _, inferred = definition.infer(
                        opdef.Inference(
                            definition, member.attrs, [k[0] for k in inputs if k], [k[1] for k in inputs if k], value
                        )
                    )
                except (TypeError, ValueError):
                    return None
            refined[member.name] = replace(member, shapes=tuple(inferred))
            for port, (dtype, shape) in enumerate(zip(member.dtypes, inferred)):
                types[Endpoint(member.name, port)] = (dtype, shape)
        for variable in self._body.variables:
            updated = self._type(types, variable.updated)
            if updated is None or updated[1] != types[variable.merged][1]:
                return None
        return list(refined.values()), types

    def _type(self, types: dict[Endpoint, tuple[DType, Shape]], endpoint: Endpoint) -> tuple[DType, Shape] | None:
        aliases = self._body.aliases
        while endpoint not in types and endpoint in aliases:
            endpoint = aliases[endpoint]
        return types.get(endpoint)

    def inner(self, name: str) -> Loop:
        """An inner loop."""
        return self._inner[name]


def _runs(body: LoopBody, members: Sequence[Node]) -> Iterator[list[Node]]:
    """Members that stand together and run together, in order: of the condition or of the rest, under the same guards."""

    def together(place: tuple[int, Node]) -> object:
        at, member = place
        return member.name if member.op in ("Merge", "_Loop") else (at < body.tested, body.guards[member.name])

    places = [(at, m) for at, m in enumerate(members) if m.op != "Const"]
    return ([m for _, m in run] for _, run in itertools.groupby(places, together))


class _LoopEmitter(Emitter):
    """Writes a loop: the condition's members, then the body's, each under the predicates that guard it."""

    def __init__(
        self,
        loop: Loop,
        body: LoopBody,
        pieces: Sequence[Node | Fused],
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
        members = [m for piece in pieces for m in (piece.members if isinstance(piece, Fused) else (piece,))]
        super().__init__(inputs, shapes, members, kept, device, context_of, without)
        self._loop = loop
        self._body = body
        self._pieces = pieces
        self._compiler = compiler
        tested = {m.name for m in body.members[: body.tested]}
        self._tested = sum(_first(piece).op == "Const" or _first(piece).name in tested for piece in pieces)

    def write(self, outputs: Sequence[int]) -> tuple[Callable[..., Any], str]:
        """The generator function, whose result are the variables at `outputs`, and the name of its file."""
        writer, body = self._writer, self._body
        first = max(1, min(_MOST_ITERATIONS, int(_BATCH * 1e9 / max(body.cost, 300.0))))
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
        return self.finish([body.variables[i].merged for i in outputs])

    def _accumulators(self) -> None:
        """Finds variables that do nothing but grow by a term in each iteration. Such a sum is added up in place, in a copy of
        what the variable begins with."""
        body, writer = self._body, self._writer
        uses = Counter(e for m in body.members for e in map(body.resolved, m.inputs))
        uses.update(map(body.resolved, (body.condition, *(v.updated for v in body.variables))))
        adding = {Endpoint(p.name, 0): p for p in self._pieces if isinstance(p, Node) and p.op in _ADDING}
        for variable in body.variables:
            member = adding.get(body.resolved(variable.updated))
            if member is None or variable.merged not in member.inputs[: _ADDING[member.op]]:
                continue
            shapes = {*member.shapes, self._shapes[variable.merged]}
            dtype = member.dtypes[0].as_numpy_dtype
            if uses[variable.merged] != 1 or uses[body.resolved(variable.updated)] != 1 or len(shapes) != 1:
                continue
            if not is_static(member.shapes[0]) or member.shapes[0] == () or dtype.hasobject:
                continue
            entry = kernel_of(member, self._device, (), [self._shapes.get(e) for e in member.inputs], self._without)
            if entry.takes_out:
                name = self._into[member.name] = self._spelling[variable.merged]
                self._mark(member)
                copy = f"{writer.bind(_copied)}({name}, {writer.bind(self._device.allocator.allocate)})"
                writer.add(f"{name} = {copy}")

    def _block(self, pieces: Sequence[Node | Fused]) -> None:
        """Writes members under their guards; neighbours with equal ones share them."""
        open_guards: tuple[tuple[Endpoint, int], ...] = ()
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
            if isinstance(piece, Fused):
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
                self._spelling[Endpoint(member.name, port)] = name
                self._shapes[Endpoint(member.name, port)] = member.shapes[port]
            self._mark(member)
            self._writer.add(f"{value} = {yes} if {self._spelled(pred)} else {no}")
            positions = [self._writer.bind(np.int32(sides[side])) for side in (1, 0)]
            if Endpoint(member.name, 1) in self._last_use:
                self._writer.add(f"{position} = {positions[0]} if {self._spelled(pred)} else {positions[1]}")
        elif member.op == "_Loop":
            results = []
            arguments = ", ".join(self._spelled(e) for e in member.inputs)
            for port, shape in enumerate(member.shapes):
                results.append(f"v{len(self._shapes)}")
                self._spelling[Endpoint(member.name, port)] = results[-1]
                self._shapes[Endpoint(member.name, port)] = shape
            self._mark(member)
            call = f"yield from {self._writer.bind(self._loop.inner(member.name))}([{arguments}])"
            self._writer.add(f"{', '.join(results)} = {call}" if results else call)
        else:
            self.emit(member)

    def _spelled(self, endpoint: Endpoint) -> str:
        found = self._body.resolved(endpoint)
        return self._rank0.get(found, self._spelling[found])


def _copied(array: Any, allocate: Callable[..., Any]) -> Any:
    copy = allocate(array.shape, array.dtype)
    copy[...] = array
    return copy


def _first(piece: Node | Fused) -> Node:
    return piece.members[0] if isinstance(piece, Fused) else piece


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Lets others have their turn of the ready queue, or of the event loop."""
    yield


async def run_loop(part: Part, node: PlanNode, inputs: list[Any]) -> Any:
    """Drives a coalesced loop to its end, or until the step is stopped. Raises what a member raises."""
    assert node.region is not None
    iterations: Iterations = node.region(inputs)
    step = part.step
    clock = machine.current().work_clock
    last = clock()
    end = last + SLICE
    step.looping[id(iterations)] = (part, node)
    try:
        most = next(iterations)
        while True:
            now = clock()
            spent, last = now - last, now
            if spent < _BATCH / 2:
                most = min(most * 2, _MOST_ITERATIONS)
            elif spent > _BATCH * 2:
                most = max(most // 2, 1)
            if now >= end:
                await _turn()
                if step.stopped:
                    iterations.close()
                    return None
                last = clock()
                end = last + SLICE
            most = iterations.send(most)
    except StopIteration as done:
        return done.value
    finally:
        del step.looping[id(iterations)]
