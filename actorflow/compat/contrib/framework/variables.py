"""Variables of models, and the collections that hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """A variable of the current scope, there or new, in the collections (global variables unless given).

    Args:
        name, shape, dtype, initializer, regularizer, trainable, partitioner, custom_getter: see `tf.get_variable`.
        collections: names of collections.
        device: a device, or a function of an operation that gives a device.
        caching_device, use_resource, synchronization, aggregation: without effect.
    """
    names = list(collections) if collections is not None else [tf.GraphKeys.GLOBAL_VARIABLES]
    getter = tf.get_variable if custom_getter is None else _through(custom_getter)
    with tf.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype or tf.float32,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(names)),
            partitioner=partitioner,
        )


def _through(custom_getter: Any) -> Any:
    def get(name: str, **arguments: Any) -> Any:
        return custom_getter(tf.get_variable, name, **arguments)

    return get


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """A variable that is a weight of the model: in the collections of global and of model variables too. See `variable`."""
    names = [*(collections or []), tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES]
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=names,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
    )


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None
) -> Any:
    """A variable of this process, that is in no checkpoint and is not trained."""
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None
) -> Any:
    """A variable that is not trained."""
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[tf.GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def add_model_variable(var: Any) -> None:
    """Puts a variable into the collection of model variables, if it is not there."""
    if all(each is not var for each in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)):
        tf.add_to_collection(tf.GraphKeys.MODEL_VARIABLES, var)


def get_variables(scope: Any = None, suffix: str | None = None, collection: str = "variables") -> list[Any]:
    """The variables of a collection whose names begin with a scope and end with a suffix."""
    prefix = scope.name if isinstance(scope, tf.VariableScope) else scope
    if suffix is not None:
        prefix = f"{prefix or ''}.*{suffix}{'' if ':' in suffix else ':'}"
    return list(tf.get_collection(collection, prefix))


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables that are weights of the model."""
    return get_variables(scope, suffix, tf.GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables that are in no checkpoint."""
    return get_variables(scope, suffix, tf.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables that optimizers change."""
    return get_variables(scope, suffix, tf.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end so."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables whose names are this name or end with it behind a slash."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The variable of a name. Raises ValueError for no variable, or several."""
    variables = [variable for variable in get_variables() if variable.op.name == var_op_name]
    if len(variables) != 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable: there are {len(variables)}.")
    return variables[0]


def get_variable_full_name(var: Any) -> str:
    """The name of a variable. A slice has the name of the whole variable."""
    return str(var.op.name)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables of some scopes, without those of others."""
    chosen = (
        get_variables() if include is None else [each for scope in _listed(include) for each in get_variables(scope)]
    )
    left_out = {each.name for scope in _listed(exclude or []) for each in get_variables(scope)}
    return [each for each in chosen if each.name not in left_out]


def _listed(scopes: Any) -> list[Any]:
    if not isinstance(scopes, (list, tuple)):
        raise TypeError(f"A list of scopes is needed, not {scopes!r}.")
    return list(scopes)


def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names fit a pattern to include, and no pattern to exclude.

    Args:
        var_list: the variables.
        include_patterns: regular expressions; all fit unless given.
        exclude_patterns: regular expressions.
        reg_search: whether a pattern may fit in the middle of a name.
    """
    fits = re.search if reg_search else re.match

    def any_of(patterns: Sequence[str], each: Any) -> bool:
        return any(fits(pattern, each.op.name) for pattern in patterns)

    kept = [each for each in var_list if not include_patterns or any_of(include_patterns, each)]
    return [each for each in kept if not any_of(exclude_patterns or (), each)]


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError for a global step that is no integer scalar."""
    tf.train.assert_global_step(global_step_tensor)


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The global step, checked if it is given."""
    if global_step_tensor is None:
        return tf.train.get_or_create_global_step(graph)
    tf.train.assert_global_step(global_step_tensor)
    return global_step_tensor


def get_placeholders(graph: Any) -> list[Any]:
    """The placeholders of a graph."""
    return [op.outputs[0] for op in graph.get_operations() if op.type in ("Placeholder", "PlaceholderWithDefault")]


def get_name_scope() -> str:
    """The name scope of the default graph, without a slash at its end."""
    return str(tf.get_default_graph().get_name_scope())


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """`name` below a scope."""
    return f"{import_scope.rstrip('/')}/{name}" if import_scope else name


class VariableDeviceChooser:
    """Devices for variables: those of parameter tasks in turn, or a single device."""

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: Any = None,
    ) -> None:
        """
        Args:
            num_tasks: the number of parameter tasks; 0 for none.
            job_name, device_type, device_index, replica: parts of the device's name.
        """
        self._spec = tf.DeviceSpec(
            job=job_name if num_tasks else None, replica=replica, device_type=device_type, device_index=device_index
        )
        self._tasks, self._next = num_tasks, 0

    def __call__(self, op: Any) -> str:
        spec = self._spec.replace(task=self._next) if self._tasks else self._spec
        if op.type in ("Variable", "VariableV2", "VarHandleOp") and self._tasks:
            self._next = (self._next + 1) % self._tasks
        return str(spec.to_string())
