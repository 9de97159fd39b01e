"""Sizes, axes, widths and counts that are inputs of a model: a run gives what the same values as weights give.

The table has all inputs of ONNX's ops that say what a result looks like, and ops whose windows depend on sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_models import answers, model, node

import actorflow as af
from actorflow.errors import OpError

DRAW = np.random.default_rng(0).standard_normal
LINE = DRAW((2, 5)).astype(np.float32)
CUBE = DRAW((2, 3, 4)).astype(np.float32)
IMAGE = DRAW((1, 2, 4, 6)).astype(np.float32)
SIGNAL = DRAW((2, 8, 1)).astype(np.float32)
INT = np.int64


def row(op: str, *values: Any, outputs: str = "y", **attrs: Any) -> tuple[Any, list[Any], str]:
    """A node whose inputs are these values; None is one that is left out."""
    names = " ".join("-" if value is None else f"i{at}" for at, value in enumerate(values))
    return node(op, names, outputs, **attrs), list(values), outputs


ROWS = {
    "Slice": row("Slice", CUBE, INT([1, -3]), INT([9, -1])),
    "Slice, axes": row("Slice", CUBE, INT([1, 0]), INT([3, 1]), INT([-1, 0])),
    "Slice, backwards": row("Slice", CUBE, INT([9, 1]), INT([-(2**62), 0]), INT([2, 1]), INT([-1, -1])),
    "Slice, steps": row("Slice", CUBE, INT([0]), INT([2**62]), INT([2]), INT([3])),
    "Slice, backwards to the begin": row("Slice", CUBE, INT([-1]), INT([-9]), INT([1]), INT([-2])),
    "Split": row("Split", LINE, INT([1, 4]), outputs="y z", axis=1),
    "Split, equal": row("Split", LINE, outputs="y z", axis=1, num_outputs=2),
    "SplitToSequence": row("SplitToSequence", LINE, INT([1, 3, 1]), axis=1),
    "SplitToSequence, size": row("SplitToSequence", LINE, INT(2), axis=1),
    "SplitToSequence, rows": row("SplitToSequence", LINE, axis=0, keepdims=0),
    "Pad, constant": row("Pad", LINE, INT([0, 1, 2, 0]), np.float32(7)),
    "Pad, axes": row("Pad", LINE, INT([2, 1]), None, INT([-1])),
    "Pad, reflect": row("Pad", LINE, INT([1, 3, 0, 2]), mode="reflect"),
    "Pad, edge": row("Pad", LINE, INT([1, 3, 0, 2]), mode="edge"),
    "Pad, wrap": row("Pad", LINE, INT([1, 3, 0, 2]), mode="wrap"),
    "Pad, cut": row("Pad", LINE, INT([-1, -1, 0, 2])),
    "Pad, cut and reflect": row("Pad", LINE, INT([0, -1, 0, 2]), mode="reflect"),
    "CenterCropPad": row("CenterCropPad", CUBE, INT([3, 2, 4])),
    "CenterCropPad, axes": row("CenterCropPad", CUBE, INT([7, 1]), axes=[-1, 0]),
    "Squeeze": row("Squeeze", CUBE[:1, :, :1], INT([0, -1])),
    "Unsqueeze": row("Unsqueeze", LINE, INT([-1, 0])),
    "Unsqueeze, one": row("Unsqueeze", LINE, INT([1])),
    "Reshape": row("Reshape", CUBE, INT([0, -1, 2])),
    "Expand": row("Expand", LINE, INT([3, 1, 5])),
    "Tile": row("Tile", LINE, INT([2, 3])),
    "TopK": row("TopK", LINE, INT([2]), outputs="y z"),
    "TopK, smallest": row("TopK", LINE, INT([2]), outputs="y z", largest=0, axis=0),
    "OneHot": row("OneHot", INT([1, -1, 7]), INT(4), np.float32([2, 5])),
    "OneHot, axis": row("OneHot", INT([[1, -1, 0]]), INT(3), np.int32([2, 5]), axis=1),
    "Range": row("Range", INT(2), INT(11), INT(3)),
    "ConstantOfShape": row("ConstantOfShape", INT([2, 3])),
    "CumSum": row("CumSum", LINE, INT(1)),
    "ReduceSum": row("ReduceSum", CUBE, INT([0, -1]), keepdims=0),
    "ReduceMax": row("ReduceMax", CUBE, INT([1])),
    "Trilu": row("Trilu", LINE, INT(1)),
    "Resize, scales": row("Resize", IMAGE, None, np.float32([1, 1, 2, 0.5])),
    "Resize, sizes": row("Resize", IMAGE, None, None, INT([1, 2, 7, 5]), mode="linear"),
    "Resize, cubic": row("Resize", IMAGE, None, None, INT([1, 2, 7, 5]), mode="cubic", antialias=1),
    "Resize, batch": row("Resize", IMAGE, None, np.float32([2, 1.5, 1, 1]), mode="linear"),
    "Resize, corners": row(
        "Resize", IMAGE, None, None, INT([1, 2, 1, 9]), mode="linear", coordinate_transformation_mode="align_corners"
    ),
    "Resize, symmetric": row(
        "Resize", IMAGE, None, np.float32([1, 1, 1.7, 0.6]), mode="linear",
        coordinate_transformation_mode="half_pixel_symmetric",
    ),
    "Resize, torch": row(
        "Resize", IMAGE, None, None, INT([1, 2, 1, 9]), mode="cubic", coordinate_transformation_mode="pytorch_half_pixel",
        exclude_outside=1,
    ),
    "Resize, crop": row(
        "Resize", IMAGE, np.float32([0, 0, 0.2, 0.4, 1, 1, 1.2, 0.8]), None, INT([1, 2, 3, 3]), mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0,
    ),
    "Resize, not larger": row(
        "Resize", IMAGE, None, None, INT([9, 8]), axes=[2, 3], keep_aspect_ratio_policy="not_larger", mode="nearest"
    ),
    "Resize, not smaller": row(
        "Resize", IMAGE, None, None, INT([9, 8]), axes=[2, 3], keep_aspect_ratio_policy="not_smaller", nearest_mode="ceil"
    ),
    "Resize, whole numbers": row(
        "Resize", (IMAGE * 40).astype(np.uint8), None, np.float32([1, 1, 2, 2]), mode="linear"
    ),
    "Dropout": row("Dropout", LINE, np.float32(0.5), np.asarray(False), outputs="y z"),
    "Dropout, ratio 0": row("Dropout", LINE, np.float32(0), np.asarray(True), outputs="y z"),
    "AffineGrid": row("AffineGrid", DRAW((2, 2, 3)).astype(np.float32), INT([2, 1, 3, 4])),
    "AffineGrid, corners": row("AffineGrid", DRAW((1, 3, 4)).astype(np.float32), INT([1, 1, 2, 1, 3]), align_corners=1),
    "Col2Im": row("Col2Im", DRAW((1, 4, 12)).astype(np.float32), INT([3, 5]), INT([1, 4]), pads=[0, 1, 1, 0]),
    "MaxUnpool": row(
        "MaxUnpool", DRAW((1, 1, 2, 2)).astype(np.float32), INT([[[[5, 7], [13, 15]]]]), INT([1, 1, 5, 5]),
        kernel_shape=[2, 2], strides=[2, 2],
    ),
    "DFT": row("DFT", SIGNAL, INT(6), INT(1)),
    "DFT, one side": row("DFT", SIGNAL, None, INT(-2), onesided=1),
    "DFT, longer": row("DFT", DRAW((2, 3, 4, 2)).astype(np.float32), INT(7), INT(0), inverse=1),
    "STFT": row("STFT", SIGNAL, INT(2), np.hanning(4).astype(np.float32)),
    "STFT, length": row("STFT", SIGNAL[..., 0], INT(3), None, INT(4), onesided=0),
    "HannWindow": row("HannWindow", INT(7)),
    "MelWeightMatrix": row("MelWeightMatrix", INT(8), INT(16), INT(8192), np.float32(0), np.float32(4096)),
    "TfIdfVectorizer": row(
        "TfIdfVectorizer", INT([[1, 2, 3, 1], [2, 3, 1, 1]]), mode="TF", min_gram_length=1, max_gram_length=2,
        max_skip_count=1, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[1, 2, 3, 2, 3, 1, 1],
    ),
    "Attention": row("Attention", IMAGE, IMAGE, IMAGE),
    "NonMaxSuppression": row(
        "NonMaxSuppression", np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]]), np.float32([[[0.9, 0.8, 0.7]]]),
        INT([3]), np.float32([0.5]), np.float32([0]),
    ),
    "AveragePool": row("AveragePool", IMAGE, kernel_shape=[3, 2], pads=[1, 0, 1, 1]),
    "AveragePool, with pads": row("AveragePool", IMAGE, kernel_shape=[3, 3], auto_pad="SAME_UPPER", count_include_pad=1),
    "AveragePool, steps": row("AveragePool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"),
    "AveragePool, ceil": row("AveragePool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    "AveragePool, holes": row("AveragePool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]),
    "MaxPool": row("MaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
    "MaxPool, places": row("MaxPool", IMAGE, outputs="y z", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    "MaxPool, ceil": row("MaxPool", IMAGE, kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1),
    "MaxPool, holes": row("MaxPool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2]),
    "LpPool": row("LpPool", IMAGE, kernel_shape=[2, 2], pads=[1, 1, 1, 1], strides=[2, 2]),
    "Conv": row("Conv", IMAGE, DRAW((3, 2, 3, 3)).astype(np.float32), strides=[2, 2], auto_pad="SAME_LOWER"),
    "ConvTranspose": row("ConvTranspose", IMAGE, DRAW((2, 3, 3, 3)).astype(np.float32), strides=[2, 2], pads=[1, 1, 0, 0]),
    "ConvTranspose, same": row(
        "ConvTranspose", IMAGE, DRAW((2, 3, 3, 3)).astype(np.float32), strides=[2, 2], auto_pad="SAME_UPPER"
    ),
    "ConvTranspose, shape": row(
        "ConvTranspose", IMAGE, DRAW((2, 3, 3, 3)).astype(np.float32), strides=[2, 2], output_shape=[9, 13]
    ),
    "ConvTranspose, 1": row("ConvTranspose", CUBE, DRAW((3, 2, 3)).astype(np.float32), strides=[2], output_padding=[1]),
    "GridSample": row("GridSample", IMAGE, DRAW((1, 3, 3, 2)).astype(np.float32)),
    "GridSample, reflection": row(
        "GridSample", IMAGE, DRAW((1, 3, 3, 2)).astype(np.float32) * 2, padding_mode="reflection", mode="cubic"
    ),
    "RoiAlign": row(
        "RoiAlign", IMAGE, np.float32([[0, 0, 3, 3], [1, 1, 5, 2]]), INT([0, 0]), output_height=2, output_width=2,
        sampling_ratio=2,
    ),
    "SpaceToDepth": row("SpaceToDepth", IMAGE, blocksize=2),
    "DepthToSpace": row("DepthToSpace", np.tile(IMAGE, [1, 2, 1, 1]), blocksize=2),
    "Unique": row("Unique", np.float32([2, 1, 2]), outputs="y a b c"),
    "LRN": row("LRN", IMAGE, size=3),
    "InstanceNormalization": row("InstanceNormalization", IMAGE, np.float32([1, 2]), np.float32([0, 1])),
    "GlobalAveragePool": row("GlobalAveragePool", IMAGE),
    "LinearAttention": row(
        "LinearAttention", DRAW((1, 3, 4)).astype(np.float32), DRAW((1, 3, 4)).astype(np.float32),
        DRAW((1, 3, 4)).astype(np.float32), outputs="y z", q_num_heads=2, kv_num_heads=2, update_rule="linear",
    ),
}  # fmt: skip
KEPT = {"Conv", "ConvTranspose, shape", "ConvTranspose", "ConvTranspose, same", "ConvTranspose, 1"}
"""Rows of which the second input stays a weight, as filters are."""


def built(name: str, known: bool) -> tuple[Any, dict[str, Any]]:
    """The model of a row with its values as weights, or as inputs whose sizes nothing says; and its feeds."""
    only, values, outputs = ROWS[name]
    arrays = {f"i{at}": np.asarray(value) for at, value in enumerate(values) if value is not None}
    weights = {n: v for n, v in arrays.items() if (known and n != "i0") or (name in KEPT and n == "i1")}
    fed = {n: v for n, v in arrays.items() if n not in weights}
    inputs = {n: (v.dtype.name, v.shape if known else _open(v, n)) for n, v in fed.items()}
    return model([only], inputs, outputs, weights, opset=26 if only.op_type == "LinearAttention" else 22), fed


def _open(value: Any, name: str) -> tuple[int | None, ...]:
    """Of vectors that say sizes the length stays known, as the rank of a result depends on it."""
    return value.shape if value.ndim <= 1 and name != "i0" else (None,) * value.ndim


@pytest.mark.parametrize("name", ROWS)
async def test_a_size_that_only_a_run_knows_gives_what_a_weight_gives(name: str) -> None:
    proto, feeds = built(name, known=True)
    wanted = await answers(proto, feeds)
    proto, feeds = built(name, known=False)
    found = await answers(proto, feeds)
    for output, value in wanted.items():
        pairs = list(zip(found[output], value)) if isinstance(value, list) else [(found[output], value)]
        assert not isinstance(value, list) or len(found[output]) == len(value)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
            assert np.shape(one) == np.shape(other)


BEYOND = {
    "OneHot": row("OneHot", INT([1]), INT(2**32 + 3), np.float32([0, 1])),
    "OneHot, far": row("OneHot", INT([1]), INT(2**40), np.float32([0, 1])),
    "TopK": row("TopK", LINE, INT([2**32 + 1]), outputs="y z"),
    "TopK, smallest": row("TopK", LINE, INT([2**32 + 1]), outputs="y z", largest=0),
    "SequenceAt": row("SequenceAt", None, INT(2**32)),
    "SequenceErase": row("SequenceErase", None, INT(2**32)),
    "SequenceInsert": row("SequenceInsert", None, LINE, INT(2**32)),
    "Tile": row("Tile", LINE, INT([1, 2**32 + 1])),
    "Expand": row("Expand", LINE[:1], INT([2**40, 5])),
    "Range": row("Range", INT(0), INT(2**40), INT(1)),
    "ConstantOfShape": row("ConstantOfShape", INT([2**40])),
    "CumSum": row("CumSum", LINE, INT(2**32)),
    "Reshape": row("Reshape", LINE, INT([2**32 + 2, 5])),
    "Squeeze": row("Squeeze", LINE, INT([2**32])),
    "Split": row("Split", LINE, INT([2**32 + 1, 4 - 2**32]), outputs="y z", axis=1),
    "Gather": row("Gather", LINE, INT([2**32])),
    "GatherElements": row("GatherElements", LINE, INT([[2**32]])),
    "GatherND": row("GatherND", LINE, INT([[2**32]])),
    "ScatterND": row("ScatterND", LINE, INT([[2**32]]), LINE[:1]),
    "ScatterElements": row("ScatterElements", LINE, INT([[2**32]]), LINE[:1, :1]),
    "ReduceSum": row("ReduceSum", LINE, INT([2**32])),
}
"""Counts, sizes, places and axes beyond 32 bits that fit no tensor of a test. Their lowest bits would fit."""


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", BEYOND)
async def test_a_number_beyond_32_bits_is_not_cut_to_its_lowest_bits(name: str, known: bool) -> None:
    only, values, outputs = BEYOND[name]
    nodes, arrays = [only], {f"i{at}": np.asarray(value) for at, value in enumerate(values) if value is not None}
    if values[0] is None:
        only.input[0] = "list"
        nodes = [node("SequenceConstruct", "a b", "list"), only]
        arrays |= {"a": LINE, "b": LINE}
    weights = {n: v for n, v in arrays.items() if known and v.dtype == INT and n != "i0"}
    fed = {n: v for n, v in arrays.items() if n not in weights}
    proto = model(nodes, {n: (v.dtype.name, v.shape) for n, v in fed.items()}, outputs, weights)
    with pytest.raises((OpError, ValueError, TypeError)):
        await answers(proto, fed)


async def test_a_slice_and_one_hot_vectors_of_nothing_keep_sizes_beyond_32_bits() -> None:
    proto = model([node("OneHot", "x depth values", "y")], {"x": ("int64", (0,)), "depth": ("int64", ())}, "y",
                  {"values": np.float32([0, 1])})  # fmt: skip
    with af.Graph().as_default():
        known = af.onnx.load(proto, values={"depth": 2**32 + 3})
    assert known.outputs["y"].static_shape == (0, 2**32 + 3)
    proto = model(
        [node("Slice", "x a b", "y")], {"x": ("float32", (5,)), "a": ("int64", (1,)), "b": ("int64", (1,))}, "y"
    )
    found = await answers(proto, {"x": LINE[0], "a": INT([2**32 + 1]), "b": INT([2**40])})
    assert found["y"].shape == (0,)
