"""Variables that take their values from a checkpoint, or from arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import actorflow.compat.v1 as tf


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An operation that gives variables their values, and the feeds that it needs.

    Raises:
        ValueError: a name that no variable has.
    """
    feeds: dict[Any, Any] = {}
    assigned = []
    by_name = {each.op.name: each for each in tf.global_variables() + tf.local_variables()}
    for name, value in var_names_to_values.items():
        if name not in by_name:
            raise ValueError(f"Variable {name} wasn't found")
        target = by_name[name]
        source = tf.placeholder(target.dtype.base_dtype, target.shape, name=f"placeholder/{name}")
        feeds[source] = value
        assigned.append(target.assign(source))
    return tf.group(*assigned), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """A function of a session that gives variables their values."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """An operation that gives variables the values of a checkpoint, and the feeds that it needs.

    Args:
        model_path: the checkpoint's path.
        var_list: variables, or a dictionary from names in the checkpoint to variables.
        ignore_missing_vars: whether variables may lack in the checkpoint.

    Raises:
        ValueError: a variable lacks there, or has another shape.
    """
    grouped = _by_name(var_list)
    reader = tf.train.NewCheckpointReader(model_path)
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, variables in grouped.items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                tf.logging.warning("Variable %s missing in checkpoint %s", name, model_path)
                continue
            raise ValueError(f"Checkpoint is missing variable [{name}]")
        value = reader.get_tensor(name)
        for target in variables:
            if target.shape.num_elements() != value.size:
                raise ValueError(f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}]")
            source = tf.placeholder(target.dtype.base_dtype, target.shape, name=f"placeholder/{name}")
            feeds[source] = value.reshape(target.shape.as_list())
            assigned.append(target.assign(source))
    return tf.group(*assigned), feeds


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that gives variables the values of a checkpoint; None where none is left of them.

    Args:
        model_path, var_list, ignore_missing_vars: see `assign_from_checkpoint`.
        reshape_variables: whether a value may have another shape of the same size.

    Raises:
        ValueError: `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if reshape_variables:
        operation, feeds = assign_from_checkpoint(model_path, var_list, ignore_missing_vars)
        return lambda session: session.run(operation, feeds)
    named = {name: variables[0] for name, variables in _by_name(var_list).items()}
    if ignore_missing_vars:
        reader = tf.train.NewCheckpointReader(model_path)
        for name in [name for name in named if not reader.has_tensor(name)]:
            tf.logging.warning("Variable %s missing in checkpoint %s", name, model_path)
            del named[name]
    if not named:
        tf.logging.warning("No Variables to restore")
        return None
    saver = tf.train.Saver(named)
    return lambda session: saver.restore(session, model_path)


def _by_name(var_list: Any) -> dict[str, list[Any]]:
    if isinstance(var_list, Mapping):
        return {name: list(each) if isinstance(each, (list, tuple)) else [each] for name, each in var_list.items()}
    return {each.op.name: [each] for each in var_list}
