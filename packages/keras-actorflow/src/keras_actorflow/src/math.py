"""Segments, extremes, signals, and functions of mathematics that numpy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value
from keras_actorflow.src.numpy.promotion import common, floating, kind
from keras_actorflow.src.sizes import size_of, sizes_of, vector

rsqrt = lambda x: af.rsqrt(floating(x))  # noqa: E731
erf = lambda x: af.erf(floating(x))  # noqa: E731
erfc = lambda x: af.erfc(floating(x))  # noqa: E731
erfinv = lambda x: af.math.erfinv(floating(x))  # noqa: E731


def _segments(function: Any, data: Any, segment_ids: Any, num_segments: int | None) -> Any:
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids, "int32")
    if num_segments is None:
        most = af.reduce_max(ids) + 1
        num_segments = int(most) if has_value(most) else most
    return function(data, ids, num_segments)


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _segments(af.unsorted_segment_sum, data, segment_ids, num_segments)


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _segments(af.unsorted_segment_prod, data, segment_ids, num_segments)


def _extreme(function: Any, blank: float, data: Any, segment_ids: Any, num_segments: int | None) -> Any:
    """Extremes of segments; those of none are infinite, as in other backends."""
    data = convert_to_tensor(data)
    result = _segments(function, data, segment_ids, num_segments)
    if not data.dtype.is_floating:
        return result
    ids = convert_to_tensor(segment_ids, "int32")
    counts = af.unsorted_segment_sum(af.ones_like(ids), ids, af.shape(result)[0])
    empty = af.reshape(af.equal(counts, 0), [-1] + [1] * (len(result.shape) - 1))
    return af.where_v2(empty, convert_to_tensor(blank, result.dtype), result)


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _extreme(af.unsorted_segment_max, -np.inf, data, segment_ids, num_segments)


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
    return _extreme(af.unsorted_segment_min, np.inf, data, segment_ids, num_segments)


def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    x = convert_to_tensor(x)
    values, places = af.math.top_k(x, k, sorted=sorted)
    return values, af.cast(places, "int32")


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    targets, predictions = convert_to_tensor(targets, "int32"), convert_to_tensor(predictions, "float32")
    flat = af.math.in_top_k(af.reshape(predictions, [-1, size_of(predictions, -1)]), af.reshape(targets, [-1]), k)
    return af.reshape(flat, vector(sizes_of(targets)))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return af.math.reduce_logsumexp(floating(x), axis, keepdims)


def logaddexp(x1: Any, x2: Any) -> Any:
    from keras_actorflow.src.numpy.arithmetic import logaddexp as function

    return function(x1, x2)


def logdet(x: Any) -> Any:
    x = floating(x)
    factor = af.linalg.cholesky(x)
    return 2 * af.reduce_sum(af.log(af.real(af.linalg.diag_part(factor))), -1)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    from keras_actorflow.src.linalg import norm as function

    return function(x, ord, axis, keepdims)


def qr(x: Any, mode: str = "reduced") -> Any:
    from keras_actorflow.src.linalg import qr as function

    return function(x, mode)


def cdist(x: Any, y: Any) -> Any:
    x, y = common(x, y, also=(float,))
    difference = af.expand_dims(x, -2) - af.expand_dims(y, -3)
    total = af.reduce_sum(af.square(difference), -1)
    apart = total > 0
    return af.where_v2(apart, af.sqrt(af.where_v2(apart, total, af.ones_like(total))), af.zeros_like(total))


def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Any:
    x = convert_to_tensor(x)
    count = 1 + (size_of(x, -1) - sequence_length) // sequence_stride
    places = af.expand_dims(af.range_(count), 1) * sequence_stride + af.range_(sequence_length)
    return af.gather(x, places, axis=len(x.shape) - 1)


def _complex(x: Any) -> Any:
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    real, imag = (floating(part) for part in x)
    pairs = zip(tuple(real.shape), tuple(imag.shape), strict=False)
    if len(real.shape) != len(imag.shape) or any(a != b for a, b in pairs if None not in (a, b)):
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary parts should have "
            f"the same shape. Received: x[0].shape = {tuple(real.shape)}, x[1].shape = {tuple(imag.shape)}"
        )
    wide = "float64" if kind(real) == "float64" else "float32"
    return af.complex(af.cast(real, wide), af.cast(imag, wide))


_get_complex_tensor_from_tuple = _complex  # Keras' polar coordinates take it by this name


def fft(x: Any) -> Any:
    result = af.signal.fft(_complex(x))
    return af.real(result), af.imag(result)


def fft2(x: Any) -> Any:
    result = af.signal.fft2d(_complex(x))
    return af.real(result), af.imag(result)


def ifft2(x: Any) -> Any:
    result = af.signal.ifft2d(_complex(x))
    return af.real(result), af.imag(result)


def _real(x: Any) -> Any:
    x = floating(x)
    return x if kind(x) in ("float32", "float64") else af.cast(x, "float32")


def rfft(x: Any, fft_length: int | None = None) -> Any:
    x = _real(x)
    result = af.signal.rfft(x, None if fft_length is None else [fft_length])
    return af.real(result), af.imag(result)


def irfft(x: Any, fft_length: int | None = None) -> Any:
    return af.signal.irfft(_complex(x), None if fft_length is None else [fft_length])


def _window(window: Any, length: int, total: int, dtype: Any) -> Any:
    """The values of a window, with zeros on both sides up to the length of the transform."""
    if window is None:
        return af.ones([total], dtype)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                f"If a string is passed to `window`, it must be one of `hann`, `hamming`. Received: {window}"
            )
        turn = 2 * np.pi * np.arange(length) / length  # periodic
        values = 0.5 - 0.5 * np.cos(turn) if window == "hann" else 0.54 - 0.46 * np.cos(turn)
    else:
        tensor = convert_to_tensor(window, dtype)
        if len(tensor.shape) != 1 or tensor.shape[-1] != length:
            raise ValueError(
                f"The shape of `window` must be equal to [sequence_length]. Received: {tuple(tensor.shape)}"
            )
        before = (total - length) // 2
        return af.pad(tensor, [[before, total - length - before]])
    before = (total - length) // 2
    return convert_to_tensor(np.pad(values, (before, total - length - before)), dtype)


def stft(
    x: Any, sequence_length: int, sequence_stride: int, fft_length: int, window: Any = "hann", center: bool = True
) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={kind(x)}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    x = _real(x)
    if center:
        widths = [(0, 0)] * (len(x.shape) - 1) + [(fft_length // 2, fft_length // 2)]
        x = af.pad(x, widths, mode="REFLECT")
    frames = extract_sequences(x, fft_length, sequence_stride)
    return rfft(frames * _window(window, sequence_length, fft_length, x.dtype), fft_length)


def _inverse(weights: Any, length: int, stride: int) -> Any:
    """The window of the inverse: each weight by the sum of the squares of those that meet it in an endless signal."""
    overlaps = -(-length // stride)
    squares = af.pad(af.square(weights), [[0, overlaps * stride - length]])
    sums = af.reduce_sum(af.reshape(squares, [overlaps, stride]), 0)
    return af.div_no_nan(weights, af.tile(sums, [overlaps])[:length])


def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    frames = irfft(x, fft_length)
    if window is not None:
        weights = _window(window, sequence_length, fft_length, frames.dtype)
        frames = frames * _inverse(weights, fft_length, sequence_stride)
    sizes = sizes_of(frames)
    total = fft_length + sequence_stride * (sizes[-2] - 1)
    places = af.expand_dims(af.range_(sizes[-2]), 1) * sequence_stride + af.range_(fft_length)
    rows = af.transpose(af.reshape(frames, [-1, sizes[-2] * fft_length]))
    signal = af.transpose(af.unsorted_segment_sum(rows, af.reshape(places, [-1]), total))
    signal = af.reshape(signal, [*sizes[:-2], total])
    begin = fft_length // 2 if center else 0
    end = begin + length if length is not None else total - (fft_length // 2 if center else 0)
    return signal[..., begin:end]


__all__ = [
    "cdist", "erf", "erfc", "erfinv", "extract_sequences", "fft", "fft2", "ifft2", "in_top_k", "irfft", "istft", "logaddexp",
    "logdet", "logsumexp", "norm", "qr", "rfft", "rsqrt", "segment_max", "segment_min", "segment_prod", "segment_sum", "stft",
    "top_k",
]  # fmt: skip
