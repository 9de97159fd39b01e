"""`af.image` against TensorFlow's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.ops.image import image_calls

import actorflow.compat.v1 as tf

NAMES = [name for name, _ in image_calls.calls()]


@pytest.fixture(scope="module")
def ours() -> dict[str, list[Any]]:
    return image_calls.answers(tf)


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[Any]]:
    return image_calls.stored()


def test_each_call_has_an_answer(theirs: dict[str, list[Any]]) -> None:
    assert set(theirs) == set(NAMES) and len(set(NAMES)) == len(NAMES) > 120


@pytest.mark.parametrize("name", NAMES)
def test_tensorflow_agrees(name: str, ours: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> None:
    assert len(ours[name]) == len(theirs[name])
    for mine, wanted in zip(ours[name], theirs[name]):
        mine = np.asarray(mine)
        assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype == np.uint8:  # the last bit of a float may decide between two neighbours
            assert np.abs(mine.astype(int) - wanted).max() <= 1 and (mine == wanted).mean() > 0.95
        elif wanted.dtype.kind in "iu":
            assert np.array_equal(mine, wanted)
        else:
            tolerance = 2e-3 if wanted.dtype == np.float16 else 2e-5
            np.testing.assert_allclose(
                mine, wanted, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(wanted).max()))
            )
