"""Static shapes: what is known of a tensor's shape while the graph is built.

Inside the project a shape is a plain tuple of sizes, each an int or None where unknown, and None alone where not even
the rank is known. `TensorShape` is the public face of the same thing, with TensorFlow's methods.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from actorflow.errors import InvalidArgumentError
from actorflow.public import public

Shape: TypeAlias = "tuple[int | None, ...] | None"
ShapeLike: TypeAlias = "TensorShape | Sequence[int | None] | int | None"

size_type: Callable[[], Callable[[int | None], Any] | None] | None = None
"""Says what a new `TensorShape` gives its sizes as. Without such a function, or if it gives None, sizes are plain ints and
None. Set by `actorflow.compat.v1`."""

write_message: Callable[[Shape], Any] | None = None
"""Writes a shape as a message. Set by `actorflow.compat.v1`, whose programs ask for it."""


def _itself(size: int | None) -> int | None:
    return size


@public("af")
class TensorShape:
    """A possibly partial shape, compared by what is known. `dims` is the list of sizes, or None for an unknown rank.

    Example:
        >>> shape = af.TensorShape([None, 3])
        >>> shape.rank, shape.is_fully_defined(), shape.is_compatible_with([2, 3])
        (2, False, True)
        >>> shape.merge_with([2, None]), shape.concatenate([5]), shape[1:] + (5,)
        (TensorShape([2, 3]), TensorShape([None, 3, 5]), TensorShape([3, 5]))
    """

    __slots__ = ("_given", "_sizes")

    def __init__(self, dims: ShapeLike = None) -> None:
        self._sizes: Shape = as_shape(dims)
        self._given: Callable[[int | None], Any] = (size_type and size_type()) or _itself

    @property
    def dims(self) -> Any:
        return None if self._sizes is None else list(map(self._given, self._sizes))

    @property
    def ndims(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The sizes. Raises ValueError where the rank is unknown.

        Example:
            >>> af.TensorShape([None, 3]).as_list()
            [None, 3]
        """
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def as_proto(self) -> Any:
        """The shape as a `TensorShapeProto`, in programs that import `actorflow.compat.v1`.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> [dim.size for dim in tf.TensorShape([None, 3]).as_proto().dim]
            [-1, 3]

        Raises:
            NotImplementedError: nothing has imported `actorflow.compat.v1`.
        """
        if write_message is None:
            raise NotImplementedError("A shape becomes a message of TensorFlow's once actorflow.compat.v1 is imported.")
        return write_message(self._sizes)

    def is_fully_defined(self) -> bool:
        return is_static(self._sizes)

    def num_elements(self) -> int | None:
        """The number of elements; None where a size is not known.

        Example:
            >>> af.TensorShape([2, 3]).num_elements(), af.TensorShape([None, 3]).num_elements()
            (6, None)
        """
        return num_elements(self._sizes)

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """The shape that both know together. Raises ValueError for shapes that contradict each other."""
        return TensorShape(merge(self._sizes, as_shape(other)))

    def is_compatible_with(self, other: ShapeLike) -> bool:
        return compatible(self._sizes, as_shape(other))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        right = as_shape(other)
        return TensorShape(None if self._sizes is None or right is None else self._sizes + right)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape with a known rank. Raises ValueError if the shape has another rank.

        Example:
            >>> af.TensorShape(None).with_rank(2)
            TensorShape([None, None])
        """
        if self._sizes is not None and len(self._sizes) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self.merge_with((None,) * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError where its rank is known and smaller.

        Example:
            >>> af.TensorShape([2, 3]).with_rank_at_least(3)
            Traceback (most recent call last):
                ...
            ValueError: Shape (2, 3) must have rank at least 3
        """
        if self._sizes is not None and len(self._sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError where its rank is known and larger.

        Example:
            >>> af.TensorShape([2, 3]).with_rank_at_most(3)
            TensorShape([2, 3])
        """
        if self._sizes is not None and len(self._sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError where both ranks are known and differ.

        Example:
            >>> af.TensorShape([2, 3]).assert_same_rank([4])
            Traceback (most recent call last):
                ...
            ValueError: Shapes (2, 3) and (4,) must have the same rank
        """
        right = as_shape(other)
        if self._sizes is not None and right is not None and len(self._sizes) != len(right):
            raise ValueError(f"Shapes {self} and {show(right)} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError where something is not known.

        Example:
            >>> af.TensorShape([None, 3]).assert_is_fully_defined()
            Traceback (most recent call last):
                ...
            ValueError: Shape (?, 3) is not fully defined
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError where the rank is known and another.

        Example:
            >>> af.TensorShape([2, 3]).assert_has_rank(1)
            Traceback (most recent call last):
                ...
            ValueError: Shape (2, 3) must have rank 1
        """
        self.with_rank(rank)

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError where no shape can be both.

        Example:
            >>> af.TensorShape([None, 3]).assert_is_compatible_with([2, 4])
            Traceback (most recent call last):
                ...
            ValueError: Shapes (?, 3) and (2, 4) are incompatible
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {show(as_shape(other))} are incompatible")

    def __iter__(self) -> Iterator[Any]:
        return map(self._given, self.as_list())

    def __len__(self) -> int:
        return len(self.as_list())

    def __getitem__(self, key: Any) -> Any:
        if self._sizes is None:
            return TensorShape(None) if isinstance(key, slice) else self._given(None)
        sizes = self._sizes[key]
        return TensorShape(sizes) if isinstance(key, slice) else self._given(sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._sizes == other._sizes
        if other is None or isinstance(other, (tuple, list, int)):
            try:
                return self._sizes == as_shape(other)
            except (TypeError, ValueError):
                return False  # such as a list of words
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __repr__(self) -> str:
        return f"TensorShape({list(self) if self._sizes is not None else None})"

    def __str__(self) -> str:
        return show(self._sizes)


def as_shape(value: ShapeLike) -> Shape:
    """`value` as a plain tuple (an int is a vector's length). Raises ValueError for a negative size, and for a fraction."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value._sizes
    if hasattr(value, "unknown_rank"):  # a `TensorShapeProto`, of any library
        message: Any = value
        return None if message.unknown_rank else tuple([None if dim.size < 0 else dim.size for dim in message.dim])
    if isinstance(value, (int, float)) or hasattr(value, "__index__") and not hasattr(value, "__len__"):
        value = (_size(value),)
    if not isinstance(value, Iterable):
        raise TypeError(
            f"A shape is a list of sizes, an int or None, not {value!r:.60}, of type {type(value).__name__}."
        )
    sizes = tuple(None if size is None or getattr(size, "value", size) is None else _size(size) for size in value)
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError(f"A shape's sizes are zero or more, or None where unknown; got {list(sizes)}.")
    return sizes


def _size(size: Any) -> int:
    try:
        whole = int(size)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"A size of a shape is a whole number, or None where it is unknown, not {size!r:.60}, of type {type(size).__name__}."
        ) from None
    if isinstance(size, float) and whole != size:
        raise ValueError(f"Ambiguous dimension: {size}. A size of a shape is a whole number.")
    return whole


def show(shape: Shape) -> str:
    """`(32, ?)` or `<unknown>`."""
    if shape is None:
        return "<unknown>"
    return (
        "(" + ", ".join("?" if size is None else str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
    )


_SHOWN = re.compile(
    r"(?<![\w\])}])\((?:(?:\d+|\?)(?:, (?:\d+|\?))+|(?:\d+|\?),)\)|(?<=shape )\(\)|(?<=Expected )\(\)|(?<=shape: )\(\)"
)


def in_brackets(text: str) -> str:
    """`text` with shapes as `[32,?]` instead of `(32, ?)`: TensorFlow's kernels and shape rules print this form, and programs
    look for it."""
    return _SHOWN.sub(lambda each: f"[{each[0][1:-1].rstrip(',').replace(' ', '')}]", text)


def is_static(shape: Shape) -> bool:
    """Whether each size is known."""
    return shape is not None and None not in shape


def num_elements(shape: Shape) -> int | None:
    """The number of elements, or None where a size is unknown."""
    if shape is None or None in shape:
        return None
    return math.prod(shape)  # type: ignore[arg-type]


def compatible(left: Shape, right: Shape) -> bool:
    """Whether one tensor could have both shapes."""
    if left is None or right is None:
        return True
    return len(left) == len(right) and all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))


def _difference(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> str:
    if len(left) != len(right):
        return f"Shapes must be equal rank, but are {len(left)} and {len(right)}"
    at, a, b = next((i, a, b) for i, (a, b) in enumerate(zip(left, right)) if None not in (a, b) and a != b)
    return f"Dimension {at} in both shapes must be equal, but are {a} and {b}"


def merge(left: Shape, right: Shape) -> Shape:
    """The shape that both know together. Raises ValueError for shapes that contradict each other."""
    if left is None or right is None:
        return left if right is None else right
    if not compatible(left, right):
        raise ValueError(f"Shapes {show(left)} and {show(right)} are not compatible: {_difference(left, right)}.")
    return tuple(b if a is None else a for a, b in zip(left, right, strict=True))


def broadcast(left: Shape, right: Shape) -> Shape:
    """The shape of an elementwise result, by numpy's rule. Raises ValueError where sizes differ and neither is 1."""
    if left == right and (left is None or None not in left):
        return left
    if left is None or right is None:
        return None
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    offset = len(longer) - len(shorter)
    sizes: list[int | None] = list(longer[:offset])
    for a, b in zip(longer[offset:], shorter, strict=True):
        if a == 1:
            sizes.append(b)
        elif b == 1:
            sizes.append(a)
        elif a is None or b is None:
            sizes.append(b if a is None else a)
        elif a == b:
            sizes.append(a)
        else:
            raise ValueError(
                f"Incompatible shapes: {in_brackets(show(left))} vs. {in_brackets(show(right))}. Dimensions must be equal, "
                f"but are {a} and {b}: the shapes can't be broadcast to one."
            )
    return tuple(sizes)


def broadcast_all(shapes: Iterable[Shape]) -> Shape:
    """`broadcast` over any number of shapes."""
    result: Shape = ()
    for shape in shapes:
        result = broadcast(result, shape)
    return result


OUT_OF_RANGE = "axis {axis} is out of valid range [{low}, {last}]."


def normalize_axis(
    axis: int,
    rank: int,
    what: str = "axis",
    says: str = "Expected {what} in the range [{low}, {high}), but got {axis}.",
) -> int:
    """`axis` counted from the front.

    Args:
        axis: the number of a dimension; negative numbers count from the end.
        rank: the number of dimensions.
        what: the name of the argument.
        says: the text of the error, in the words of the op.

    Raises:
        InvalidArgumentError: `axis` is outside [-rank, rank). It is a ValueError too: some ops of TensorFlow raise that.
    """
    if not -rank <= axis < rank:
        raise InvalidArgumentError(says.format(what=what, axis=axis, low=-rank, high=rank, last=rank - 1))
    return axis % rank if rank else 0
