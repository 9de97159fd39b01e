"""`TapeBuilder`: members of a region become instructions, with places for their tensors and memory for their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.registry import opdef, roles
from actorflow.base.registry.kernel import PACKS, KernelDef
from actorflow.base.registry.series import SeriesStep, step_of
from actorflow.base.shapes import Shape, is_static, num_elements
from actorflow.engine.device.base import Device
from actorflow.engine.runtime.codegen.jit import CompiledRecipe
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop
from actorflow.engine.runtime.codegen.series import Piece, Series, in_series
from actorflow.engine.runtime.kernel_binding import (
    ContextOf,
    bind,
    fills_first,
    kernel_of,
    list_position,
    needs_memory,
)
from actorflow.engine.runtime.tape.tape import Instruction, Tape
from actorflow.engine.runtime.tape.writer import TapeWriter
from actorflow.graph.node import Node, TensorId


class TapeBuilder(TapeWriter):
    """Writes one version of a region as a tape.

    Args:
        inputs: the tensors that the tape is given.
        shapes: their shapes, as far as they are known.
        members: all nodes, in order.
        kept: the tensors that are needed after the members.
        device: runs the kernels.
        context_of: gives the context of a member's kernel.
        without: libraries whose kernels are not used.
    """

    def __init__(
        self,
        inputs: Sequence[TensorId],
        shapes: Sequence[Shape],
        members: Sequence[Node],
        kept: Iterable[TensorId],
        device: Device,
        context_of: ContextOf,
        without: AbstractSet[str] = frozenset(),
    ) -> None:
        super().__init__(len(inputs))
        self._device, self._context_of, self._without = device, context_of, without
        self._fed = frozenset(inputs)
        self._places: dict[TensorId, int] = {tensor_id: place for place, tensor_id in enumerate(inputs)}
        self._shapes: dict[TensorId, Shape] = dict(zip(inputs, shapes, strict=True))
        self._kept = frozenset(kept)
        self._values = {
            TensorId(m.name, 0): m.attrs["value"]
            for m in members
            if m.role is roles.CONSTANT and TensorId(m.name, 0) not in inputs
        }
        self._declared = {TensorId(m.name, port): shape for m in members for port, shape in enumerate(m.shapes)}
        self._scalars: dict[TensorId, int] = {}
        """A second place of constants of rank 0: numpy's scalars, which are faster beside scalars."""
        self._entries: dict[str, KernelDef] = {}
        self._into: dict[str, int] = {}
        """The array that a member's result goes into, if that is no fresh array."""

    def pieces(self, pieces: Sequence[Node | FusedLoop]) -> Iterable[Piece]:
        """Joins neighbours that one call can compute to a series."""
        return in_series(pieces, self._step, self._shape, self._kept)

    def add(self, member: Node) -> None:
        """Adds the instructions of a member."""
        if member.role is roles.CONSTANT:
            self._constant(member)
            return
        entry = self._entry(member)
        if entry.direct is not None and entry.direct.passes_on:
            self._pass_on(member)
        elif member.name in self._into:
            self._call(member, self._kernel(member, entry, self._into[member.name]))
        elif needs_memory(member, self._device) and not all(map(is_static, member.shapes)):
            function = bind(member, entry, self._device, self._context_of)
            operands = self._operands(member)
            self._call(member, Instruction(member, function, operands, operands=operands))
        elif needs_memory(member, self._device):
            self._with_memory(member, entry)
        else:
            self._call(member, self._kernel(member, entry))

    def add_series(self, series: Series) -> None:
        """Adds the call of a series, in memory for its outputs and for what only its steps read."""
        members = {TensorId(m.name, 0): m for m in series.members}
        inputs = [self._places[tensor_id] for tensor_id in series.inputs]
        last = series.members[-1]
        buffers = [self._buffer(members[tensor_id], self._result(tensor_id)) for tensor_id in series.outputs]
        room = [self._allocated(last, (series.room,), self.fresh())] if series.room else []
        self.instructions.append(Instruction(last, series.function, (*inputs, *buffers, *room)))

    def add_loop(self, fused: FusedLoop, loop: CompiledRecipe) -> None:
        """Adds the call of the compiled loop that stands for several members."""
        members = {TensorId(m.name, 0): m for m in fused.members}
        last = fused.members[-1]
        buffers = []
        for tensor_id in fused.outputs:
            member = members[tensor_id]
            counted = needs_memory(member, self._device)
            buffers.append(self._buffer(member, self._result(tensor_id), self._allocate if counted else np.empty))
        operands = []
        for tensor_id in fused.inputs:
            place = self._places[tensor_id]
            if tensor_id in fused.scalars:
                place, scalar = self.fresh(), place
                self.instructions.append(Instruction(last, np.asarray, (scalar,), (place,)))
            operands.append(place)
        sizes = [self.hold(fused.rows), self.hold(fused.columns)]
        self.instructions.append(
            Instruction(
                last,
                loop.function(fused.rows * fused.columns),
                (*sizes, *operands, *buffers),
                otherwise=loop.fitted,
            )
        )

    def build(self, outputs: Sequence[TensorId]) -> Tape:
        """The tape, which gives these tensors."""
        return self.finish([self._places[tensor_id] for tensor_id in outputs])

    # ---- places

    def _result(self, tensor_id: TensorId) -> int:
        """A place for a tensor that is computed. Readers of a tensor that was fed keep the value that was fed."""
        place = self.fresh()
        self._places.setdefault(tensor_id, place)
        self._shapes[tensor_id] = self._declared[tensor_id]
        return place

    def _constant(self, member: Node) -> None:
        tensor_id, value = TensorId(member.name, 0), member.attrs["value"]
        if tensor_id in self._places:
            return  # it is fed
        self._places[tensor_id] = self.hold(value)
        self._shapes[tensor_id] = value.shape
        if value.ndim == 0 and not value.dtype.hasobject:
            self._scalars[tensor_id] = self.hold(value[()])

    def _alias(self, tensor_id: TensorId, place: int, shape: Shape) -> None:
        """Has a tensor lie in the place of another tensor."""
        self._places.setdefault(tensor_id, place)
        self._shapes[tensor_id] = shape

    def _pass_on(self, member: Node) -> None:
        source, result = member.inputs[0], TensorId(member.name, 0)
        self._alias(result, self._places[source], member.shapes[0])
        if source in self._scalars and result not in self._fed:
            self._scalars.setdefault(result, self._scalars[source])

    def _operands(self, member: Node) -> tuple[int, ...]:
        beside_arrays = any(shape != () for shape in member.shapes)
        places = [self._places[e] if beside_arrays else self._scalars.get(e, self._places[e]) for e in member.inputs]
        return tuple(places)

    def _entry(self, member: Node) -> KernelDef:
        """The kernel of a member, which may be prepared for it: the same one each time."""
        entry = self._entries.get(member.name)
        if entry is None:
            entry = self._kernel_for(member, [self._shape(e) for e in member.inputs])
            self._entries[member.name] = entry
        return entry

    def _kernel_for(self, member: Node, shapes: Sequence[Shape]) -> KernelDef:
        constants = [self._values.get(e) for e in member.inputs]
        return kernel_of(member, self._device, (), shapes, self._without, constants)

    def _shape(self, tensor_id: TensorId) -> Shape:
        """The shape of a tensor as far as it is known, perhaps before it has a place."""
        return self._shapes.get(tensor_id, self._declared.get(tensor_id))

    def _step(self, member: Node) -> SeriesStep | None:
        """The step of a member in a series. A member whose output is fed has none: its readers take the value that was fed."""
        return None if TensorId(member.name, 0) in self._fed else step_of(self._entry(member).function)

    # ---- calls

    def _kernel(self, member: Node, entry: KernelDef, buffer: int | None = None) -> Instruction:
        """The call of a kernel, into a buffer or not."""
        operands = self._operands(member)
        direct = entry.direct if self._device.xp is np else None
        function = None if direct is None else direct.fresh if buffer is None else direct.into
        if direct is not None and function is not None:
            reads = operands if direct.reads is None else tuple([operands[i] for i in direct.reads])
            into = () if buffer is None else (buffer,)
            return Instruction(member, function, (*reads, *into), listed=_listed(member, 0), operands=operands)
        keywords: dict[str, int] = {name: self.hold(member.attrs[name]) for name in entry.attrs}
        if entry.takes_context:
            keywords["ctx"] = self.hold(self._context_of(member))
        if entry.takes_packs and PACKS in member.attrs:
            keywords["packs"] = self.hold(member.attrs[PACKS])
        if buffer is not None:
            keywords["out"] = buffer
        return Instruction(
            member,
            entry.function,
            (self.hold(self._device.xp), *operands, *keywords.values()),
            names=tuple(keywords),
            listed=_listed(member, 1),
            operands=operands,
        )

    def _call(self, member: Node, instruction: Instruction) -> None:
        outputs = tuple([self._result(TensorId(member.name, port)) for port in range(len(member.shapes))])
        self.instructions.append(replace(instruction, outputs=outputs))

    def _with_memory(self, member: Node, entry: KernelDef) -> None:
        """A result of a known size that may be large: the device counts it, and gives the memory to kernels that take it."""
        allocator = self._device.allocator
        fills = fills_first(member, entry, self._device)
        operands = self._operands(member)
        if not fills or len(member.shapes) > 1:
            nbytes = sum((num_elements(s) or 0) * d.size for s, d in zip(member.shapes, member.dtypes))
            self.instructions.append(Instruction(member, allocator.check, (self.hold(nbytes),), operands=operands))
        buffer = self._buffer(member, self.fresh(), operands=operands) if fills else None
        self._call(member, self._kernel(member, entry, buffer))
        if not fills and len(member.shapes) == 1:
            (place,) = self.instructions[-1].outputs
            assert place is not None
            self.instructions.append(Instruction(member, allocator.adopt, (place,), (place,), operands=operands))

    @property
    def _allocate(self) -> Callable[..., Any]:
        return self._device.allocator.allocate

    def _buffer(
        self,
        member: Node,
        place: int,
        allocate: Callable[..., Any] | None = None,
        operands: tuple[int, ...] | None = None,
    ) -> int:
        """A place that gets a fresh array of the shape and type of a member's first output."""
        return self._allocated(member, member.shapes[0], place, allocate, operands)

    def _allocated(
        self,
        member: Node,
        shape: Shape,
        place: int,
        allocate: Callable[..., Any] | None = None,
        operands: tuple[int, ...] | None = None,
    ) -> int:
        arguments = (self.hold(shape), self.hold(member.dtypes[0].numpy_dtype))
        call = Instruction(member, allocate or self._allocate, arguments, (place,), operands=operands)
        self.instructions.append(call)
        return place


def _listed(member: Node, before: int) -> tuple[int, int] | None:
    """Which arguments are one list of the kernel, if `before` arguments stand before the node's inputs."""
    definition = opdef.lookup(member.op)
    position = list_position(definition)
    if position is None:
        return None
    end = len(member.inputs) - (len(definition.inputs) - position - 1)
    return before + position, before + end
