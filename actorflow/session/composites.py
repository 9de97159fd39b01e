"""Things of several tensors that a run fetches and feeds as one, such as `SparseTensor`.

Such a class has three methods: `__tensor_components__()` lists its tensors; `__from_components__(*values)` makes of their
values what a run gives; `__to_components__(value)` takes a fed value apart, in the order of the tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actorflow.errors import InvalidArgumentError


def is_composite(element: Any) -> bool:
    """Whether `element` is one of these (their classes are not)."""
    return hasattr(type(element), "__tensor_components__")


def spread_names(names: Iterable[Any]) -> list[Any]:
    """The keys of feeds with the tensors of a composite in its place."""
    flat: list[Any] = []
    for name in names:
        flat.extend(name.__tensor_components__() if is_composite(name) else [name])
    return flat


def spread_feeds(feeds: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Feeds with those of its tensors in place of that of a composite. Raises InvalidArgumentError where the value has
    another number of parts."""
    flat: list[tuple[Any, Any]] = []
    for name, value in feeds.items():
        flat.extend(zip(*_parts(name, value)) if is_composite(name) else [(name, value)])
    return flat


def spread_values(names: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Fed values in order, with the parts of a composite's value in its place."""
    flat: list[Any] = []
    for name, value in zip(names, values):
        flat.extend(_parts(name, value)[1] if is_composite(name) else [value])
    return flat


def _parts(name: Any, value: Any) -> tuple[list[Any], list[Any]]:
    tensors = name.__tensor_components__()
    try:
        values = list(name.__to_components__(value))
    except TypeError:
        values = []
    if len(values) != len(tensors):
        raise InvalidArgumentError(
            f"The value fed to {name!r} does not fit: it has to have {len(tensors)} parts, one for each of "
            f"{', '.join(t.name for t in tensors)}.",
            details=[f"the value: {value!r:.60}"],
        )
    return tensors, values
