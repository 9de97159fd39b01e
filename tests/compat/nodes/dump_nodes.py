"""Writes `nodes_tf221.zip`: graphs of ops that actorflow builds of others, and TensorFlow 2.21's answers.

python tests/compat/nodes/dump_nodes.py    with tensorflow==2.21, under Python 3.11
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow.compat.v1 as tf
from tensorflow.image import resize

raw = tf.raw_ops
rng = np.random.default_rng(0)
SAMPLES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
KNOWN = {
    "dfvp",
    "dfvp2",
    "combined_nms",
    "combined_nms_q",
    "volpatch",
    "banded",
    "tridiag",
    "tridiagmm",
    "mdiag_band",
    "dfvp_space",
    "einsum_one",
}
"""Samples whose inputs have known shapes; others have a rank alone."""


def f(*shape: int) -> Any:
    """Numbers of float32."""
    return rng.normal(size=shape).astype("f4")


def i(high: int, *shape: int) -> Any:
    """Integers below `high`."""
    return rng.integers(0, high, shape).astype("i4")


def sample(name: str, build: Callable[..., Any], *feeds: Any) -> None:
    """A function that adds nodes behind placeholders, and what is fed."""
    SAMPLES[name] = (build, feeds)


sample("gather_batch", lambda a, b: tf.gather(a, b, batch_dims=1), f(3, 5, 2), i(5, 3, 4))
sample("gather_batch_axis", lambda a, b: tf.gather(a, b, batch_dims=1, axis=2), f(3, 2, 5), i(5, 3, 4))
sample("gather_batch2", lambda a, b: tf.gather(a, b, batch_dims=-1, axis=-1), f(3, 2, 5), i(5, 3, 2, 4))
sample("gather_nd_batch", lambda a, b: tf.gather_nd(a, b, batch_dims=1), f(3, 5, 2), i(5, 3, 4, 1))
sample(
    "conv_explicit",
    lambda a, b: tf.nn.conv2d(a, b, [1, 2, 2, 1], [[0, 0], [1, 2], [0, 3], [0, 0]]),
    f(2, 8, 7, 3),
    f(3, 3, 3, 4),
)
sample(
    "dw_explicit",
    lambda a, b: raw.DepthwiseConv2dNative(
        input=a, filter=b, strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 1, 2, 0, 0, 0]
    ),
    f(2, 8, 7, 3),
    f(3, 3, 3, 2),
)
sample(
    "maxpool_explicit",
    lambda a: raw.MaxPool(
        input=a,
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 1, 1, 0, 0, 0],
    ),
    f(2, 8, 7, 3),
)
sample(
    "rttt_splits",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array(-1, np.int64),
        values=v,
        default_value=np.float32(7),
        row_partition_tensors=[sp],
        row_partition_types=["ROW_SPLITS"],
    ),
    f(5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rttt_shape",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array([4, 2], "i8"),
        values=v,
        default_value=np.float32(7),
        row_partition_tensors=[sp],
        row_partition_types=["ROW_SPLITS"],
    ),
    f(5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rttt_shape_part",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array([-1, 4], "i8"),
        values=v,
        default_value=np.float32(7),
        row_partition_tensors=[sp],
        row_partition_types=["ROW_SPLITS"],
    ),
    f(5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rttt_inner",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array([-1, -1, 3], "i8"),
        values=v,
        default_value=np.array([1, 2, 3], "f4"),
        row_partition_tensors=[sp],
        row_partition_types=["ROW_SPLITS"],
    ),
    f(5, 3),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rttt_rowids",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array([-1, -1], "i8"),
        values=v,
        default_value="",
        row_partition_tensors=[np.array(4, "i8"), sp],
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    ),
    np.array(["a", "b", "cc", "d"], object),
    np.array([0, 0, 2, 2], "i8"),
)
sample(
    "rttt_two",
    lambda v, a, b: raw.RaggedTensorToTensor(
        shape=np.array([-1, -1, -1], "i8"),
        values=v,
        default_value=0,
        row_partition_tensors=[a, b],
        row_partition_types=["ROW_SPLITS", "ROW_SPLITS"],
    ),
    i(9, 6),
    np.array([0, 2, 3], "i8"),
    np.array([0, 1, 1, 6], "i8"),
)
sample(
    "rttt_two_ids",
    lambda v, a, b: raw.RaggedTensorToTensor(
        shape=np.array([-1, -1, -1], "i8"),
        values=v,
        default_value=0,
        row_partition_tensors=[np.array(2, "i8"), a, b],
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"],
    ),
    i(9, 6),
    np.array([0, 0, 1], "i8"),
    np.array([0, 2, 2, 2, 2, 2], "i8"),
)
sample(
    "rttt_empty",
    lambda v, sp: raw.RaggedTensorToTensor(
        shape=np.array(-1, np.int64),
        values=v,
        default_value=np.float32(7),
        row_partition_tensors=[sp],
        row_partition_types=["ROW_SPLITS"],
    ),
    f(0),
    np.array([0], "i8"),
)
sample(
    "rtts",
    lambda v, a: raw.RaggedTensorToSparse(rt_nested_splits=[a], rt_dense_values=v),
    f(5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rtts2",
    lambda v, a, b: raw.RaggedTensorToSparse(rt_nested_splits=[a, b], rt_dense_values=v),
    f(6),
    np.array([0, 2, 3], "i8"),
    np.array([0, 1, 1, 6], "i8"),
)
sample(
    "rtts_inner",
    lambda v, a: raw.RaggedTensorToSparse(rt_nested_splits=[a], rt_dense_values=v),
    f(5, 2),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rrange",
    lambda a, b, c: raw.RaggedRange(starts=a, limits=b, deltas=c),
    np.array([0, 5, 3], "i4"),
    np.array([4, 5, -3], "i4"),
    np.array([1, 1, -2], "i4"),
)
sample(
    "rrange_scalar",
    lambda a, b: raw.RaggedRange(starts=np.int64(0), limits=b, deltas=np.int64(1)),
    f(1),
    np.array([4, 0, 3], "i8"),
)
sample(
    "rgather",
    lambda v, sp, ix: raw.RaggedGather(
        params_nested_splits=[sp], params_dense_values=v, indices=ix, OUTPUT_RAGGED_RANK=1
    ),
    f(5, 2),
    np.array([0, 2, 2, 5], "i8"),
    np.array([2, 0, 2], "i8"),
)
sample(
    "rgather2",
    lambda v, a, b, ix: raw.RaggedGather(
        params_nested_splits=[a, b], params_dense_values=v, indices=ix, OUTPUT_RAGGED_RANK=2
    ),
    f(6),
    np.array([0, 2, 3], "i8"),
    np.array([0, 1, 1, 6], "i8"),
    np.array([1, 0], "i4"),
)
sample("dbin1", lambda v, w: raw.DenseBincount(input=v, size=4, weights=w, binary_output=False), i(6, 9), f(9))
sample(
    "dbin2", lambda v: raw.DenseBincount(input=v, size=4, weights=np.zeros((0,), "f4"), binary_output=False), i(6, 3, 5)
)
sample(
    "dbin2b", lambda v: raw.DenseBincount(input=v, size=4, weights=np.zeros((0,), "f4"), binary_output=True), i(6, 3, 5)
)
sample(
    "dbin2w",
    lambda v, w: raw.DenseBincount(input=v, size=np.int64(4), weights=w, binary_output=False),
    i(6, 3, 5).astype("i8"),
    f(3, 5),
)
sample(
    "rbin",
    lambda v, sp: raw.RaggedBincount(splits=sp, values=v, size=4, weights=np.zeros((0,), "f4"), binary_output=False),
    i(6, 5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "rbinb",
    lambda v, sp: raw.RaggedBincount(splits=sp, values=v, size=4, weights=np.zeros((0,), "f4"), binary_output=True),
    i(4, 5),
    np.array([0, 2, 2, 5], "i8"),
)
sample(
    "sbin2",
    lambda ix, v: raw.SparseBincount(
        indices=ix,
        values=v,
        dense_shape=np.array([3, 4], "i8"),
        size=5,
        weights=np.zeros((0,), "f4"),
        binary_output=False,
    ),
    np.array([[0, 1], [0, 2], [2, 3]], "i8"),
    np.array([1, 1, 4], "i4"),
)
sample(
    "sbin1",
    lambda ix, v: raw.SparseBincount(
        indices=ix, values=v, dense_shape=np.array([4], "i8"), size=5, weights=np.zeros((0,), "f4"), binary_output=False
    ),
    np.array([[0], [2], [3]], "i8"),
    np.array([1, 1, 4], "i4"),
)
sample("dfdm", lambda x: raw.DataFormatDimMap(x=x), np.array([0, 1, 2, 3], "i4"))
sample("dfvp", lambda x: raw.DataFormatVecPermute(x=x), np.array([4, 5, 6, 7], "i4"))
sample(
    "dfvp2",
    lambda x: raw.DataFormatVecPermute(x=x, src_format="NCHW", dst_format="NHWC"),
    np.array([[4, 5], [6, 7], [8, 9], [1, 2]], "i4"),
)
sample("mdiag_k", lambda x: tf.linalg.diag(x, k=1), f(2, 3))
sample("mdiag_band", lambda x: tf.linalg.diag(x, k=(-1, 1)), f(2, 3, 4))
sample("mdiagpart_k", lambda x: tf.linalg.diag_part(x, k=-1), f(2, 4, 5))
sample("mdiagpart_band", lambda x: tf.linalg.diag_part(x, k=(-1, 2)), f(2, 4, 5))
sample("mdiagpart_left", lambda x: tf.linalg.diag_part(x, k=(-1, 2), align="LEFT_RIGHT", padding_value=8.0), f(2, 4, 5))
sample("msetdiag_k", lambda x, d: tf.linalg.set_diag(x, d, k=1), f(2, 4, 5), f(2, 4))
sample("unique_axis", lambda x: raw.UniqueV2(x=x, axis=[0]), np.array([[1, 2], [3, 4], [1, 2]], "i4"))
sample("unique_wc_axis1", lambda x: raw.UniqueWithCountsV2(x=x, axis=[1]), np.array([[1, 2, 1], [3, 4, 3]], "i4"))
sample(
    "nms5_soft",
    lambda b, sc: raw.NonMaxSuppressionV5(
        boxes=b, scores=sc, max_output_size=4, iou_threshold=0.5, score_threshold=0.1, soft_nms_sigma=0.5
    )[:2],
    np.sort(np.abs(f(8, 4)), 1),
    np.abs(f(8)),
)
sample(
    "nms4_pad",
    lambda b, sc: raw.NonMaxSuppressionV4(
        boxes=b, scores=sc, max_output_size=6, iou_threshold=0.3, score_threshold=0.1, pad_to_max_output_size=True
    ),
    np.sort(np.abs(f(8, 4)), 1),
    np.abs(f(8)),
)
sample(
    "combined_nms",
    lambda b, sc: raw.CombinedNonMaxSuppression(
        boxes=b,
        scores=sc,
        max_output_size_per_class=3,
        max_total_size=5,
        iou_threshold=0.4,
        score_threshold=0.1,
        pad_per_class=False,
        clip_boxes=True,
    ),
    np.clip(np.sort(np.abs(f(2, 8, 1, 4)), 3), 0, 1.2),
    np.abs(f(2, 8, 3)),
)
sample(
    "combined_nms_q",
    lambda b, sc: raw.CombinedNonMaxSuppression(
        boxes=b,
        scores=sc,
        max_output_size_per_class=3,
        max_total_size=20,
        iou_threshold=0.4,
        score_threshold=0.1,
        pad_per_class=True,
        clip_boxes=False,
    ),
    np.sort(np.abs(f(2, 8, 3, 4)), 3),
    np.abs(f(2, 8, 3)),
)
sample(
    "nms_overlaps",
    lambda o, sc: raw.NonMaxSuppressionWithOverlaps(
        overlaps=o, scores=sc, max_output_size=4, overlap_threshold=0.5, score_threshold=0.1
    ),
    np.abs(f(6, 6)),
    np.abs(f(6)),
)
sample(
    "volpatch",
    lambda x: raw.ExtractVolumePatches(input=x, ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID"),
    f(1, 3, 3, 3, 2),
)
sample(
    "proj3",
    lambda x, t: raw.ImageProjectiveTransformV3(
        images=x, transforms=t, output_shape=[5, 6], fill_value=0.5, interpolation="BILINEAR"
    ),
    f(2, 6, 6, 3),
    np.array([[1, 0.1, 0.5, 0.05, 1.1, -0.5, 0, 0]], "f4"),
)
sample(
    "proj2n",
    lambda x, t: raw.ImageProjectiveTransformV2(images=x, transforms=t, output_shape=[6, 6], interpolation="NEAREST"),
    f(2, 6, 6, 3),
    np.array([[1, 0.1, 0.5, 0.05, 1.1, -0.5, 0, 0], [0.9, 0, 1, 0, 0.9, 0, 0.01, 0]], "f4"),
)
sample(
    "proj3wrap",
    lambda x, t: raw.ImageProjectiveTransformV3(
        images=x, transforms=t, output_shape=[6, 6], fill_value=0.0, interpolation="BILINEAR", fill_mode="REFLECT"
    ),
    f(1, 6, 6, 3),
    np.array([[1.3, 0.1, 0.5, 0.05, 1.4, -0.5, 0, 0]], "f4"),
)
sample(
    "scaletrans",
    lambda x: raw.ScaleAndTranslate(
        images=x,
        size=[4, 9],
        scale=np.array([0.5, 1.5], "f4"),
        translation=np.array([0, 0], "f4"),
        kernel_type="triangle",
        antialias=True,
    ),
    f(2, 8, 6, 3),
)
sample("resize_aa", lambda x: resize(x, [4, 9], method="lanczos3", antialias=True), f(2, 8, 6, 3))
sample(
    "qdq2",
    lambda x: raw.QuantizeAndDequantizeV2(
        input=x, input_min=-1.0, input_max=1.0, signed_input=True, num_bits=8, range_given=True
    ),
    f(4, 5),
)
sample(
    "qdq3",
    lambda x: raw.QuantizeAndDequantizeV3(
        input=x, input_min=0.0, input_max=0.0, num_bits=8, signed_input=True, range_given=False, narrow_range=True
    ),
    f(4, 5),
)
sample(
    "fusedpad",
    lambda x, w: raw.FusedPadConv2D(
        input=x,
        paddings=[[0, 0], [1, 1], [2, 0], [0, 0]],
        filter=w,
        mode="REFLECT",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    f(1, 6, 6, 2),
    f(3, 3, 2, 2),
)
sample("lu", lambda x: raw.Lu(input=x), f(2, 4, 4))
sample(
    "eig",
    lambda x: tf.abs(raw.Eig(input=x, compute_v=False, Tout=tf.complex64)[0]),
    np.diag([3.0, 2.0, 1.0]).astype("f4"),
)
sample(
    "tridiag",
    lambda d, r: raw.TridiagonalSolve(diagonals=d, rhs=r, partial_pivoting=True),
    np.abs(f(2, 3, 5)) + np.array([[1], [6], [1]], "f4"),
    f(2, 5, 2),
)
sample(
    "tridiagmm",
    lambda a, b, c, d: raw.TridiagonalMatMul(superdiag=a, maindiag=b, subdiag=c, rhs=d),
    f(2, 1, 5),
    f(2, 1, 5),
    f(2, 1, 5),
    f(2, 5, 2),
)
sample(
    "banded",
    lambda m, r: raw.BandedTriangularSolve(matrix=m, rhs=r, lower=True, adjoint=False),
    np.abs(f(3, 5)) + 1,
    f(5, 2),
)
sample(
    "logm",
    lambda x: tf.math.real(raw.MatrixLogarithm(input=tf.cast(x, tf.complex64))),
    (np.eye(3) * 2 + 0.1 * f(3, 3)).astype("f4"),
)
sample("bessel_i0", lambda x: raw.BesselI0(x=x), np.abs(f(6)) + 0.1)
sample("bessel_i1", lambda x: raw.BesselI1(x=x), np.abs(f(6)) + 0.1)
sample("popcount", lambda x: raw.PopulationCount(x=x), i(1000, 6))
sample(
    "ngrams",
    lambda d, sp: raw.StringNGrams(
        data=d,
        data_splits=sp,
        separator="_",
        ngram_widths=[2, 1],
        left_pad="<",
        right_pad=">",
        pad_width=1,
        preserve_short_sequences=False,
    ),
    np.array(["a", "b", "c", "d"], object),
    np.array([0, 3, 4], "i8"),
)
sample(
    "ngrams0",
    lambda d, sp: raw.StringNGrams(
        data=d,
        data_splits=sp,
        separator=" ",
        ngram_widths=[3],
        left_pad="",
        right_pad="",
        pad_width=0,
        preserve_short_sequences=True,
    ),
    np.array(["a", "b", "c", "d"], object),
    np.array([0, 3, 4], "i8"),
)
sample(
    "udecode",
    lambda x: raw.UnicodeDecode(input=x, input_encoding="UTF-8"),
    np.array(["héllo".encode(), b"", b"a\xffb"], object),
)
sample(
    "udecodeoff",
    lambda x: raw.UnicodeDecodeWithOffsets(input=x, input_encoding="UTF-8"),
    np.array(["hé€llo".encode(), b"x"], object),
)
sample(
    "uencode",
    lambda x, sp: raw.UnicodeEncode(input_values=x, input_splits=sp, output_encoding="UTF-8"),
    np.array([104, 233, 8364, 97], "i4"),
    np.array([0, 3, 3, 4], "i8"),
)
sample(
    "utrans",
    lambda x: raw.UnicodeTranscode(input=x, input_encoding="UTF-8", output_encoding="UTF-16-BE"),
    np.array(["hé".encode()], object),
)
sample(
    "sparsecross",
    lambda a, b: raw.SparseCross(
        indices=[np.array([[0, 0], [1, 0], [1, 1]], "i8")],
        values=[a],
        shapes=[np.array([2, 2], "i8")],
        dense_inputs=[b],
        hashed_output=True,
        num_buckets=100,
        hash_key=956888297470,
        out_type=tf.int64,
        internal_type=tf.string,
    ),
    np.array(["x", "y", "z"], object),
    np.array([["p", "q"], ["r", "s"]], object),
)
sample(
    "sparsecrossi",
    lambda a, b: raw.SparseCross(
        indices=[np.array([[0, 0], [1, 0], [1, 1]], "i8")],
        values=[a],
        shapes=[np.array([2, 2], "i8")],
        dense_inputs=[b],
        hashed_output=True,
        num_buckets=50,
        hash_key=956888297470,
        out_type=tf.int64,
        internal_type=tf.int64,
    ),
    np.array([5, 6, 7], "i8"),
    np.array([[1, 2], [3, 4]], "i8"),
)
sample(
    "fillrows",
    lambda v: raw.SparseFillEmptyRows(
        indices=np.array([[0, 1], [0, 2], [2, 3]], "i8"),
        values=v,
        dense_shape=np.array([4, 4], "i8"),
        default_value=np.float32(5),
    ),
    f(3),
)
sample("inplace", lambda x, v: raw.InplaceUpdate(x=x, i=[1], v=v), f(3, 2), f(1, 2))
sample(
    "wav",
    lambda x: raw.DecodeWav(contents=raw.EncodeWav(audio=x, sample_rate=16000), desired_channels=1),
    np.clip(f(50, 1), -1, 1),
)
sample("spectro", lambda x: raw.AudioSpectrogram(input=x, window_size=16, stride=8, magnitude_squared=True), f(64, 1))
sample(
    "mfcc",
    lambda x: raw.Mfcc(
        spectrogram=raw.AudioSpectrogram(input=x, window_size=64, stride=32, magnitude_squared=True),
        sample_rate=16000,
        dct_coefficient_count=5,
    ),
    f(256, 1),
)
sample(
    "lstmcell",
    lambda x, c, h, w, b: raw.LSTMBlockCell(
        x=x,
        cs_prev=c,
        h_prev=h,
        w=w,
        wci=np.zeros(3, "f4"),
        wcf=np.zeros(3, "f4"),
        wco=np.zeros(3, "f4"),
        b=b,
        forget_bias=1.0,
    )[1:],
    f(2, 4),
    f(2, 3),
    f(2, 3),
    f(7, 12),
    f(12),
)
sample(
    "grucell",
    lambda x, h, w, u, b, c: raw.GRUBlockCell(x=x, h_prev=h, w_ru=w, w_c=u, b_ru=b, b_c=c),
    f(2, 4),
    f(2, 3),
    f(7, 6),
    f(7, 3),
    f(6),
    f(3),
)
sample(
    "blocklstm2",
    lambda x, c, h, w, b: raw.BlockLSTMV2(
        seq_len_max=np.int64(5),
        x=x,
        cs_prev=c,
        h_prev=h,
        w=w,
        wci=np.zeros(3, "f4"),
        wcf=np.zeros(3, "f4"),
        wco=np.zeros(3, "f4"),
        b=b,
    )[6],
    f(5, 2, 4),
    f(2, 3),
    f(2, 3),
    f(7, 12),
    f(12),
)
sample(
    "densehash",
    lambda k: tf.identity(tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -7, -8).lookup(k)),
    i(5, 3).astype("i8"),
)
sample("concat_v1", lambda a, b: raw.Concat(concat_dim=1, values=[a, b]), f(2, 3), f(2, 2))
sample(
    "conv_nd",
    lambda a, b: raw.Conv(input=a, filter=b, strides=[1, 1, 1, 1], padding="SAME"),
    f(1, 5, 5, 2),
    f(3, 3, 2, 2),
)
sample("searchsorted", lambda a, b: raw.UpperBound(sorted_inputs=a, values=b), np.sort(f(2, 5), 1), f(2, 3))
sample("roll", lambda a: raw.Roll(input=a, shift=[1, -1], axis=[0, 1]), f(3, 4))
sample("bcast_args", lambda a: raw.BroadcastArgs(s0=a, s1=[3, 1]), np.array([1, 4], "i4"))
sample(
    "bf16",
    lambda a: tf.cast(tf.matmul(tf.cast(a, tf.bfloat16), tf.cast(a, tf.bfloat16), transpose_b=True), tf.float32),
    f(3, 3),
)
sample(
    "matmul_grad_attr", lambda a, b: raw.BatchMatMulV3(x=a, y=b, Tout=tf.float32, adj_y=True), f(2, 3, 4), f(2, 5, 4)
)
sample("addmany", lambda a: raw.AccumulateNV2(inputs=[a, a, a], shape=[2, 3]), f(2, 3))
sample("where3", lambda c, a, b: raw.Select(condition=c, x=a, y=b), np.array([True, False]), f(2, 3), f(2, 3))
sample("selectv2", lambda c, a, b: raw.SelectV2(condition=c, t=a, e=b), np.array([[True], [False]]), f(2, 3), f(3))
sample(
    "bucketize64", lambda a: raw.Bucketize(input=a, boundaries=[0.0, 5.0, 100000.0]), np.array([16777217, 3, -2], "i8")
)
sample("upsample", lambda a: raw.ResizeNearestNeighbor(images=a, size=[7, 7], half_pixel_centers=True), f(1, 3, 4, 2))
sample("bicubic", lambda a: raw.ResizeBicubic(images=a, size=[7, 7], half_pixel_centers=True), f(1, 3, 4, 2))
sample("leaky", lambda a: raw.LeakyRelu(features=a, alpha=0.3), f(5))
sample("einsum_e", lambda a, b: tf.einsum("...ij,jk->...ik", a, b), f(2, 3, 4), f(4, 5))
sample("cumlse", lambda a: raw.CumulativeLogsumexp(x=a, axis=1, exclusive=True, reverse=True), f(2, 4))
sample("nextafter", lambda a, b: raw.NextAfter(x1=a, x2=b), f(3), f(3))
sample(
    "mulnonan",
    lambda a, b: raw.MulNoNan(x=a, y=b),
    np.array([np.nan, np.inf, 2.0], "f4"),
    np.array([0.0, 0.0, 3.0], "f4"),
)
sample(
    "sdenseadd",
    lambda d: raw.SparseDenseCwiseAdd(
        sp_indices=np.array([[0, 1], [1, 0]], "i8"),
        sp_values=np.array([1.0, 2.0], "f4"),
        sp_shape=np.array([2, 2], "i8"),
        dense=d,
    ),
    f(2, 2),
)
sample("smm", lambda a, b: raw.SparseMatMul(a=a, b=b, transpose_a=True), f(4, 3), f(4, 2))
sample(
    "parse_tensor", lambda a: raw.ParseTensor(serialized=raw.SerializeTensor(tensor=a), out_type=tf.float32), f(2, 2)
)
sample(
    "decode_padded",
    lambda a: raw.DecodePaddedRaw(input_bytes=a, fixed_length=8, out_type=tf.int32),
    np.array([b"\1\0\0\0", b"\2\0\0\0\3\0\0\0"], object),
)
sample(
    "decode_crop",
    lambda a: raw.DecodeAndCropJpeg(
        contents=tf.io.encode_jpeg(a, quality=95), crop_window=[1, 1, 6, 6], dct_method="INTEGER_ACCURATE"
    ),
    np.full((12, 12, 3), 100, "u1"),
)
sample("jpegshape", lambda a: raw.ExtractJpegShape(contents=tf.io.encode_jpeg(a)), np.full((12, 10, 3), 100, "u1"))
sample("batchfn", lambda x: tf.nondifferentiable_batch_function(1, 8, 100)(lambda y: y * 2.0)(x), f(2, 3))
sample("optional", lambda x: raw.OptionalHasValue(optional=raw.OptionalFromValue(components=[x])), f(2))
sample(
    "scatternonalias",
    lambda x: raw.ScatterNdNonAliasingAdd(input=x, indices=[[1], [1]], updates=np.array([2.0, 3.0], "f4")),
    f(3),
)
sample(
    "glimpse2",
    lambda x: raw.ExtractGlimpseV2(input=x, size=[3, 3], offsets=np.array([[0.0, 0.2]], "f4")),
    f(1, 6, 6, 1),
)


sample(
    "proj_wrap",
    lambda x, t: raw.ImageProjectiveTransformV3(
        images=x, transforms=t, output_shape=[1, 5], fill_value=0.0, interpolation="BILINEAR", fill_mode="WRAP"
    ),
    f(1, 1, 5, 1),
    np.array([[1, 0, -7.3, 0, 1, 0, 0, 0]], "f4"),
)
sample("unique_last_axis", lambda x: raw.UniqueV2(x=x, axis=[-1]), np.array([[1, 1, 2], [3, 3, 4]], "i4"))
sample(
    "conv_dilated",
    lambda a, b: raw.Conv(input=a, filter=b, strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 2, 1]),
    f(1, 7, 7, 2),
    f(3, 3, 2, 2),
)
sample("popcount_negative", lambda x: raw.PopulationCount(x=x), np.array([-1, -2, 3], "i1"))
sample(
    "dfvp_space",
    lambda x: raw.DataFormatVecPermute(x=x, src_format="NDHWC", dst_format="NCDHW"),
    np.array([1, 2, 3], "i4"),
)
sample("einsum_one", lambda a, b: tf.einsum("...ij,...jk->...ik", a, b), f(3, 2, 4), f(1, 4, 2))


def main() -> None:
    tf.disable_eager_execution()
    with zipfile.ZipFile(Path(__file__).parent / "nodes_tf221.zip", "w") as archive:
        for name, (build, feeds) in SAMPLES.items():
            with tf.Graph().as_default() as graph, tf.Session() as session:
                inputs = [
                    tf.placeholder(
                        tf.string if value.dtype == object else value.dtype,
                        list(value.shape) if name in KNOWN else [None] * value.ndim,
                        name=f"x{place}",
                    )
                    for place, value in enumerate(feeds)
                ]
                outputs = [
                    tf.identity(tensor, name=f"out{place}")
                    for place, tensor in enumerate(tf.nest.flatten(build(*inputs)))
                ]
                session.run(tf.tables_initializer())
                answers = session.run(outputs, dict(zip(inputs, feeds)))
                data = graph.as_graph_def().SerializeToString()
            arrays = {f"x{place}": value for place, value in enumerate(feeds)}
            arrays |= {f"out{place}": np.asarray(value) for place, value in enumerate(answers)}
            file = io.BytesIO()
            np.savez(
                file, **{key: value.astype("S") if value.dtype == object else value for key, value in arrays.items()}
            )
            archive.writestr(zipfile.ZipInfo(f"{name}.pb"), data, zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(f"{name}.npz"), file.getvalue(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
