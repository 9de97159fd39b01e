"""Regions of a device whose kernels are only launched: the launches are a tape, with groups of them as one kernel.

A region saves a task for each launch there, the way into the device's stream, and, if a compiler makes one kernel of
several elementwise members, most of the launches. If the device can record its launches, a region is recorded in its
third run and replayed from then on, as long as all arrays have the same addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.registry import roles
from actorflow.base.shapes import Shape
from actorflow.engine.device.base import AsynchronousDevice, Replay, as_asynchronous
from actorflow.engine.runtime.codegen.jit import LaunchedLoop
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop, arrange, candidates
from actorflow.engine.runtime.codegen.region import Region
from actorflow.engine.runtime.kernel_binding import bind, kernel_of
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.engine.runtime.tape.tape import Instruction, Tape
from actorflow.engine.runtime.tape.writer import TapeWriter
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.node import Node, TensorId

RECORDED_AT = 3
"""The run in which a region is recorded: by then all its kernels are compiled, and constants on the device."""
MOST_RECORDINGS = 4
"""So often a version is recorded, since variables that move again and again are not worth it."""


class LaunchedTape:
    """A tape whose calls launch kernels. Called with a list of inputs, which it empties."""

    def __init__(self, device: AsynchronousDevice, tape: Tape) -> None:
        self.device = device
        self.tape = tape
        self._runs = self._recordings = 0
        self._replay: Replay | None = None

    def __call__(self, inputs: list[Any]) -> Any:
        self._runs += 1
        if self._runs == RECORDED_AT and self._recordings < MOST_RECORDINGS:
            self._recordings += 1
            self._replay = self.device.record(self.tape, inputs)
        replay = self._replay
        if replay is not None:
            results = replay(inputs)
            if results is not None:
                inputs.clear()
                return results[0] if len(results) == 1 else tuple(results) if results else None
            if replay.stale:
                self._replay, self._runs = None, 0
        with self.device.together():
            return self.tape(inputs)


class LaunchedRegion(Region):
    """A region on a device whose kernels are only launched (`actorflow.engine.device.base.AsynchronousDevice`)."""

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        members = self._with_shapes(shapes)
        compiler: Any = self._compiler
        chosen = candidates(members, compiler, self._loop_of) if compiler is not None else {}
        if not chosen:
            return self._code(shapes, members)
        types = {TensorId(m.name, port): t for m in members for port, t in enumerate(zip(m.dtypes, m.shapes))}
        types.update(self._types(shapes))
        inputs, kept = frozenset(self.node.attrs["inputs"]), frozenset(self.node.attrs["outputs"])
        arranged = arrange(members, types, kept, inputs, compiler, chosen, lambda member, shapes: False)
        self.loops = sum(isinstance(piece, FusedLoop) for piece in arranged)
        return self._code(shapes, arranged)

    def _code(self, shapes: Sequence[Shape], pieces: Sequence[Node | FusedLoop]) -> Callable[..., Any]:
        device = as_asynchronous(self._device)
        assert device is not None
        launched = LaunchedTape(device, _Launches(self, device, shapes).tape(pieces))
        return one_at_a_time(launched) if self._shares_state else launched


class _Launches(TapeWriter):
    """Writes a version of a region as a tape of launches."""

    def __init__(self, region: LaunchedRegion, device: AsynchronousDevice, shapes: Sequence[Shape]) -> None:
        inputs: Sequence[TensorId] = region.node.attrs["inputs"]
        super().__init__(len(inputs))
        self._region = region
        self._device = device
        self._places: dict[TensorId, int] = {e: i for i, e in enumerate(inputs)}
        self._shapes: dict[TensorId, Shape] = dict(zip(inputs, shapes, strict=True))

    def tape(self, pieces: Sequence[Node | FusedLoop]) -> Tape:
        """The tape of these pieces, which gives the outputs of the region."""
        for piece in pieces:
            if isinstance(piece, Node) and piece.role is roles.CONSTANT:
                tensor_id = TensorId(piece.name, 0)
                self._places.setdefault(tensor_id, self.hold(self._device.constant(piece.attrs["value"])))
                self._shapes[tensor_id] = piece.attrs["value"].shape
        for piece in yielding(pieces):
            if isinstance(piece, FusedLoop):
                self._fused(piece)
            elif piece.role is not roles.CONSTANT:
                self._member(piece)
        return self.finish([self._places[e] for e in self._region.node.attrs["outputs"]])

    def _place(self, tensor_id: TensorId) -> int | None:
        """A place for a result; None for a tensor that is fed, and has its place among the inputs."""
        if tensor_id in self._places:
            return None
        place = self._places[tensor_id] = self.fresh()
        return place

    def _member(self, member: Node) -> None:
        region = self._region
        shapes = [self._shapes.get(e) for e in member.inputs]
        entry = kernel_of(member, self._device, (), shapes, region._without)
        launch = bind(member, entry, self._device, region._context_of)
        inputs = tuple(self._places[e] for e in member.inputs)
        for port, shape in enumerate(member.shapes):
            self._shapes.setdefault(TensorId(member.name, port), shape)
        outputs = tuple(self._place(TensorId(member.name, port)) for port in range(len(member.dtypes)))
        self.instructions.append(Instruction(member, launch, inputs, outputs, operands=inputs))

    def _fused(self, fused: FusedLoop) -> None:
        compiler: Any = self._region._compiler
        whole: Any = fused.members[0].shapes[0]
        node = Node(name=", ".join(m.name for m in fused.members), op="_Fused", where=fused.members[-1].where)
        launch = self._device.launcher(node, _shaped(compiler.launched(fused.recipe), self._device.xp, whole), None)
        inputs = tuple(self._places[e] for e in fused.inputs)
        for member in fused.members:
            self._shapes[TensorId(member.name, 0)] = member.shapes[0]
        outputs = tuple(self._place(e) for e in fused.outputs)
        several = launch if len(outputs) > 1 else lambda *operands: launch(*operands)[0]
        self.instructions.append(Instruction(node, several, inputs, outputs, members=fused.members))


def _shaped(loop: LaunchedLoop, xp: Any, shape: tuple[int, ...]) -> Callable[..., Any]:
    """The loop, whose results get the members' shape: a shape that a constant widens is not in the loop's operands."""

    def launch(*operands: Any) -> tuple[Any, ...]:
        return tuple([r if r.shape == shape else r.reshape(shape) for r in loop(xp, *operands)])

    return launch
