"""Images.

layout.py    batches with channels last
colors.py    colours
resizing.py  other sizes
sampling.py  pixels at other places
filters.py   filters
"""

from keras_actorflow.src.image.colors import hsv_to_rgb, rgb_to_grayscale, rgb_to_hsv  # noqa: F401
from keras_actorflow.src.image.filters import gaussian_blur, sobel_edges  # noqa: F401
from keras_actorflow.src.image.resizing import resize, scale_and_translate  # noqa: F401
from keras_actorflow.src.image.sampling import (  # noqa: F401
    affine_transform,
    compute_homography_matrix,
    elastic_transform,
    map_coordinates,
    perspective_transform,
)
