"""`tensorflow.python.util.nest`: the public functions of `tf.nest`, and those of structures of different depths and of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorflow.compat.v1.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as

__all__ = [
    "_is_namedtuple",
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "flatten_with_tuple_paths_up_to",
    "get_traverse_shallow_structure",
    "is_nested",
    "is_sequence",
    "is_sequence_or_composite",
    "map_structure",
    "map_structure_up_to",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to",
    "pack_sequence_as",
    "yield_flat_paths",
]

Path = tuple[Any, ...]

is_sequence = is_nested


def _is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Whether `instance` is a named tuple, of a class derived of none such if `strict`."""
    names = getattr(instance, "_fields", None)
    is_named = (
        isinstance(instance, tuple) and isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
    )
    return is_named and not (strict and type(instance).__base__ is not tuple)


def is_sequence_or_composite(seq: Any) -> bool:
    """Whether `seq` is a container, or a thing made of tensors such as a `SparseTensor`."""
    return is_nested(seq) or hasattr(seq, "_nest_parts")


def _items(structure: Any) -> list[tuple[Any, Any]]:
    """The parts of a container with their keys; the fields of a named tuple by name, dicts by sorted keys."""
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in sorted(structure)]
    names = getattr(structure, "_fields", None)
    return list(zip(names, structure)) if names else list(enumerate(structure))


def _walk(shallow: Any, structure: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of `structure` at the leaves of `shallow`, with their paths."""
    if not is_nested(shallow):
        yield path, structure
        return
    parts = dict(_items(structure))
    for key, part in _items(shallow):
        yield from _walk(part, parts[key], (*path, key))


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that `input_tree` has the structure of `shallow_tree` down to its leaves, below which it may go on.

    Raises:
        TypeError: a container is a leaf there, or of another type.
        ValueError: lengths or keys differ.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    mappings = isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)
    if check_types and not mappings and type(shallow_tree) is not type(input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if mappings and (lacking := [key for key in shallow_tree if key not in input_tree]):
        raise ValueError(
            "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following keys "
            f"that are not in the input_tree: {lacking}."
        )
    for (_, shallow), (_, part) in zip(_items(shallow_tree), _items(input_tree)):
        assert_shallow_structure(shallow, part, check_types, expand_composites)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`. Raises as `assert_shallow_structure`."""
    return [part for _, part in flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types)]


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[Path, Any]]:
    """The parts of `input_tree` at the leaves of `shallow_tree`, each with its path. Raises as `assert_shallow_structure`."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(_walk(shallow_tree, input_tree))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True) -> Any:
    """`func` of the parts of the inputs at the leaves of `shallow_tree`, in its form. Raises as `assert_shallow_structure`."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda path, *parts: func(*parts), *inputs, check_types=check_types
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True
) -> Any:
    """As `map_structure_up_to`; `func` gets the path first.

    Raises:
        ValueError: there is no input, or lengths or keys differ.
        TypeError: types differ.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    rows = [flatten_with_tuple_paths_up_to(shallow_tree, each, check_types) for each in inputs]
    values = [func(row[0][0], *(part for _, part in row)) for row in zip(*rows)]
    return pack_sequence_as(shallow_tree, values)


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """The leaves with their paths, as tuples of keys and numbers."""
    return list(zip(yield_flat_paths(structure), flatten(structure)))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves with their paths as text, such as `a/0/b`."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in flatten_with_tuple_paths(structure)]


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """The paths of the leaves, in the order of `flatten`."""
    for path, _ in _walk(nest, nest):
        yield path


def map_structure_with_tuple_paths(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """As `map_structure`; `func` gets the path first."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, check_types=check_types)


def map_structure_with_paths(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """As `map_structure`; `func` gets the path first, such as `a/0/b`."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, check_types=check_types
    )


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """A dict whose keys and values may be structures of one form, as a dict of their leaves.

    Raises:
        TypeError: it is no dict.
        ValueError: a key and its value differ in form, or a leaf of the keys is there twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if is_nested(key):
            assert_same_structure(key, value, check_types=False)
        for leaf, part in zip(flatten(key), flatten(value) if is_nested(key) else [value]):
            if leaf in flat:
                raise ValueError(f"Could not flatten dictionary: the key {leaf} is not unique.")
            flat[leaf] = part
    return flat


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """The structure of bools down to where `traverse_fn` says stop, for `flatten_up_to`.

    Args:
        traverse_fn: gets a part and gives a bool, or for a container a structure of bools.
        structure: the structure.
        expand_composites: whether a thing made of tensors is a container.

    Raises:
        TypeError: `traverse_fn` gives neither, or a container for a leaf.
        ValueError: the bools of a container differ in form.
    """
    answer = traverse_fn(structure)
    if not is_nested(structure):
        if not isinstance(answer, bool):
            raise TypeError(f"traverse_fn returned structure: {answer} for non-structure: {structure}")
        return answer
    if isinstance(answer, bool):
        if not answer:
            return False
        answer = _refilled(structure, [True] * len(structure))
    assert_shallow_structure(answer, structure, check_types=False)
    parts = []
    for (_, said), (_, part) in zip(_items(answer), _items(structure)):
        if not isinstance(said, bool):
            raise TypeError(f"traverse_fn didn't return a depth=1 structure of bools: {answer}")
        parts.append(get_traverse_shallow_structure(traverse_fn, part) if said else False)
    return _refilled(structure, parts)


def _refilled(structure: Any, parts: Sequence[Any]) -> Any:
    """A container of the type of `structure` with other parts, in the order of `_items`."""
    if isinstance(structure, Mapping):
        return type(structure)(zip(sorted(structure), parts))  # type: ignore[call-arg]
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
