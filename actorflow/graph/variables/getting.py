"""How `get_variable` makes or takes a variable, in one piece or in slices, once its name and defaults are known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, TensorShape, as_shape, compatible, is_static, merge, show
from actorflow.errors import describe, with_topic
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.initializers import default_initializer
from actorflow.graph.variables.partitioned import PartitionedVariable, PartitionInfo, SaveSliceInfo, slices_of
from actorflow.graph.variables.partitioners import Partitioner
from actorflow.graph.variables.store import Reuse, VariableStore, store_of
from actorflow.graph.variables.variable import Variable


def get_by_full_name(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = float32,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Reuse = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable | PartitionedVariable:
    """`get_variable` by the full name, with all defaults filled in. Getters of programs pass all of TensorFlow's arguments."""
    store = store_of(get_default_graph())
    facts: dict[str, Any] = {
        "initializer": initializer,
        "regularizer": regularizer,
        "reuse": reuse,
        "trainable": trainable,
        "collections": collections,
        "caching_device": caching_device,
        "validate_shape": validate_shape,
        "constraint": constraint,
    }
    whole, kind = as_shape(shape), as_dtype(dtype)
    if partitioner is not None and not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner!r:.60}")
    if partitioner is not None and whole != () or reuse and name in store.partitioned:
        return _get_partitioned(store, name, whole, kind, partitioner, **facts)
    if f"{name}/part_0" in store.variables:
        raise ValueError(
            describe(
                f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. Perhaps a "
                "variable of the same name was already created with partitioning?",
                where=user_line(),
            )
        )
    variable = _get_single(name, shape, kind, **facts)
    if aggregation is not None:
        variable.aggregation = aggregation
    return variable


def _get_partitioned(
    store: VariableStore,
    name: str,
    shape: Shape,
    dtype: DType,
    partitioner: Partitioner | None,
    initializer: Any,
    reuse: Reuse,
    **facts: Any,
) -> PartitionedVariable:
    if name in store.variables:
        raise ValueError(
            describe(
                f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}. Perhaps a "
                "variable of the same name was already created without partitioning?",
                where=user_line(),
            )
        )
    value = None
    if initializer is not None and not callable(initializer):
        value = convert_to_tensor(initializer)
        shape, dtype = merge(shape, value.static_shape), value.dtype
    if name in store.partitioned:
        return _taken_partitioned(store.partitioned[name], name, shape, dtype, partitioner, reuse)
    if reuse is True:
        raise ValueError(
            describe(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                "reuse=False or reuse=tf.AUTO_REUSE in VarScope?",
                where=user_line(),
            )
        )
    if shape is None or not is_static(shape):
        raise ValueError(
            describe(
                f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {show(shape)}.",
                where=user_line(),
            )
        )
    assert partitioner is not None
    sizes = [int(size or 0) for size in shape]
    counts = partitioner(shape=TensorShape(shape), dtype=dtype)
    slices = []
    for number, (place, part) in enumerate(slices_of(sizes, counts, name)):
        first = initializer if value is None else slice_(value, place.var_offset, part)
        piece = _get_single(
            f"{name}/part_{number}",
            part if value is None else None,
            dtype,
            initializer=first,
            reuse=reuse,
            partition_info=place,
            **facts,
        )
        piece._set_save_slice_info(SaveSliceInfo(name, tuple(sizes), tuple(place.var_offset), tuple(part)))
        slices.append(piece)
    store.partitioned[name] = PartitionedVariable(name, sizes, dtype, slices, counts)
    return store.partitioned[name]


