"""`tf.nest`: nested structures, with TensorFlow's names of parameters. A thing made of tensors, such as a `TensorArray` or
a `SparseTensor`, is a leaf unless `expand_composites` is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base import nest
from actorflow.public import public

public("tf:nest")

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(seq: Any) -> bool:
    """Whether `seq` is a container that this module looks into."""
    return nest.is_nested(seq)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of `structure`; dicts go by sorted keys."""
    return nest.flatten(structure, expand_composites)


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """`flat_sequence` in the form of `structure`.

    Raises:
        TypeError: `flat_sequence` is no list.
        ValueError: there are more or fewer leaves.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError(f"flat_sequence must be a sequence, but it is a {type(flat_sequence).__name__}.")
    return nest.pack_sequence_as(structure, flat_sequence, expand_composites)


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """`func` of the leaves at each place, in the form of the first structure.

    Raises:
        TypeError: `func` can't be called, or containers are of different types, with `check_types`.
        ValueError: no structure is given, or their nesting differs.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, but it is {func!r:.60}.")
    if not structure:
        raise ValueError("Must provide at least one structure.")
    return nest.map_structure(func, *structure, check_types=check_types, expand_composites=expand_composites)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises an error where two structures differ.

    Raises:
        ValueError: the nesting differs.
        TypeError: the types of containers differ, with `check_types`.
    """
    nest.assert_same_structure(nest1, nest2, check_types, expand_composites)
