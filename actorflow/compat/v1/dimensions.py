"""`Dimension`: a size of a `TensorShape` as TensorFlow 1 gives it, with `.value`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from actorflow.base import shapes
from actorflow.compat.v1.behavior import speaks_v1
from actorflow.graph.graphdef.attributes import shape_proto
from actorflow.public import public


@public("tf")
class Dimension:
    """A size that is known (then it is an int), or not (`tf.Dimension`). `value` is an int or None.

    Arithmetic with an unknown size gives an unknown size, a comparison None.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.Dimension(3) * 2, tf.Dimension(None) + 1, tf.Dimension(None).merge_with(3)
        (Dimension(6), Dimension(None), Dimension(3))
    """

    __slots__ = ()

    def __new__(cls, value: Any) -> Any:
        """Raises ValueError for a negative size."""
        if isinstance(value, Dimension):
            return value
        if value is None:
            return object.__new__(_Unknown)
        if (size := int(value)) < 0:
            raise ValueError(f"A dimension has a size of 0 or more, not {size}.")
        return int.__new__(_Known, size)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        raise NotImplementedError

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be one size.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> tf.Dimension(3).is_compatible_with(None), tf.Dimension(3).is_compatible_with(4)
            (True, False)
        """
        mine, theirs = self.value, Dimension(other).value
        return mine is None or theirs is None or mine == theirs

    def merge_with(self, other: Any) -> Any:
        """The part that both know. Raises ValueError for sizes that differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return Dimension(other) if self.value is None else self

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def _arithmetic(name: str) -> Callable[[Any, Any], Any]:
    compute = getattr(int, name)

    def method(self: Any, other: Any) -> Any:
        try:
            theirs = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if not isinstance(other, (int, Dimension)) and other is not None and not hasattr(other, "__index__"):
            return NotImplemented
        if self.value is None or theirs is None:
            return Dimension(None)
        size = compute(int(self), theirs)
        return Dimension(size) if size >= 0 else size

    return method


class _Known(Dimension, int):
    __slots__ = ()

    @property
    def value(self) -> int:
        return int(self)

    __hash__ = int.__hash__


class _Unknown(Dimension):
    __slots__ = ()

    @property
    def value(self) -> None:
        return None

    def __hash__(self) -> int:
        return hash(None)

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        raise TypeError("The size of this dimension is not known while the graph is built; see tf.shape.")

    __index__ = __int__

    def _compared(self, other: SupportsIndex | None) -> Any:
        return None

    __lt__ = __le__ = __gt__ = __ge__ = _compared
    __eq__ = __ne__ = _compared  # type: ignore[assignment]


for _kind in (_Known, _Unknown):
    for _name in ("add", "sub", "mul", "floordiv", "mod"):
        for _form in (f"__{_name}__", f"__r{_name}__"):
            setattr(_kind, _form, _arithmetic(_form))


def _by_caller() -> type[Dimension] | None:
    """`Dimension` where the program's module that asks for a shape has a name for `actorflow.compat.v1`, such as `tf`."""
    return Dimension if speaks_v1() else None


def by_caller() -> None:
    """From now on the sizes of each new `TensorShape` are what the module takes them for that asks for it."""
    shapes.size_type, shapes.write_message = _by_caller, shape_proto


@public("tf")
def disable_v2_tensorshape() -> None:
    """From now on the sizes of each new `TensorShape` of this process are Dimensions; without a call they are in modules that
    import `actorflow.compat.v1`."""
    shapes.size_type = lambda: Dimension


@public("tf")
def enable_v2_tensorshape() -> None:
    """From now on the sizes of each new `TensorShape` of this process are ints, or None where unknown."""
    shapes.size_type = None


@public("tf")
def dimension_value(dimension: Any) -> int | None:
    """The int (or None) that `dimension` stands for, whatever it is (`tf.dimension_value`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.dimension_value(tf.Dimension(3)), tf.dimension_value(3)
        (3, 3)
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


@public("tf")
def dimension_at_index(shape: shapes.TensorShape, index: int) -> Dimension:
    """Size `index` of `shape` as a Dimension (`tf.dimension_at_index`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.dimension_at_index(tf.TensorShape([None, 3]), 1)
        Dimension(3)
    """
    dimension: Dimension = Dimension(None if shape.dims is None else shapes.as_shape(shape)[index])  # type: ignore[index]
    return dimension
