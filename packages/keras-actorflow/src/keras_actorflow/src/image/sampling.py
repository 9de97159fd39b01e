"""Images whose pixels are looked up at other places."""

from __future__ import annotations

import itertools
from typing import Any

from keras.src.random.seed_generator import draw_seed

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.image.filters import gaussian_blur
from keras_actorflow.src.image.layout import batched, checked, one_of
from keras_actorflow.src.image.resizing import _narrowed
from keras_actorflow.src.numpy.promotion import kind
from keras_actorflow.src.sizes import larger, size_of, sizes_of

_ORDERS = {"nearest": 0, "bilinear": 1}
_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _inside(index: Any, size: Any, mode: str) -> Any:
    """Indices brought within an axis by the rule for what lies outside."""
    if mode == "wrap":
        return af.floormod(index, size)
    if mode == "mirror":
        period = larger(size - 1, 1)
        turned = af.floormod(index, 2 * period)
        return af.minimum(af.minimum(turned, 2 * period - turned), size - 1)
    if mode == "reflect":
        turned = af.floormod(index, 2 * size)
        return af.minimum(turned, 2 * size - 1 - turned)
    return af.clip_by_value(index, 0, size - 1)


def _sampled(flat: Any, sizes: list[Any], places: list[Any], order: int, mode: str, value: Any) -> Any:
    """Rows of a batch (batch, pixels, channels) at places, each a tensor (batch, points) for an axis."""
    corners = []
    for place in places:
        if order == 0:
            corners.append([(af.cast(af.floor(place + 0.5), "int32"), None)])
            continue
        lower = af.floor(place)
        part = place - lower
        index = af.cast(lower, "int32")
        corners.append([(index, 1 - part), (index + 1, part)])
    total = None
    for corner in itertools.product(*corners):
        number, weight, valid = 0, None, None
        for (index, part), size in zip(corner, sizes, strict=True):
            number = number * size + _inside(index, size, mode)
            if part is not None:
                weight = part if weight is None else weight * part
            if mode == "constant":
                within = af.logical_and(index >= 0, index < size)
                valid = within if valid is None else af.logical_and(valid, within)
        pixels = af.gather(flat, number, axis=1, batch_dims=1)
        if valid is not None:
            pixels = af.where_v2(af.expand_dims(valid, -1), pixels, convert_to_tensor(value, pixels.dtype))
        pixels = pixels if weight is None else pixels * af.expand_dims(af.cast(weight, pixels.dtype), -1)
        total = pixels if total is None else total + pixels
    return total


def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0.0
) -> Any:
    """The values of an array at coordinates that may lie between its elements."""
    inputs, coordinates = convert_to_tensor(inputs), convert_to_tensor(coordinates)
    if coordinates.shape[0] != len(inputs.shape):
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs with shape: "
            f"{tuple(inputs.shape)} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if len(coordinates.shape) < 2:
        raise ValueError(
            f"Invalid coordinates rank: expected at least rank 2. Received input with shape: {tuple(coordinates.shape)}"
        )
    if fill_mode not in _MODES:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected one of {set(_MODES)}. Received: fill_mode={fill_mode}"
        )
    if order not in (0, 1):
        raise ValueError(f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}")
    name = kind(inputs)
    wide = inputs if name in ("float32", "float64") else af.cast(inputs, "float32")
    places = [af.reshape(part, [1, -1]) for part in af.unstack(af.cast(coordinates, wide.dtype))]
    sizes = sizes_of(inputs)
    result = _sampled(af.reshape(wide, [1, -1, 1]), sizes, places, order, fill_mode, fill_value)
    return _narrowed(af.reshape(result, sizes_of(coordinates)[1:]), name)


def _looked_up(x: Any, rows: Any, columns: Any, interpolation: str, mode: str, value: Any) -> Any:
    """A batch of images at places of rows and columns, both (batch, points)."""
    name = kind(x)
    batch, height, width, channels = sizes_of(x)
    wide = x if name in ("float32", "float64") else af.cast(x, "float32")
    flat = af.reshape(wide, [batch, height * width, channels])
    result = _sampled(flat, [height, width], [rows, columns], _ORDERS[interpolation], mode, value)
    return _narrowed(af.reshape(result, [batch, height, width, channels]), name)


def _grid(height: Any, width: Any) -> tuple[Any, Any]:
    """The columns and the rows of all pixels."""
    columns, rows = af.meshgrid(af.cast(af.range_(width), "float32"), af.cast(af.range_(height), "float32"))
    return af.reshape(columns, [1, -1]), af.reshape(rows, [1, -1])


