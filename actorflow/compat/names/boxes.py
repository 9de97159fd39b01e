"""Choices of boxes and measures of images in TensorFlow 1.15's `tf.image`, over public ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.public import public


def _overlaps(boxes: Any) -> Any:
    """The share that the intersection of each two boxes `[n, 4]` has in their union, `[n, n]`."""
    low, high = af.minimum(boxes[:, :2], boxes[:, 2:]), af.maximum(boxes[:, :2], boxes[:, 2:])
    sides = af.minimum(high[:, None], high[None]) - af.maximum(low[:, None], low[None])
    common = af.reduce_prod(af.maximum(sides, 0.0), -1)
    areas = af.reduce_prod(high - low, -1)
    union = areas[:, None] + areas[None] - common
    return af.where(af.minimum(areas[:, None], areas[None]) > 0, af.div_no_nan(common, union), af.zeros_like(common))


def _suppressed(overlaps: Any, scores: Any, count: Any, threshold: Any, least: Any, sigma: float) -> tuple[Any, Any]:
    """The numbers and the scores of the best boxes, at most `count`, by a search that takes a box in each step."""
    total = af.size(scores)
    numbers = af.range_(total)
    count = af.minimum(af.cast(count, af.int32), total)

    def goes_on(step: Any, left: Any, chosen: Any, kept: Any) -> Any:
        return af.logical_and(step < count, af.reduce_max(left) > least)

    def choose(step: Any, left: Any, chosen: Any, kept: Any) -> Any:
        best = af.argmax(left, output_type=af.int32)
        row = af.gather(overlaps, best, axis=1)
        weakened = left * af.exp(-row * row / (2 * sigma)) if sigma else left
        gone = af.logical_or(af.equal(numbers, best), row > threshold)
        after = af.where(gone, af.fill([total], left.dtype.as_numpy_dtype(float("-inf"))), weakened)
        return step + 1, after, chosen.write(step, best), kept.write(step, left[best])

    lists = af.TensorArray(af.int32, 0, dynamic_size=True), af.TensorArray(scores.dtype, 0, dynamic_size=True)
    padded = af.cond(total > 0, lambda: scores, lambda: af.fill([1], scores.dtype.as_numpy_dtype(float("-inf"))))
    padded.set_shape([None])
    _, _, chosen, kept = af.while_loop(
        goes_on, choose, (0, padded, *lists), shape_invariants=(af.TensorShape([]), af.TensorShape([None]), None, None)
    )
    return chosen.stack(), kept.stack()


@public("tf.image")
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The boxes of highest scores that overlap no better box too much, by a table (`tf.image.non_max_suppression_overlaps`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.image.non_max_suppression_overlaps([[1.0, 0.9], [0.9, 1.0]], [0.1, 0.2], 2)
        [1]

    Args:
        overlaps: `[n, n]`, how much each two boxes overlap.
        scores: `[n]`.
        max_output_size: how many boxes there may be.
        overlap_threshold: the largest overlap of two.
        score_threshold: boxes of this score or less are left out.
    """
    with af.name_scope(name, "non_max_suppression_overlaps", [overlaps, scores]):
        table, scores = af.convert_to_tensor(overlaps), af.convert_to_tensor(scores)
        return _suppressed(table, scores, max_output_size, overlap_threshold, score_threshold, 0.0)[0]


