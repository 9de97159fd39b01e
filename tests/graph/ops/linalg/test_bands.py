"""Diagonals of matrices beside the main diagonal: they are those of numpy, go back where they came from, and have gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af

BANDS = [(0, 0), (1, 1), (-2, -2), (-1, 1), (0, 2), (-2, -1), (-1, 2)]


def diagonals(matrix: Any, low: int, high: int, align: str) -> Any:
    """The band of one matrix, with 7 beside short diagonals."""
    rows, columns = matrix.shape
    longest = min(rows + min(high, 0), columns - max(low, 0))
    band = np.full((high - low + 1, longest), 7.0)
    for place, number in enumerate(range(high, low - 1, -1)):
        values = np.diagonal(matrix, number)
        side = align.split("_")[0 if number >= 0 else 1]
        at = longest - len(values) if side == "RIGHT" else 0
        band[place, at : at + len(values)] = values
    return band[0] if low == high else band


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (2, 5, 3)])
async def test_a_band_is_that_of_numpy_and_goes_back(shape: tuple[int, ...], align: str) -> None:
    rows, columns = shape[-2:]
    matrix = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    for low, high in BANDS:
        k = low if low == high else (low, high)
        inside = np.tri(rows, columns, high) - np.tri(rows, columns, low - 1) > 0
        with af.Graph().as_default() as graph:
            x = af.constant(matrix)
            band = af.matrix_diag_part(x, k=k, padding_value=7.0, align=align)
            back = af.matrix_diag(band, k=k, num_rows=rows, num_cols=columns, padding_value=-1.0, align=align)
            (slope,) = af.gradients(af.reduce_sum(band * band), [x])
            async with af.Session(graph=graph) as session:
                values, again, slopes = await session.run([band, back, slope])
        wanted = [diagonals(each, low, high, align) for each in matrix.reshape(-1, rows, columns)]
        np.testing.assert_array_equal(values.reshape(np.shape(wanted)), wanted)
        np.testing.assert_array_equal(again, np.where(inside, matrix, -1.0))
        np.testing.assert_array_equal(slopes, np.where(inside, 2 * matrix, 0.0))


@pytest.mark.parametrize(
    ("diagonal", "k", "problem"),
    [
        (np.zeros((3, 5)), (-1, 1), "are 3, and the longest has 4 values"),
        (np.zeros(4), 1, "are 1, and the longest has 3 values"),
        (np.zeros((2, 4)), (1, -1), "the lowest and the highest"),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(diagonal: Any, k: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        af.matrix_set_diag(np.zeros((4, 4)), diagonal, k=k)
    with pytest.raises(ValueError, match="align is one of"):
        af.matrix_set_diag(np.zeros((4, 4)), np.zeros((3, 4)), k=(-1, 1), align="MIDDLE")
