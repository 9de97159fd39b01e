"""The shared variables of a graph: them by name, and the variable scope that is open."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeAlias

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


class ReuseMode(enum.Enum):
    """The way of `get_variable` beside True and False."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE
public("af", of="AUTO_REUSE")
"""Makes the variable, or takes the existing variable of that name."""

Reuse: TypeAlias = "bool | ReuseMode | None"


@public("af")
class VariableScope:
    """The prefix that `get_variable` adds to a name, and the defaults of its arguments. `name` has no `/` at its
    end.

    Example:
        >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
        ...     scope.reuse_variables()
        ...     print(scope.name, scope.reuse)
        model True
    """

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        """
        Args:
            reuse: whether variables have to exist (True), are made if they do not (AUTO_REUSE), or must not exist (None
                or False).
            name: the prefix of the variables' names, without a `/` at its end.
            initializer, regularizer, caching_device, partitioner, custom_getter, constraint: defaults for
                `get_variable`.
            dtype: the type of variables where `get_variable` gives none.
            name_scope: the name scope that was opened with it, with a `/` at its end.
            use_resource: kept for programs that ask; all variables are such.
        """
        self.name = name
        self.reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.custom_getter = custom_getter
        self.dtype: DType = as_dtype(dtype)
        self.constraint = constraint
        self.partitioner = partitioner
        self.use_resource = use_resource
        self.original_name_scope = name_scope
        """The name scope that was opened with it, with a `/` at its end; enter it again with `name_scope`."""

    def reuse_variables(self) -> None:
        """From now on `get_variable` here only takes variables that exist."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """The initializer of variables that are made from now on, unless `get_variable` is given an initializer.

        Example:
            >>> with af.variable_scope("ones") as scope:
            ...     scope.set_initializer(af.ones_initializer())
            ...     v = af.get_variable("v", [2])
            >>> await session.run(v.initializer)
            >>> await session.run(v)
            [1. 1.]
        """
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """The regularizer of variables that are made from now on, unless `get_variable` is given a regularizer.

        Example:
            >>> with af.Graph().as_default() as graph, af.variable_scope("layer") as scope:
            ...     scope.set_regularizer(lambda value: 0.1 * af.reduce_sum(af.square(value)))
            ...     v = af.get_variable("v", [2])
            ...     print(len(graph.get_collection("regularization_losses")))
            1
        """
        self.regularizer = regularizer

    def set_partitioner(self, partitioner: Any) -> None:
        """The partitioner of variables that are made from now on, unless `get_variable` is given a partitioner.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("tables") as scope:
            ...     scope.set_partitioner(af.fixed_size_partitioner(2))
            ...     print([part.shape.as_list() for part in af.get_variable("table", [5, 2])])
            [[3, 2], [2, 2]]
        """
        self.partitioner = partitioner

    def set_caching_device(self, caching_device: Any) -> None:
        """The device that keeps copies of variables that are made from now on, unless `get_variable` is given a device.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     scope.set_caching_device("/cpu:0")
            ...     print(scope.caching_device)
            /cpu:0
        """
        self.caching_device = caching_device

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """The function that is called in place of the getter from now on, as `custom_getter(getter, name=..., ...)`.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     scope.set_custom_getter(lambda getter, name, **rest: 2.0 * getter(name, **rest))
            ...     print(af.get_variable("v", [2]).op.type)
            Mul
        """
        self.custom_getter = custom_getter

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Kept for programs that ask; all variables are such.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     scope.set_use_resource(True)
            ...     print(scope.use_resource)
            True
        """
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The values of a collection of the default graph that were made in this scope.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     v = af.get_variable("v", [2], collections=["mine"])
            ...     print([variable.name for variable in scope.get_collection("mine")])
            ['model/v:0']
        """
        return self._collected(name)

    def set_dtype(self, dtype: DTypeLike) -> None:
        """The type of variables that are made from now on, unless `get_variable` is given a type.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("exact") as scope:
            ...     scope.set_dtype(af.float64)
            ...     print(af.get_variable("v", [2]).dtype)
            float64
        """
        self.dtype = as_dtype(dtype)

    def global_variables(self) -> list[Variable]:
        """The global variables of the default graph made in this scope.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     v = af.get_variable("v", [2])
            ...     print([variable.name for variable in scope.global_variables()])
            ['model/v:0']
        """
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """The local variables of the default graph made in this scope.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     count = af.get_local_variable("count", [])
            ...     print([variable.name for variable in scope.local_variables()])
            ['model/count:0']
        """
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Variable]:
        """The trainable variables of the default graph made in this scope.

        Example:
            >>> with af.Graph().as_default(), af.variable_scope("model") as scope:
            ...     v, step = af.get_variable("v", [2]), af.get_variable("step", [], trainable=False)
            ...     print([variable.name for variable in scope.trainable_variables()])
            ['model/v:0']
        """
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    def _collected(self, key: str) -> list[Variable]:
        prefix = f"{self.name}/" if self.name else ""
        values = get_default_graph().get_collection(key)
        return [v for v in values if not prefix or getattr(v, "name", "").startswith(prefix)]

    def __repr__(self) -> str:
        return f"<actorflow.VariableScope {self.name!r} reuse={self.reuse}>"


class VariableStore:
    """A graph's variables by name, those that are kept in slices, its outermost scope, and how often each name of a scope
    was opened."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.opened: dict[str, int] = {}
        self.root = VariableScope(None)

    def close_inner(self, name: str) -> None:
        """Forgets the scopes inside `name`, so that default names start again when it is opened next."""
        for inner in [n for n in self.opened if n.startswith(f"{name}/")]:
            del self.opened[inner]


_STORE = "_variable_store"
current_scopes: ContextVar[Mapping[int, VariableScope]] = ContextVar(
    "actorflow_variable_scopes", default=MappingProxyType({})
)


def store_of(graph: Graph) -> VariableStore:
    """The store of `graph`, which lives as long as it."""
    stores = graph.get_collection_ref(_STORE)
    if not stores:
        stores.append(VariableStore())
    store: VariableStore = stores[0]
    return store


@public("af")
def get_variable_scope() -> VariableScope:
    """The variable scope that is open here for the default graph.

    Example:
        >>> with af.Graph().as_default(), af.variable_scope("model"), af.variable_scope("layer1"):
        ...     print(af.get_variable_scope().name)
        model/layer1
    """
    return scope_of(get_default_graph())


def scope_of(graph: Graph) -> VariableScope:
    """The variable scope that is open here for `graph`."""
    return current_scopes.get().get(graph.key) or store_of(graph).root
