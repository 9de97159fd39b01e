"""`variable_scope` and `get_variable`: variables that several parts of a program share by name (`tf.get_variable`).

The variables of a graph by name, and how often each scope was opened, are kept with the graph. Which scope is open is
a context variable, as with the scopes of `actorflow.graph.scopes`: coroutines side by side don't see each other's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, cast

from actorflow.base.dtypes import DTypeLike, as_dtype, float32
from actorflow.base.shapes import ShapeLike
from actorflow.graph.convert import as_array, graph_of, symbolic_dtype
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.getting import get_by_full_name
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.partitioners import Partitioner
from actorflow.graph.variables.store import (
    AUTO_REUSE,
    Reuse,
    VariableScope,
    VariableStore,
    current_scopes,
    get_variable_scope,
    scope_of,
    store_of,
)
from actorflow.graph.variables.variable import Variable
from actorflow.public import public

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "create_partitioned_variables",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "variable_op_scope",
    "variable_scope",
]


@public("af")
@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Reuse = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Prefixes the names that `get_variable` makes and takes inside, and opens a name scope too (`tf.variable_scope`).

    Example:
        >>> with af.Graph().as_default():
        ...     with af.variable_scope("encoder", initializer=af.ones_initializer()) as scope:
        ...         w = af.get_variable("w", [2])
        ...     with af.variable_scope(scope, reuse=af.AUTO_REUSE):
        ...         print(w.name, af.get_variable("w", [2]) is w)
        encoder/w:0 True

    Args:
        name_or_scope: a name, which adds to that of the scope around; a scope, which is entered again as it was; or
            None, to use `default_name` made unique.
        default_name: the name to use where `name_or_scope` is None; a number is added if the scope around has opened it
            before.
        values: tensors, in whose graph the scope is opened.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, constraint: defaults for
            `get_variable` inside.
        reuse: True: variables have to exist. AUTO_REUSE: they are made if they don't. None: as in the scope around; at
            the outermost they must not exist. Inside a scope that reuses, all do.
        use_resource: kept in the scope; all variables are such.
        auxiliary_name_scope: whether to open a name scope.

    Raises:
        ValueError: `reuse` is given without a name, or has an unknown value.
        TypeError: neither a name nor a default name is given, or the name is not a string or a scope.
    """
    _check_scope(name_or_scope, default_name, reuse)
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(f"The auxiliary_name_scope must be True or False, but got {auxiliary_name_scope!r:.60}.")
    graph = graph_of([values]) if values else get_default_graph()
    store, outer = store_of(graph), scope_of(graph)
    if name_or_scope is None:
        assert default_name is not None
        name_or_scope, scope_name = _unused(store, outer, default_name), default_name
    else:
        scope_name = name_or_scope if isinstance(name_or_scope, str) else name_or_scope.name.rpartition("/")[2]
    with ExitStack() as stack:
        stack.enter_context(graph.as_default())
        if auxiliary_name_scope and scope_name:
            opened = stack.enter_context(graph.name_scope(scope_name))
        else:
            around = graph.get_name_scope()
            opened = f"{around}/" if around else ""
        if isinstance(name_or_scope, VariableScope):
            base, name, opened = name_or_scope, name_or_scope.name, name_or_scope.original_name_scope
        else:
            base, name = outer, f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
        scope = VariableScope(
            reuse or base.reuse,
            name,
            base.initializer if initializer is None else initializer,
            base.regularizer if regularizer is None else regularizer,
            base.caching_device if caching_device is None else caching_device,
            base.partitioner if partitioner is None else partitioner,
            _chained(base.custom_getter, custom_getter),
            opened,
            base.dtype if dtype is None else dtype,
            base.use_resource if use_resource is None else use_resource,
            base.constraint if constraint is None else constraint,
        )
        before = dict(store.opened)
        store.opened[name] = store.opened.get(name, 0) + 1
        scopes = current_scopes.get()
        token = current_scopes.set({**scopes, graph.key: scope})
        try:
            yield scope
        finally:
            current_scopes.reset(token)
            store.close_inner(name)
            if isinstance(name_or_scope, VariableScope):
                store.opened = before


