"""`CriticalSection`: parts of graphs that exclude each other, in all steps and sessions (`tf.CriticalSection`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.base.dtypes import int64, resource
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.shape_rules import no_output, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_HANDLE = {"mutex": resource}


@op("MutexV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def mutex_handle(*, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """A reference to a mutex, which lives in `container` under `shared_name` (else the node's name)."""


@op(
    "MutexLock",
    shape=scalar,
    types=_HANDLE,
    result=int64,
    gradient=None,
    stateful=True,
    asynchronous=True,
    work=0,
)
def mutex_lock(mutex: RefLike, *, name: str | None = None) -> Tensor:
    """Waits until no other holds the mutex, and holds it until `consume_mutex_lock` or the step's end. The output is the
    ticket that releases it. Raises CancelledError where the step is stopped first."""


@op(
    "ConsumeMutexLock",
    shape=no_output,
    types={**_HANDLE, "mutex_lock": int64},
    result=None,
    gradient=None,
    stateful=True,
    work=0,
)
def consume_mutex_lock(mutex: RefLike, mutex_lock: TensorLike, *, name: str | None = None) -> Operation:
    """Releases the mutex. Raises InvalidArgumentError where the ticket does not hold it."""


_COLLECTION = "critical_section_executions"


@public("af")
class CriticalSection:
    """A part of a graph that at most one step executes at a time: all that is built inside `execute`.

    Those that wait are served in the order in which they came. A step that ends, however, lets go of what it held.

    Example:
        >>> v = af.Variable(0)
        >>> section = af.CriticalSection(name="counter")
        >>> after = section.execute(lambda: v.assign(v.read_value() + 1))
        >>> await session.run(v.initializer)
        >>> [await session.run(after) for _ in range(3)]
        [1, 2, 3]
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: None = None,
        import_scope: None = None,
    ) -> None:
        """Makes the mutex. With `shared_name`, sections of that name in one container are the same; in a named container (see
        `af.container`) sessions of one process share it.

        Args:
            name: the name of the mutex's node.
            shared_name: what sections have in common that are the same.
            critical_section_def, import_scope: must be None, for no message describes a section; TensorFlow refuses both too.

        Raises:
            ValueError: a message or a scope is given.
        """
        if critical_section_def is not None or import_scope is not None:
            raise ValueError(
                "A CriticalSection is not built from a message: critical_section_def and import_scope must be None. Build it "
                "by name= and shared_name=."
            )
        self._graph: Graph = get_default_graph()
        with self._graph.control_dependencies(None), self._graph.name_scope(name or "CriticalSection") as scope:
            self._handle = mutex_handle(
                container=scopes.of(self._graph).container, shared_name=shared_name or "", name=scope
            )

    @property
    def name(self) -> str:
        return self._handle.op.name

    @property
    def handle(self) -> Tensor:
        """The reference to the mutex."""
        return self._handle

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Builds what `fn()` builds so that it runs while no other execution of this section does.

        A tensor that is computed outside and used inside is computed before the section is entered. The results,
        tensors in lists, tuples and dictionaries, are there when the section has been left.

        Args:
            exclusive_resource_access: the variables used inside are used in no other section.

        Raises:
            ValueError: another section uses one of the variables, or an execution of this section is being built.
        """
        graph = self._graph
        if any(running is self for running in _running(graph)):
            raise ValueError(
                describe(
                    f"Attempting to lock the critical section {self.name} inside of itself, which would wait for ever.",
                    where=user_line(),
                )
            )
        with graph.as_default(), graph.name_scope(name or "critical_section_execute"):
            ticket = mutex_lock(self._handle)
            before = set(graph.nodes)
            _running(graph).append(self)
            try:
                with graph.control_dependencies([ticket]):
                    result = _mapped(fn(), lambda v: v if isinstance(v, Operation) else convert_to_tensor(v))
            finally:
                _running(graph).remove(self)
            nodes = [graph.nodes[n] for n in graph.nodes if n not in before]
            inside = {node.name for node in nodes}
            used = {e.node for node in nodes for e in node.inputs} | {c for node in nodes for c in node.controls}
            for outer in sorted(used - inside - {ticket.op.name}):
                ticket.op.add_control_input(graph.get_operation_by_name(outer))
            self._check_exclusive(nodes, exclusive_resource_access)
            with graph.control_dependencies([ticket, *_flat(result)]):
                released = consume_mutex_lock(self._handle, ticket)
            with graph.control_dependencies([released]):
                return _mapped(result, lambda value: released if isinstance(value, Operation) else identity(value))

    def _check_exclusive(self, nodes: list[Any], exclusive: bool) -> None:
        """Raises ValueError where another section and this one use a variable, unless both let the other have it."""
        graph = self._graph
        handles = {e.node for node in nodes for e in node.inputs if graph.nodes[e.node].dtypes[e.port].is_ref}
        for other, theirs, alone in graph.get_collection(_COLLECTION):
            shared = sorted(handles & theirs)
            if other is not self and shared and (exclusive or alone):
                raise ValueError(
                    describe(
                        f"The critical section {self.name} uses {', '.join(shared)}, which {other.name} uses too, and one of "
                        "the two wants it for itself.",
                        where=user_line(),
                        hint="Use one section for both, or pass exclusive_resource_access=False to both.",
                    )
                )
        graph.add_to_collection(_COLLECTION, (self, handles, exclusive))


_BUILDING = "critical_sections_being_built"


def _running(graph: Graph) -> list[CriticalSection]:
    sections: list[CriticalSection] = graph.get_collection_ref(_BUILDING)
    return sections


def _flat(value: Any) -> list[Any]:
    """The tensors and operations in `value`."""
    tensors: list[Any] = []

    def add(tensor: Any) -> Any:
        tensors.append(tensor)
        return tensor

    _mapped(value, add)
    return tensors


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """`value` with `function` applied to its tensors and operations; None stays."""
    if isinstance(value, (list, tuple)):
        parts = [_mapped(v, function) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _mapped(v, function) for key, v in value.items()}
    if isinstance(value, IndexedSlices):
        shape = None if value.dense_shape is None else function(value.dense_shape)
        return IndexedSlices(function(value.values), function(value.indices), shape)
    return None if value is None else function(value)
