"""The names and scopes under which nodes are made: default graph, devices, control dependencies, colocation, containers.

They are context variables over one process-wide default graph, so that coroutines that build graphs side by side do
not see each other's scopes. The scopes of one graph are an immutable record; entering a scope sets a changed copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from actorflow.base import dialect
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node
from actorflow.graph.tensor import Operation, Tensor

if TYPE_CHECKING:
    from actorflow.graph.graph import Graph

DeviceFunction: TypeAlias = "Callable[[Operation], str | None]"
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*")
_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\-/]*")
_BARE_DEVICE = re.compile(r"(device:)?(cpu|gpu):(\d+|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ControlScope:
    """One `control_dependencies` block: what it waits for, and the nodes made inside it so far."""

    waits_for: tuple[str, ...]
    made_inside: set[str] = field(default_factory=set)


class FlowScope(Protocol):
    """A branch or a loop in which nodes are made (`actorflow.graph.control_flow`)."""

    def admit(self, op: str, inputs: Sequence[Tensor], controls: Sequence[str]) -> tuple[list[Tensor], tuple[str, ...]]:
        """The inputs and control inputs that a new node in here takes in place of these, which may be from outside."""


class Tower(Protocol):
    """The part of a graph that one logical worker computes (`actorflow.models.train.replicas`)."""

    number: int

    def seed(self, op_seed: int | None, what: str) -> Tensor:
        """Two integers that decide the numbers of a random node: a function of the worker's number, the node and the step."""

    def apply(self, optimizer: Any, pairs: Sequence[Any], global_step: Any, name: str | None) -> Operation:
        """Takes the gradients of one worker in place of the optimizer."""

    def change(self, variable: Any, write: Callable[[], Any]) -> Any:
        """The result of `write`, or that of the first worker for a variable that the first worker alone changes."""

    def move(self, variable: Any, value: Any, write: Callable[[Any], Any]) -> Any:
        """The result of `write` for `value`; if updates are joined, with the last worker for the mean of all workers' values."""

    def collects(self, collection: str) -> bool:
        """Whether the graph keeps what this worker adds to a collection."""


class Launches(Protocol):
    """A thread on which ops run that were called, while the program goes on (`actorflow.engine.eager.launches`)."""

    def launch(self, prepared: Any, inputs: Sequence[Any], shapes: Sequence[Any], name: str, where: Any) -> Any:
        """The tensors that an op will give; None if the op is to run at once."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes that are in force for one graph."""

    names: str = ""
    devices: tuple[str | DeviceFunction | None, ...] = ()
    controls: tuple[ControlScope, ...] = ()
    colocate: tuple[str, ...] = ()
    container: str = ""
    origin: str | None = None
    gradients: Mapping[str, str] = field(default_factory=lambda: _NO_OVERRIDES)
    flow: FlowScope | None = None
    lossy: bool = False
    launches: Launches | None = None
    tower: Tower | None = None


class Keyed(Protocol):
    """A graph as far as its scopes go: `key` tells it from others."""

    key: int


_NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
_NONE = Scopes()
_scopes: ContextVar[Mapping[int, Scopes]] = ContextVar("actorflow_scopes", default=MappingProxyType({}))
_default: ContextVar[Graph | None] = ContextVar("actorflow_default_graph", default=None)


def of(graph: Keyed) -> Scopes:
    """The scopes in force for `graph` here."""
    return _scopes.get().get(graph.key, _NONE)


@contextmanager
def changed(graph: Keyed, **changes: Any) -> Iterator[None]:
    """Changes fields of `graph`'s scopes inside the block."""
    before = _scopes.get()
    token = _scopes.set({**before, graph.key: replace(before.get(graph.key, _NONE), **changes)})
    try:
        yield
    finally:
        _scopes.reset(token)


