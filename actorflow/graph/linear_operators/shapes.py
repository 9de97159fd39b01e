"""Batches of matrices that are broadcast against each other, and hints with what they imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import int32
from actorflow.base.shapes import is_static
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import broadcast_to, shape
from actorflow.graph.ops.static import broadcast_dynamic_shape
from actorflow.graph.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Hints:
    """Facts of a matrix: True, False, or None where nothing is known.

    Raises:
        ValueError: hints contradict each other.
    """

    is_non_singular: bool | None = None
    is_self_adjoint: bool | None = None
    is_positive_definite: bool | None = None
    is_square: bool | None = None

    def implied(self) -> Hints:
        """The hints with those that follow from them."""
        regular, square = self.is_non_singular, self.is_square
        if self.is_positive_definite:
            if regular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            regular = True
        if regular:
            if square is False:
                raise ValueError("A non-singular matrix is always square.")
            square = True
        if self.is_self_adjoint:
            if square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            square = True
        return Hints(regular, self.is_self_adjoint, self.is_positive_definite, square)


def certain(name: str, hint: bool | None, value: bool, why: str) -> bool:
    """The value of a hint that the class of the operator decides. Raises ValueError where the hint says something else."""
    if hint is not None and hint is not value:
        raise ValueError(f"The hint {name}={hint} is wrong: {why}.")
    return value


def every(hints: Any) -> bool | None:
    """True where all are True, else None."""
    return True if all(hints) else None


def sizes(tensor: Tensor) -> Tensor:
    """The shape of a tensor, a constant if the shape is static."""
    static_shape = tensor.static_shape
    return (
        constant(list(static_shape), int32) if static_shape is not None and is_static(static_shape) else shape(tensor)
    )


def joined(*parts: Any) -> Tensor:
    """Vectors of sizes, one behind the other."""
    return concat([convert_to_tensor(part, int32) for part in parts], 0)


def in_one_batch(*matrices: Tensor) -> list[Tensor]:
    """Matrices with their batches broadcast to one batch."""
    batches = [None if m.static_shape is None else m.static_shape[:-2] for m in matrices]
    if batches[0] is not None and is_static(batches[0]) and all(batch == batches[0] for batch in batches):
        return list(matrices)
    batch = sizes(matrices[0])[:-2]
    for matrix in matrices[1:]:
        batch = broadcast_dynamic_shape(batch, sizes(matrix)[:-2])
    return [broadcast_to(m, joined(batch, sizes(m)[-2:])) for m in matrices]
