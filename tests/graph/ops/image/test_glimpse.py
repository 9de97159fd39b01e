"""The part of glimpses that the table can't test: their noise."""

from __future__ import annotations

import numpy as np
import pytest

import actorflow as af


@pytest.mark.parametrize("uniform", [True, False])
def test_what_lies_outside_is_noise_of_the_images_range(uniform: bool) -> None:
    image = np.linspace(3, 5, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    with af.Graph().as_default(), af.blocking.Session() as session:
        made = af.image.extract_glimpse(image, [40, 40], [[0.0, 0.0]], uniform_noise=uniform)
        first, second = session.run(made), session.run(made)
    assert first.shape == (1, 40, 40, 1)
    np.testing.assert_array_equal(first[0, 16:24, 16:24], image[0])
    outside = np.delete(first.reshape(-1), [40 * y + x for y in range(16, 24) for x in range(16, 24)])
    assert not np.array_equal(first, second), "each run draws"
    assert abs(outside.mean() - 4) < 0.1
    if uniform:
        assert outside.min() >= 3 and outside.max() <= 5
        assert abs(outside.std() - 2 / 12**0.5) < 0.05
    else:
        assert abs(outside.std() - image.std()) < 0.05


def test_a_type_that_is_no_images_is_refused() -> None:
    with pytest.raises(AttributeError, match="integers or floats, not bool"):
        af.image.convert_image_dtype(np.zeros(3, np.uint8), af.bool)
