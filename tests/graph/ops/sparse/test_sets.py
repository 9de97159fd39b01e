"""Set operations. The answers are TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors

A = np.array([[[1, 2, 2], [3, 4, 4]], [[5, 6, 6], [7, 8, 9]]])
B = np.array([[[1, 3, 0], [4, 4, 5]], [[5, 5, 5], [9, 8, 7]]])


@pytest.fixture
def session() -> Iterator[af.blocking.Session]:
    with af.Graph().as_default() as graph, af.blocking.Session(graph=graph) as made:
        yield made


def sparse(array: Any) -> af.SparseTensor:
    """All elements of an array, in order."""
    array = np.asarray(array)
    return af.SparseTensor(np.array(list(np.ndindex(*array.shape))), af.constant(array.reshape(-1)), array.shape)


def sets(found: Any) -> Any:
    """The sets of a sparse tensor, by their places, once its parts agree."""
    made: dict[tuple[int, ...], list[Any]] = {}
    for index, value in zip(found.indices.tolist(), found.values.tolist()):
        some = made.setdefault(tuple(index[:-1]), [])
        assert index[-1] == len(some)
        some.append(value)
    assert found.dense_shape.tolist()[-1] == max(map(len, made.values()), default=0)
    return made


EXPECTED = {
    "union": {(0, 0): [0, 1, 2, 3], (0, 1): [3, 4, 5], (1, 0): [5, 6], (1, 1): [7, 8, 9]},
    "intersection": {(0, 0): [1], (0, 1): [4], (1, 0): [5], (1, 1): [7, 8, 9]},
    "difference": {(0, 0): [2], (0, 1): [3], (1, 0): [6]},
}


@pytest.mark.parametrize("operation", EXPECTED)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "string"])
@pytest.mark.parametrize("kinds", ["dense dense", "dense sparse", "sparse dense", "sparse sparse"])
def test_pairs_of_sets(session: af.blocking.Session, operation: str, dtype: str, kinds: str) -> None:
    def of(array: Any, kind: str) -> Any:
        given = np.vectorize(lambda n: b"%d" % n, otypes=[object])(array) if dtype == "string" else array.astype(dtype)
        return sparse(given) if kind == "sparse" else af.constant(given)

    first, second = kinds.split()
    made = getattr(af.sets, operation)(of(A, first), of(B, second))
    assert made.dtype.name == dtype and made.indices.shape == (None, 3)
    wanted: Any = EXPECTED[operation]
    if dtype == "string":
        wanted = {place: [b"%d" % n for n in some] for place, some in wanted.items()}
    assert sets(session.run(made)) == wanted


def test_the_other_difference(session: af.blocking.Session) -> None:
    for a, b in ((A, B), (sparse(A), B), (A, sparse(B))):
        other = af.sets.set_difference(a, b, aminusb=False)
        assert sets(session.run(other)) == {(0, 0): [0, 3], (0, 1): [5]}


def test_sets_that_are_missing_are_empty(session: af.blocking.Session) -> None:
    a = af.SparseTensor([[0, 5], [2, 0], [2, 3]], [7, 1, 1], [3, 9])
    assert session.run(af.sets.size(a)).tolist() == [1, 0, 1]
    b = af.SparseTensor([[1, 0]], [4], [3, 1])
    found = session.run(af.sets.union(a, b))
    assert sets(found) == {(0,): [7], (1,): [4], (2,): [1]} and found.dense_shape.tolist() == [3, 1]
    nothing = session.run(af.sets.intersection(a, b))
    assert nothing.values.size == 0 and nothing.indices.shape == (0, 2) and nothing.dense_shape.tolist() == [3, 0]


def test_what_is_refused(session: af.blocking.Session) -> None:
    for kind, words, build in (
        (TypeError, "Set element type float32", lambda: af.sets.union([[1.0]], [[2.0]])),
        (TypeError, "Types don't match", lambda: af.sets.union([[1]], af.constant([[2]], af.int64))),
        (TypeError, "Expected `SparseTensor`, got list", lambda: af.sets.size([[1]])),  # type: ignore[arg-type]
        (ValueError, "at least rank 2", lambda: af.sets.union([1], [2])),
        (ValueError, "2.*3|3.*2", lambda: af.sets.union(np.zeros((2, 1), int), np.zeros((3, 1), int))),
    ):
        with pytest.raises(kind, match=words):
            build()
    some = af.placeholder(af.int32)
    with pytest.raises(errors.InvalidArgumentError, match="are no pairs"):
        session.run(af.sets.union(some, [[1]]), {some: [[1], [2]]})
    unordered = af.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 1])
    with pytest.raises(errors.InvalidArgumentError, match="out of order"):
        session.run(af.sets.size(unordered))
    assert session.run(af.sets.size(unordered, validate_indices=False)).tolist() == [1, 1]
