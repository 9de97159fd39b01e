"""Regions of a device whose kernels are only launched: their members' launches in a straight line, groups of them as one kernel.

A region saves a task for each launch there, the way into the device's stream, and, if a compiler makes one kernel of
several elementwise members, most of the launches. If the device can record its launches, a region is recorded in its
third run and replayed from then on, as long as all arrays have the same addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actorflow.analysis.cooperative import yielding
from actorflow.device.base import AsynchronousDevice, Replay, as_asynchronous
from actorflow.errors import InternalError
from actorflow.graph.node import Node, TensorId
from actorflow.runtime.codegen.jit import LaunchedLoop
from actorflow.runtime.codegen.jit_groups import FusedLoop, arrange, candidates
from actorflow.runtime.codegen.region import Region
from actorflow.runtime.diagnostics import misfit
from actorflow.runtime.diagnostics.misfit import Given
from actorflow.runtime.kernel_binding import bind, kernel_of
from actorflow.runtime.state.resources import one_at_a_time
from actorflow.shapes import Shape

RECORDED_AT = 3
"""The run in which a region is recorded: by then all its kernels are compiled, and constants on the device."""
MOST_RECORDINGS = 4
"""So often a version is recorded, since variables that move again and again are not worth it."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A member, or a group of them, and where its inputs and outputs are among the values of a run. `ended` are the values
    that no one needs behind it."""

    node: Node
    launch: Callable[..., Any]
    inputs: tuple[int, ...]
    outputs: tuple[int | None, ...]
    ended: tuple[int, ...]
    nodes: tuple[Node, ...]
    """The members that it stands for."""
    takes_out: bool = False
    """Whether its kernel takes a buffer for its output."""


class LaunchSequence:
    """A version of a region: its pieces in order. Called with a list of inputs, which it empties."""

    def __init__(
        self, device: AsynchronousDevice, pieces: Sequence[Launch], blank: Sequence[Any], results: Sequence[int]
    ) -> None:
        """`blank` are the values behind the inputs as a run finds them: constants, and None for what is computed; `results` the
        places of what the region gives."""
        self.device = device
        self.pieces = tuple(pieces)
        self.results = tuple(results)
        self._blank = list(blank)
        self._runs = self._recordings = 0
        self._replay: Replay | None = None

    def __call__(self, inputs: list[Any]) -> Any:
        self._runs += 1
        if self._runs == RECORDED_AT and self._recordings < MOST_RECORDINGS:
            self._recordings += 1
            self._replay = self.device.record(self, inputs)
        replay = self._replay
        if replay is not None:
            found = replay(inputs)
            if found is not None:
                inputs.clear()
                return self._given(found)
            if replay.stale:
                self._replay, self._runs = None, 0
        values = [*inputs, *self._blank]
        inputs.clear()
        with self.device.together():
            for piece in self.pieces:
                self.launch(piece, values)
                for place in piece.ended:
                    values[place] = None
        return self._given([values[place] for place in self.results])

    def fresh(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of a run as it begins."""
        return [*inputs, *self._blank]

    def launch(self, piece: Launch, values: list[Any]) -> None:
        """Launches a piece, and puts its outputs among the values."""
        given = [values[place] for place in piece.inputs]
        result = piece.launch(*given)
        if len(piece.outputs) == 1:
            if type(result) is tuple:
                raise _wrong_outputs(piece, result)
            result = (result,)
        elif piece.outputs and (type(result) not in (tuple, list) or len(result) != len(piece.outputs)):
            raise _wrong_outputs(piece, result)
        for place, value in zip(piece.outputs, result or ()):
            if place is not None:
                values[place] = value

    def _given(self, found: Sequence[Any]) -> Any:
        return found[0] if len(found) == 1 else tuple(found) if found else None


def _wrong_outputs(piece: Launch, result: Any) -> InternalError:
    given = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    return InternalError(
        f"The kernel of {piece.node.op} returned {given}, but the op has {len(piece.outputs)} outputs.",
        hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
    )


class LaunchedRegion(Region):
    """A region on a device whose kernels are only launched (`actorflow.device.base.AsynchronousDevice`)."""

    def locate(self, error: BaseException) -> tuple[Node, Sequence[Given] | None] | None:
        traceback = error.__traceback__
        found: tuple[Node, Sequence[Given] | None] | None = None
        while traceback is not None:
            frame = traceback.tb_frame
            if frame.f_code is LaunchSequence.launch.__code__:
                piece = frame.f_locals["piece"]
                given: Any = frame.f_locals.get("given")
                same = given is not None and len(piece.nodes) == 1 and len(given) == len(piece.node.inputs)
                found = piece.nodes[-1], [misfit.given(v) for v in given] if same else None
            traceback = traceback.tb_next
        return found

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        members = self._with_shapes(shapes)
        compiler: Any = self._compiler
        chosen = candidates(members, compiler, self._loop_of) if compiler is not None else {}
        if not chosen:
            return self._code(shapes, members)
        types = {TensorId(m.name, port): t for m in members for port, t in enumerate(zip(m.dtypes, m.shapes))}
        types.update(self._types(shapes))
        given, kept = frozenset(self.node.attrs["inputs"]), frozenset(self.node.attrs["outputs"])
        arranged = arrange(members, types, kept, given, compiler, chosen)
        self.loops = sum(isinstance(piece, FusedLoop) for piece in arranged)
        return self._code(shapes, arranged)

    def _code(self, shapes: Sequence[Shape], pieces: Sequence[Node | FusedLoop]) -> Callable[..., Any]:
        device = as_asynchronous(self._device)
        assert device is not None
        straight = _Line(self, device, shapes).lay(pieces)
        return one_at_a_time(straight) if self._shares_state else straight


