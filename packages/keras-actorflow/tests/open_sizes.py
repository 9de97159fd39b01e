"""Functions of the backend that read sizes, each traced with all sizes open and compared with its values without a trace.

python packages/keras-actorflow/tests/open_sizes.py      # prints a line for each function that differs, and the count
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "actorflow"
import keras_actorflow  # noqa: F401  # isort: skip
import keras
import numpy as np
from keras import ops

import actorflow as af

image = ops.image
Row = tuple[str, Callable[..., Any], list[tuple[int, ...]]]
"""A name, a function, and the shapes of its inputs."""

B = -1
"""Stands for the number of examples, which is 3 and then 5."""

ROWS: list[Row] = [
    # shapes of the same elements
    ("append", lambda x: ops.append(x, x), [(B, 4)]),
    ("array_split", lambda x: ops.array_split(x, 2), [(B, 4)]),
    ("array_split axis", lambda x: ops.array_split(x, 3, axis=1), [(B, 4)]),
    ("atleast_3d", keras.src.backend.numpy.atleast_3d, [(B, 4)]),
    ("broadcast_to", lambda x: ops.broadcast_to(x, (2, *ops.shape(x))), [(B, 4)]),
    ("flip", ops.flip, [(B, 4)]),
    ("pad", lambda x: ops.pad(x, ((1, 2), (0, 1))), [(B, 4)]),
    ("pad reflect", lambda x: ops.pad(x, ((1, 2), (0, 1)), "reflect"), [(B, 4)]),
    ("pad symmetric", lambda x: ops.pad(x, ((1, 2), (0, 1)), "symmetric"), [(B, 4)]),
    ("pad edge", lambda x: ops.pad(x, ((1, 2), (0, 1)), "edge"), [(B, 4)]),
    ("pad wrap", lambda x: ops.pad(x, ((1, 7), (4, 1)), "wrap"), [(B, 4)]),
    ("ravel", ops.ravel, [(B, 4)]),
    ("repeat", lambda x: ops.repeat(x, 2, axis=0), [(B, 4)]),
    ("repeat counts", lambda x: ops.repeat(x, [1, 0, 2, 1], axis=1), [(B, 4)]),
    ("repeat flat", lambda x: ops.repeat(x, 3), [(B, 4)]),
    ("roll", lambda x: ops.roll(x, 2), [(B, 4)]),
    ("rot90", ops.rot90, [(B, 4)]),
    ("size", ops.size, [(B, 4)]),
    ("split", lambda x: ops.split(x, [1, -1]), [(B, 4)]),
    ("stack", lambda x: ops.stack([x, x], axis=1), [(B, 4)]),
    ("tile", lambda x: ops.tile(x, (2, 1)), [(B, 4)]),
    ("tril", ops.tril, [(B, 4)]),
    ("triu", lambda x: ops.triu(x, 1), [(2, B, 4)]),
    ("unstack", lambda x: ops.unstack(x, 4, axis=1), [(B, 4)]),
    ("vander", ops.vander, [(B,)]),
    ("view", lambda x: ops.view(x, "int16"), [(B, 4)]),
    ("zeros", lambda x: ops.zeros(ops.shape(x)), [(B, 4)]),
    # products
    ("correlate", lambda x, y: ops.correlate(x, y, "full"), [(B,), (2,)]),
    ("correlate same", lambda x, y: ops.correlate(x, y, "same"), [(B,), (2,)]),
    ("correlate valid", lambda x, y: ops.correlate(x, y, "valid"), [(B,), (2,)]),
    ("cross", lambda x, y: ops.cross(x, y), [(B, 3), (B, 3)]),
    ("dot", ops.dot, [(B, 4), (4, 2)]),
    ("einsum", lambda x, y: ops.einsum("bij,jk->bik", x, y), [(B, 2, 4), (4, 3)]),
    ("inner", ops.inner, [(B, 4), (2, 4)]),
    ("kron", ops.kron, [(B, 4), (2, 2)]),
    ("matmul", ops.matmul, [(B, 4), (4, 2)]),
    ("matmul of a batch", ops.matmul, [(B, 2, 4), (4, 2)]),
    ("matmul of batches", ops.matmul, [(B, 2, 4), (B, 4, 3)]),
    ("matmul broadcast", ops.matmul, [(B, 1, 2, 4), (3, 4, 3)]),
    ("outer", ops.outer, [(B,), (2,)]),
    ("tensordot", lambda x, y: ops.tensordot(x, y, 2), [(B, 2, 4), (2, 4, 3)]),
    ("vdot", ops.vdot, [(B, 4), (B, 4)]),
    # elements
    ("diag", ops.diag, [(B,)]),
    ("diag above", lambda x: ops.diag(x, 2), [(B,)]),
    ("diag below", lambda x: ops.diag(x, -1), [(B,)]),
    ("diagflat", ops.diagflat, [(B, 2)]),
    ("diagonal", ops.diagonal, [(B, 4)]),
    ("diagonal below", lambda x: ops.diagonal(x, -1), [(B, 4)]),
    ("diagonal of a batch", lambda x: ops.diagonal(x, 1, 1, 2), [(B, 4, 3)]),
    ("diff", lambda x: ops.diff(x, 2, axis=0), [(B, 4)]),
    ("searchsorted", lambda x, y: ops.searchsorted(ops.sort(x), y), [(B,), (2, 3)]),
    ("take", lambda x: ops.take(x, [0, -1], axis=0), [(B, 4)]),
    ("take flat", lambda x: ops.take(x, [0, -1]), [(B, 4)]),
    ("take_along_axis", lambda x: ops.take_along_axis(x, ops.argsort(x, axis=0), axis=0), [(B, 4)]),
    ("take_along_axis last", lambda x: ops.take_along_axis(x, ops.argmax(x, 1, keepdims=True), axis=1), [(B, 4)]),
    ("trace", ops.trace, [(B, 4)]),
    ("unique", lambda x: ops.unique(x, axis=1), [(B, 4)]),
    # reductions
    ("argmax", ops.argmax, [(B, 4)]),
    ("average", lambda x: ops.average(x, axis=0, weights=ops.arange(ops.shape(x)[0])), [(B, 4)]),
    ("bincount", lambda x: ops.bincount(ops.cast(x > 0, "int32"), minlength=3), [(B, 4)]),
    ("corrcoef", ops.corrcoef, [(3, B)]),
    ("digitize", lambda x: ops.digitize(x, np.array([-1.0, 0.0, 1.0], np.float32)), [(B, 4)]),
    ("histogram", lambda x: ops.histogram(x, 4, (-2, 2)), [(B,)]),
    ("logsumexp", lambda x: ops.logsumexp(x, axis=0), [(B, 4)]),
    ("max", lambda x: ops.max(x, axis=0, initial=1.0), [(B, 4)]),
    ("mean", ops.mean, [(B, 4)]),
    ("median", lambda x: ops.median(x, axis=1, keepdims=True), [(B, 4)]),
    ("median of all", ops.median, [(B, 4)]),
    ("nanmedian", lambda x: ops.nanmedian(ops.where(x > 1, np.nan, x), axis=0), [(B, 4)]),
    ("quantile", lambda x: ops.quantile(x, [0.2, 0.7], axis=0), [(B, 4)]),
    ("trapezoid", lambda x: ops.trapezoid(x, axis=0), [(B, 4)]),
    ("trapezoid of places", lambda x, y: ops.trapezoid(x, y, axis=0), [(B, 4), (B,)]),
    ("var", lambda x: ops.var(x, axis=0), [(B, 4)]),
    # pairs of numbers
    ("gcd", lambda x, y: ops.gcd(ops.cast(x * 9, "int32"), ops.cast(y * 9, "int32")), [(B, 4), (4,)]),
    ("linspace", lambda x, y: ops.linspace(x, y, 4, axis=-1), [(B, 4), (B, 4)]),
    ("nextafter", ops.nextafter, [(B, 4), (1, 4)]),
    ("signbit", ops.signbit, [(B, 4)]),
    # core
    ("scatter", lambda x: ops.scatter([[1], [0]], x[:2], ops.shape(x)), [(B, 4)]),
    ("scatter_update", lambda x: ops.scatter_update(x, [[1], [0]], x[:2]), [(B, 4)]),
    ("scatter_update mul", lambda x: ops.scatter_update(x, [[1], [0]], x[:2], "mul"), [(B, 4)]),
    ("slice", lambda x: ops.slice(x, (0, 1), (ops.shape(x)[0], 2)), [(B, 4)]),
    ("slice_update", lambda x: ops.slice_update(x, (0, 1), x[:, :2]), [(B, 4)]),
    ("associative_scan", lambda x: ops.associative_scan(ops.add, x, axis=1), [(B, 4)]),
    # math and linear algebra
    ("extract_sequences", lambda x: ops.extract_sequences(x, 2, 1), [(B, 9)]),
    ("fft", lambda x, y: ops.fft((x, y)), [(B, 8), (B, 8)]),
    ("in_top_k", lambda x: ops.in_top_k(ops.argmax(x, -1), x, 2), [(B, 4)]),
    ("istft", lambda x, y: ops.istft((x, y), 8, 2, 8), [(B, 4, 5), (B, 4, 5)]),
    ("stft", lambda x: ops.stft(x, 4, 2, 8), [(B, 16)]),
    ("segment_max", lambda x: ops.segment_max(x, ops.arange(ops.shape(x)[0]) // 2, 3), [(B, 4)]),
    ("cdist", lambda x, y: keras.src.backend.math.cdist(x, y), [(B, 4), (2, 4)]),
    ("cholesky_inverse", lambda x: ops.cholesky_inverse(ops.eye(3) + x * 0), [(B, 3, 3)]),
    ("eig", lambda x: ops.eig(x * 0 + ops.diag(ops.arange(1.0, 4.0)))[0], [(B, 3, 3)]),
    ("lstsq", ops.lstsq, [(B, 2), (B,)]),
    ("lu_factor", ops.lu_factor, [(B, 3, 3)]),
    ("matrix_rank", lambda x: keras.src.backend.linalg.matrix_rank(x), [(B, 3, 2)]),
    ("norm", lambda x: ops.norm(x, "nuc", axis=(1, 2), keepdims=True), [(B, 3, 2)]),
    ("pinv", lambda x: keras.src.backend.linalg.pinv(x), [(B, 3, 2)]),
    ("qr", lambda x: ops.abs(ops.qr(x)[1]), [(B, 3, 2)]),
    ("solve", lambda x, y: ops.solve(x + 3 * ops.eye(3), y), [(B, 3, 3), (B, 3, 2)]),
    # networks
    ("adaptive_average_pool", lambda x: ops.adaptive_average_pool(x, (3, 2)), [(B, 7, 6, 3)]),
    ("adaptive_max_pool", lambda x: ops.adaptive_max_pool(x, (3, 2)), [(B, 7, 6, 3)]),
    ("average_pool", lambda x: ops.average_pool(x, 2, padding="same"), [(B, 7, 6, 3)]),
    ("attention", lambda x: ops.dot_product_attention(x, x, x, is_causal=True), [(B, 5, 2, 4)]),
    ("attention shared keys", lambda x, y: ops.dot_product_attention(x, y, y), [(B, 5, 4, 4), (B, 3, 2, 4)]),
    ("batch_normalization", lambda x: ops.batch_normalization(x, ops.mean(x, 0), ops.var(x, 0), -1), [(B, 4)]),
    ("binary_crossentropy", lambda x, y: ops.binary_crossentropy(ops.sigmoid(x), ops.sigmoid(y)), [(B, 4), (B, 4)]),
    ("categorical_crossentropy", lambda x, y: ops.categorical_crossentropy(x, y, True), [(B, 4), (B, 4)]),
    ("conv", lambda x, k: ops.conv(x, k, 2, "same"), [(B, 7, 6, 3), (3, 3, 3, 4)]),
    ("conv groups", lambda x, k: ops.conv(x, k), [(B, 7, 6, 4), (3, 3, 2, 4)]),
    ("conv dilated", lambda x, k: ops.conv(x, k, dilation_rate=2), [(B, 7, 6, 3), (3, 3, 3, 4)]),
    ("conv_transpose", lambda x, k: ops.conv_transpose(x, k, 2, "valid"), [(B, 4, 5, 3), (3, 3, 2, 3)]),
    ("conv_transpose same", lambda x, k: ops.conv_transpose(x, k, 2, "same"), [(B, 4, 5, 3), (3, 3, 2, 3)]),
    ("conv_transpose 1", lambda x, k: ops.conv_transpose(x, k, 3, "valid"), [(B, 5, 3), (2, 2, 3)]),
    ("conv_transpose 3", lambda x, k: ops.conv_transpose(x, k, 2, "valid"), [(B, 2, 3, 2, 3), (3, 3, 3, 2, 3)]),
    ("ctc_loss", lambda x: ops.ctc_loss(*_labels(x), x, *_lengths(x)), [(B, 5, 4)]),
    ("ctc_decode", lambda x: ops.ctc_decode(x, _lengths(x)[1])[0], [(B, 5, 4)]),
    ("depthwise_conv", lambda x, k: ops.depthwise_conv(x, k), [(B, 7, 6, 3), (3, 3, 3, 2)]),
    ("fold", lambda x: keras.src.backend.nn.fold(x, (4, 4), 2), [(B, 12, 9)]),
    ("layer_normalization", ops.layer_normalization, [(B, 4)]),
    ("log_softmax", lambda x: ops.log_softmax(x, axis=None), [(B, 4)]),
    ("one_hot", lambda x: ops.one_hot(ops.argmax(x, 1), 4), [(B, 4)]),
    ("psnr", lambda x, y: ops.psnr(x, y, 1.0), [(B, 4), (B, 4)]),
    ("separable_conv", lambda x, k, p: ops.separable_conv(x, k, p), [(B, 7, 6, 3), (3, 3, 3, 2), (1, 1, 6, 4)]),
    ("softmax", lambda x: ops.softmax(x, axis=None), [(B, 4)]),
    ("sparse_categorical_crossentropy",
     lambda x: ops.sparse_categorical_crossentropy(ops.argmax(x, 1), x, True), [(B, 4)]),
    ("sparsemax", ops.sparsemax, [(B, 4)]),
    ("unfold", lambda x: ops.unfold(x, 2), [(B, 3, 5, 4)]),
    # images
    ("affine_transform", lambda x: image.affine_transform(x, [1.0, 0.1, 0.0, 0.1, 1.0, 1.0, 0.0, 0.0]), [(B, 7, 6, 3)]),
    ("crop_images", lambda x: image.crop_images(x, 1, 1, target_height=3, target_width=4), [(B, 7, 6, 3)]),
    ("elastic_transform", lambda x: image.elastic_transform(x, seed=3, sigma=2.0), [(B, 7, 6, 3)]),
    ("extract_patches", lambda x: image.extract_patches(x, (2, 2)), [(B, 6, 6, 3)]),
    ("gaussian_blur", image.gaussian_blur, [(B, 7, 6, 3)]),
    ("map_coordinates", lambda x, y: image.map_coordinates(x, y * 3, 1, "mirror"), [(B, 6), (2, 5)]),
    ("map_coordinates reflect", lambda x, y: image.map_coordinates(x, y * 3, 1, "reflect"), [(B, 6), (2, 5)]),
    ("perspective_transform", lambda x: image.perspective_transform(x, _corners(0.0), _corners(1.0)), [(B, 7, 6, 3)]),
    ("pad_images", lambda x: image.pad_images(x, 1, 1, target_height=9, target_width=9), [(B, 7, 6, 3)]),
    ("resize", lambda x: image.resize(x, (4, 9), antialias=True), [(B, 7, 6, 3)]),
    ("resize nearest", lambda x: image.resize(x, (4, 9), "nearest"), [(B, 7, 6, 3)]),
    ("resize cropped", lambda x: image.resize(x, (4, 9), crop_to_aspect_ratio=True), [(B, 7, 6, 3)]),
    ("resize padded", lambda x: image.resize(x, (4, 9), pad_to_aspect_ratio=True), [(B, 7, 6, 3)]),
    ("rgb_to_hsv", lambda x: image.rgb_to_hsv(ops.sigmoid(x)), [(B, 7, 6, 3)]),
    ("scale_and_translate",
     lambda x: image.scale_and_translate(x, (2, 4, 9, 3), [0.5, 1.5], [0.0, 1.0], (1, 2), "linear"), [(B, 7, 6, 3)]),
    ("sobel_edges", lambda x: keras.src.backend.image.sobel_edges(x), [(B, 7, 6, 3)]),
    # random numbers
    ("beta", lambda x: keras.random.beta(ops.shape(x), 2.0, 3.0, seed=1), [(B, 4)]),
    ("binomial", lambda x: keras.random.binomial(ops.shape(x), 3.0, 0.5, seed=1), [(B, 4)]),
    ("dropout", lambda x: keras.random.dropout(x, 0.5, seed=1), [(B, 4)]),
    ("dropout of columns", lambda x: keras.random.dropout(x, 0.5, noise_shape=(None, 1), seed=1), [(B, 4)]),
    ("gamma", lambda x: keras.random.gamma(ops.shape(x), 2.0, seed=1), [(B, 4)]),
    ("normal", lambda x: keras.random.normal(ops.shape(x), seed=1), [(B, 4)]),
    ("shuffle", lambda x: keras.random.shuffle(x, seed=1), [(B, 4)]),
    ("uniform", lambda x: keras.random.uniform(ops.shape(x), seed=1), [(B, 4)]),
]  # fmt: skip


def _labels(x: Any) -> list[Any]:
    return [ops.tile([[1, 2, 3]], (ops.shape(x)[0], 1))]


def _lengths(x: Any) -> list[Any]:
    ones = ops.ones(ops.shape(x)[:1], "int32")
    return [3 * ones, 5 * ones]


def _corners(shift: float) -> Any:
    return np.array([[[0.0, 0.0], [5.0, shift], [shift, 6.0], [5.0, 6.0]]], np.float32)


NUMBERS = {
    "cross",
    "associative_scan",
    "lu_factor",
    "solve",
    "attention",
    "attention shared keys",
    "conv",
    "conv groups",
    "conv dilated",
    "conv_transpose",
    "conv_transpose same",
    "conv_transpose 1",
    "conv_transpose 3",
    "ctc_loss",
    "ctc_decode",
    "separable_conv",
    "extract_patches",
    "gaussian_blur",
    "map_coordinates",
    "map_coordinates reflect",
    "pad_images",
    "sobel_edges",
}
"""Functions for which channels, classes, heads, sides of matrices or numbers of parts decide what is computed: a trace has to
know these sizes, and leaves the number of examples open."""


def difference(row: Row, open_sizes: str) -> str:
    """The difference between a function with open sizes and one without a trace, as a sentence; empty, as a rule.

    Args:
        row: the function.
        open_sizes: `batch`, or `all`.
    """
    name, function, shapes = row
    specs = [
        af.TensorSpec([None if open_sizes == "all" or size == B else size for size in shape], af.float32)
        for shape in shapes
    ]
    try:
        traced = af.function(lambda *inputs: keras.tree.flatten(function(*inputs))).get_concrete_function(*specs)
        for number in (3, 5):
            rng = np.random.default_rng(number)
            inputs = [
                af.constant(rng.normal(size=[number if size == B else size for size in shape]).astype("float32"))
                for shape in shapes
            ]
            for value, expected in zip(traced(*inputs), keras.tree.flatten(function(*inputs)), strict=True):
                np.testing.assert_allclose(ops.convert_to_numpy(value), ops.convert_to_numpy(expected), 1e-4, 1e-5)
    except Exception as error:
        return f"{name} ({open_sizes}): {type(error).__name__}: {str(error)[:300]!r}"
    return ""


def main(names: list[str]) -> int:
    """Prints the differences, and returns their number."""
    rows = [row for row in ROWS if not names or row[0] in names]
    tried = [(row, sizes) for row in rows for sizes in ("batch", "all") if sizes == "batch" or row[0] not in NUMBERS]
    differences = [text for row, sizes in tried if (text := difference(row, sizes))]
    for text in differences:
        print(text)
    print(f"{len(differences)} of {len(tried)} differ")
    return len(differences)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
