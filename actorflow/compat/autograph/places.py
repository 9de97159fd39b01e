"""Attributes and items that an `if` or a loop sets: their values, as those of names, and the refusal of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow as af
from actorflow.compat.autograph.states import Undefined, flattened, staged


def loaded(read: Callable[[], Any], name: str) -> Any:
    """The value of a name, an attribute or an item, or that it has none."""
    try:
        return read()
    except (AttributeError, LookupError, NameError):
        return Undefined(name)


def put_attribute(owner: Any, attribute: str, value: Any, name: str) -> None:
    """Sets an attribute, or deletes it if it has no value.

    Raises:
        ValueError: not all ways give it a value.
    """
    if not _is_unset(value, name):
        setattr(owner, attribute, value)
    elif hasattr(owner, attribute):
        delattr(owner, attribute)


def put_item(owner: Any, key: Any, value: Any, name: str) -> None:
    """Sets an item, or deletes it if it has no value.

    Raises:
        ValueError: not all ways give it a value.
    """
    if not _is_unset(value, name):
        owner[key] = value
    else:
        try:
            del owner[key]
        except LookupError:
            pass


def _is_unset(value: Any, name: str) -> bool:
    if not isinstance(value, Undefined):
        return False
    if value.is_unset:
        return True
    raise ValueError(f"{name} is set in an if or a loop on tensors, but {value.reason}.")


def python_only(value: Any, reason: str) -> Any:
    """The value that decides a statement, such as the test of an `if`. A graph can't have the statement.

    Raises:
        NotImplementedError: a tensor decides, or a data set in a graph.
    """
    if staged(value) or isinstance(value, af.data.Dataset) and not af.executing_eagerly():
        raise NotImplementedError(reason)
    return value


def compared(value: Any, reason: str) -> Any:
    """The value that `match` compares.

    Raises:
        NotImplementedError: a tensor is in it.
    """
    if any(staged(leaf) for leaf in flattened(value)):
        raise NotImplementedError(reason)
    return value
