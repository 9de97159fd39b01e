"""`random_crop`: parts at places that are drawn again, and the same with the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import InvalidArgumentError

SOURCE = np.arange(30, dtype=np.float32).reshape(5, 6)


def crops(runs: int, op_seed: int | None) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    with af.Graph().as_default() as graph:
        part = af.random_crop(SOURCE, [2, 3], seed=op_seed)
        assert part.static_shape == (2, 3)
        with af.blocking.Session(graph=graph) as session:
            return [session.run(part) for _ in range(runs)]


def test_each_part_is_a_rectangle_of_the_tensor_and_all_places_come(seed: int) -> None:
    corners = set()
    for part in crops(400, seed):
        row, column = divmod(int(part[0, 0]), 6)
        assert part.tolist() == SOURCE[row : row + 2, column : column + 3].tolist()
        corners.add((row, column))
    # Each of the 16 places is left out with a probability of 6e-12.
    assert corners == {(row, column) for row in range(4) for column in range(4)}


def test_a_seed_repeats_the_places() -> None:
    first, second = crops(8, 5), crops(8, 5)
    assert [p.tolist() for p in first] == [p.tolist() for p in second]


def test_the_whole_tensor_is_one_place_and_more_than_it_is_none() -> None:
    with af.Graph().as_default() as graph:
        size = af.placeholder(af.int64, [2])
        part = af.random_crop(af.placeholder_with_default(SOURCE, None), size)
        with af.blocking.Session(graph=graph) as session:
            assert session.run(part, {size: [5, 6]}).tolist() == SOURCE.tolist()
            assert session.run(part, {size: [0, 6]}).shape == (0, 6)
            with pytest.raises(InvalidArgumentError, match=r"Need value\.shape >= size"):
                session.run(part, {size: [6, 6]})