@public("tf.image")
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The best boxes and their scores, which overlaps lower by `soft_nms_sigma` (`tf.image.non_max_suppression_with_scores`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
        >>> tf.image.non_max_suppression_with_scores(boxes, [0.5, 0.9], 2)
        ([1], [0.9])

    Args:
        boxes: `[n, 4]`.
        scores: `[n]`.
        max_output_size: how many boxes there may be.
        iou_threshold: the largest share that the intersection of two may have in their union.
        score_threshold: boxes of this score or less are left out.
        soft_nms_sigma: above 0, a chosen box lowers the scores of others by exp(-share² / (2 sigma)).
    """
    with af.name_scope(name, "non_max_suppression_with_scores", [boxes, scores]):
        boxes, scores = af.convert_to_tensor(boxes), af.convert_to_tensor(scores)
        table = _overlaps(boxes)
        return _suppressed(table, scores, max_output_size, iou_threshold, score_threshold, float(soft_nms_sigma))


@public("tf.image")
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`non_max_suppression`, filled up with zeros, and the number of boxes (`tf.image.non_max_suppression_padded`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
        >>> tf.image.non_max_suppression_padded(boxes, [0.5, 0.9], 3, pad_to_max_output_size=True)
        ([1 0 0], 1)

    Args:
        boxes: `[n, 4]`.
        scores: `[n]`.
        max_output_size: how many boxes there may be.
        iou_threshold: the largest share that the intersection of two may have in their union.
        score_threshold: boxes of this score or less are left out.
        pad_to_max_output_size: whether zeros follow up to `max_output_size`.
    """
    with af.name_scope(name, "non_max_suppression_padded", [boxes, scores]):
        chosen = af.image.non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        count = af.size(chosen)
        if pad_to_max_output_size:
            chosen = af.pad(chosen, [[0, af.cast(max_output_size, af.int32) - count]])
            chosen.set_shape([max_output_size if isinstance(max_output_size, int) else None])
        return chosen, count


@public("tf.image")
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The best boxes of all classes in each image (`tf.image.combined_non_max_suppression`).

    Args:
        boxes: `[batch, n, classes, 4]`, or 1 in place of the classes for boxes of all classes.
        scores: `[batch, n, classes]`.
        max_output_size_per_class: how many boxes of a class there may be in an image.
        max_total_size: how many boxes there may be in an image.
        iou_threshold: the largest share that the intersection of two may have in their union.
        score_threshold: boxes of this score or less are left out.
        pad_per_class: whether the size is at most `max_output_size_per_class` times the classes.
        clip_boxes: whether coordinates are kept within [0, 1].

    Returns:
        The boxes `[batch, size, 4]`, scores and classes `[batch, size]`, with zeros at the end, and the numbers of boxes.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> boxes, scores = [[[[0.0, 0.0, 1.0, 1.0]]] * 2], [[[0.5, 0.1], [0.9, 0.3]]]
        >>> _, scores, classes, valid = tf.image.combined_non_max_suppression(boxes, scores, 2, 3)
        >>> scores, classes, valid
        ([[0.9 0.3 0. ]], [[0. 1. 0.]], [2])
    """
    with af.name_scope(name, "combined_non_max_suppression", [boxes, scores]):
        boxes, scores = af.convert_to_tensor(boxes), af.convert_to_tensor(scores)
        count = scores.shape[2]
        size = int(max_total_size)
        if pad_per_class:
            size = min(size, int(max_output_size_per_class) * int(count))

        def of_image(image: Any) -> tuple[Any, Any, Any, Any]:
            all_boxes, all_scores = image
            kinds = []
            for kind in range(int(count)):
                own = all_boxes[:, kind if boxes.shape[2] != 1 else 0]
                chosen = af.image.non_max_suppression(
                    own, all_scores[:, kind], max_output_size_per_class, iou_threshold, score_threshold
                )
                label = af.fill([af.size(chosen)], float(kind))
                kinds.append((af.gather(own, chosen), af.gather(all_scores[:, kind], chosen), label))
            places, values, labels = (af.concat(list(part), 0) for part in zip(*kinds))
            total = af.minimum(af.size(values), size)
            order = af.nn.top_k(values, total).indices
            rest = size - total
            places = af.pad(af.gather(places, order), [[0, rest], [0, 0]])
            values, labels = (af.pad(af.gather(part, order), [[0, rest]]) for part in (values, labels))
            return places, values, labels, total

        answer = af.map_fn(of_image, (boxes, scores), dtype=(boxes.dtype, scores.dtype, af.float32, af.int32))
        places, values, labels, total = answer
        if clip_boxes:
            places = af.clip_by_value(places, 0.0, 1.0)
        for part, inner in ((places, [size, 4]), (values, [size]), (labels, [size])):
            part.set_shape([None, *inner])
        return places, values, labels, total


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@public("tf.image")
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: float,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity of pairs of images at several scales (`tf.image.ssim_multiscale`; Wang et al. 2003).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> image = tf.random_uniform([1, 32, 32, 1])
        >>> tf.image.ssim_multiscale(image, image, 1.0, power_factors=[0.5, 0.5])
        [1.]

    Args:
        img1, img2: of one type, `[..., height, width, channels]`, at the smallest scale at least as large as the filter.
        max_val: the difference of the largest and the smallest value that there can be, such as 255.
        power_factors: the exponents of the scales; each scale has half the size of that before.
        filter_size, filter_sigma: of the Gaussian window in which images are compared.
        k1, k2: the constants of the measure.

    Returns:
        float32 `[...]`.
    """
    with af.name_scope(None, "MS-SSIM", [img1, img2]):
        source = af.convert_to_tensor(img1)
        most = max_val if source.dtype.is_floating else max_val / float(source.dtype.max)
        left, other = (af.image.convert_image_dtype(each, af.float32) for each in (img1, img2))
        outer = af.shape(left)[:-3]
        static = left.shape[:-3]
        left, other = (af.reshape(each, af.concat([[-1], af.shape(each)[-3:]], 0)) for each in (left, other))
        terms = []
        for scale, power in enumerate(power_factors):
            if scale:
                left, other = (_halved(each) for each in (left, other))
            # The last scale compares the brightness too, and all scales compare what is left of it.
            first, second = (af.transpose(each, [0, 3, 1, 2])[..., None] for each in (left, other))
            total = af.image.ssim(first, second, most, filter_size, filter_sigma, k1, k2)
            last = scale == len(power_factors) - 1
            value = total if last else _contrast(first, second, most, filter_size, filter_sigma, k2)
            terms.append(af.nn.relu(value) ** power)
        product = af.reduce_mean(af.reduce_prod(af.stack(terms, -1), -1), -1)
        result = af.reshape(product, outer)
        result.set_shape(static)
        return result


def _halved(images: Any) -> Any:
    """Images of half the size; rows and columns of odd number are continued by their last."""
    rows, columns = af.shape(images)[1] % 2, af.shape(images)[2] % 2
    padded = af.pad(images, [[0, 0], [0, rows], [0, columns], [0, 0]], mode="SYMMETRIC")
    return af.nn.avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def _contrast(left: Any, other: Any, most: float, size: int, sigma: float, k2: float) -> Any:
    """The part of the similarity that is not of the brightness, the mean over an image."""
    import numpy as np

    at = np.arange(size) - (size - 1) / 2
    line = np.exp(-(at**2) / (2 * sigma**2))
    kernel = (np.outer(line, line) / line.sum() ** 2)[:, :, None, None].astype(np.float32)
    shape = af.shape(left)
    second = (k2 * most) ** 2

    def blurred(x: Any) -> Any:
        flat = af.reshape(x, af.concat([[-1], shape[-3:]], 0))
        return af.nn.conv2d(flat, kernel, [1, 1, 1, 1], "VALID")

    mean, mean_2 = blurred(left), blurred(other)
    product, squares = mean * mean_2 * 2.0, af.square(mean) + af.square(mean_2)
    both, each = blurred(left * other) * 2.0, blurred(af.square(left) + af.square(other))
    return af.reshape(af.reduce_mean((both - product + second) / (each - squares + second), [1, 2, 3]), shape[:-3])


@public("tf.image", "tf.io")
def extract_jpeg_shape(contents: Any, output_type: Any = af.int32, name: str | None = None) -> Any:
    """The height, width and channels of a JPEG (`tf.image.extract_jpeg_shape`); the image is decoded for that.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.image.extract_jpeg_shape(tf.image.encode_jpeg(tf.zeros([2, 4, 3], tf.uint8)))
        [2 4 3]

    Args:
        contents: the file, a string.
        output_type: int32 or int64.
    """
    shape = af.shape(af.image.decode_jpeg(contents), out_type=output_type, name=name)
    shape.set_shape([3])
    return shape