def _check_scope(name_or_scope: Any, default_name: str | None, reuse: Reuse) -> None:
    """Raises TypeError or ValueError for arguments of `variable_scope` that are wrong."""
    if default_name is None and name_or_scope is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    if reuse not in (True, False, None, AUTO_REUSE):
        raise ValueError("The reuse parameter must be True or False or None.")
    if name_or_scope is None and reuse:
        raise ValueError("reuse=True cannot be used without a name_or_scope")


@public("tf")
def variable_op_scope(
    values: Sequence[Any] | None,
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    **kwargs: Any,
) -> AbstractContextManager[VariableScope]:
    """`variable_scope`, with the tensors first (`tf.variable_op_scope`, which TensorFlow deprecated).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with af.Graph().as_default(), tf.variable_op_scope([], None, "layer"):
        ...     print(af.get_variable("w", [2]).name)
        layer/w:0

    Args:
        values: tensors, in whose graph the scope is opened.
        name_or_scope: a name or a scope, or None for `default_name`.
        default_name: the name to use where `name_or_scope` is None, made unique.
        kwargs: further arguments of `variable_scope`.

    Raises:
        ValueError, TypeError: as `variable_scope`.
    """
    return variable_scope(name_or_scope, default_name, values, **kwargs)


def _unused(store: VariableStore, outer: VariableScope, name: str) -> str:
    """`name`, or `name_1` and so on where the scope around has opened it already."""
    full = f"{outer.name}/{name}" if outer.name else name
    if not store.opened.get(full):
        return name
    number = 1
    while store.opened.get(f"{full}_{number}"):
        number += 1
    return f"{name}_{number}"


def _chained(outer: Callable[..., Any] | None, inner: Callable[..., Any] | None) -> Callable[..., Any] | None:
    for getter in (outer, inner):
        if getter is not None and not callable(getter):
            raise ValueError(f"custom_getter is not None and not callable: {getter!r}")
    if outer is None or inner is None:
        return inner or outer

    def both(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)

    return both


@public("af")
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Callable[[Variable], Any] | None = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
    reuse: Reuse = None,
) -> Variable:
    """Makes the variable `name` of the open variable scope, or takes the existing variable (`tf.get_variable`).

    Example:
        >>> with af.Graph().as_default():
        ...     with af.variable_scope("dense"):
        ...         w = af.get_variable("w", [3, 2], initializer=af.zeros_initializer())
        ...     with af.variable_scope("dense", reuse=True):
        ...         same = af.get_variable("w")
        ...     print(w.name, same is w)
        dense/w:0 True

    Args:
        name: the name within the scope.
        shape: has to be fully known for a new variable, unless `initializer` is a value.
        dtype: that of the scope (float32) unless given.
        initializer: `f(shape, dtype)`, a class of such, a tensor or a value; by default that of the scope, else glorot
            uniform for floating-point types and zeros for others.
        regularizer: `f(variable)` gives a loss that is added to the collection REGULARIZATION_LOSSES.
        trainable: whether optimizers change the variable, unless they are told which variables to change; true unless
            given.
        collections: the collections that list the variable; GLOBAL_VARIABLES unless given.
        caching_device: a device that keeps a copy of the value read, for its consumers.
        partitioner: `f(shape, dtype)` says into how many slices the variable is cut along each dimension. Each slice
            `i` is a variable `name/part_i`; the result is then a `PartitionedVariable`. Scalars are not cut.
        validate_shape: whether the initial value's shape has to be known and stays the variable's shape.
        use_resource, synchronization: accepted for compatibility, without effect.
        aggregation: see `Variable`.
        custom_getter: called as `custom_getter(getter, name=..., ...)` in place of the getter.
        constraint: a function that optimizers apply to the value after each update.
        reuse: True: the variable has to exist; AUTO_REUSE: it is made if it does not; None: as the scope says.

    Raises:
        ValueError: the variable exists and should not, or does not and should; a shape or a type differs from that of
            the variable that exists, or can't be known.
    """
    graph = get_default_graph()
    scope = scope_of(graph)
    initializer = scope.initializer if initializer is None else initializer
    if dtype is not None:
        _check_type(initializer, dtype)
    arguments = {
        "name": f"{scope.name}/{name}" if scope.name else name,
        "shape": shape,
        "dtype": scope.dtype if dtype is None else as_dtype(dtype),
        "initializer": initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse if reuse is None else reuse,
        "trainable": True if trainable is None else trainable,
        "collections": collections,
        "caching_device": scope.caching_device if caching_device is None else caching_device,
        "partitioner": scope.partitioner if partitioner is None else partitioner,
        "validate_shape": validate_shape,
        "constraint": scope.constraint if constraint is None else constraint,
        **({} if aggregation is None else {"aggregation": aggregation}),
    }
    getter = _chained(scope.custom_getter, custom_getter)
    if getter is None:
        variable: Any = get_by_full_name(**arguments)
    else:
        with get_default_graph().name_scope(
            None
        ):  # names of variables, and of their getters, depend on variable scopes alone
            variable = getter(get_by_full_name, **arguments)
    return cast(Variable, variable)  # or, with a partitioner, what stands for a variable


