"""Writes nodes as lines of a generated function, for the code of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from actorflow.device.base import Device
from actorflow.errors import InternalError
from actorflow.graph.node import Node, TensorId
from actorflow.registry import opdef
from actorflow.registry.kernel import KernelDef
from actorflow.runtime.codegen import codegen
from actorflow.runtime.codegen.jit import CompiledLoop
from actorflow.runtime.codegen.jit_groups import FusedLoop
from actorflow.runtime.diagnostics.misfit import Given, given
from actorflow.runtime.kernel_binding import ContextOf, bind, fills_first, kernel_of, list_position, needs_memory
from actorflow.shapes import Shape, is_static, num_elements

_TRUSTED = "actorflow."
"""Kernels of these modules are tested to give what their ops declare; others are checked each time."""


class SourceMap:
    """Which node each line of a piece of code belongs to, and how tensors are spelled there."""

    __slots__ = ("nodes", "rank0", "spelling")

    def __init__(self, spelling: dict[TensorId, str]) -> None:
        self.nodes: dict[int, Node] = {}
        self.spelling = spelling
        self.rank0: dict[TensorId, str] = {}
        """Another spelling of constants, beside scalars."""

    def at(self, line: int, variables: Mapping[str, Any]) -> tuple[Node, list[Given] | None] | None:
        """The node at a line, and the types and shapes of its inputs by the function's variables (None where one is
        gone)."""
        node = self.nodes.get(line)
        if node is None:
            return None
        names = [self.rank0.get(e, self.spelling.get(e, "")) for e in node.inputs]
        return node, [given(variables[name]) for name in names] if all(n in variables for n in names) else None


class Emitter:
    """Writes the members of one version of a loop, a line each."""

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
        """`inputs` are the tensors that the code is given, of static `shapes`; `kept` are needed after the
        members. Kernels of the libraries `without` are not used."""
        parameters = [f"a{i}" for i in range(len(inputs))]
        self._device = device
        self._context_of = context_of
        self._without = without
        self._writer = codegen.Writer(parameters)
        self._spelling: dict[TensorId, str] = dict(zip(inputs, parameters, strict=True))
        self.places = SourceMap(self._spelling)
        self._rank0 = self.places.rank0
        self._shapes: dict[TensorId, Shape] = dict(zip(inputs, shapes, strict=True))
        self._kept: frozenset[TensorId] = frozenset(kept)
        self._into: dict[str, str] = {}
        """The array that a member's result goes into, where it is no fresh one."""
        constants = {TensorId(m.name, 0): m.attrs["value"] for m in members if m.op == "Const"}
        self._constants = {e: value for e, value in constants.items() if e not in self._shapes}
        self._made = {TensorId(m.name, port): shape for m in members for port, shape in enumerate(m.shapes)}
        self._entries: dict[str, KernelDef] = {}
        self._last_use = {tensor_id: member.name for member in members for tensor_id in member.inputs}

    def emit(self, member: Node) -> None:
        writer = self._writer
        self._mark(member)
        if member.op == "Const":
            self._constant(member)
            return
        entry = self._entry(member)
        arguments = self._arguments(member)
        expression: str
        if needs_memory(member, self._device) and not all(is_static(s) for s in member.shapes):
            flat = bind(member, entry, self._device, self._context_of)
            expression = f"{writer.bind(flat)}({', '.join(self._flat_arguments(member))})"
        else:
            keywords: dict[str, Any] = {name: member.attrs[name] for name in entry.attrs}
            if entry.takes_context:
                keywords["ctx"] = self._context_of(member)
            expression = self._call(member, entry, arguments, keywords)
        results = []
        for port, shape in enumerate(member.shapes):
            tensor_id = TensorId(member.name, port)
            results.append(f"v{len(self._shapes)}")
            self._shapes[tensor_id] = shape
            self._spelling.setdefault(tensor_id, results[-1])  # a fed output keeps the value that was fed
        self._mark(member)
        writer.add(f"{', '.join(results)} = {expression}" if results else expression)
        if len(results) == 1 and not entry.function.__module__.startswith(_TRUSTED):
            self._mark(member)
            writer.add(f"{writer.bind(_check_single)}({results[0]}, {writer.bind(member.op)})")
        self._release(member)

    def _entry(self, member: Node) -> KernelDef:
        """The kernel of a member, which may be prepared for it: the same one each time."""
        found = self._entries.get(member.name)
        if found is None:
            shapes = [self._shape(e) for e in member.inputs]
            constants = [self._constants.get(e) for e in member.inputs]
            found = kernel_of(member, self._device, (), shapes, self._without, constants)
            self._entries[member.name] = found
        return found

    def _shape(self, tensor_id: TensorId) -> Shape:
        """The shape of a tensor as far as it is known, perhaps before its line is written."""
        return self._shapes.get(tensor_id, self._made.get(tensor_id))

    def emit_loop(self, fused: FusedLoop, loop: CompiledLoop) -> None:
        """Writes the call of the compiled loop that stands for several members."""
        writer = self._writer
        types = {TensorId(m.name, 0): m for m in fused.members}
        results = []
        for tensor_id in fused.outputs:
            member = types[tensor_id]
            results.append(f"v{len(self._shapes)}")
            self._shapes[tensor_id] = member.shapes[0]
            self._spelling[tensor_id] = results[-1]
            counted = needs_memory(member, self._device)
            allocate = writer.bind(self._device.allocator.allocate if counted else np.empty)
            self._mark(member)
            dtype = writer.bind(member.dtypes[0].numpy_dtype)
            writer.add(f"{results[-1]} = {allocate}({writer.bind(member.shapes[0])}, {dtype})")
        given = [self._spelling[e] for e in fused.inputs]
        as_array = writer.bind(np.asarray) if fused.scalars else ""
        given = [f"{as_array}({s})" if e in fused.scalars else s for e, s in zip(fused.inputs, given)]
        arguments = ", ".join([str(fused.rows), str(fused.columns), *given, *results])
        function, fitted = writer.bind(loop.function(fused.rows * fused.columns)), writer.bind(loop.fitted)
        self._mark(fused.members[-1])
        writer.add(f"if {function}({arguments}): {fitted}({arguments})")
        for member in fused.members:
            self._release(member)

    def _mark(self, node: Node) -> None:
        """Says that the next line belongs to `node`."""
        self.places.nodes[self._writer.line] = node

    def finish(self, outputs: Sequence[TensorId]) -> tuple[Callable[..., Any], str]:
        """The function, which returns `outputs`, and the name of its file in tracebacks."""
        results = [self._spelling[e] for e in outputs]
        return self._writer.build(
            results[0] if len(results) == 1 else f"({', '.join(results)},)" if results else "None"
        )

    def _call(self, member: Node, entry: Any, arguments: list[str], keywords: dict[str, Any]) -> str:
        writer, allocator = self._writer, self._device.allocator
        if member.name in self._into:
            into = self._into[member.name]
            return codegen.write_call(writer, entry, self._device.xp, arguments, keywords, into)
        if not needs_memory(member, self._device):
            return codegen.write_call(writer, entry, self._device.xp, arguments, keywords, None)
        dtype = member.dtypes[0].numpy_dtype
        nbytes = sum((num_elements(s) or 0) * d.size for s, d in zip(member.shapes, member.dtypes))
        fills = fills_first(member, entry, self._device)
        if not fills or len(member.shapes) > 1:
            writer.add(f"{writer.bind(allocator.check)}({nbytes})")
        if fills:
            buffer = f"o{writer.line}"
            writer.add(
                f"{buffer} = {writer.bind(allocator.allocate)}({writer.bind(member.shapes[0])}, {writer.bind(dtype)})"
            )
            self._mark(member)
            return codegen.write_call(writer, entry, self._device.xp, arguments, keywords, buffer) + f"; del {buffer}"
        call = codegen.write_call(writer, entry, self._device.xp, arguments, keywords, None)
        return f"{writer.bind(allocator.adopt)}({call})" if len(member.shapes) == 1 else call

    def _constant(self, member: Node) -> None:
        """A constant takes no line. One of rank 0 has two spellings: an array beside arrays, a scalar beside scalars."""
        tensor_id = TensorId(member.name, 0)
        value = member.attrs["value"]
        if tensor_id in self._spelling:
            return  # it is fed
        self._spelling[tensor_id] = self._writer.bind(value, "c")
        self._shapes[tensor_id] = value.shape
        if value.ndim == 0 and not value.dtype.hasobject:
            self._rank0[tensor_id] = self._writer.bind(codegen.scalar_constant(value), "c")

    def _flat_arguments(self, member: Node) -> list[str]:
        beside_arrays = any(shape != () for shape in member.shapes)
        return [self._spelling[e] if beside_arrays else self._rank0.get(e, self._spelling[e]) for e in member.inputs]

    def _arguments(self, member: Node) -> list[str]:
        flat = self._flat_arguments(member)
        definition = opdef.lookup(member.op)
        position = list_position(definition)
        if position is None:
            return flat
        end = len(flat) - (len(definition.inputs) - position - 1)
        return [*flat[:position], f"[{', '.join(flat[position:end])}]", *flat[end:]]

    def _release(self, member: Node) -> None:
        """Lets go of values at their last use, so that buffers return and snapshots end before a write."""
        ended = [
            self._spelling[e]
            for e in dict.fromkeys((*member.inputs, *(TensorId(member.name, p) for p in range(len(member.shapes)))))
            if self._last_use.get(e, member.name) == member.name
            and e not in self._kept
            and self._shapes.get(e) != ()
            and self._spelling.get(e, "").startswith(("v", "a"))
        ]
        if ended:
            self._mark(member)
            self._writer.add(f"del {', '.join(ended)}")


def _check_single(value: Any, op: str) -> None:
    """Raises InternalError where a kernel gave several values for its op's one output: they would pass for an array."""
    if type(value) is tuple:
        raise InternalError(
            f"The kernel of {op} returned {len(value)} values, but the op has 1 output.",
            hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
        )
