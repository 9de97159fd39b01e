"""The kernel of a region: generated code, one version for each tuple of input shapes that it meets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from actorflow.device.base import Device
from actorflow.dtypes import DType
from actorflow.errors import InternalError
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.pace import paced
from actorflow.registry import opdef
from actorflow.runtime import codegen
from actorflow.runtime.launch import ContextOf, bind, kernel_of, list_position, needs_memory
from actorflow.runtime.resources import one_at_a_time
from actorflow.shapes import Shape, is_static, merge, num_elements

_MOST_VERSIONS = 16
_TRUSTED = "actorflow."
"""Kernels of these modules are tested to give what their ops declare; others are checked each time."""


class Region:
    """A coalesced node's kernel: `region(inputs)` gives its outputs, a tuple of them where there are several.

    Where the members' shapes hang on those of the inputs, each new tuple of input shapes gets its own code, in which all
    sizes are known; after 16 of them one version serves the rest, which looks sizes up as it runs.
    """

    def __init__(
        self,
        node: Node,
        input_types: Sequence[tuple[DType, Shape]],
        device: Device,
        context_of: ContextOf,
        shares_state: bool = False,
    ) -> None:
        self.node = node
        self._shares_state = shares_state
        self.members: tuple[Node, ...] = _writes_last(node.attrs["members"])
        self._input_types = list(input_types)
        self._device = device
        self._context_of = context_of
        self._open = [i for i, (dtype, shape) in enumerate(input_types) if not is_static(shape) and not dtype.is_ref]
        self._versions: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._lines: dict[str, dict[int, Node]] = {}
        for member in self.members:  # a kernel that is missing shows while the plan is made
            kernel_of(member, device, ())

    def __call__(self, inputs: list[Any]) -> Any:
        """Runs the members, and empties the list of inputs."""
        key = tuple([inputs[i].shape for i in self._open]) if self._open else ()
        version = self._versions.get(key)
        if version is None:
            version = self.version(key)
        return version(inputs)

    def version(self, key: tuple[Any, ...]) -> Callable[..., Any]:
        """The code for inputs of these shapes (those that are not static, in order)."""
        known = self._versions.get(key)
        if known is None:
            full = len(self._versions) >= _MOST_VERSIONS
            shapes = [shape for _, shape in self._input_types]
            if not full:
                for i, shape in zip(self._open, key):
                    shapes[i] = shape
            generic = self._versions.get(("generic",)) if full else None
            known = generic or self._generate(shapes)
            self._versions[("generic",) if full else key] = known
        return known

    def prepare(self) -> None:
        """Generates the code ahead of the first run, where no input's shape is open."""
        if not self._open:
            self.version(())

    def states(self) -> list[Any]:
        """The variables whose handles are members."""
        handles = [m for m in self.members if any(d.is_ref for d in m.dtypes)]
        return [bind(m, kernel_of(m, self._device, ()), self._device, self._context_of)() for m in handles]

    def locate(self, traceback: TracebackType | None) -> Node | None:
        """The member at whose line an exception passed through the generated code."""
        while traceback is not None:
            lines = self._lines.get(traceback.tb_frame.f_code.co_filename)
            if lines is not None:
                return lines.get(traceback.tb_lineno)
            traceback = traceback.tb_next
        return None

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        parameters = [f"a{i}" for i in range(len(shapes))]
        emitter = _Emitter(self.node, self.members, parameters, shapes, self._device, self._context_of)
        for member in paced(self._with_shapes(shapes)):
            emitter.emit(member)
        function, file = emitter.finish()
        self._lines[file] = emitter.lines
        return one_at_a_time(function) if self._shares_state else function

    def _with_shapes(self, shapes: Sequence[Shape]) -> list[Node]:
        """The members with the static shapes that follow from the inputs'."""
        if not self._open:
            return list(self.members)
        types: dict[Endpoint, tuple[DType, Shape]] = {
            endpoint: (dtype, shape)
            for endpoint, (dtype, _), shape in zip(self.node.attrs["inputs"], self._input_types, shapes, strict=True)
        }
        refined: dict[str, Node] = {}
        for member in self.members:
            definition = opdef.lookup(member.op)
            inputs = [types[e] for e in member.inputs]

            def value(index: int, member: Node = member) -> Any:
                return constant_value(refined, member.inputs[index])

            try:
                _, inferred = definition.infer(
                    opdef.Inference(definition, member.attrs, [d for d, _ in inputs], [s for _, s in inputs], value)
                )
                inferred = tuple(merge(a, b) for a, b in zip(inferred, member.shapes, strict=True))
            except (TypeError, ValueError):
                inferred = member.shapes  # wrong shapes were fed: the kernel says so
            refined[member.name] = replace(member, shapes=inferred)
            for port, (dtype, shape) in enumerate(zip(member.dtypes, inferred)):
                types[Endpoint(member.name, port)] = (dtype, shape)
        return list(refined.values())


