"""Nested structures of tensors: lists, tuples, named tuples, dicts and their values, and things that are made of several tensors.

A thing made of tensors (`TensorArray`, `SparseTensor`, `IndexedSlices`) has a method `_nest_parts()`, which gives its
tensors and a function that makes such a thing of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from functools import partial
from typing import Any, TypeAlias

from actorflow.public import public

public("af:nest")

Rebuild: TypeAlias = "Callable[[Sequence[Any]], Any]"


def flatten(structure: Any, expand_composites: bool = True) -> list[Any]:
    """The leaves of `structure`; dicts go by sorted keys. Things made of tensors count as these, unless told otherwise.

    Example:
        >>> from actorflow import nest
        >>> nest.flatten({"b": [2, 3], "a": 1})
        [1, 2, 3]
    """
    return parse(structure, expand_composites)[0]


def listed(values: Any) -> list[Any]:
    """Values as a flat list: a single value, or those of a list, a set, a generator, or a nest of lists and dicts."""
    return flatten(list(values) if isinstance(values, (Set, Iterator)) else values, expand_composites=False)


def parse(structure: Any, expand_composites: bool = True) -> tuple[list[Any], Rebuild]:
    """The leaves of `structure`, and a function that puts as many others into their places."""
    if isinstance(structure, ValuesView):
        return _sequence(list(structure), expand_composites)
    if isinstance(structure, Mapping):
        keys = sorted(structure)
        leaves, rebuild = _sequence([structure[k] for k in keys], expand_composites)
        kind: Any = type(structure)
        make = partial(kind, structure.default_factory) if isinstance(structure, defaultdict) else kind
        order = list(structure)

        def as_mapping(values: Sequence[Any]) -> Any:
            mapping = dict(zip(keys, rebuild(values)))
            return make((k, mapping[k]) for k in order)

        return leaves, as_mapping
    if isinstance(structure, (list, tuple)):
        leaves, rebuild = _sequence(structure, expand_composites)
        kind = type(structure)
        if hasattr(structure, "_fields"):
            return leaves, lambda values: kind(*rebuild(values))
        return leaves, lambda values: kind(rebuild(values))
    if expand_composites and hasattr(structure, "_nest_parts"):
        parts, assemble = structure._nest_parts()
        return list(parts), lambda values: assemble(list(values))
    return [structure], lambda values: values[0]


def _sequence(parts: Sequence[Any], expand_composites: bool) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    parsed = [parse(part, expand_composites) for part in parts]
    sizes = [len(leaves) for leaves, _ in parsed]

    def rebuild(values: Sequence[Any]) -> list[Any]:
        built, at = [], 0
        for size, (_, build) in zip(sizes, parsed):
            built.append(build(values[at : at + size]))
            at += size
        return built

    return [leaf for leaves, _ in parsed for leaf in leaves], rebuild


def pack_sequence_as(structure: Any, flat: Sequence[Any], expand_composites: bool = True) -> Any:
    """`flat` in the form of `structure`. Raises ValueError for more or fewer leaves.

    Example:
        >>> from actorflow import nest
        >>> nest.pack_sequence_as({"a": 0, "b": (0, 0)}, [1, 2, 3])
        {'a': 1, 'b': (2, 3)}
    """
    leaves, rebuild = parse(structure, expand_composites)
    if len(leaves) != len(flat):
        raise ValueError(f"The structure has {len(leaves)} leaves, but {len(flat)} values were given.")
    return rebuild(flat)


def map_structure(
    function: Callable[..., Any], *structures: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """`function` of the leaves at each place, in the form of the first structure. Raises as `assert_same_structure`.

    Example:
        >>> from actorflow import nest
        >>> nest.map_structure(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
        {'a': 11, 'b': (22, 33)}
    """
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types, expand_composites)
    leaves, rebuild = parse(structures[0], expand_composites)
    others = [flatten(s, expand_composites) for s in structures[1:]]
    return rebuild([function(*each) for each in zip(leaves, *others)])


def assert_same_structure(left: Any, right: Any, check_types: bool = True, expand_composites: bool = True) -> None:
    """Raises an error where two structures differ.

    Example:
        >>> from actorflow import nest
        >>> nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
        >>> nest.assert_same_structure([1, 2], [1, (2, 3)])
        Traceback (most recent call last):
            ...
        ValueError: The two structures don't have the same nested structure: [int, int] and [int, (int, ...

    Args:
        left, right: nested lists, tuples and dicts, or single values.
        check_types: whether containers have to be of the same type too.
        expand_composites: whether a thing made of tensors differs from a single tensor.

    Raises:
        ValueError: the nesting differs.
        TypeError: the types of containers differ, with `check_types`.
    """
    if (difference := _difference(left, right, check_types, expand_composites)) is not None:
        problem, detail = difference
        shown = f"{_show(left)} and {_show(right)}"
        raise problem(f"The two structures don't have the same {detail}: {shown}.")


def _difference(
    left: Any, right: Any, check_types: bool, expand_composites: bool
) -> tuple[type[Exception], str] | None:
    """The class of the error, and what is not the same; None where all is."""
    form = ValueError, "nested structure"
    if is_nested(left) != is_nested(right):
        return form
    if not is_nested(left):
        composite = expand_composites and hasattr(left, "_nest_parts") != hasattr(right, "_nest_parts")
        return form if composite else None
    if check_types and type(left) is not type(right) and not (isinstance(left, dict) and isinstance(right, dict)):
        return TypeError, f"sequence type ({type(left).__name__} and {type(right).__name__})"
    if isinstance(left, Mapping) != isinstance(right, Mapping) or len(left) != len(right):
        return form
    if isinstance(left, Mapping):
        if set(left) != set(right):
            return ValueError, "set of keys"
        pairs = [(left[k], right[k]) for k in left]
    else:
        pairs = list(zip(left, right))
    differences = (_difference(*pair, check_types, expand_composites) for pair in pairs)
    return next((difference for difference in differences if difference is not None), None)


def is_nested(value: Any) -> bool:
    """Whether `value` is a container that this module looks into.

    Example:
        >>> from actorflow import nest
        >>> nest.is_nested([1, 2]), nest.is_nested("ab")
        (True, False)
    """
    return isinstance(value, (list, tuple, Mapping, ValuesView))


def _show(structure: Any) -> str:
    if isinstance(structure, Mapping):
        return "{" + ", ".join(f"{k!r}: {_show(structure[k])}" for k in sorted(structure)) + "}"
    if isinstance(structure, tuple):
        return f"({', '.join(map(_show, structure))}{',' if len(structure) == 1 else ''})"
    if isinstance(structure, list):
        return f"[{', '.join(map(_show, structure))}]"
    return type(structure).__name__
