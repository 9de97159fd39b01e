"""Things of several tensors that a run fetches and feeds as a unit: tuples, and such as `SparseTensor`.

A class of the latter has three methods: `__tensor_components__()` lists its tensors; `__from_components__(*values)` makes of
their values what a run gives; `__to_components__(value)` takes a fed value apart, in the order of the tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorflow.errors import InvalidArgumentError


def is_composite(element: Any) -> bool:
    """Whether `element` is one of these (their classes are not)."""
    return hasattr(type(element), "__tensor_components__")


def is_spread(key: Any) -> bool:
    """Whether a key of feeds stands for several tensors: one of these, or a tuple, such as the state of an `LSTMCell`."""
    return isinstance(key, tuple) or is_composite(key)


def spread_names(names: Iterable[Any]) -> list[Any]:
    """The keys of feeds with the tensors of those that stand for several in their places."""
    flat: list[Any] = []
    for name in names:
        flat.extend(spread_names(_parts_of(name)) if is_spread(name) else [name])
    return flat


def spread_feeds(feeds: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Feeds with those of its tensors in place of that of a key that stands for several. Raises InvalidArgumentError where
    the value has another number of parts."""
    return list(zip(spread_names(feeds), spread_values(feeds, feeds.values())))


def spread_values(names: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Fed values in order, with the parts of a value in its place. Raises as `spread_feeds`."""
    flat: list[Any] = []
    for name, value in zip(names, values):
        flat.extend(spread_values(_parts_of(name), _apart(name, value)) if is_spread(name) else [value])
    return flat


def _parts_of(name: Any) -> Sequence[Any]:
    parts: Sequence[Any] = name if isinstance(name, tuple) else name.__tensor_components__()
    return parts


def _apart(name: Any, value: Any) -> list[Any]:
    """A fed value as one value for each part of its key."""
    names = _parts_of(name)
    try:
        values = list(value if isinstance(name, tuple) else name.__to_components__(value))
    except TypeError:
        values = []
    if len(values) != len(names):
        raise InvalidArgumentError(
            f"The value fed to {name!r:.200} does not fit: it has to have {len(names)} parts, one for each of "
            f"{', '.join(getattr(part, 'name', repr(part)) for part in names)}.",
            details=[f"the value: {value!r:.60}"],
        )
    return values
