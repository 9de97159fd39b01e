"""The kernel of a region: a tape for each tuple of input shapes that it meets."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.packed_strings import shaped
from actorflow.base.registry import opdef, roles
from actorflow.base.registry.kernel import PACKS
from actorflow.base.registry.traits import Loop
from actorflow.base.shapes import Shape, is_static, merge
from actorflow.engine.device.base import Device
from actorflow.engine.passes.coalesce import writes_last
from actorflow.engine.passes.fold import folded
from actorflow.engine.runtime.codegen.jit import Compiler, TierCounter
from actorflow.engine.runtime.codegen.jit_groups import FusedLoop, arrange, candidates
from actorflow.engine.runtime.codegen.series import Series
from actorflow.engine.runtime.diagnostics.misfit import Given
from actorflow.engine.runtime.kernel_binding import ContextOf, bind, kernel_of, needs_memory
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.engine.runtime.tape.builder import TapeBuilder
from actorflow.engine.runtime.tape.tape import failure_of, runner
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Node, TensorId

_MOST_VERSIONS = 16
_LARGEST = 1 << 16
"""The most bytes of a constant that each version computes for itself."""


class Region:
    """A coalesced node's kernel: `region(inputs)` gives its output, or a tuple of several outputs.

    If the members' shapes depend on those of the inputs, each new tuple of input shapes gets its own tape, in which all
    sizes are known. After 16 tuples a single version serves the rest, and looks sizes up as it runs.
    """

    def __init__(
        self,
        node: Node,
        input_types: Sequence[tuple[DType, Shape]],
        device: Device,
        context_of: ContextOf,
        shares_state: bool = False,
        compiler: Compiler | None = None,
        without: AbstractSet[str] = frozenset(),
    ) -> None:
        self.node = node
        self.loops = 0
        """How many compiled loops the latest version of the code calls that has any."""
        self._compiler = compiler
        self._without = without
        self._shares_state = shares_state
        ordered = node.attrs.get("ordered", False)
        self.members: tuple[Node, ...] = node.attrs["members"] if ordered else self._order(node.attrs["members"])
        self._input_types = list(input_types)
        self._device = device
        self._context_of = context_of
        self._given, self._kept = frozenset(node.attrs["inputs"]), frozenset(node.attrs["outputs"])
        self._open = [i for i, (dtype, shape) in enumerate(input_types) if not is_static(shape) and not dtype.is_ref]
        self._strings = [i for i, (dtype, _) in enumerate(input_types) if dtype.kind == "S" and not dtype.is_ref]
        self._versions: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._handles: list[Callable[[], Any]] | None = None
        self._check_kernels()

    def _check_kernels(self) -> None:
        for member in self.members:  # a kernel that is missing shows while the plan is made
            kernel_of(member, self._device, ())

    def _order(self, members: Sequence[Node]) -> tuple[Node, ...]:
        return writes_last(members)

    def __call__(self, inputs: list[Any]) -> Any:
        """Runs the members, and empties the list of inputs."""
        for i in self._strings:
            inputs[i] = shaped(inputs[i])
        key = tuple([inputs[i].shape for i in self._open]) if self._open else ()
        version = self._versions.get(key)
        if version is None:
            version = self.version(key)
        return version(inputs)

    def version(self, key: tuple[Any, ...]) -> Callable[..., Any]:
        """The tape for these shapes of the inputs whose shapes are open, in order."""
        version = self._versions.get(key)
        if version is None:
            full = len(self._versions) >= _MOST_VERSIONS
            shapes = [shape for _, shape in self._input_types]
            if not full:
                for i, shape in zip(self._open, key):
                    shapes[i] = shape
            generic = self._versions.get(("generic",)) if full else None
            version = generic or self._generate(shapes)
            self._versions[("generic",) if full else key] = version
        return version

    def _candidates(self, members: Sequence[Node]) -> dict[str, Loop]:
        compiler = self._compiler
        assert compiler is not None
        return candidates(members, compiler, self._loop_of)

    def _loop_of(self, member: Node) -> Loop | None:
        return kernel_of(member, self._device, ()).loop

    def _is_one_call(self, member: Node, shapes: Sequence[Shape]) -> bool:
        return kernel_of(member, self._device, (), shapes, self._without).library != ""

    def compile_loops(self, key: tuple[Any, ...], shapes: Sequence[Shape]) -> None:
        """Puts a tape that calls compiled loops in the place of the version for these shapes."""
        assert self._compiler is not None
        members = self._with_shapes(shapes)
        types = {TensorId(m.name, port): t for m in members for port, t in enumerate(zip(m.dtypes, m.shapes))}
        types.update(self._types(shapes))
        arranged = arrange(
            members, types, self._kept, self._given, self._compiler, self._candidates(members), self._is_one_call
        )
        fused = [m for m in arranged if isinstance(m, FusedLoop)]
        if fused:
            self._versions[key] = self._code(shapes, arranged)
            self.loops = len(fused)
        elif isinstance(counted := self._versions[key], TierCounter):
            self._versions[key] = counted.function

    def prepare(self) -> None:
        """Builds the tape ahead of the first run, where all shapes are known."""
        if not self._open:
            self.version(())

    def states(self) -> list[Any]:
        """The variables whose handles are members."""
        if self._handles is None:  # bound once, since each run of a thread asks for the variables
            self._handles = self._bound_handles()
        resources = [handle() for handle in self._handles]
        return [state for state in resources if hasattr(state, "writer")]  # a table has none

    def _bound_handles(self) -> list[Callable[[], Any]]:
        handles = [m for m in self.members if any(d.is_ref for d in m.dtypes)]
        return [bind(m, kernel_of(m, self._device, ()), self._device, self._context_of) for m in handles]

    def locate(self, error: BaseException) -> tuple[Node, Sequence[Given] | None] | None:
        """The member that raised an error, and what it was given."""
        failure = failure_of(error)
        return None if failure is None else (failure.node, failure.inputs)

    def _generate(self, shapes: Sequence[Shape]) -> Callable[..., Any]:
        members = self._with_shapes(shapes)
        code = self._code(shapes, members)
        return self._counted(code, shapes) if self._may_improve(members, shapes) else code

    def _may_improve(self, members: Sequence[Node], shapes: Sequence[Shape]) -> bool:
        """Whether some of these members may be compiled."""
        key = [shapes[i] for i in self._open]
        return self._compiler is not None and all(map(is_static, key)) and bool(self._candidates(members))

    def _counted(self, code: Callable[..., Any], shapes: Sequence[Shape]) -> Callable[..., Any]:
        """The code, which is replaced by code with compiled loops when it has run a few times."""
        key = tuple([shapes[i] for i in self._open])
        return TierCounter(code, functools.partial(_replace, weakref.ref(self), key, shapes))

    def _code(self, shapes: Sequence[Shape], pieces: Sequence[Node | FusedLoop]) -> Callable[..., Any]:
        attrs = self.node.attrs
        outputs = attrs["outputs"]
        members = [m for piece in pieces for m in (piece.members if isinstance(piece, FusedLoop) else (piece,))]
        builder = TapeBuilder(attrs["inputs"], shapes, members, outputs, self._device, self._context_of, self._without)
        for piece in yielding(list(builder.pieces(pieces))):
            if isinstance(piece, Series):
                builder.add_series(piece)
            elif isinstance(piece, FusedLoop):
                assert self._compiler is not None
                builder.add_loop(piece, self._compiler.compile(piece.recipe))
            else:
                builder.add(piece)
        run = runner(builder.build(outputs))
        return one_at_a_time(run) if self._shares_state else run

    def _types(self, shapes: Sequence[Shape]) -> dict[TensorId, tuple[DType, Shape]]:
        """The types of the inputs, with these shapes."""
        inputs = zip(self.node.attrs["inputs"], self._input_types, shapes, strict=True)
        return {tensor_id: (dtype, shape) for tensor_id, (dtype, _), shape in inputs}

    def _with_shapes(self, shapes: Sequence[Shape]) -> list[Node]:
        """The members with the static shapes that follow from the inputs'."""
        if not self._open:
            return list(self.members)
        types = self._types(shapes)
        refined: dict[str, Node] = {}
        constants: dict[str, Node] = {}
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
            shaped = replace(member, shapes=inferred)
            instance = self._folded(shaped, constants, types)
            if instance.role is roles.CONSTANT:
                constants[instance.name] = instance
            leaves = TensorId(instance.name, 0) in self._kept  # and so it is computed in each run
            instance = refined[instance.name] = shaped if leaves else instance
            for port, (dtype, shape) in enumerate(zip(instance.dtypes, instance.shapes)):
                types[TensorId(instance.name, port)] = (dtype, shape)
        return list(refined.values())

    def _folded(self, member: Node, constants: Mapping[str, Node], types: Mapping[TensorId, Any]) -> Node:
        """A member; a constant, or an Identity, where that follows from the shapes of one version."""
        if self._device.xp is not np or needs_memory(member, self._device):
            return member
        constants_here = {e: constants[e.node] for e in member.inputs if e.node in constants and e not in self._given}
        return folded(member, constants_here, lambda e: types[e][1], self._evaluate, _LARGEST)

    def _evaluate(self, member: Node, inputs: list[Any]) -> Any:
        """Runs a member's kernel now; None if it can't run outside of a step. A constant is no packed string."""
        member = replace(member, attrs={name: value for name, value in member.attrs.items() if name != PACKS})
        entry = kernel_of(member, self._device, ())
        if entry.takes_context or entry.takes_step or entry.is_async:
            return None
        with np.errstate(all="ignore"):
            return bind(member, entry, self._device, self._context_of)(*inputs)


def _replace(region: weakref.ref[Region], key: tuple[Any, ...], shapes: Sequence[Shape]) -> None:
    """Improves a version of a region, if the region is still there."""
    target = region()
    if target is not None:
        target.compile_loops(key, shapes)
