"""`tensorflow.python.util.nest`: structures of different depths, and paths, with TensorFlow 1.15's results."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from actorflow.compat.door import open_door

open_door()
from tensorflow.python.util import nest  # type: ignore[import-not-found]  # noqa: E402

Pair = collections.namedtuple("Pair", "a b")
NESTED = {"b": Pair(1, [2, 3]), "a": 4}

CASES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("is_sequence", ([1],), True),
    ("is_sequence", ("text",), False),
    ("is_sequence_or_composite", (5,), False),
    ("flatten_with_tuple_paths", (NESTED,), [(("a",), 4), (("b", "a"), 1), (("b", "b", 0), 2), (("b", "b", 1), 3)]),
    ("flatten_with_joined_string_paths", (NESTED,), [("a", 4), ("b/a", 1), ("b/b/0", 2), ("b/b/1", 3)]),
    (
        "get_traverse_shallow_structure",
        (lambda part: not isinstance(part, list), NESTED),
        {"a": True, "b": Pair(True, False)},
    ),
    ("flatten_up_to", ({"a": 0, "b": 0}, NESTED), [4, Pair(1, [2, 3])]),
    ("map_structure_up_to", (Pair(0, 0), lambda x: x * 2, Pair(1, [2])), Pair(2, [2, 2])),
    ("map_structure_with_paths", (lambda path, x: f"{path}={x}", [1, [2]]), ["0=1", ["1/0=2"]]),
    ("map_structure_with_tuple_paths", (lambda path, x: (path, x), [1]), [((0,), 1)]),
    ("flatten_dict_items", ({(4, 5, (6, 8)): ("a", "b", ("c", "d"))},), {4: "a", 5: "b", 6: "c", 8: "d"}),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_a_function_of_structures_gives_what_tensorflow_gives(name: str, arguments: Any, expected: Any) -> None:
    assert getattr(nest, name)(*arguments) == expected


@pytest.mark.parametrize(
    ("shallow", "structure", "error", "said"),
    [
        ([1, 2], (3, 4), TypeError, "same sequence type"),
        ([1], [1, 2], ValueError, "same sequence length"),
        ({"a": 1}, {"b": 2}, ValueError, "keys are not a subset"),
        ([1], 3, TypeError, "must also be a sequence"),
    ],
)
def test_structures_that_do_not_fit_are_refused(shallow: Any, structure: Any, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        nest.flatten_up_to(shallow, structure)
    if error is TypeError and isinstance(structure, tuple):
        assert nest.flatten_up_to(shallow, structure, check_types=False) == [3, 4]


def test_contrib_gives_the_same_functions() -> None:
    import actorflow.compat.v1 as tf

    assert tf.contrib.framework.nest.flatten_up_to is nest.flatten_up_to
    assert nest.flatten is tf.nest.flatten
