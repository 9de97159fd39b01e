"""`tf.nest`: TensorFlow's names of parameters, and things made of tensors, which are leaves unless told otherwise."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import actorflow.compat.v1 as tf

Pair = namedtuple("Pair", "x y")


def composites() -> list[Any]:
    return [
        tf.TensorArray(tf.float32, size=0, dynamic_size=True),
        tf.SparseTensor([[0]], [1.0], [3]),
        tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])),
    ]


def test_parameters_have_tensorflows_names() -> None:
    assert tf.nest.pack_sequence_as(structure=(0, [0]), flat_sequence=[1, 2]) == (1, [2])
    assert tf.nest.flatten(structure={"b": 2, "a": [1]}, expand_composites=False) == [1, 2]
    assert tf.nest.map_structure(lambda x, y: x + y, [1, (2,)], [3, (4,)], check_types=True) == [4, (6,)]
    assert tf.nest.is_nested(seq=[]) and not tf.nest.is_nested(seq="ab")
    tf.nest.assert_same_structure(nest1=[1], nest2=[2], check_types=True, expand_composites=False)


@pytest.mark.parametrize("place", range(3), ids=["array", "sparse", "slices"])
def test_a_thing_made_of_tensors_is_a_leaf(place: int) -> None:
    whole, tensor = composites()[place], tf.zeros([2])
    tf.nest.assert_same_structure((whole, whole), (tensor, tensor))
    assert tf.nest.flatten([whole]) == [whole]
    assert tf.nest.map_structure(lambda x, y: y, [whole], [tensor]) == [tensor]
    assert tf.nest.pack_sequence_as([0, whole], [1, tensor]) == [1, tensor]
    assert len(tf.nest.flatten([whole], expand_composites=True)) == len(whole._nest_parts()[0])
    with pytest.raises(ValueError, match="same nested structure: "):
        tf.nest.assert_same_structure(whole, tensor, expand_composites=True)


@pytest.mark.parametrize(
    ("structure", "leaves"),
    [
        (Pair(1, [2, 3]), [1, 2, 3]),
        (OrderedDict([("b", 2), ("a", 1)]), [1, 2]),
        ({"a": 1, "b": 2}.values(), [1, 2]),
        ([], []),
        ("text", ["text"]),
        (None, [None]),
    ],
)
def test_structures_are_taken_apart_and_put_together(structure: Any, leaves: list[Any]) -> None:
    assert tf.nest.flatten(structure) == leaves
    again = tf.nest.pack_sequence_as(structure, leaves)
    assert again == (leaves if hasattr(structure, "mapping") else structure)


@pytest.mark.parametrize(
    ("left", "right", "kind", "said"),
    [
        ([1, 2], [1, (2, 3)], ValueError, r"nested structure: \[int, int\] and \[int, \(int, int\)\]"),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, ValueError, "set of keys: {'a': {'b': int}} and {'a': {'c': int}}"),
        ([1], (1,), TypeError, r"sequence type \(list and tuple\)"),
        ("a", [1], ValueError, r"nested structure: str and \[int\]"),
    ],
)
def test_a_difference_shows_both_structures(left: Any, right: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        tf.nest.assert_same_structure(left, right)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(TypeError, match="must be callable"):
        tf.nest.map_structure(3, [1])
    with pytest.raises(ValueError, match="at least one structure"):
        tf.nest.map_structure(len)
    with pytest.raises(TypeError, match="flat_sequence must be a sequence"):
        tf.nest.pack_sequence_as([1], 3)
    with pytest.raises(ValueError, match="1 leaves, but 2 values"):
        tf.nest.pack_sequence_as([1], [1, 2])
    with pytest.raises(TypeError, match="takes operations and tensors"):
        tf.group([tf.no_op(), [3]])
