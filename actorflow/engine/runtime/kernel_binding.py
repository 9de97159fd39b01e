"""From a node and its kernel to a plain call: `launch(*inputs)` with attributes, memory and context filled in."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import STRING, DType, as_dtype
from actorflow.base.registry import kernel, library, opdef, roles
from actorflow.base.registry.kernel import KernelDef
from actorflow.base.shapes import Shape, is_static, num_elements
from actorflow.engine.device.base import AsynchronousDevice, Device, as_asynchronous
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import UnimplementedError
from actorflow.graph.node import Node

Launch = Callable[..., Any]
ContextOf = Callable[[Node], KernelContext]


def kernel_of(
    node: Node,
    device: Device,
    input_dtypes: Sequence[DType],
    input_shapes: Sequence[Shape] | None = None,
    without: AbstractSet[str] = frozenset(),
    constants: Sequence[Any] = (),
) -> KernelDef:
    """The kernel for `node` on `device`; with the inputs' static shapes, a library's kernel where that pays, unless the
    library is among those `without`. It may be prepared for the inputs that are `constants`. Raises UnimplementedError,
    with the node's place, if no kernel exists."""
    types = node.dtypes or input_dtypes
    try:
        entry = kernel.lookup(node.op, device.type, types)
        if input_shapes is not None:
            entry = library.best(entry, device.type, types, node.attrs, input_shapes, without, constants)
        if kernel.PACKS in node.attrs and not entry.packed:
            entry = replace(entry, function=library.of_objects(entry.function), direct=None)
        if _takes_strings(node, input_dtypes):
            return replace(entry, function=library.of_shaped(entry.function))
        return entry
    except UnimplementedError as error:
        raise error.located(node=node.name, op=node.op, device=device.name, where=node.where) from None


def _takes_strings(node: Node, input_dtypes: Sequence[DType]) -> bool:
    """Whether an input may be strings. The types of outputs and the op's declaration say it if those of inputs are unknown, as
    in a region."""
    if input_dtypes:
        return any(map(_is_string, input_dtypes))
    return bool(node.inputs) and (
        any(map(_is_string, node.dtypes)) or any(spec.allowed == STRING for spec in opdef.lookup(node.op).inputs)
    )


def _is_string(dtype: DType) -> bool:
    return dtype.kind == "S" and not dtype.is_ref


def bind(node: Node, entry: KernelDef, device: Device, context_of: ContextOf) -> Launch:
    """The kernel as a function of the node's flat inputs (and `step` and `iteration_tag`, where the kernel takes them).

    Outputs of the allocator's threshold or more get their buffer from the device before the kernel runs; the budget is
    checked first, also for kernels that allocate themselves, whose results are counted afterwards.
    """
    call = grouped(node, keyword_bound(node, entry, device, context_of))
    launching = as_asynchronous(device)
    if launching is not None:  # its allocator stands behind its array module
        return call if entry.is_async or entry.takes_step else launching.launcher(node, call, _on_host(node, launching))
    if entry.is_async or entry.takes_step or not needs_memory(node, device):
        return call
    if len(node.dtypes) == 1 and is_static(node.shapes[0]):
        return _static(node, entry, device, call)
    if fills_first(node, entry, device):
        return _with_first(node, device, call)
    return _dynamic(node, entry, device, call)


def _on_host(node: Node, device: AsynchronousDevice) -> Launch | None:
    """The CPU's kernel of a node, where that needs nothing but its inputs."""
    definition = opdef.lookup(node.op)
    if definition.stateful or definition.has_ref_input or any(dtype.is_ref for dtype in node.dtypes):
        return None
    try:
        entry = kernel.lookup(node.op, device.host.type, node.dtypes)
    except UnimplementedError:
        return None
    if entry.is_async or entry.takes_step or entry.takes_context:
        return None
    return grouped(node, functools.partial(entry.function, device.host.xp, **{n: node.attrs[n] for n in entry.attrs}))


def handing_to_host(launch: Launch, device: AsynchronousDevice) -> Launch:
    """`launch` as a kernel with a continuation, which gets the result when it has arrived in host memory."""

    def launch_and_take(*inputs: Any, done: Callable[[Any, BaseException | None], None]) -> None:
        result = launch(*inputs)
        if isinstance(result, (np.ndarray, np.generic)):
            done(result, None)
        else:
            device.take(result, done)

    return launch_and_take


def keyword_bound(node: Node, entry: KernelDef, device: Device, context_of: ContextOf) -> Launch:
    """The kernel with `xp`, attributes and context bound; list inputs still one argument."""
    keywords: dict[str, Any] = {name: node.attrs[name] for name in entry.attrs}
    if entry.takes_context:
        keywords["ctx"] = context_of(node)
    if entry.takes_packs and kernel.PACKS in node.attrs:
        keywords["packs"] = node.attrs[kernel.PACKS]
    return functools.partial(entry.function, device.xp, **keywords)


def grouped(node: Node, call: Launch) -> Launch:
    """`call` as a function of flat inputs: those of a list input are handed over as one list."""
    definition = opdef.lookup(node.op)
    position = list_position(definition)
    if position is None:
        return call
    if len(definition.inputs) == 1:
        return lambda *inputs, **kw: call(list(inputs), **kw)
    after = len(definition.inputs) - position - 1

    def with_list(*inputs: Any, **kw: Any) -> Any:
        end = len(inputs) - after
        return call(*inputs[:position], list(inputs[position:end]), *inputs[end:], **kw)

    return with_list


