"""`OpenShapes`: a trace that calls share whose tensors differ in their sizes only (`reduce_retracing`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape
from actorflow.engine.eager.functions.concrete import ConcreteFunction
from actorflow.engine.eager.functions.signature import BoundCall

_MOST_FAMILIES = 64


@dataclass(slots=True)
class _Family:
    """Calls with equal types, ranks and other arguments."""

    shapes: tuple[Shape, ...]
    """The shapes of the tensors, with None for each size that has differed."""
    trace: ConcreteFunction | None = None
    """The trace for these shapes; None as long as all calls had the same, and all sizes were known."""


class OpenShapes:
    """The shapes for which a function is traced.

    The first call of a family is traced for its own sizes, as without this class. The next call with other sizes is traced with
    those sizes open that differ, and that trace serves all later calls that it fits. So does a trace for a `TensorSpec` with open
    sizes (`get_concrete_function`).
    """

    def __init__(self) -> None:
        self._families: dict[tuple[Any, ...], _Family] = {}

    def trace_for(self, call: BoundCall) -> ConcreteFunction | None:
        """The trace with open sizes that a call fits, or None.

        Args:
            call: a call that no trace is for exactly.
        """
        family = self._families.get(_kin(call))
        if family is None or family.trace is None:
            return None
        fits = all(_takes(shape, tensor.static_shape) for tensor, shape in zip(call.tensors, family.shapes))
        return family.trace if fits else None

    def shapes_for(self, call: BoundCall) -> tuple[Shape, ...]:
        """The shapes for which a call is to be traced.

        Args:
            call: a call without a trace.
        """
        shapes = tuple(tensor.static_shape for tensor in call.tensors)
        family = self._families.get(_kin(call))
        return shapes if family is None else tuple(map(_opened, family.shapes, shapes))

    def keep(self, call: BoundCall, shapes: tuple[Shape, ...], trace: ConcreteFunction) -> bool:
        """Keeps a new trace for later calls, and says whether it has open sizes.

        Args:
            call: the call that was traced.
            shapes: those of `shapes_for`.
            trace: the trace for these shapes.
        """
        kin = _kin(call)
        is_open = kin in self._families or not all(map(_is_known, shapes))
        self._families[kin] = _Family(shapes, trace if is_open else None)
        if len(self._families) > _MOST_FAMILIES:
            del self._families[next(iter(self._families))]
        return is_open

    def forget(self, trace: ConcreteFunction) -> None:
        """Lets the calls of a trace trace again."""
        self._families = {kin: family for kin, family in self._families.items() if family.trace is not trace}


def _kin(call: BoundCall) -> tuple[Any, ...]:
    """The key of a call, with ranks in place of shapes."""
    return tuple(
        (part[0], part[1] if part[1] is None else len(part[1]))
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], DType)
        else part
        for part in call.key
    )


def _is_known(shape: Shape) -> bool:
    return shape is not None and None not in shape


def _takes(open_shape: Shape, shape: Shape) -> bool:
    """Whether a trace takes all tensors of a shape: a size that the shape leaves open is open in the trace as well."""
    if open_shape is None or shape is None:
        return open_shape is None
    return all(size is None or size == other for size, other in zip(open_shape, shape, strict=True))


def _opened(former: Shape, shape: Shape) -> Shape:
    if former is None or shape is None:
        return None
    return tuple(old if old == new else None for old, new in zip(former, shape))
