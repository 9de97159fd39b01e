"""Expressions over `tensorflow.compat.v2` that run over TensorFlow 1.15 and over actorflow, and what they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ROWS = np.array([[1, 5], [3, 2]], np.float32)
IMAGE = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
GRID = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
ONES = np.ones((2, 2, 1, 1), np.float32)
PARTS = [np.array([[0], [1]], np.float32), np.array([[2], [3]], np.float32)]
VECTORS = [np.array([number], np.float32) for number in (0.5, 1, 2, 3)]


def sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])


def rows_of(tf: Any, ids: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ids, [2, 2])


def label_gradients(tf: Any) -> Any:
    labels, logits = tf.constant([[0.25, 0.75]]), tf.constant([[0.0, 0.0]])
    return tf.gradients(tf.nn.softmax_cross_entropy_with_logits(labels, logits), labels)[0]


def losses(tf: Any, name: str) -> Any:
    samples = (tf.constant([1], tf.int64), tf.constant([[0.5]]), tf.constant([0.5]))
    weights = [tf.constant(part) for part in PARTS]
    labels = tf.constant([[2]], tf.int64)
    return getattr(tf.nn, name)(
        weights, tf.constant([0.0, 0.0, 1.0, 0.0]), labels, tf.constant([[1.0]]), 1, 4, 1, samples
    )


def of_networks(tf: Any) -> Sequence[Callable[[], Any]]:
    return [
        lambda: tf.nn.embedding_lookup(PARTS, [0, 1, 2, 3]),
        lambda: tf.nn.embedding_lookup(PARTS, [3], 2.0),
        lambda: tf.nn.embedding_lookup_sparse(PARTS, rows_of(tf, tf.constant([1, 2, 3], tf.int64)), None, "sum"),
        lambda: tf.nn.safe_embedding_lookup_sparse(
            PARTS, rows_of(tf, tf.constant([1, 2, 3], tf.int64)), None, "sum", None, 2.0
        ),
        lambda: losses(tf, "nce_loss"),
        lambda: losses(tf, "sampled_softmax_loss"),
        lambda: label_gradients(tf),
        lambda: tf.nn.convolution(GRID, ONES, 2),
        lambda: tf.nn.convolution(GRID, ONES, 1, "SAME", None, 2),
        lambda: tf.nn.conv2d(GRID, ONES, 2, "VALID", "NHWC", None),
        lambda: tf.nn.conv2d(GRID, ONES, [1, 1, 1, 1], "VALID", "NHWC", [1, 2, 2, 1]),
        lambda: tf.nn.conv1d(IMAGE[0], np.ones((2, 1, 1), np.float32), 1, "VALID", "NWC", 2),
        lambda: tf.nn.conv3d(GRID[:, None], ONES[None], [1, 1, 2, 2, 1], "VALID", "NDHWC", None),
        lambda: tf.nn.conv2d_transpose(IMAGE, ONES, [1, 4, 6, 1], 2, "SAME", "NHWC", None),
        lambda: tf.nn.conv3d_transpose(IMAGE[None], ONES[None], [1, 1, 4, 6, 1], [1, 1, 2, 2, 1]),
        lambda: tf.nn.depthwise_conv2d(GRID, ONES, [1, 1, 1, 1], "VALID", None, [2, 2]),
        lambda: tf.nn.separable_conv2d(GRID, ONES, ONES[:1, :1], [1, 1, 1, 1], "VALID", None, [2, 2]),
        lambda: tf.nn.dilation2d(GRID, ONES[..., 0], [1, 1, 1, 1], "VALID", "NHWC", [1, 2, 2, 1]),
        lambda: tf.nn.erosion2d(GRID, ONES[..., 0], [1, 1, 1, 1], "VALID", "NHWC", [1, 2, 2, 1]),
        lambda: tf.nn.pool(GRID, [2, 2], "MAX", [2, 2]),
        lambda: tf.nn.max_pool(IMAGE[0], 2, 1, "VALID"),
        lambda: tf.nn.avg_pool(IMAGE[0], 2, 1, "VALID"),
        lambda: tf.nn.avg_pool2d(input=GRID, ksize=2, strides=2, padding="VALID"),
        lambda: tf.nn.max_pool_with_argmax(GRID, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")[1],
        lambda: tf.nn.batch_norm_with_global_normalization(GRID[:, :1, :2], *VECTORS, 0.0, True),
        lambda: tf.nn.crelu(ROWS, 0),
        lambda: tf.nn.depth_to_space(np.arange(4).reshape(1, 1, 1, 4), 2, "NHWC"),
        lambda: tf.nn.space_to_batch(GRID, [2, 2], [[0, 0], [0, 0]]),
        lambda: tf.nn.ctc_loss([[1]], np.zeros((2, 1, 3), np.float32), [1], [2]),
    ]


def of_other_namespaces(tf: Any) -> Sequence[Callable[[], Any]]:
    return [
        lambda: tf.image.resize(IMAGE, [3, 2]),
        lambda: tf.image.resize(IMAGE, [3, 2], "nearest"),
        lambda: tf.image.resize(IMAGE, [3, 2], tf.image.ResizeMethod.BICUBIC),
        lambda: tf.image.resize(IMAGE, [3, 2], "area", False, True),
        lambda: tf.image.resize(IMAGE, [4, 4], preserve_aspect_ratio=True),
        lambda: tf.strings.split(["a b", "c"]).to_tensor(),
        lambda: tf.strings.split("a b"),
        lambda: tf.strings.split([["a b"], ["c"]]).to_tensor(),
        lambda: tf.strings.length("h\u00e9", "UTF8_CHAR"),
        lambda: tf.strings.substr("h\u00e9llo", 1, 2, "UTF8_CHAR"),
        lambda: tf.strings.reduce_join([["a", "b"]], 1, True, "-"),
        lambda: tf.strings.to_number("7", tf.int32),
        lambda: tf.strings.to_hash_bucket("a", 9),
        lambda: tf.batch_to_space(np.arange(4).reshape(4, 1, 1, 1), [2, 2], [[0, 0], [0, 0]]),
        lambda: tf.image.crop_and_resize(GRID, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]),
        lambda: tf.image.draw_bounding_boxes(GRID, [[[0.0, 0.0, 1.0, 1.0]]], [[9.0]]),
        lambda: tf.io.decode_csv(["1,NA"], [[0], [7]], ",", True, "NA"),
        lambda: tf.io.decode_raw("ab", tf.uint8, True),
        lambda: tf.sparse.to_dense(tf.sparse.concat(1, [sparse(tf), sparse(tf)], False)),
        lambda: tf.sparse.reduce_sum(sparse(tf), 1, True, False, "name"),
        lambda: tf.sparse.to_dense(tf.sparse.split(sparse(tf), 2, 1)[1]),
        lambda: tf.sparse.segment_sum([[1], [2], [3]], [0, 2], [0, 2], 4),
        lambda: tf.debugging.assert_all_finite(x=ROWS, message="m"),
        lambda: tf.random_uniform_initializer()([]) * 0.0,
    ]
