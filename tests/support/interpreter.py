"""The oracle: runs a graph one node at a time, in the order in which the nodes were made. No runtime, no passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from actorflow.base.registry import kernel, opdef, plugins
from actorflow.engine.device.base import Device
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.tensor import Operation, Tensor


class Interpreter:
    """Keeps variables between runs, as a session does."""

    def __init__(self, graph: Graph) -> None:
        plugins.load_kernels()
        self.graph = graph
        self.device: Device = plugins.load("devices", "CPU")("/job:localhost/replica:0/task:0/device:CPU:0")
        self.resources = ResourceManager()
        self.contexts: dict[str, KernelContext] = {}

    def run(self, fetches: Sequence[Tensor | Operation], feeds: Mapping[Tensor, Any] | None = None) -> list[Any]:
        values: dict[TensorId, Any] = {
            t.tensor_id: np.asarray(v, t.dtype.numpy_dtype) for t, v in (feeds or {}).items()
        }
        done: set[str] = set()
        with np.errstate(all="ignore"):
            for fetch in fetches:
                self._compute(fetch.op.name if isinstance(fetch, Tensor) else fetch.name, values, done, fetch)
        return [values[f.tensor_id] if isinstance(f, Tensor) else None for f in fetches]

    def _compute(self, name: str, values: dict[TensorId, Any], done: set[str], fetch: Any) -> None:
        stack = [name] if not (isinstance(fetch, Tensor) and fetch.tensor_id in values) else []
        while stack:
            node = self.graph.nodes[stack[-1]]
            needs = [e.node for e in node.inputs if e not in values] + [c for c in node.controls if c not in done]
            if node.name in done:
                stack.pop()
            elif needs:
                stack.extend(needs)
            else:
                self._fire(node.name, values)
                done.add(stack.pop())

    def _fire(self, name: str, values: dict[TensorId, Any]) -> None:
        node = self.graph.nodes[name]
        definition = opdef.lookup(node.op)
        entry = kernel.lookup(node.op, "CPU", node.dtypes or [self.graph.tensor_at(e).dtype for e in node.inputs])
        flat = [values[e] for e in node.inputs]
        keywords: dict[str, Any] = {a: node.attrs[a] for a in entry.attrs}
        if entry.takes_context:
            keywords["ctx"] = self.contexts.setdefault(name, KernelContext(node, self.device, self.resources))
        if entry.takes_step:
            keywords["step"] = Unstopped()
        result = entry.function(np, *arguments(definition, flat), **keywords)
        if entry.is_async:
            result = asyncio.run(result)
        outputs = result if len(node.dtypes) > 1 else (result,)
        for port in range(len(node.dtypes)):
            values.setdefault(TensorId(name, port), outputs[port])


class Unstopped:
    """A step as kernels see it, which is never stopped and counts nothing."""

    id = 0

    def on_cancel(self, callback: Callable[[], None], reason: Any = None) -> Callable[[], None]:
        return lambda: None

    def waits(self) -> AbstractContextManager[None]:
        return nullcontext()

    def waits_for(self, reason: Any) -> AbstractContextManager[None]:
        return nullcontext()

    def on_end(self, callback: Callable[[], object]) -> None:
        pass


def arguments(definition: opdef.OpDef, flat: list[Any]) -> list[Any]:
    """Flat inputs as a kernel takes them: those of a list input as one list."""
    lists = [i for i, spec in enumerate(definition.inputs) if spec.kind == "list"]
    if not lists:
        return flat
    length = len(flat) - (len(definition.inputs) - 1)
    at = lists[0]
    return [*flat[:at], flat[at : at + length], *flat[at + length :]]