class _Line:
    """Gives each value of a version its place, and each piece its launch."""

    def __init__(self, region: LaunchedRegion, device: AsynchronousDevice, shapes: Sequence[Shape]) -> None:
        self._region = region
        self._device = device
        self._inputs: Sequence[TensorId] = region.node.attrs["inputs"]
        self._outputs: Sequence[TensorId] = region.node.attrs["outputs"]
        self._places: dict[TensorId, int] = {e: i for i, e in enumerate(self._inputs)}
        self._shapes: dict[TensorId, Shape] = dict(zip(self._inputs, shapes, strict=True))
        self._blank: list[Any] = []

    def lay(self, pieces: Sequence[Node | FusedLoop]) -> LaunchSequence:
        for piece in pieces:
            if isinstance(piece, Node) and piece.op == "Const":
                self._place(TensorId(piece.name, 0), self._device.constant(piece.attrs["value"]))
                self._shapes[TensorId(piece.name, 0)] = piece.attrs["value"].shape
        made = [
            self._fused(piece) if isinstance(piece, FusedLoop) else self._member(piece)
            for piece in yielding(pieces)
            if isinstance(piece, FusedLoop) or piece.op != "Const"
        ]
        return LaunchSequence(self._device, self._ending(made), self._blank, [self._places[e] for e in self._outputs])

    def _place(self, tensor_id: TensorId, value: Any = None) -> int | None:
        """A place for a value; None for one that is fed, and has its place among the inputs."""
        if tensor_id in self._places:
            return None
        place = self._places[tensor_id] = len(self._inputs) + len(self._blank)
        self._blank.append(value)
        return place

    def _member(self, member: Node) -> Launch:
        region = self._region
        shapes = [self._shapes.get(e) for e in member.inputs]
        entry = kernel_of(member, self._device, (), shapes, region._without)
        launch = bind(member, entry, self._device, region._context_of)
        inputs = tuple(self._places[e] for e in member.inputs)
        for port, shape in enumerate(member.shapes):
            self._shapes.setdefault(TensorId(member.name, port), shape)
        outputs = tuple(self._place(TensorId(member.name, port)) for port in range(len(member.dtypes)))
        return Launch(member, launch, inputs, outputs, (), (member,), entry.takes_out)

    def _fused(self, fused: FusedLoop) -> Launch:
        compiler: Any = self._region._compiler
        whole: Any = fused.members[0].shapes[0]
        node = Node(name=", ".join(m.name for m in fused.members), op="_Fused", where=fused.members[-1].where)
        launch = self._device.launcher(node, _shaped(compiler.launched(fused.recipe), self._device.xp, whole), None)
        inputs = tuple(self._places[e] for e in fused.inputs)
        for member in fused.members:
            self._shapes[TensorId(member.name, 0)] = member.shapes[0]
        outputs = tuple(self._place(e) for e in fused.outputs)
        several = launch if len(outputs) > 1 else lambda *given: launch(*given)[0]
        return Launch(node, several, inputs, outputs, (), fused.members)

    def _ending(self, pieces: Sequence[Launch]) -> list[Launch]:
        """The pieces, of which each lets go of what no one needs behind it, so that buffers return and snapshots end before a
        write."""
        kept = {self._places[e] for e in self._outputs}
        constant = {len(self._inputs) + i for i, value in enumerate(self._blank) if value is not None}
        last: dict[int, int] = {}
        for number, piece in enumerate(pieces):
            last.update((p, number) for p in (*piece.inputs, *piece.outputs) if p is not None)
        ended: dict[int, list[int]] = {}
        for place, number in last.items():
            if place not in kept and place not in constant:
                ended.setdefault(number, []).append(place)
        return [replace(p, ended=tuple(ended.get(number, ()))) for number, p in enumerate(pieces)]


def _shaped(loop: LaunchedLoop, xp: Any, shape: tuple[int, ...]) -> Callable[..., Any]:
    """The loop, whose results get the shape that the members have: one that a constant widens is not in its operands."""

    def launch(*operands: Any) -> tuple[Any, ...]:
        return tuple([r if r.shape == shape else r.reshape(shape) for r in loop(xp, *operands)])

    return launch
