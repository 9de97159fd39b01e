"""Nested structures."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import actorflow as af
from actorflow import nest

Pair = namedtuple("Pair", "left right")
DEEP = {"b": [1, (2,)], "a": Pair(3, {"x": 4}), "c": ()}


def test_leaves_come_by_sorted_keys_and_go_back() -> None:
    assert nest.flatten(DEEP) == [3, 4, 1, 2]
    packed = nest.pack_sequence_as(DEEP, "wxyz")
    assert packed == {"b": ["y", ("z",)], "a": Pair("w", {"x": "x"}), "c": ()}
    assert list(packed) == ["b", "a", "c"], "in the order of the dict"
    assert nest.flatten(7) == [7] and nest.pack_sequence_as(7, [8]) == 8
    ordered = nest.pack_sequence_as(OrderedDict(z=1, a=2), [3, 4])
    assert type(ordered) is OrderedDict and list(ordered.items()) == [("z", 4), ("a", 3)]
    with pytest.raises(ValueError, match="4 leaves, but 3 values"):
        nest.pack_sequence_as(DEEP, [1, 2, 3])


def test_a_function_of_the_leaves() -> None:
    assert nest.map_structure(lambda x, y: x + y, [1, {"a": 2}], [10, {"a": 20}]) == [11, {"a": 22}]
    with pytest.raises(ValueError, match="same nested structure"):
        nest.map_structure(lambda x, y: x, [1], [1, 2])


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        (ValueError, [1], 1),
        (ValueError, [1], [1, 2]),
        (ValueError, {"a": 1}, {"b": 1}),
        (TypeError, [1], (1,)),
        (TypeError, Pair(1, 2), (1, 2)),
        (ValueError, [[1], 2], [1, 2]),
    ],
)
def test_structures_that_differ(kind: type[Exception], left: Any, right: Any) -> None:
    nest.assert_same_structure(left, left)
    with pytest.raises(kind):
        nest.assert_same_structure(left, right)


def test_kinds_of_containers_need_not_agree() -> None:
    nest.assert_same_structure([1, (2,)], (1, [2]), check_types=False)
    nest.assert_same_structure({"a": 1}, OrderedDict(a=1))


def test_things_made_of_tensors() -> None:
    with af.Graph().as_default():
        sparse = af.SparseTensor([[0]], [1.0], [2])
        slices = af.IndexedSlices(af.constant([[1.0]]), af.constant([0]))
        array = af.TensorArray(af.float32, size=2)
        structure = [sparse, (slices, array)]
        leaves = nest.flatten(structure)
        assert leaves == [sparse.indices, sparse.values, sparse.dense_shape, slices.values, slices.indices, array.flow]
        assert nest.flatten(structure, expand_composites=False) == [sparse, slices, array]
        again = nest.pack_sequence_as(structure, leaves)
        assert isinstance(again[0], af.SparseTensor) and again[0].values is sparse.values
        assert isinstance(again[1][1], af.TensorArray) and again[1][1].dtype is af.float32
        assert again[1][0].dense_shape is None