def entered_graph() -> Graph | None:
    """The innermost `graph.as_default()` here, or None."""
    return _default.get()


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes `graph` the default inside the block."""
    token = _default.set(graph)
    try:
        yield graph
    finally:
        _default.reset(token)


class Scoped:
    """The part of a `Graph` that names nodes and opens scopes. The scopes in force are kept by context."""

    key: int
    nodes: Mapping[str, Node]
    _names_in_use: dict[str, int]

    def as_graph_element(self, element: Any) -> Tensor | Operation:
        """See `Graph.as_graph_element`."""
        raise NotImplementedError

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` under the scope in force, made unique as TensorFlow does: x, x_1, x_2."""
        return self._unique(f"{scope}/{name}" if (scope := of(self).names) else name, mark_as_used)

    def reserve_name(self, name: str) -> str:
        """The name that a node called `name` gets here, with a `/` at its end. As a node's name it means exactly this name,
        and as a scope the nodes that belong to this node. Raises ValueError for what can't be a name."""
        return name if name.endswith("/") else f"{self._node_name(name, of(self))}/"

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        key = name.lower()
        count = self._names_in_use.get(key, 0)
        if mark_as_used:
            self._names_in_use[key] = count + 1
        if count == 0:
            return name
        while (candidate := f"{key}_{count}") in self._names_in_use:
            count += 1
        if mark_as_used:
            self._names_in_use[key] = count + 1
            self._names_in_use[candidate] = 1
        return f"{name}_{count}"

    def _node_name(self, name: str, scope: Scopes) -> str:
        if name.endswith("/"):
            exact = name[:-1]
            if exact in self.nodes:
                origin = f"that one was made at {self.nodes[exact].where}"
                raise ValueError(
                    describe(f"The graph has a node {exact!r} already.", where=user_line(), details=[origin])
                )
            return exact
        if not _NAME.fullmatch(name):
            problem = "letters, digits and _ . - / are allowed, and it can't start with _ - or /."
            raise ValueError(describe(f"{name!r} is no name for a node: {problem}", where=user_line()))
        return self._unique(f"{scope.names}/{name}" if scope.names else name)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of nodes made inside. `"x/"` re-enters x exactly; None or "" goes back to the root.

        Example:
            >>> with af.Graph().as_default() as graph, graph.name_scope("layer"):
            ...     print(af.ones([2], name="x").name)
            layer/x:0
        """
        if name is not None and not isinstance(name, str):
            raise TypeError(f"The name of a scope is a text, not {name!r:.60}, of type {type(name).__name__}.")
        if name and not (_SCOPE_NAME if of(self).names else _NAME).fullmatch(name):
            raise ValueError(
                f"{name!r} is not a valid scope name: letters, digits and _ . - / are allowed"
                + (", and at the root it can't start with _ - or /." if _SCOPE_NAME.fullmatch(name) else ".")
            )
        if not name:
            full = ""
        elif name.endswith("/"):
            full = name[:-1]
        else:
            full = self.unique_name(name)
        with changed(self, names=full):
            yield f"{full}/" if full else ""

    def get_name_scope(self) -> str:
        return of(self).names

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Nodes made inside wait for all of these (control edges, paper section 2). None forgets the outer blocks, and
        leaves branches and loops too.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     with graph.control_dependencies([af.no_op(name="before")]):
            ...         after = af.no_op(name="after")
            >>> [op.name for op in after.control_inputs]
            ['before']
        """
        if control_inputs is None:
            with changed(self, controls=(), flow=None):
                yield
            return
        names: dict[str, None] = {}
        for element in control_inputs:
            target = self.as_graph_element(element)
            names[target.op.name if isinstance(target, Tensor) else target.name] = None
        if not names:  # nothing to wait for: a variable's shared read serves inside, too
            yield
            return
        with changed(self, controls=(*of(self).controls, ControlScope(tuple(names)))):
            yield

    def device(self, device: str | DeviceSpec | DeviceFunction | None) -> AbstractContextManager[None]:
        """Asks for a device (a full or partial name, or a function of the operation) for nodes made inside.

        Inner scopes override outer scopes part by part; None ignores the outer scopes.

        Example:
            >>> with af.Graph().as_default() as graph, graph.device("/job:ps"):
            ...     print(af.ones([2]).device)
            /job:ps
        """
        if device is not None and not callable(device):
            if not isinstance(device, (str, DeviceSpec)):
                raise TypeError(f"A device is asked for by its name or by a function, but {device!r:.60} was given.")
            device = str(device)
            if _BARE_DEVICE.fullmatch(device) and dialect.speaks_v1():  # TensorFlow takes "cpu:0" for "/cpu:0"
                device = f"/{device}"
            DeviceSpec.parse(device)
        return self._on(device)

    @contextmanager
    def _on(self, device: str | DeviceFunction | None) -> Iterator[None]:
        with changed(self, devices=(*of(self).devices, device)):
            yield

    @contextmanager
    def colocate_with(self, element: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes made inside share the device of `element` (paper section 4.3).

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.ones([2], name="x")
            ...     with graph.colocate_with(x):
            ...         print(af.zeros([2]).op.colocation_groups())
            ['loc:@x']
        """
        target = self.as_graph_element(
            getattr(element, "handle", element)
        )  # a variable itself, not a copy of its value
        name = target.op.name if isinstance(target, Tensor) else target.name
        outer = () if ignore_existing else of(self).colocate
        with changed(self, colocate=tuple(dict.fromkeys((name, *outer)))):
            yield

    @contextmanager
    def container(self, name: str) -> Iterator[str]:
        """Variables and queues made inside keep their state in the container `name` (paper section 4.7).

        Example:
            >>> with af.Graph().as_default() as graph, graph.container("experiment"):
            ...     print(af.FIFOQueue(1, af.int32, [[]]).queue_ref.op.get_attr("container"))
            experiment
        """
        with changed(self, container=name):
            yield name

    @contextmanager
    def lossy_sends(self, lossy: bool = True) -> Iterator[None]:
        """The float32 values of nodes made inside lose their lower 16 bits on their way to another device: half the
        bytes, and a relative error below 2**-7 (paper section 5.5). On their own device they keep all bits.

        Example:
            >>> with af.Graph().as_default() as graph, graph.lossy_sends():
            ...     x = af.ones([2])  # in a cluster its sends have 16 bits for each number
        """
        with changed(self, lossy=lossy):
            yield

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Nodes made inside whose op is a key take the gradient rule that the value names: a rule of `RegisterGradient`, or
        that of the op of this name (`tf.Graph.gradient_override_map`). Raises TypeError for anything but names."""
        if not isinstance(op_type_map, Mapping) or not all(
            isinstance(t, str) for kv in op_type_map.items() for t in kv
        ):
            raise TypeError(f"A dict from names of ops to names of gradients is needed, not {op_type_map!r:.80}.")
        with changed(self, gradients={**of(self).gradients, **op_type_map}):
            yield

    @contextmanager
    def gradient_of(self, origin: str) -> Iterator[None]:
        """Nodes made inside remember that they compute the gradient of the node `origin`."""
        with changed(self, origin=origin):
            yield