def _taken_partitioned(
    variable: PartitionedVariable, name: str, shape: Shape, dtype: DType, partitioner: Partitioner | None, reuse: Reuse
) -> PartitionedVariable:
    if not reuse:
        wrong = f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
        wrong += "reuse=tf.AUTO_REUSE in VarScope?"
    elif not compatible(shape, variable.static_shape):
        wrong = f"Trying to reuse partitioned variable {name}, but specified shape {show(shape)} and found shape "
        wrong += f"{show(variable.static_shape)}."
    elif dtype is not variable.dtype:
        wrong = f"Trying to reuse partitioned variable {name}, but specified dtype {dtype} and found dtype {variable.dtype}."
    elif partitioner and list(cut := partitioner(shape=variable.shape, dtype=dtype)) != variable._get_partitions():
        wrong = (
            f"Trying to reuse partitioned variable {name}, but specified partitions {list(cut)} and found partitions "
        )
        wrong += f"{variable._get_partitions()}."
    else:
        return variable
    raise ValueError(
        describe(wrong, where=user_line(), details=[f"Originally defined at: {next(iter(variable)).op.where}"])
    )


def _get_single(
    name: str,
    shape: ShapeLike,
    dtype: DType,
    initializer: Any,
    regularizer: Any,
    reuse: Reuse,
    trainable: bool,
    collections: Sequence[str] | None,
    caching_device: Any,
    validate_shape: bool,
    constraint: Any,
    partition_info: PartitionInfo | None = None,
) -> Variable:
    """A variable that is in one piece, or a slice of a partitioned variable."""
    if not isinstance(name, str):
        raise TypeError(f"The name of a variable is a text, not {name!r:.60}, of type {type(name).__name__}.")
    graph = get_default_graph()
    variables = store_of(graph).variables
    sizes, kind = as_shape(shape), dtype
    is_value = initializer is not None and not callable(initializer)
    if is_value and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if name in variables:
        return _taken(variables[name], name, sizes, kind, reuse)
    if reuse is True:
        raise ValueError(
            describe(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?",
                where=user_line(),
            )
        )
    if initializer is None:
        if shape is None:
            raise ValueError(
                describe(
                    f"Variable {name} did not get an initializer, so its `shape` argument must be specified.",
                    where=user_line(),
                )
            )
        initializer = default_initializer(name, kind)
    with graph.control_dependencies(None), graph.name_scope(None):
        value, value_dtype = (initializer, None) if is_value else _call(name, initializer, sizes, kind, partition_info)
        variable = Variable(
            value,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            caching_device=caching_device,
            name=name,
            dtype=value_dtype,
            constraint=constraint,
        )
        variables[name] = variable
        if regularizer is not None:
            with graph.colocate_with(variable.handle), graph.name_scope(f"{name}/Regularizer/"):
                loss = regularizer(variable)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _taken(variable: Variable, name: str, shape: Shape, dtype: DType, reuse: Reuse) -> Variable:
    if not reuse:
        raise ValueError(
            describe(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
                "VarScope?",
                where=user_line(),
                details=[f"Originally defined at: {variable.op.where}"],
                hint=with_topic("A name is one variable.", "variable-exists"),
            )
        )
    for what, requested, present in (
        ("shape", None if compatible(shape, variable.static_shape) else show(shape), show(variable.static_shape)),
        ("dtype", None if dtype is variable.dtype else dtype, variable.dtype),
    ):
        if requested is not None:
            raise ValueError(
                describe(
                    f"Trying to share variable {name}, but specified {what} {requested} and found {what} {present}.",
                    where=user_line(),
                    details=[f"Originally defined at: {variable.op.where}"],
                )
            )
    return variable


def _call(
    name: str, initializer: Any, shape: Shape, dtype: DType, partition_info: PartitionInfo | None
) -> tuple[Callable[[], Any], DType | None]:
    """The initial value as a function without arguments, and the type that it is converted to."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if is_static(shape):
        assert shape is not None
        sizes = list(shape)
        parameters = inspect.signature(initializer).parameters
        extra = {"partition_info": partition_info} if "partition_info" in parameters else {}
        return lambda: initializer(sizes, dtype=dtype, **extra), dtype
    required = [p for p in inspect.signature(initializer).parameters.values() if p.default is p.empty]
    if required:
        raise ValueError(
            describe(
                f"Shape of a new variable ({name}) must be fully defined, but instead was {show(shape)}.",
                where=user_line(),
            )
        )
    return initializer, None
