"""Ops of `com.microsoft` before onnxruntime, which has made them. `make test-extras` runs this."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_models import answers, model, node

pytestmark = pytest.mark.extras("onnxruntime")
ort: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (make test-extras)")
DRAW = np.random.default_rng(0)
S = np.float32


def bytes_(*shape: int, kind: Any = np.uint8) -> Any:
    low, high = (0, 256) if kind == np.uint8 else (-128, 128)
    return DRAW.integers(low, high, shape).astype(kind)


def reals(*shape: int) -> Any:
    return DRAW.normal(size=shape).astype(np.float32)


A, B, IMAGE = bytes_(3, 4), bytes_(3, 4), bytes_(1, 2, 5, 6)
U8, I8 = np.uint8, np.int8
ONE = (S(0.04), U8(120), S(0.02), U8(10))
ROWS: dict[str, tuple[str, list[Any], int, dict[str, Any]]] = {
    "QLinearAdd": ("QLinearAdd", [A, S(0.1), U8(100), B, S(0.05), U8(7), S(0.12), U8(128)], 1, {}),
    "QLinearAdd int8": ("QLinearAdd", [A.view(I8), S(0.1), I8(3), B.view(I8), S(0.05), I8(7), S(0.12), I8(0)], 1, {}),
    "QLinearMul": ("QLinearMul", [A, S(0.1), U8(100), B, S(0.05), U8(7), S(0.3), U8(128)], 1, {}),
    "QLinearSigmoid": ("QLinearSigmoid", [A, S(0.04), U8(120), S(1 / 256), U8(0)], 1, {}),
    "QLinearLeakyRelu": ("QLinearLeakyRelu", [A, *ONE], 1, {"alpha": 0.3}),
    "QLinearSoftmax": ("QLinearSoftmax", [A, S(0.04), U8(120), S(1 / 256), U8(0)], 1, {"axis": -1, "opset": 13}),
    "QLinearGlobalAveragePool": ("QLinearGlobalAveragePool", [IMAGE, *ONE], 1, {"channels_last": 0}),
    "QLinearGlobalAveragePool, last": ("QLinearGlobalAveragePool", [IMAGE, *ONE], 1, {"channels_last": 1}),
    "QLinearAveragePool": (
        "QLinearAveragePool", [IMAGE, *ONE], 1, {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 0, 1]},
    ),
    "QLinearConcat": ("QLinearConcat", [S(0.1), U8(3), A, S(0.05), U8(1), B, S(0.2), U8(9)], 1, {"axis": 1}),
    "QGemm": ("QGemm", [A, S(0.1), U8(100), bytes_(4, 2), S(0.05), U8(7), np.int32([5, -9]), S(3.0), U8(128)], 1, {"alpha": 1.0}),
    "QGemm of columns": (
        "QGemm", [A, S(0.1), U8(100), bytes_(2, 4, kind=I8), S([0.05, 0.1]), I8([0, 0]), None, S(3.0), U8(128)],
        1, {"transB": 1},
    ),
    "QGemm without scale": ("QGemm", [A, S(0.1), U8(100), bytes_(4, 2), S(0.05), U8(7)], 1, {}),
    "MatMulIntegerToFloat": ("MatMulIntegerToFloat", [A, bytes_(4, 2), S(0.1), S(0.05), U8(9), U8(7), reals(2)], 1, {}),
    "DynamicQuantizeMatMul": ("DynamicQuantizeMatMul", [reals(3, 4), bytes_(4, 2, kind=I8), S(0.05), I8(7), reals(2)], 1, {}),
    "FusedMatMul": ("FusedMatMul", [reals(2, 4, 3), reals(2, 5, 4)], 1, {"transA": 1, "transB": 1, "alpha": 0.5}),
    "FusedMatMul, batch": ("FusedMatMul", [reals(4, 2, 3), reals(2, 3, 5)], 1, {"transBatchA": 1, "alpha": 2.0}),
    "FusedGemm": ("FusedGemm", [reals(2, 3), reals(3, 4), reals(4)], 1, {"activation": "LeakyRelu", "activation_alpha": 0.2}),
    "FusedConv": ("FusedConv", [reals(1, 2, 5, 5), reals(3, 2, 3, 3), reals(3)], 1, {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    "FusedConv, sum": (
        "FusedConv", [reals(1, 2, 5, 5), reals(3, 2, 3, 3), reals(3), reals(1, 3, 3, 3)], 1, {"activation": "Relu"}),
    "Gelu": ("Gelu", [reals(3, 4)], 1, {}),
    "BiasGelu": ("BiasGelu", [reals(3, 4), reals(4)], 1, {}),
    "FastGelu": ("FastGelu", [reals(3, 4), reals(4)], 1, {}),
    "QuickGelu": ("QuickGelu", [reals(3, 4)], 1, {"alpha": 1.5}),
    "SkipLayerNormalization": (
        "SkipLayerNormalization", [reals(2, 3, 8), reals(2, 3, 8), reals(8), reals(8), reals(8)], 1, {"epsilon": 1e-5}),
    "SkipSimplifiedLayerNormalization": (
        "SkipSimplifiedLayerNormalization", [reals(2, 3, 8), reals(2, 3, 8), reals(8)], 1, {"epsilon": 1e-5}),
    "EmbedLayerNormalization": (
        "EmbedLayerNormalization",
        [np.int32([[1, 2, 0]]), np.int32([[0, 1, 0]]), reals(5, 8), reals(6, 8), reals(2, 8), reals(8), reals(8),
         np.int32([[1, 1, 0]])], 2, {"epsilon": 1e-5}),
    "Attention": ("Attention", [reals(2, 3, 8), reals(8, 24), reals(24)], 1, {"num_heads": 2}),
    "Attention, mask": (
        "Attention", [reals(2, 3, 8), reals(8, 24), reals(24), np.int32([[1, 1, 0], [1, 1, 1]])], 1, {"num_heads": 2},
    ),
    "Attention, lengths": ("Attention", [reals(2, 3, 8), reals(8, 24), reals(24), np.int32([2, 3])], 1, {"num_heads": 2}),
    "Attention, past": (
        "Attention", [reals(2, 3, 8), reals(8, 24), reals(24), None, reals(2, 2, 2, 4, 4)], 2,
        {"num_heads": 2, "unidirectional": 1},
    ),
    "MultiHeadAttention": (
        "MultiHeadAttention", [reals(2, 3, 8), reals(2, 5, 8), reals(2, 5, 8), reals(24)], 1, {"num_heads": 2}),
    "MatMulNBits": (
        "MatMulNBits", [reals(2, 32), bytes_(3, 2, 8), reals(6)], 1, {"K": 32, "N": 3, "bits": 4, "block_size": 16}),
    "MatMulNBits, zeros": (
        "MatMulNBits", [reals(2, 32), bytes_(3, 2, 8), reals(6), bytes_(3)], 1, {"K": 32, "N": 3, "bits": 4, "block_size": 16}),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """The first session of onnxruntime opens files that it keeps."""
    ort.InferenceSession(model([node("Neg", "x", "y")], {"x": ("float32", (1,))}, "y").SerializeToString())


@pytest.mark.parametrize("name", ROWS)
async def test_an_op_gives_what_onnxruntime_gives(name: str) -> None:
    op, values, count, attrs = ROWS[name]
    names = " ".join("-" if value is None else f"i{at}" for at, value in enumerate(values))
    outputs = " ".join(f"o{at}" for at in range(count))
    arrays = {f"i{at}": np.asarray(value) for at, value in enumerate(values) if value is not None}
    weights = {n: v for n, v in arrays.items() if n != ("i2" if op == "QLinearConcat" else "i0")}
    fed = {n: v for n, v in arrays.items() if n not in weights}
    proto = model(
        [node(op, names, outputs, domain="com.microsoft", **attrs)],
        {n: (v.dtype.name, v.shape) for n, v in fed.items()}, outputs, weights, opset=18,
    )  # fmt: skip
    proto.opset_import.add(domain="com.microsoft", version=1)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    wanted = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, fed)
    found = await answers(proto, fed)
    for one, other in zip(found.values(), wanted):
        assert one.dtype == other.dtype
        if other.dtype.kind in "iu":  # a half is rounded to one side or the other
            assert np.abs(one.astype(int) - other.astype(int)).max() <= (1 if one.itemsize == 1 else 0)
        else:
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)
