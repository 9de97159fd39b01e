"""The kernel of a coalesced loop: a generated loop that comes back to the event loop in time.

The code is a generator. It goes through a number of iterations and yields that number; who drives it answers with the
next one, so that a step that was stopped ends soon, and other work has its turn, however many iterations there are.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.device.base import Device
from actorflow.dtypes import DType
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.coalesce_loops import LoopBody
from actorflow.registry import opdef
from actorflow.runtime.emitter import Emitter
from actorflow.runtime.launch import ContextOf
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

Iterations = Generator[int, int, Any]


class Loop(Region):
    """A coalesced loop: `loop(inputs)` gives the generator that runs it, and empties the list of inputs.

    Each tuple of input shapes has a version of its own, in which all shapes are known if no variable changes its shape.
    """

    def __init__(
        self, node: Node, input_types: Sequence[tuple[DType, Shape]], device: Device, context_of: ContextOf
    ) -> None:
        self._body: LoopBody = node.attrs["body"]
        self._inner: dict[str, Loop] = {}
        super().__init__(node, input_types, device, context_of)

    def _check_kernels(self) -> None:
        for member in self.members:
            if member.op == "_Loop":
                types = [(dtype, shape) for dtype, shape in member.attrs["input_types"]]
                self._inner[member.name] = Loop(member, types, self._device, self._context_of)
        self.members = tuple(m for m in self.members if m.op not in ("_Loop", "Merge"))
        super()._check_kernels()

    def _order(self, members: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(members)

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        body = self._body
        members = list(body.members)
        known = self._refined(shapes) if all(is_static(s) for s in shapes) else None
        if known is not None:
            members = known
        elif self._open:
            shapes = [shape for _, shape in self._input_types]
        emitter = _LoopEmitter(self, body, members, shapes, self._device, self._context_of)
        function, file = emitter.write(self.node.attrs["outputs"])
        self._places[file] = emitter.places
        return function

    def _refined(self, shapes: Sequence[Shape]) -> list[Node] | None:
        """The members with the shapes that follow from the inputs'; None where a variable does not keep its shape."""
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
        return list(refined.values())

    def _type(self, types: dict[Endpoint, tuple[DType, Shape]], endpoint: Endpoint) -> tuple[DType, Shape] | None:
        aliases = self._body.aliases
        while endpoint not in types and endpoint in aliases:
            endpoint = aliases[endpoint]
        return types.get(endpoint)

    def inner(self, name: str) -> Loop:
        """An inner loop."""
        return self._inner[name]


class _LoopEmitter(Emitter):
    """Writes a loop: the condition's members, then the body's, each under the predicates that guard it."""

    def __init__(
        self,
        loop: Loop,
        body: LoopBody,
        members: Sequence[Node],
        shapes: Sequence[Shape],
        device: Device,
        context_of: ContextOf,
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
        super().__init__(inputs, shapes, members, kept, device, context_of)
        self._loop = loop
        self._body = body
        self._members = members

    def write(self, outputs: Sequence[int]) -> tuple[Callable[..., Any], str]:
        """The generator function, whose result are the variables at `outputs`, and the name of its file."""
        writer, body = self._writer, self._body
        first = max(1, min(_MOST_ITERATIONS, int(_BATCH * 1e9 / max(body.cost, 300.0))))
        for member in self._members:
            if member.op == "Const":
                self.emit(member)
        writer.add(f"most = {first}")
        writer.add("while True:")
        writer.indent += 1
        writer.add("for _ in range(most):")
        writer.indent += 1
        self._block(self._members[: body.tested])
        if self._members:
            self._mark(self._members[-1])
        writer.add(f"if not {self._spelled(body.condition)}: break")
        self._block(self._members[body.tested :])
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

    def _block(self, members: Sequence[Node]) -> None:
        """Writes members under their guards; neighbours with equal ones share them."""
        open_guards: tuple[tuple[Endpoint, int], ...] = ()
        base = self._writer.indent
        for member in members:
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
            self._emit_one(member)
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
            self.emit(replace(member, inputs=tuple(self._resolved(e) for e in member.inputs)))

    def _resolved(self, endpoint: Endpoint) -> Endpoint:
        aliases = self._body.aliases
        while endpoint in aliases:
            endpoint = aliases[endpoint]
        return endpoint

    def _spelled(self, endpoint: Endpoint) -> str:
        found = self._resolved(endpoint)
        return self._rank0.get(found, self._spelling[found])


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Lets others have their turn of the ready queue, or of the event loop."""
    yield


async def run_loop(part: Part, node: PlanNode, inputs: list[Any]) -> Any:
    """Drives a coalesced loop to its end, or until the step is stopped. Raises what a member raises."""
    assert node.region is not None
    iterations: Iterations = node.region(inputs)
    step = part.step
    last = perf_counter()
    end = last + SLICE
    step.looping[id(iterations)] = (part, node)
    try:
        most = next(iterations)
        while True:
            now = perf_counter()
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
                last = perf_counter()
                end = last + SLICE
            most = iterations.send(most)
    except StopIteration as done:
        return done.value
    finally:
        del step.looping[id(iterations)]