def list_position(definition: opdef.OpDef) -> int | None:
    """Which declared input is the list input; an op has at most one list input."""
    return next((i for i, spec in enumerate(definition.inputs) if spec.kind == "list"), None)


def needs_memory(node: Node, device: Device) -> bool:
    """Whether an output may be large enough to be counted: not where all are known to be small, views or references."""
    definition = opdef.lookup(node.op)
    if definition.view or node.role in (roles.CONSTANT, roles.READ):
        return False
    return any(
        not dtype.is_ref and dtype.kind != "S" and _may_be_large(shape, dtype, device.allocator.threshold)
        for shape, dtype in zip(node.shapes, node.dtypes)
    )


def fills_first(node: Node, entry: KernelDef, device: Device) -> bool:
    """Whether a kernel takes memory for the first of its outputs, whose size is known, and that is large."""
    shape, dtype = node.shapes[0], node.dtypes[0]
    return entry.takes_out and is_static(shape) and _may_be_large(shape, dtype, device.allocator.threshold)


def _may_be_large(shape: Shape, dtype: DType, threshold: int) -> bool:
    elements = num_elements(shape)
    return elements is None or elements * dtype.size >= threshold


def _static(node: Node, entry: KernelDef, device: Device, call: Launch) -> Launch:
    allocator = device.allocator
    shape: Any = node.shapes[0]
    dtype = node.dtypes[0].numpy_dtype
    if entry.takes_out:
        return lambda *inputs: call(*inputs, out=allocator.allocate(shape, dtype))
    nbytes = int(np.prod(shape)) * dtype.itemsize

    def checked(*inputs: Any) -> Any:
        allocator.check(nbytes)
        return _adopt(call(*inputs), allocator)

    return checked


def _with_first(node: Node, device: Device, call: Launch) -> Launch:
    """The first output's memory is the device's, the others are the kernel's own."""
    allocator = device.allocator
    shape: Any = node.shapes[0]
    dtype = node.dtypes[0].numpy_dtype
    nbytes = sum((num_elements(s) or 0) * d.size for s, d in zip(node.shapes, node.dtypes))

    def launch(*inputs: Any) -> Any:
        allocator.check(nbytes)
        return _adopt(call(*inputs, out=allocator.allocate(shape, dtype)), allocator)

    return launch


def _dynamic(node: Node, entry: KernelDef, device: Device, call: Launch) -> Launch:
    """Output sizes come from the shape rule at run time, remembered by the inputs' shapes."""
    allocator = device.allocator
    infer = RuntimeShapes(node)
    threshold = allocator.threshold

    def launch(*inputs: Any) -> Any:
        if getattr(allocator, "budget", None) is not None:
            for shape, dtype in zip(infer(inputs), node.dtypes):
                if (elements := num_elements(shape)) is not None:
                    allocator.check(elements * dtype.size)
        result = call(*inputs)
        if type(result) is np.ndarray and result.nbytes < threshold:
            return result  # as most are
        return _adopt(result, allocator)

    def launch_with_memory(*inputs: Any) -> Any:
        shape: Any = infer(inputs)[0]
        dtype = node.dtypes[0].numpy_dtype
        if is_static(shape) and math.prod(shape) * dtype.itemsize >= threshold:
            return call(*inputs, out=allocator.allocate(shape, dtype))
        return _adopt(call(*inputs), allocator)

    return launch_with_memory if entry.takes_out and len(node.dtypes) == 1 else launch


_MOST_KNOWN = 64


class RuntimeShapes:
    """A node's shape rule applied to the inputs of a run, and remembered by what the rule looks at."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._definition = opdef.lookup(node.op)
        self._known: dict[tuple[Any, ...], Sequence[Shape]] = {}
        self._by_value: set[int] = set()

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Shape]:
        shapes = tuple([getattr(value, "shape", None) for value in inputs])
        key = self._key(shapes, inputs)
        shapes_out = self._known.get(key)
        if shapes_out is None:
            shapes_out = self._infer(inputs, shapes)
            if len(self._known) < _MOST_KNOWN:
                self._known[self._key(shapes, inputs)] = shapes_out
        return shapes_out

    def _key(self, shapes: tuple[Any, ...], inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The facts on which the result depends: the shapes, and the content of those inputs that the rule has looked at so
        far.
        """
        if not self._by_value:
            return shapes
        return shapes, *[np.asarray(inputs[i]).tobytes() for i in sorted(self._by_value)]

    def _infer(self, inputs: Sequence[Any], shapes: tuple[Any, ...]) -> Sequence[Shape]:
        def value(index: int) -> Any:
            self._by_value.add(index)
            return np.asarray(inputs[index])

        types = [_dtype_of(v) for v in inputs]
        try:
            return self._definition.infer(opdef.Inference(self._definition, self._node.attrs, types, shapes, value))[1]
        except (TypeError, ValueError):
            return (None,) * len(self._node.dtypes)  # the kernel raises it with the values at hand


def _dtype_of(value: Any) -> DType:
    dtype = getattr(value, "dtype", None)
    return as_dtype(dtype if dtype is not None else object)


def _adopt(result: Any, allocator: Any) -> Any:
    for value in result if isinstance(result, tuple) else (result,):
        if isinstance(value, np.ndarray) and value.nbytes >= allocator.threshold and value.base is None:
            allocator.adopt(value)
    return result
