"""The kernel of a coalesced loop: a tape with jumps, which comes back to the event loop in time.

A run of the tape goes through a number of iterations and pauses; its driver sets the number for the next run. So a stopped step
ends soon, and other work has its turn, however many iterations there are.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import DType
from actorflow.base.process import machine
from actorflow.base.registry import opdef, roles
from actorflow.base.shapes import Shape, is_static
from actorflow.engine.device.base import Device
from actorflow.engine.passes.coalesce_loops import LoopBody
from actorflow.engine.runtime.codegen.jit import Compiler, TierCounter
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop, Types, arrange
from actorflow.engine.runtime.codegen.region import Region
from actorflow.engine.runtime.kernel_binding import ContextOf
from actorflow.engine.runtime.tape.loops import LoopBuilder
from actorflow.engine.runtime.tape.tape import PausingRun, beginner
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Node, TensorId

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.plan import PlanNode

SLICE = 0.001
"""Seconds after which a loop gives others their turn."""
BATCH = 0.0003
"""Seconds that the iterations between two pauses should take."""
MOST_ITERATIONS = 1 << 16


class CoalescedLoop(Region):
    """A coalesced loop: `loop(inputs)` begins a run of it (`actorflow.engine.runtime.tape.tape.Run`), and empties the list of
    inputs.

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
        self._inner: dict[str, CoalescedLoop] = {}
        super().__init__(node, input_types, device, context_of, compiler=compiler, without=without)

    def _check_kernels(self) -> None:
        for member in self.members:
            if member.role is roles.LOOP:
                types = [(dtype, shape) for dtype, shape in member.attrs["input_types"]]
                self._inner[member.name] = CoalescedLoop(
                    member, types, self._device, self._context_of, self._compiler, self._without
                )
        self.members = tuple(m for m in self.members if m.role not in (roles.LOOP, roles.MERGE))
        super()._check_kernels()

    def _order(self, members: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(members)

    @property
    def first_turns(self) -> int:
        """How many iterations a run goes through before it is known how long they take."""
        return max(1, min(MOST_ITERATIONS, int(BATCH * 1e9 / max(self._body.cost, 300.0))))

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        refined = self._refined(shapes) if all(is_static(s) for s in shapes) else None
        if refined is None:
            return self._written(self._pieces(self._body.members), shapes)
        code = self._written(self._pieces(refined[0]), shapes)
        return self._counted(code, shapes) if self._may_improve(refined[0], shapes) else code

    def compile_loops(self, key: tuple[Any, ...], shapes: Sequence[Shape]) -> None:
        refined = self._refined(shapes)
        assert refined is not None
        pieces = self._pieces(*refined)
        fused = [p for p in pieces if isinstance(p, FusedLoop)]
        if fused:
            self._versions[key] = self._written(pieces, shapes)
            self.loops = len(fused)
        elif isinstance(counted := self._versions[key], TierCounter):
            self._versions[key] = counted.function

    def _written(self, pieces: Sequence[Node | FusedLoop], shapes: Sequence[Shape]) -> Callable[..., Any]:
        if not all(is_static(s) for s in shapes):
            shapes = [shape for _, shape in self._input_types]
        builder = LoopBuilder(
            self._body,
            pieces,
            self.node.attrs["inputs"],
            shapes,
            self._device,
            self._context_of,
            self._compiler,
            self._inner.__getitem__,
            self._without,
        )
        return beginner(builder.loop(self.node.attrs["outputs"]))

    def _pieces(self, members: Sequence[Node], types: Types | None = None) -> list[Node | FusedLoop]:
        """The members, constants first, which take what Switches pass on from its source. With `types`, groups of those that
        run together are compiled loops."""
        body = self._body
        members = [
            m if m.role in (roles.CONSTANT, roles.MERGE) else replace(m, inputs=tuple(map(body.resolved, m.inputs)))
            for m in members
        ]
        constants = [m for m in members if m.role is roles.CONSTANT]
        if types is None:
            return [*constants, *(m for m in members if m.role is not roles.CONSTANT)]
        assert self._compiler is not None
        chosen = self._candidates([m for m in members if m.role not in (roles.MERGE, roles.LOOP)])
        pieces: list[Node | FusedLoop] = list(constants)
        for run in _runs(body, members):
            if not any(m.name in chosen for m in run):
                pieces.extend(run)
                continue
            names = {m.name for m in (*run, *constants)}
            kept = {body.resolved(e) for m in members if m.name not in names for e in m.inputs}
            kept.update(map(body.resolved, (body.condition, *(v.updated for v in body.variables))))
            kept.update(body.resolved(pred) for pred, _, _ in body.chosen.values())
            kept.update(body.resolved(pred) for guards in body.guards.values() for pred, _ in guards)
            outer_inputs = {e for m in run for e in m.inputs if e.node not in names}
            mine = {m.name: chosen[m.name] for m in run if m.name in chosen}
            arranged = arrange([*constants, *run], types, kept, outer_inputs, self._compiler, mine, self._is_one_call)
            pieces.extend(arranged[len(constants) :])
        return pieces

    def _refined(self, shapes: Sequence[Shape]) -> tuple[list[Node], Types] | None:
        """The members with the shapes that follow from the inputs', and the types of all tensors; None where a variable does
        not keep its shape."""
        types: dict[TensorId, tuple[DType, Shape]] = {
            tensor_id: (dtype, shape)
            for tensor_id, (dtype, _), shape in zip(self.node.attrs["inputs"], self._input_types, shapes, strict=True)
        }
        for alias, source in self._body.aliases.items():
            if source in types:
                types[alias] = types[source]
        refined: dict[str, Node] = {}
        for member in self._body.members:
            definition = opdef.lookup(member.op)
            inferred: Sequence[Shape] = member.shapes
            if member.role not in (roles.LOOP, roles.CONSTANT):
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
                types[TensorId(member.name, port)] = (dtype, shape)
        for variable in self._body.variables:
            updated = self._type(types, variable.updated)
            if updated is None or updated[1] != types[variable.merged][1]:
                return None
        return list(refined.values()), types

    def _type(self, types: dict[TensorId, tuple[DType, Shape]], tensor_id: TensorId) -> tuple[DType, Shape] | None:
        aliases = self._body.aliases
        while tensor_id not in types and tensor_id in aliases:
            tensor_id = aliases[tensor_id]
        return types.get(tensor_id)


def _runs(body: LoopBody, members: Sequence[Node]) -> Iterator[list[Node]]:
    """Members that stand together and run together, in order: of the condition or of the rest, under the same guards."""

    def together(place: tuple[int, Node]) -> object:
        at, member = place
        return member.name if member.role in (roles.MERGE, roles.LOOP) else (at < body.tested, body.guards[member.name])

    places = [(at, m) for at, m in enumerate(members) if m.role is not roles.CONSTANT]
    return ([m for _, m in run] for _, run in itertools.groupby(places, together))


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Lets others have their turn of the ready queue, or of the event loop."""
    yield


async def run_loop(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Drives a coalesced loop to its end, or until the step is stopped. Raises what a member raises."""
    loop = node.region
    assert isinstance(loop, CoalescedLoop)
    begun = perf_counter_ns()
    run: PausingRun = loop(inputs)
    step = executor.step
    clock = machine.current().work_clock
    last = clock()
    end = last + SLICE
    turns = loop.first_turns
    step.looping[id(run)] = (executor, node)
    try:
        while run.go(turns) < 0:
            now = clock()
            spent, last = now - last, now
            if spent < BATCH / 2:
                turns = min(turns * 2, MOST_ITERATIONS)
            elif spent > BATCH * 2:
                turns = max(turns // 2, 1)
            if now >= end:
                await _turn()
                if step.stopped:
                    return None
                last = clock()
                end = last + SLICE
        result = run.result()
    finally:
        del step.looping[id(run)]
    if step.trace is not None:
        step.trace.add(executor, node, begun, perf_counter_ns())
    return result
