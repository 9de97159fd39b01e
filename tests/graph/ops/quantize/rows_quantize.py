"""Rows of quantization. TensorFlow's answers are taken over bit for bit; the references follow the formulas in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.table import Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError

X = [-1.5, -0.5, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.7]
LOW, HIGH = np.float32(-1.0), np.float32(2.5)


def quantized(dtype: af.DType, mode: str, **options: Any) -> Callable[..., Any]:
    return lambda x, low, high: af.quantize_v2(x, low, high, dtype, mode, **options)


def by_steps(kind: Any, mode: str) -> Callable[..., Any]:
    """The integer whose step is nearest to each value, and the range, in float64."""
    limits = np.iinfo(kind)

    def reference(x: Any, low: Any, high: Any) -> Any:
        first, last = min(float(low), 0.0), max(float(high), 0.0)
        if mode == "SCALED":
            step = max(abs(first) / -limits.min if limits.min else 0.0, last / limits.max)
            first, last, least = limits.min * step, limits.max * step, 0.0
        else:
            step = (last - first) / (limits.max - limits.min)
            least = limits.min - (first / step if mode == "MIN_COMBINED" else round(first / step))
        steps = [min(max(v, first), last) / step + least for v in x.reshape(-1).tolist()]
        whole = [min(max(round(s), limits.min), limits.max) for s in steps]
        return np.array(whole, kind).reshape(x.shape), np.float32(first), np.float32(last)

    return reference


def quantize_row(dtype: af.DType, mode: str, literal: Any, low: float = -1.0, high: float = 2.5, **more: Any) -> Case:
    kind = dtype.numpy_dtype
    return Case(
        "QuantizeV2",
        quantized(dtype, mode),
        by_steps(kind, mode),
        [((9,), LOW, HIGH), ((2, 3), np.float32(-6.0), np.float32(3.0)), ((), LOW, HIGH), ((0,), LOW, HIGH)],
        Literal((X, LOW, HIGH), (np.array(literal, kind), np.float32(low), np.float32(high))),
        dtypes="float32",
        gradient=None,
        note=f"{dtype} {mode}",
        **more,
    )


def valued(kind: Any, mode: str) -> Callable[..., Any]:
    limits = np.iinfo(kind)

    def reference(x: Any, low: Any, high: Any) -> Any:
        low, high = float(low), float(high)
        if mode == "SCALED":
            step = max(low / limits.min, high / limits.max) if limits.min else high / limits.max
            return x.astype(np.float64) * step
        step = (high - low) / (limits.max - limits.min)
        first = low if mode == "MIN_COMBINED" else round(low / step) * step
        return first + (x.astype(np.float64) - limits.min) * step

    return reference


def dequantize_row(dtype: str, mode: str, literal: Any, **more: Any) -> Case:
    kind = np.dtype(dtype)
    return Case(
        "Dequantize",
        lambda x, low, high: af.dequantize(x, low, high, mode),
        valued(kind, mode),
        [((9,), LOW, HIGH), ((2, 3), np.float32(0.0), HIGH), ((), LOW, HIGH), ((0,), LOW, HIGH)],
        Literal((np.array([np.iinfo(kind).min, 0, 17, np.iinfo(kind).max], kind), LOW, HIGH), np.float32(literal)),
        dtypes=dtype,
        exact=True,
        domain=(-100.0, 100.0),
        gradient=None,
        note=f"{dtype} {mode}",
        **more,
    )


M = [[1.0, 2.0, 3.0], [-4.0, 5.0, 0.5]]
ROWS = np.float32([-1.0, -4.0]), np.float32([3.0, 5.0])
COLUMNS = np.float32([-1.0, -4.0, 0.0]), np.float32([3.0, 5.0, 1.0])


def there_and_back(mode: str, axis: int) -> Callable[..., Any]:
    return lambda x, low, high: af.dequantize(
        *af.quantize(x, low, high, af.int8, mode, axis=axis), mode=mode, axis=axis
    )


CASES = [
    quantize_row(
        af.uint8,
        "MIN_COMBINED",
        [0, 36, 73, 80, 91, 109, 146, 219, 255],
        rejects=[
            Reject(InvalidArgumentError, (X, HIGH, LOW)),
            Reject(EITHER, (X, np.float32([0.0]), np.float32([1.0]))),
            Reject(TypeError, (np.array([1]), LOW, HIGH)),
            Reject(TypeError, (X, LOW, HIGH), build=quantized(af.float32, "SCALED")),
            Reject(ValueError, (X, LOW, HIGH), build=quantized(af.int8, "MIN_LAST")),
            Reject(ValueError, (X, LOW, HIGH), build=quantized(af.int8, "SCALED", round_mode="UP")),
            Reject(EITHER[0], (X, LOW, HIGH), build=quantized(af.int8, "MIN_FIRST", round_mode="HALF_TO_EVEN")),
            Reject(EITHER, (M, *ROWS), build=quantized(af.int8, "SCALED", axis=1)),
            Reject(EITHER, (M, *ROWS), build=quantized(af.int8, "SCALED", axis=2)),
            Reject(ValueError, (M, *ROWS), build=quantized(af.int8, "MIN_FIRST", axis=0)),
        ],
    ),
    quantize_row(af.uint8, "MIN_FIRST", [0, 37, 73, 80, 91, 109, 146, 219, 255]),
    quantize_row(af.uint8, "SCALED", [0, 0, 0, 10, 26, 51, 102, 204, 255], 0.0),
    quantize_row(af.int8, "MIN_COMBINED", [-128, -92, -55, -48, -37, -19, 18, 91, 127]),
    quantize_row(
        af.int8,
        "MIN_FIRST",
        [-128, -91, -55, -48, -37, -19, 18, 91, 127],
    ),
    quantize_row(
        af.int8,
        "SCALED",
        [-76, -25, 0, 5, 13, 25, 51, 102, 127],
        -2.5196850299835205,
        special=[
            Literal(
                ([math.nan, math.inf, -math.inf], LOW, HIGH),
                (np.int8([0, 127, -128]), np.float32(-2.51968503), np.float32(2.5)),
            )
        ],
    ),
    quantize_row(af.int16, "MIN_COMBINED", [-32768, -23406, -14044, -12171, -9363, -4682, 4681, 23405, 32767]),
    quantize_row(af.uint16, "SCALED", [0, 0, 0, 2621, 6554, 13107, 26214, 52428, 65535], 0.0),
    Case(
        "QuantizeV2",
        quantized(af.int8, "SCALED", narrow_range=True, round_mode="HALF_TO_EVEN"),
        None,
        [((3,), LOW, HIGH)],
        Literal((X, LOW, HIGH), (np.int8([-76, -25, 0, 5, 13, 25, 51, 102, 127]), np.float32(-2.5), np.float32(2.5))),
        special=[
            # A range that is too narrow is made wider.
            Literal(
                ([0.5, 1.0, 0.25], np.float32(0.0), np.float32(0.0)),
                (np.int8([127, 127, 127]), np.float32(-0.01), np.float32(0.01)),
            ),
        ],
        dtypes="float32",
        gradient=None,
        note="narrow",
    ),
    Case(
        "QuantizeV2",
        quantized(af.int32, "MIN_FIRST"),
        None,
        [((3,), LOW, HIGH)],
        # The largest value saturates, where TensorFlow wraps around or stops short.
        Literal(
            ([-1.5, -0.5, 0.0, 0.5, 1.0, 3.7], LOW, HIGH),
            (
                np.int32([-(2**31), -1533916928, -920350080, -306783296, 306783488, 2**31 - 1]),
                np.float32(-1.0),
                np.float32(2.5),
            ),
        ),
        dtypes="float32",
        gradient=None,
        note="int32",
    ),
    dequantize_row("uint8", "MIN_COMBINED", [-1.0, -1.0, -0.76666665, 2.5]),
    dequantize_row("uint8", "MIN_FIRST", [-1.0019608, -1.0019608, -0.76862746, 2.4980392]),
    dequantize_row("uint8", "SCALED", [0.0, 0.0, 0.16666667, 2.5]),
    dequantize_row("int8", "MIN_COMBINED", [-1.0, 0.75686276, 0.9901961, 2.5]),
    dequantize_row("int8", "MIN_FIRST", [-1.0019608, 0.7549019, 0.98823524, 2.4980392]),
    dequantize_row("int8", "SCALED", [-2.519685, 0.0, 0.33464566, 2.5]),
    dequantize_row("int16", "MIN_COMBINED", [-1.0, 0.7500267, 0.7509346, 2.5]),
    dequantize_row(
        "uint16",
        "SCALED",
        [0.0, 0.0, 0.00064850844, 2.5],
        rejects=[
            Reject(TypeError, (np.float32([1.0]), LOW, HIGH)),
            Reject(TypeError, (np.int64([1]), LOW, HIGH)),
            Reject(EITHER, (np.uint16([1]), np.float32([0.0]), np.float32([1.0]))),
            Reject(ValueError, (np.uint16([1]), LOW, HIGH), build=lambda x, a, b: af.dequantize(x, a, b, "MOST")),
            Reject(
                TypeError,
                (np.uint16([1]), LOW, HIGH),
                build=lambda x, a, b: af.dequantize(x, a, b, "SCALED", dtype=af.bfloat16),
            ),
        ],
    ),
    dequantize_row("int32", "MIN_FIRST", [-1.0, 0.75, 0.75, 2.5]),
    Case(
        "",
        there_and_back("SCALED", 0),
        None,
        [((2, 3), *ROWS)],
        Literal((M, *ROWS), np.float32([[0.9921260, 2.0078740, 3.0], [-4.015748, 5.0, 0.5118110]])),
        dtypes="float32",
        gradient=None,
        note="quantized and back by rows",
    ),
    Case(
        "",
        there_and_back("MIN_COMBINED", 1),
        None,
        [((2, 3), *COLUMNS)],
        Literal((M, *COLUMNS), np.float32([[0.9921570, 2.0, 1.0], [-1.0, 5.0, 0.49803925]])),
        dtypes="float32",
        gradient=None,
        note="quantized and back by columns",
    ),
    Case(
        "",
        lambda x: af.cast(af.dequantize(x, -1.0, 2.5, dtype=af.bfloat16), af.float32),
        None,
        [((3,),)],
        Literal((np.uint8([0, 255]),), np.float32([-1.0, 2.5])),
        dtypes="uint8",
        gradient=None,
        note="dequantized to bfloat16",
    ),
]
