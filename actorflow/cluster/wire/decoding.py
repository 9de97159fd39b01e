"""`decode`: the request that a peer has sent. Each field is checked, by a plan that is made once for a method and the types
that came.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from math import inf
from typing import Any, NamedTuple, TypeAlias, Union

from actorflow.cluster.wire.messages import Request
from actorflow.errors import InvalidArgumentError


class DecodedField(NamedTuple):
    """A field's name, the types that msgpack may give for it, what those of a list's or map's entries are (empty: any), and the
    least number that is too large for it."""

    name: str
    allowed: tuple[type, ...]
    within: tuple[Any, ...]
    bound: int


_Check: TypeAlias = tuple[int, str, tuple[Any, ...], float, float]
"""The index of a field and its name; what its entries are, or else its least and its greatest value."""
_CHECKS: dict[tuple[Any, ...], tuple[_Check, ...]] = {}
"""The checks of a method and the types of its fields, of those that have come and fit."""
_BOUNDS = {"epoch": 1 << 32, "step": 1 << 64}
"""The values that a record can carry."""
REQUESTS: dict[str, type[Request]] = {kind.method: kind for kind in Request.__subclasses__()}


def decode(method: Any, values: Any) -> Request:
    """The request that a peer has sent. Raises InvalidArgumentError for anything else."""
    kind = REQUESTS.get(method) if isinstance(method, str) else None
    if kind is None:
        raise InvalidArgumentError(f"There is no request {str(method)[:60]!r} in this version.")
    if not isinstance(values, list):
        raise _misfit(kind)
    key = (method, *map(type, values))
    checks = _CHECKS.get(key)
    if checks is None:
        checks = _checks_of(kind, key[1:])
        _CHECKS[key] = checks
    for index, name, within, least, most in checks:
        value = values[index]
        if within:
            if not _fit(value, within):
                raise InvalidArgumentError(f"The field {name!r} of the request {method!r} holds something else.")
        elif not least <= value <= most:
            if value != value:  # a timer of no time confuses all others of the event loop
                raise InvalidArgumentError(f"The field {name!r} of the request {method!r} is no number.")
            raise InvalidArgumentError(f"The field {name!r} of the request {method!r} can't be {value}.")
    return kind(*values)


def _checks_of(kind: type[Request], types: Sequence[type]) -> tuple[_Check, ...]:
    """How values of these types are checked further. Raises InvalidArgumentError where the fields have other types."""
    declared = _fields_of(kind.method)
    if len(types) != len(declared):
        raise _misfit(kind)
    checks: list[_Check] = []
    for index, (kind_of_value, (name, allowed, within, bound)) in enumerate(zip(types, declared)):
        if kind_of_value not in allowed:
            raise InvalidArgumentError(
                f"The field {name!r} of the request {kind.method!r} is a {kind_of_value.__name__}."
            )
        if kind_of_value is int:
            checks.append((index, name, (), 0, bound - 1))
        elif kind_of_value is float:
            checks.append((index, name, (), -inf, inf))
        elif within:
            checks.append((index, name, within, 0, 0))
    return tuple(checks)


def _misfit(kind: type[Request]) -> InvalidArgumentError:
    names = ", ".join(field.name for field in _fields_of(kind.method))
    return InvalidArgumentError(f"The request {kind.method!r} has the fields {names}.")


def _fit(value: Any, within: tuple[Any, ...]) -> bool:
    rows = zip(*value.items()) if isinstance(value, dict) else (value,)
    return all(kind is Any or all(type(entry) is kind for entry in row) for row, kind in zip(rows, within))


@cache
def _fields_of(method: str) -> tuple[DecodedField, ...]:
    kind = REQUESTS[method]
    hints = typing.get_type_hints(kind)
    return tuple(
        DecodedField(field.name, _allowed(hint := hints[field.name]), _within(hint), _BOUNDS.get(field.name, 1 << 63))
        for field in fields(kind)
    )


def _allowed(hint: Any) -> tuple[type, ...]:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return tuple(kind for part in typing.get_args(hint) for kind in _allowed(part))
    if hint is float:
        return (float, int)
    return (origin or hint,)


def _within(hint: Any) -> tuple[Any, ...]:
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (list, dict) else ()
    return () if all(kind is Any for kind in kinds) else kinds
