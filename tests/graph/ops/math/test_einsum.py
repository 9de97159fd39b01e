"""Equations with `...` give what numpy gives for them."""

from __future__ import annotations

import numpy as np
import pytest

import actorflow as af

ROWS = [
    ("...j,...j->...", [(3, 2), (1, 2)]),
    ("...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
    ("...,...->...", [(1, 3), (2, 1)]),
    ("...i,...i->...", [(1, 2), (1, 2)]),
    ("i...->...", [(3, 2, 4)]),
    ("...ij,...jk", [(2, 1, 3, 4), (5, 4, 2)]),
    ("ij...,jk...->ik...", [(2, 3, 4), (3, 5, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), ROWS)
async def test_an_ellipsis_stands_for_dimensions_without_a_label(
    equation: str, shapes: list[tuple[int, ...]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=shape) for shape in shapes]
    async with af.Session() as session:
        result = await session.run(af.einsum(equation, *arrays))
    np.testing.assert_allclose(result, np.einsum(equation, *arrays), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("equation", "shapes", "problem"),
    [
        ("...ijk->...", [(2, 3)], "does not fit inputs of the shapes"),
        ("...i->...", [None], "needs inputs of a known rank"),
    ],
)
def test_what_an_ellipsis_can_not_be_is_refused(
    equation: str, shapes: list[tuple[int, ...] | None], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        af.einsum(equation, *[af.placeholder(af.float32, shape) for shape in shapes])
