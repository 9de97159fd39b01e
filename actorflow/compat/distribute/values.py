"""Values that replicas have each their own of, and how a single value comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import actorflow as af


class ReduceOp(Enum):
    """How the values of replicas are combined (`tf.distribute.ReduceOp`)."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(reduction: ReduceOp | str) -> ReduceOp:
        """The reduction of that name. Raises ValueError for another name."""
        name = getattr(reduction, "name", str(reduction)).upper()
        if name not in ReduceOp.__members__:
            raise ValueError(f"Values of replicas are reduced by SUM or MEAN, not by {reduction!r}.")
        return ReduceOp[name]


class PerReplica(NamedTuple):
    """A value for each replica, in the order of their numbers; a structure, as other tuples are."""

    values: tuple[Any, ...]


def parts(value: Any, count: int) -> tuple[Any, ...]:
    """The values of all replicas: those of a `PerReplica`, or the value itself for each."""
    return value.values if isinstance(value, PerReplica) else (value,) * count


def select(structure: Any, number: int) -> Any:
    """A structure in which a replica's own value stands for each `PerReplica`."""
    return _mapped(structure, lambda value: value.values[number])


def _mapped(structure: Any, choose: Callable[[PerReplica], Any]) -> Any:
    if isinstance(structure, PerReplica):
        return choose(structure)
    if isinstance(structure, Mapping):
        return type(structure)({key: _mapped(value, choose) for key, value in structure.items()})  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_mapped(value, choose) for value in structure))
    if type(structure) in (list, tuple):
        return type(structure)(_mapped(value, choose) for value in structure)
    return structure


def together(results: Sequence[Any]) -> Any:
    """The results of all replicas as a single structure, whose leaves are `PerReplica` unless they are the same object."""
    first = results[0]
    if all(result is first for result in results):
        return first
    if isinstance(first, Mapping):
        return type(first)({key: together([result[key] for result in results]) for key in first})  # type: ignore[call-arg]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(together(leaves) for leaves in zip(*results, strict=True)))
    if type(first) in (list, tuple):
        return type(first)(together(leaves) for leaves in zip(*results, strict=True))
    if all(isinstance(result, af.Operation) for result in results):
        return af.group(*results)
    return PerReplica(tuple(results))


def reduced(reduction: ReduceOp | str, values: Sequence[Any]) -> Any:
    """The sum or the mean of tensors or slices."""
    mean = ReduceOp.of(reduction) is ReduceOp.MEAN
    if len(values) == 1:
        return values[0]
    if any(isinstance(value, af.IndexedSlices) for value in values):
        rows = af.concat([value.values for value in values], 0)
        places = af.concat([value.indices for value in values], 0)
        return af.IndexedSlices(rows / len(values) if mean else rows, places, values[0].dense_shape)
    total = af.add_n([af.convert_to_tensor(value) for value in values])
    return (
        total / af.cast(len(values), total.dtype) if mean and total.dtype.is_floating else _whole(total, values, mean)
    )


def _whole(total: Any, values: Sequence[Any], mean: bool) -> Any:
    return total // len(values) if mean else total