def _check_type(initializer: Any, dtype: DTypeLike) -> None:
    """Raises ValueError for an initial value of another type."""
    if initializer is not None and not callable(initializer):
        own = symbolic_dtype(initializer) or as_dtype(as_array(initializer).dtype)
        if own is not as_dtype(dtype):
            raise ValueError(f"Initializer type '{own}' and explicit dtype '{as_dtype(dtype)}' don't match.")


@public("af")
def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Variable:
    """`get_variable` of a local variable, which no optimizer changes and no checkpoint holds.

    Example:
        >>> with af.Graph().as_default():
        ...     count = af.get_local_variable("count", initializer=0)
        ...     print(af.local_variables() == [count], af.trainable_variables())
        True []
    """
    kwargs["collections"] = [*(kwargs.get("collections") or ()), GraphKeys.LOCAL_VARIABLES]
    kwargs["trainable"] = False
    return get_variable(name, *args, **kwargs)


@public("tf")
def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: DTypeLike = float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: Reuse = None,
) -> list[Variable]:
    """A variable in slices (`tf.create_partitioned_variables`, for which TensorFlow later has `partitioner=`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with af.Graph().as_default():
        ...     parts = tf.create_partitioned_variables([5, 2], [2, 1], af.zeros_initializer())
        ...     print([part.shape.as_list() for part in parts])
        [[3, 2], [2, 2]]

    Args:
        shape: the shape of the whole, fully known.
        slicing: the number of slices along each dimension, of which at most one may be more than 1.
        initializer: `f(shape, dtype)`, or a value of the whole's shape, whose type is that of the variable.
        dtype: the type of the values of a function.
        trainable: whether optimizers change the slices.
        collections: the collections that list the slices; GLOBAL_VARIABLES unless given.
        name: the name of the whole; "PartitionedVariable", made unique, unless given. Slice `i` is `name/part_i`.
        reuse: True: the slices have to exist; AUTO_REUSE: they are made if they do not; None: as the scope around says.

    Returns:
        The slices in their order.

    Raises:
        ValueError: the lengths of `shape` and `slicing` differ, `shape` is empty, several dimensions are cut, an initial
            value has another shape or type, or the variable exists, or is missing, against `reuse`.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: "
            f"shape: {list(shape)}, slicing: {list(slicing)}"
        )
    if not shape:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {list(shape)}")
    if not callable(initializer):
        dtype = symbolic_dtype(initializer) or as_array(initializer).dtype
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        partitioned = get_by_full_name(
            scope.name,
            shape,
            dtype,
            initializer,
            scope.regularizer,
            scope.reuse,
            trainable,
            collections,
            scope.caching_device,
            lambda **unused: list(slicing),
            constraint=scope.constraint,
        )
    return list(cast(PartitionedVariable, partitioned))
