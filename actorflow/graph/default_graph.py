"""The default graph, and its scopes as functions: `af.name_scope`, `af.device`, `af.control_dependencies` and others."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from actorflow.graph import scopes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.public import public

_process_default = Graph()


@public("af")
def get_default_graph() -> Graph:
    """The innermost `with graph.as_default()`, else the process-wide default graph.

    Example:
        >>> graph = af.Graph()
        >>> with graph.as_default():
        ...     print(af.get_default_graph() is graph)
        True
    """
    entered = scopes.entered_graph()
    return _process_default if entered is None else entered


@public("af")
def reset_default_graph() -> None:
    """Starts a new process-wide default graph. Raises RuntimeError inside `with graph.as_default()`.

    Example:
        >>> with af.Graph().as_default():
        ...     af.reset_default_graph()
        Traceback (most recent call last):
            ...
        RuntimeError: reset_default_graph() can't be called inside `with graph.as_default()`.
    """
    global _process_default
    if scopes.entered_graph() is not None:
        raise RuntimeError("reset_default_graph() can't be called inside `with graph.as_default()`.")
    if not _process_default.eager:
        _process_default = Graph()


def process_graph() -> Graph:
    """The process-wide default graph, whatever is entered here."""
    return _process_default


def set_process_graph(graph: Graph) -> None:
    """Makes `graph` the process-wide default graph."""
    global _process_default
    _process_default = graph


@public("af")
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> AbstractContextManager[str]:
    """`Graph.name_scope` of the default graph; `default_name` stands in where `name` is None.

    Example:
        >>> with af.Graph().as_default(), af.name_scope("layer1"):
        ...     print(af.constant(1.0, name="x").name)
        layer1/x:0
    """
    return get_default_graph().name_scope(name if name is not None else default_name)


@public("af")
def device(device_name_or_function: str | DeviceSpec | scopes.DeviceFunction | None) -> AbstractContextManager[None]:
    """`Graph.device` of the default graph.

    Example:
        >>> with af.Graph().as_default(), af.device("/job:ps/device:CPU:0"):
        ...     v = af.Variable(1.0)
        ...     print(v.device)
        /job:ps/device:CPU:0
    """
    return get_default_graph().device(device_name_or_function)


@public("af")
def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """`Graph.colocate_with` of the default graph.

    Example:
        >>> x = af.placeholder(af.float32, name="x")
        >>> with af.colocate_with(x):
        ...     y = af.constant(1.0)
        >>> y.op.colocation_groups()
        ['loc:@x']
    """
    return get_default_graph().colocate_with(op, ignore_existing)


@public("af")
def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """`Graph.control_dependencies` of the default graph.

    Example:
        >>> count = af.Variable(0)
        >>> with af.control_dependencies([count.assign_add(1)]):
        ...     x = af.constant(5.0) * 2.0
        >>> await session.run(count.initializer)
        >>> await session.run(x), await session.run(count)
        (10.0, 1)
    """
    return get_default_graph().control_dependencies(control_inputs)


@public("af")
def lossy_sends(lossy: bool = True) -> AbstractContextManager[None]:
    """Inside, float32 values are made that go to other devices with 16 of their 32 bits (paper section 5.5).

    Half as many bytes travel, with a relative error below 2**-7, whatever the transport; on their own device values keep
    all bits, and other types are sent as they are. Gradients bear it well.
    `lossy_sends(False)` switches it off inside of such a scope.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> with af.lossy_sends():
        ...     y = x / 3.0
        >>> await session.run(y, {x: [1.0, 2.0]})  # on one device all bits stay
        [0.3333 0.6667]
    """
    return get_default_graph().lossy_sends(lossy)


@public("af")
def container(container_name: str) -> AbstractContextManager[str]:
    """`Graph.container` of the default graph.

    Example:
        >>> with af.Graph().as_default(), af.container("experiment1"):
        ...     queue = af.FIFOQueue(10, af.float32)
        ...     print(queue.queue_ref.op.get_attr("container"))
        experiment1
    """
    return get_default_graph().container(container_name)
