"""Signals: Fourier transforms, windows, the scale of Mel."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.builders.common import (
    computed,
    element,
    in_int32,
    positive,
    rank_of,
    size_of,
    vector,
    whole,
)
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import dtype_of


def _complex(x: Any) -> Any:
    """Pairs of the last dimension as complex numbers; one number alone is real."""
    kind = af.complex128 if dtype_of(x) is af.float64 else af.complex64
    wide = x if dtype_of(x) in (af.float32, af.float64) else af.cast(x, af.float32)
    count = size_of(x, -1)
    if count == 1:
        return af.cast(wide[..., 0], kind)
    if not isinstance(count, int):  # a run knows whether there is an imaginary part
        wide = af.pad(wide, [[0, 0]] * (rank_of(x) - 1) + [[0, 1]])
    return af.complex(wide[..., 0], wide[..., 1])


def _pairs(x: Any, kind: Any) -> Any:
    return af.cast(af.stack([af.real(x), af.imag(x)], -1), kind)


def _long(x: Any, length: Any) -> Any:
    """The last dimension cut, or filled with zeros, to a length."""
    own = size_of(x, -1)
    if isinstance(own, int) and isinstance(length, int) and own >= length:
        return x[..., :length] if own > length else x
    missing = af.maximum(whole(length) - whole(own), np.int64(0))
    pairs = af.concat([np.zeros([rank_of(x) - 1, 2], np.int64), [af.stack([np.int64(0), missing])]], 0)
    return af.pad(x[..., :length], pairs)


def _number(value: Any, default: Any) -> Any:
    """The whole number that an input is: an int if known, else a scalar of int64."""
    return default if value is None else element(af.reshape(value, [1]) if isinstance(value, af.Tensor) else value, 0)


def _swapped(x: Any, axis: Any) -> Any:
    """`x` with the dimension `axis` and the last but one dimension swapped."""
    rank = rank_of(x)
    order = list(range(rank))
    if isinstance(axis, int):
        axis = positive(axis, rank)
        order[axis], order[rank - 2] = rank - 2, axis
        return x if axis == rank - 2 else af.transpose(x, order)
    axis = af.floormod(axis, np.int64(rank))
    places = af.stack([axis, np.int64(rank - 2)])
    new = af.stack([np.int64(rank - 2), axis])
    return af.transpose(x, af.tensor_scatter_update(np.arange(rank), af.expand_dims(places, 1), new))


@onnx_op("DFT")
def dft(node: OnnxNode, x: Any, length: Any = None, axis: Any = None) -> Any:
    """Along `axis` of what the last dimension makes complex. One-sided: the half that decides a real signal.

    Frequencies are computed in double precision, as by ONNX's reference.
    """
    along = _number(axis, -2)
    inverse, one_sided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    turned = _swapped(x, along)
    own = size_of(turned, rank_of(x) - 2)
    count = _number(length, 2 * (own - 1) if inverse and one_sided else own)
    signal = _complex(turned)
    if inverse and one_sided:
        transformed = af.signal.irfft(
            _long(signal, count // 2 + 1), [count] if isinstance(count, int) else in_int32(vector([count]))
        )
        return _swapped(af.cast(af.expand_dims(transformed, -1), dtype_of(x)), along)
    signal = _long(signal, count)
    transformed = af.signal.ifft(signal) if inverse else af.signal.fft(af.cast(signal, af.complex128))
    transformed = transformed[..., : count // 2 + 1] if one_sided else transformed
    return _swapped(_pairs(transformed, dtype_of(x)), along)


@onnx_op("STFT")
def stft(node: OnnxNode, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    """[batch, frames, frequencies, 2]: the transform of each frame."""
    total = size_of(x, 1)
    count, hop = _number(length, total if window is None else size_of(window, 0)), _number(step, None)

    def places(total: Any, count: Any, hop: Any) -> Any:
        starts = af.range_((whole(total) - whole(count)) // whole(hop) + 1) * whole(hop)
        return af.expand_dims(starts, 1) + af.range_(whole(count))

    pairs = x if rank_of(x) == 3 else af.expand_dims(x, -1)
    frames = af.gather(_complex(pairs), computed(places, total, count, hop), axis=1)
    if window is not None:
        frames = frames * af.cast(_long(window, count), dtype_of(frames))
    spectrum = af.signal.fft(frames)
    return _pairs(spectrum[..., : count // 2 + 1] if node.attr("onesided", 1) else spectrum, dtype_of(x))


_WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""a - b · cos(t) + c · cos(2t)."""


@onnx_op(*_WINDOWS, enlarging=True)
def window(node: OnnxNode, size: Any) -> Any:
    a, b, c = _WINDOWS[node.op]
    count = af.cast(af.reshape(size, []), af.float64)
    turns = af.range_(count) * np.float64(2 * np.pi) / (count if node.attr("periodic", 1) else count - np.float64(1))
    weights = np.float64(a) - np.float64(b) * af.cos(turns) + np.float64(c) * af.cos(turns * np.float64(2))
    return af.cast(weights, element_type(node.attr("output_datatype", 1)))


@onnx_op("MelWeightMatrix", enlarging=True)
def mel_weights(node: OnnxNode, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """[frequencies, bins]: triangles, which are equally wide on the scale of Mel."""
    double, unit = af.float64, np.float64(1)

    def matrix(*values: Any) -> Any:
        bins, length, rate, low, high = (af.reshape(value, []) for value in values)
        lowest, highest = (_mel(af.cast(edge, double)) for edge in (low, high))
        count = af.cast(bins, double)
        edges = af.range_(count + np.float64(2)) * ((highest - lowest) / (count + np.float64(2))) + lowest
        hertz = np.float64(700) * (af.pow(np.float64(10), edges / np.float64(2595)) - unit)
        places = af.floor((af.cast(length, double) + unit) * hertz / af.cast(rate, double))
        left, middle, right = places[:-2], places[1:-1], places[2:]
        row = af.expand_dims(af.range_(af.cast(length, double) // np.float64(2) + unit), 1)
        wide = middle > left
        rising = af.where_v2(wide, (row - left) / af.where_v2(wide, middle - left, unit), unit)
        falling = (right - row) / af.maximum(right - middle, unit)
        up = af.where_v2(af.logical_and(row >= left, row <= middle), rising, np.float64(0))
        return af.where_v2(af.logical_and(row >= middle, row < right), falling, up)

    weights = computed(matrix, bins, length, rate, low, high)
    return af.cast(weights, element_type(node.attr("output_datatype", 1)))


def _mel(hertz: Any) -> Any:
    return np.float64(2595 / np.log(10)) * af.log(np.float64(1) + hertz / np.float64(700))