class _Emitter:
    """Writes one version of a region's code."""

    def __init__(
        self,
        node: Node,
        members: Sequence[Node],
        parameters: Sequence[str],
        shapes: Sequence[Shape],
        device: Device,
        context_of: ContextOf,
    ) -> None:
        self.lines: dict[int, Node] = {}
        self._node = node
        self._device = device
        self._context_of = context_of
        self._writer = codegen.Writer(parameters)
        self._spelling: dict[Endpoint, str] = dict(zip(node.attrs["inputs"], parameters, strict=True))
        self._rank0: dict[Endpoint, str] = {}
        self._shapes: dict[Endpoint, Shape] = dict(zip(node.attrs["inputs"], shapes, strict=True))
        self._outputs: tuple[Endpoint, ...] = node.attrs["outputs"]
        self._last_use = {endpoint: member.name for member in members for endpoint in member.inputs}

    def emit(self, member: Node) -> None:
        writer = self._writer
        self.lines[writer.line] = member
        if member.op == "Const":
            self._constant(member)
            return
        entry = kernel_of(member, self._device, ())
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
            endpoint = Endpoint(member.name, port)
            results.append(f"v{len(self._shapes)}")
            self._shapes[endpoint] = shape
            self._spelling.setdefault(endpoint, results[-1])  # a fed output keeps the value that was fed
        self.lines[writer.line] = member
        writer.add(f"{', '.join(results)} = {expression}" if results else expression)
        if len(results) == 1 and not entry.function.__module__.startswith(_TRUSTED):
            self.lines[writer.line] = member
            writer.add(f"{writer.bind(_check_single)}({results[0]}, {writer.bind(member.op)})")
        self._release(member)

    def finish(self) -> tuple[Callable[..., Any], str]:
        results = [self._spelling[e] for e in self._outputs]
        return self._writer.build(
            results[0] if len(results) == 1 else f"({', '.join(results)},)" if results else "None"
        )

    def _call(self, member: Node, entry: Any, arguments: list[str], keywords: dict[str, Any]) -> str:
        writer, allocator = self._writer, self._device.allocator
        if not needs_memory(member, self._device):
            return codegen.write_call(writer, entry, self._device.xp, arguments, keywords, None)
        dtype = member.dtypes[0].as_numpy_dtype
        if entry.takes_out and len(member.shapes) == 1:
            buffer = f"o{writer.line}"
            writer.add(
                f"{buffer} = {writer.bind(allocator.allocate)}({writer.bind(member.shapes[0])}, {writer.bind(dtype)})"
            )
            self.lines[writer.line] = member
            return codegen.write_call(writer, entry, self._device.xp, arguments, keywords, buffer) + f"; del {buffer}"
        nbytes = sum((num_elements(s) or 0) * d.size for s, d in zip(member.shapes, member.dtypes))
        writer.add(f"{writer.bind(allocator.check)}({nbytes})")
        call = codegen.write_call(writer, entry, self._device.xp, arguments, keywords, None)
        return f"{writer.bind(allocator.adopt)}({call})" if len(member.shapes) == 1 else call

    def _constant(self, member: Node) -> None:
        """A constant takes no line. One of rank 0 has two spellings: an array beside arrays, a scalar beside scalars."""
        endpoint = Endpoint(member.name, 0)
        value = member.attrs["value"]
        if endpoint in self._spelling:
            return  # it is fed
        self._spelling[endpoint] = self._writer.bind(value, "c")
        self._shapes[endpoint] = value.shape
        if value.ndim == 0 and not value.dtype.hasobject:
            self._rank0[endpoint] = self._writer.bind(codegen.scalar_constant(value), "c")

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
            for e in dict.fromkeys((*member.inputs, *(Endpoint(member.name, p) for p in range(len(member.shapes)))))
            if self._last_use.get(e, member.name) == member.name
            and e not in self._outputs
            and self._shapes.get(e) != ()
            and self._spelling[e].startswith(("v", "a"))
        ]
        if ended:
            self.lines[self._writer.line] = member
            self._writer.add(f"del {', '.join(ended)}")


def _check_single(value: Any, op: str) -> None:
    """Raises InternalError where a kernel gave several values for its op's one output: they would pass for an array."""
    if type(value) is tuple:
        raise InternalError(
            f"The kernel of {op} returned {len(value)} values, but the op has 1 output.",
            hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
        )


def _writes_last(members: Sequence[Node]) -> tuple[Node, ...]:
    """A topological order that leaves updates of variables to the end, when most reads are used up."""
    names = {m.name: m for m in members}
    waiting: dict[str, int] = {}
    successors: dict[str, list[str]] = {}
    for member in members:
        needs = [n for n in (*(e.node for e in member.inputs), *member.controls) if n in names]
        waiting[member.name] = len(needs)
        for need in needs:
            successors.setdefault(need, []).append(member.name)
    writers = {m.name for m in members if opdef.lookup(m.op).writes}
    order: list[Node] = []
    ready: deque[str] = deque()
    postponed: deque[str] = deque()

    def queue(name: str) -> None:
        (postponed if name in writers else ready).append(name)

    for member in members:
        if waiting[member.name] == 0:
            queue(member.name)
    while ready or postponed:
        name = ready.popleft() if ready else postponed.popleft()
        order.append(names[name])
        for successor in successors.get(name, ()):
            waiting[successor] -= 1
            if waiting[successor] == 0:
                queue(successor)
    return tuple(order)
