"""The elements of a queue, and how they become batches: checked, cut, padded and stacked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape, compatible, is_static, show
from actorflow.errors import InvalidArgumentError

from ...strings.objects import as_arrays
from .stores import Element


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """The attributes with which a queue is asked for. All that share one have to ask for the same."""

    kind: str
    name: str
    capacity: int
    component_types: tuple[DType, ...]
    component_shapes: tuple[Shape, ...]
    order: tuple[tuple[str, Any], ...] = ()

    def require(self, other: QueueSpec, node: str) -> None:
        """Raises InvalidArgumentError if the node asks for a different queue. Without seeds it asks for any."""
        seeded = dict(self.order)
        order = tuple((fact, seeded.get(fact) if value == (0, 0) else value) for fact, value in other.order)
        if self == dataclasses.replace(other, order=order):
            return
        if self.kind != other.kind:
            raise InvalidArgumentError(
                f"Shared queue {self.name!r} has type {self.kind!r} that does not match type of Node {node!r}: {other.kind}."
            )
        mine, theirs = self._facts(), other._facts()
        fact = next(f for f in mine if mine[f] != theirs[f])
        raise InvalidArgumentError(
            f"Shared queue {self.name!r} has {fact} {mine[fact]} but requested {fact} was {theirs[fact]}."
        )

    def _facts(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity,
            "component types": f"[{', '.join(map(str, self.component_types))}]",
            "component shapes": f"[{', '.join(map(show, self.component_shapes))}]",
            **dict(self.order),
        }

    def element(self, xp: Any, components: Sequence[Any]) -> Element:
        """The components of one element, checked."""
        self._check_count(components)
        for i, (value, shape) in enumerate(zip(components, self.component_shapes)):
            if not compatible(shape, value.shape):
                raise InvalidArgumentError(
                    f"Shape mismatch in tuple component {i}. Expected {show(shape)}, got {show(value.shape)}."
                )
        return tuple(_kept(xp, value) for value in components)

    def elements(self, xp: Any, components: Sequence[Any]) -> list[Element]:
        """The elements that lie in the first dimension of the components, as views."""
        self._check_count(components)
        for i, value in enumerate(components):
            if not value.ndim:
                raise InvalidArgumentError(
                    f"enqueue_many takes slices of its components, but component {i} is a scalar."
                )
            if value.shape[0] != components[0].shape[0]:
                raise InvalidArgumentError(
                    f"All input tensors must have the same size in the 0th dimension. Component {i} has "
                    f"{value.shape[0]}, and should have {components[0].shape[0]}."
                )
            row = self.component_shapes[i] if self.component_shapes else None
            if row is not None and not compatible(row, value.shape[1:]):
                raise InvalidArgumentError(
                    f"Shape mismatch in tuple component {i}. Expected {show((len(value), *row))}, got {show(value.shape)}."
                )
        kept = [_kept(xp, value) for value in components]
        return [tuple(as_arrays(value[row]) for value in kept) for row in range(kept[0].shape[0])]

    def batch(self, xp: Any, elements: Sequence[Element]) -> tuple[Any, ...]:
        """One array for each component, with the elements along its first dimension.

        Raises:
            InvalidArgumentError: the queue was made without shapes, which alone say that all elements fit together.
        """
        if not self.component_shapes:
            raise InvalidArgumentError(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
                hint="Give the queue shapes=... where it is made.",
            )
        return tuple(
            _stacked(xp, [element[i] for element in elements], dtype, shape)
            for i, (dtype, shape) in enumerate(zip(self.component_types, self.component_shapes))
        )

    def _check_count(self, components: Sequence[Any]) -> None:
        if len(components) != len(self.component_types):
            raise InvalidArgumentError(
                f"Expected {len(self.component_types)} components in an element of {self.name!r}, got {len(components)}."
            )


def _kept(xp: Any, value: Any) -> Any:
    """`value` in memory that no one else writes: an array that a program feeds stays the program's."""
    if type(value) is not np.ndarray or not value.flags.writeable and not isinstance(value.base, np.ndarray):
        return value
    copied = value.copy()
    copied.flags.writeable = False
    return copied


def _stacked(xp: Any, values: Sequence[Any], dtype: DType, shape: Shape) -> Any:
    assert shape is not None
    kind = dtype.numpy_dtype
    if values and is_static(shape):
        return xp.stack(values) if shape else xp.array([value[()] for value in values], kind)
    shapes = [value.shape for value in values]
    sizes = [
        max((s[i] for s in shapes), default=0) if size is None else size for i, size in enumerate(shape)
    ]  # fmt: skip
    batch = xp.full((len(values), *sizes), b"" if dtype.kind == "S" else 0, kind)
    for row, value in enumerate(values):
        batch[(row, *map(slice, value.shape))] = value
    return batch
