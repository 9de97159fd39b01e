"""The kernels of a step without a runtime: the same functions on the same values, called one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorflow.graph.node import Node, TensorId
    from actorflow.graph.tensor import Operation, Tensor

Bound = tuple[Callable[..., Any], tuple[Any, ...]]

# Not counted as nodes of a step: a plan has their values before the step begins.
SOURCES = frozenset({"Const", "Placeholder"})


class Replay:
    """Evaluates fetches once, node by node, and remembers each kernel with its arguments."""

    def __init__(self) -> None:
        from actorflow.base.registry import plugins
        from actorflow.engine.runtime.state.resources import ResourceManager

        plugins.load_kernels()
        self._device = plugins.load("devices", "CPU")("/job:localhost/replica:0/task:0/device:CPU:0")
        self._resources = ResourceManager()

    def record(self, fetches: Sequence[Tensor | Operation], feeds: Mapping[Tensor, Any]) -> list[Bound]:
        """The kernels that the fetches need, bound to their arguments, in an order in which they can run."""
        import numpy as np

        graph = (fetches[0].op if hasattr(fetches[0], "op") else fetches[0]).graph
        values: dict[TensorId, Any] = {t.tensor_id: np.asarray(v, t.dtype.numpy_dtype)[()] for t, v in feeds.items()}
        calls: list[Bound] = []
        for node in _in_order(graph.nodes, [getattr(f, "op", f).name for f in fetches], {e.node for e in values}):
            function, arguments = self._bind(graph, node, values)
            result = function(*arguments)
            outputs = result if len(node.dtypes) > 1 else (result,)
            values.update(zip((t.tensor_id for t in graph.get_operation_by_name(node.name).outputs), outputs))
            if node.op not in SOURCES:
                calls.append((function, arguments))
        return calls

    def _bind(self, graph: Any, node: Node, values: Mapping[TensorId, Any]) -> Bound:
        import numpy as np

        from actorflow.base.registry import kernel, opdef
        from actorflow.engine.runtime.context import KernelContext

        entry = kernel.lookup(node.op, "CPU", node.dtypes or [graph.tensor_at(e).dtype for e in node.inputs])
        keywords: dict[str, Any] = {name: node.attrs[name] for name in entry.attrs}
        if entry.takes_context:
            keywords["ctx"] = KernelContext(node, self._device, self._resources)
        flat = [values[e] for e in node.inputs]
        kinds = [spec.kind for spec in opdef.lookup(node.op).inputs]
        if "list" in kinds:
            at, length = kinds.index("list"), len(flat) - len(kinds) + 1
            flat = [*flat[:at], flat[at : at + length], *flat[at + length :]]
        # Positional first arguments cost less than keywords would: the floor should be low.
        return partial(entry.function, np, **keywords) if keywords else entry.function, (
            tuple(flat) if keywords else (np, *flat)
        )


def _in_order(nodes: Mapping[str, Node], wanted: Sequence[str], fed: set[str]) -> list[Node]:
    """The nodes that `wanted` needs, each after its inputs."""
    order: list[Node] = []
    done = set(fed)
    stack = list(wanted)
    while stack:
        node = nodes[stack[-1]]
        missing = [name for name in (*(e.node for e in node.inputs), *node.controls) if name not in done]
        if node.name in done:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            order.append(node)
            done.add(stack.pop())
    return order


def seconds(calls: Sequence[Bound], at_least: float) -> float:
    """The median time of all kernels in sequence, less what the loop around them costs."""
    return _median(calls, at_least) - _median([(_nothing, arguments) for _, arguments in calls], at_least / 4)


def _nothing(*arguments: Any) -> None:
    pass


def _median(calls: Sequence[Bound], at_least: float) -> float:
    clock = time.perf_counter
    times: list[float] = []
    end = clock() + at_least
    while len(times) < 5 or clock() < end:
        start = clock()
        for function, arguments in calls:
            function(*arguments)
        times.append(clock() - start)
    times.sort()
    return times[len(times) // 2]