def _projected(x: Any, transform: Any, interpolation: str, mode: str, value: Any) -> Any:
    """Each pixel from the place to which a projection, of eight numbers for each image, takes it."""
    columns, rows = _grid(size_of(x, 1), size_of(x, 2))
    a = [transform[:, number : number + 1] for number in range(8)]
    depth = a[6] * columns + a[7] * rows + 1
    across = (a[0] * columns + a[1] * rows + a[2]) / depth
    down = (a[3] * columns + a[4] * rows + a[5]) / depth
    return _looked_up(x, down, across, interpolation, mode, value)


def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: Any = 0,
    data_format: str | None = None,
) -> Any:
    """Images that are shifted, turned, scaled or sheared."""
    one_of(interpolation, _ORDERS, "interpolation")
    one_of(fill_mode, _MODES, "fill_mode")
    images, transform = checked(images), convert_to_tensor(transform)
    if len(transform.shape) not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
            f"Received input with shape: transform.shape={tuple(transform.shape)}"
        )
    x, back = batched(images, data_format)
    transform = af.cast(af.reshape(transform, [-1, 8]), "float32")
    batch = size_of(x, 0)
    if not isinstance(batch, int) or transform.shape[0] != batch:
        transform = af.broadcast_to(transform, [batch, 8])
    last = af.zeros([batch, 2], "float32")
    affine = af.concat([transform[:, :6], last], axis=1)  # an affine transform does not shrink with distance
    return back(_projected(x, affine, interpolation, fill_mode, fill_value))


def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: Any = 0,
    data_format: str | None = None,
) -> Any:
    """Images whose four corners move from some points to others."""
    one_of(interpolation, _ORDERS, "interpolation")
    x, back = batched(images, data_format)
    start_points, end_points = convert_to_tensor(start_points, "float32"), convert_to_tensor(end_points, "float32")
    for points, name in ((start_points, "start_points"), (end_points, "end_points")):
        if len(points.shape) not in (2, 3) or tuple(points.shape)[-2:] != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {tuple(points.shape)}"
            )
    pairs = zip(tuple(start_points.shape), tuple(end_points.shape), strict=False)
    if len(start_points.shape) != len(end_points.shape) or any(a != b for a, b in pairs if None not in (a, b)):
        raise ValueError(
            "start_points and end_points must have the same shape. Received start_points.shape="
            f"{tuple(start_points.shape)}, end_points.shape={tuple(end_points.shape)}"
        )
    start_points, end_points = af.reshape(start_points, [-1, 4, 2]), af.reshape(end_points, [-1, 4, 2])
    transform = compute_homography_matrix(start_points, end_points)
    transform = af.broadcast_to(transform, [size_of(x, 0), 8])
    return back(_projected(x, transform, interpolation, "constant", fill_value))


def compute_homography_matrix(start_points: Any, end_points: Any) -> Any:
    """The eight numbers of the projection that takes the end points to the start points."""
    start, end = convert_to_tensor(start_points, "float32"), convert_to_tensor(end_points, "float32")
    x, y = end[..., 0], end[..., 1]
    zero, one = af.zeros_like(x), af.ones_like(x)

    def rows(target: Any, first: list[Any], second: list[Any]) -> Any:
        return af.stack([*first, *second, -target * x, -target * y], axis=-1)

    across = rows(start[..., 0], [x, y, one], [zero, zero, zero])
    down = rows(start[..., 1], [zero, zero, zero], [x, y, one])
    matrix = af.concat([across, down], axis=-2)
    targets = af.expand_dims(af.concat([start[..., 0], start[..., 1]], axis=-1), -1)
    return af.squeeze(af.linalg.solve(matrix, targets), [-1])


def elastic_transform(
    images: Any,
    alpha: float = 20.0,
    sigma: float = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: Any = None,
    data_format: str | None = None,
) -> Any:
    """Images that are pulled about at random, smoothly."""
    one_of(interpolation, _ORDERS, "interpolation")
    one_of(fill_mode, _MODES, "fill_mode")
    x, back = batched(images, data_format)
    batch, height, width, _ = sizes_of(x)
    alpha, sigma = (
        convert_to_tensor(alpha, "float32"),
        convert_to_tensor(sigma, "float32"),
    )  # a layer gives its own type
    width_of_blur = 2 * (af.cast(6 * sigma, "int32") // 2) + 1  # odd
    drawn = af.cast(convert_to_tensor(draw_seed(seed)), "int64")

    def pull(number: int) -> Any:
        noise = af.stateless_random_normal([batch, height, width, 1], drawn + number) * sigma
        smooth = gaussian_blur(noise, (width_of_blur, width_of_blur), (sigma, sigma), "channels_last")
        return af.reshape(smooth, [batch, height * width]) * alpha

    columns, rows = _grid(height, width)
    return back(_looked_up(x, rows + pull(1), columns + pull(0), interpolation, fill_mode, fill_value))
