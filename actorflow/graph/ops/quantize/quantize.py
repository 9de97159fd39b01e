"""Floats as integers of few bits with a scale: quantize, dequantize.

TensorFlow has types of their own for quantized values (qint8, quint8, qint16, quint16, qint32); here they are the plain
integers int8, uint8, int16, uint16 and int32. In this order of the modes, [min_range, max_range] spreads over all integers
of the type (MIN_COMBINED), the same with zero on a step (MIN_FIRST), or zero stays zero and one factor serves both signs
(SCALED).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike, as_dtype, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

QUANTIZED = frozenset((dt.int8, dt.uint8, dt.int16, dt.uint16, dt.int32))
_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_ROUND_MODES = ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")


class Quantized(NamedTuple):
    """Quantized values, and the range that they stand for."""

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def _ranges(c: Inference) -> Shape:
    """The shape of the bounds: a scalar, or with an axis a vector of its size."""
    source, axis = c.shapes[0], c.attrs["axis"]
    if axis < -1:
        raise ValueError(f"The axis is -1 (one range for all) or more, but is {axis}.")
    if axis == -1:
        require_rank(c, 1, 0)
        require_rank(c, 2, 0)
        return ()
    if source is not None and len(source) <= axis:
        raise ValueError(f"The axis {axis} is outside the rank of {show(source)}.")
    bounds = merge(require_rank(c, 1, 1), require_rank(c, 2, 1))
    return merge(bounds, (None,) if source is None else source[axis : axis + 1])


def _quantized(c: Inference) -> list[Shape]:
    bounds = _ranges(c)
    return [c.shapes[0], bounds, bounds]


@op(
    "QuantizeV2",
    shape=_quantized,
    dtypes=frozenset((float32,)),
    result=("T", float32, float32),
    prefer=float32,
    gradient=None,
    work=10,
)
def quantize_v2_op(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    *,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int = -1,
    ensure_minimum_range: float = 0.01,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`input` as integers of type `T`. See `quantize_v2`."""


@public("af")
def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Quantized:
    """float32 `input`, clamped to [min_range, max_range], as integers of type `T` (`tf.quantize_v2`).

    Example:
        >>> af.quantize_v2([0.0, 0.5, 1.0], 0.0, 1.0, af.uint8)
        Quantized(output=[  0 128 255], output_min=0.0, output_max=1.0)

    Args:
        input: float32, of any shape.
        min_range, max_range: float32 scalars; with `axis` vectors of the size of that dimension. The range always
            includes 0.
        T: int8, uint8, int16, uint16 or int32, in the place of TensorFlow's qint8, quint8, ...
        mode: MIN_COMBINED, MIN_FIRST or SCALED; see this module.
        round_mode: HALF_AWAY_FROM_ZERO, or for SCALED also HALF_TO_EVEN.
        narrow_range: in mode SCALED leaves the type's least integer out.
        axis: the dimension whose entries have a range of their own; not in mode MIN_FIRST.
        ensure_minimum_range: how far apart the bounds are at least, in parts of the larger of them and 1.

    Returns:
        The integers, and the range that they stand for, which `dequantize` takes.

    Raises:
        TypeError: another type. ValueError: another mode, or shapes that don't fit.
        InvalidArgumentError: min_range > max_range, in the run.
    """
    _check(as_dtype(T), mode)
    if round_mode not in _ROUND_MODES:
        raise ValueError(f"The round_mode is {' or '.join(_ROUND_MODES)}, not {round_mode!r}.")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise ValueError(f"The round_mode HALF_TO_EVEN is for mode SCALED only, not for {mode}.")
    along = _axis(axis, mode)
    options: dict[str, Any] = {"round_mode": round_mode, "narrow_range": narrow_range, "axis": along}
    return Quantized(
        *quantize_v2_op(
            input,
            min_range,
            max_range,
            T=T,
            mode=mode,
            **options,
            ensure_minimum_range=ensure_minimum_range,
            name=name,
        )
    )


@public("af", "tf.quantization")
def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Quantized:
    """`quantize_v2` with its arguments in another order (`tf.quantize`), with the same results and errors.

    Example:
        >>> af.quantize([0.0, 0.5, 1.0], 0.0, 1.0, af.uint8)
        Quantized(output=[  0 128 255], output_min=0.0, output_max=1.0)

    Args:
        input: float32, of any shape.
        min_range, max_range: float32 scalars; with `axis` vectors of the size of that dimension. The range always
            includes 0.
        T: int8, uint8, int16, uint16 or int32, in the place of TensorFlow's qint8, quint8, ...
        mode: MIN_COMBINED, MIN_FIRST or SCALED; see this module.
        round_mode: HALF_AWAY_FROM_ZERO, or for SCALED also HALF_TO_EVEN.
        narrow_range: in mode SCALED leaves the type's least integer out.
        axis: the dimension whose entries have a range of their own; not in mode MIN_FIRST.
        ensure_minimum_range: how far apart the bounds are at least, in parts of the larger of them and 1.
    """
    return quantize_v2(input, min_range, max_range, T, mode, name, round_mode, narrow_range, axis, ensure_minimum_range)


def _check(kind: dt.DType, mode: str) -> None:
    if kind not in QUANTIZED:
        raise TypeError(f"Quantized values are {', '.join(sorted(map(str, QUANTIZED)))}, not {kind}.")
    if mode not in _MODES:
        raise ValueError(f"The mode of a quantization is {', '.join(_MODES)}, not {mode!r}.")


def _axis(axis: int | None, mode: str) -> int:
    if axis is None or axis == -1:
        return -1
    if mode == "MIN_FIRST":
        raise ValueError("Mode MIN_FIRST has one range for all; leave `axis` out.")
    return axis


@op(
    "Dequantize",
    shape=lambda c: [_quantized(c)[0]],
    dtypes=QUANTIZED,
    types={"min_range": float32, "max_range": float32},
    result=float32,
    gradient=None,
    work=5,
)
def dequantize_op(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    *,
    mode: str = "MIN_COMBINED",
    narrow_range: bool = False,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """The float32 values of quantized integers. See `dequantize`."""


@public("af", "tf.quantization")
def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = float32,
) -> Tensor:
    """The values that integers of `quantize_v2` stand for in the range that it gave (`tf.dequantize`).

    Example:
        >>> quantized, low, high = af.quantize_v2([-1.0, 0.0, 0.5, 1.0], -1.0, 1.0, af.uint8)
        >>> af.dequantize(quantized, low, high)
        [-1.      0.0039  0.498   1.    ]

    Args:
        input: int8, uint8, int16, uint16 or int32, in the place of TensorFlow's qint8, quint8, ...
        min_range, max_range: the range that `quantize_v2` gave.
        mode, narrow_range, axis: those of the quantization.
        dtype: float32; or bfloat16 in mode MIN_COMBINED.

    Raises:
        TypeError: another type. ValueError: another mode, or shapes that don't fit.
    """
    from actorflow.graph.ops.math.cast import cast

    integers, kind = convert_to_tensor(input), as_dtype(dtype)
    _check(integers.dtype, mode)
    if kind is not float32 and (kind is not dt.bfloat16 or mode != "MIN_COMBINED"):
        raise TypeError(f"dequantize gives float32 (in mode MIN_COMBINED also bfloat16), not {kind} in mode {mode}.")
    if kind is float32:
        return dequantize_op(
            integers, min_range, max_range, mode=mode, narrow_range=narrow_range, axis=_axis(axis, mode), name=name
        )
    values = dequantize_op(integers, min_range, max_range, mode=mode, narrow_range=narrow_range, axis=_axis(axis, mode))
    return cast(values, kind, name=name)
