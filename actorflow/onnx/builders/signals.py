"""Signals: Fourier transforms, windows, the scale of Mel."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.onnx.builders.common import known, moved, positive, rank_of, scalar, shaped, size_of
from actorflow.onnx.nodes import Node, onnx_op
from actorflow.onnx.types import dtype_of as element_type
from actorflow.onnx.values import dtype_of


def _complex(x: Any) -> Any:
    """Pairs of the last dimension as complex numbers; one number alone is real."""
    kind = af.complex128 if dtype_of(x) is af.float64 else af.complex64
    wide = x if dtype_of(x) in (af.float32, af.float64) else af.cast(x, af.float32)
    if size_of(x, -1) == 1:
        return af.cast(wide[..., 0], kind)
    return af.complex(wide[..., 0], wide[..., 1])


def _pairs(x: Any, kind: Any) -> Any:
    return af.cast(af.stack([af.real(x), af.imag(x)], -1), kind)


def _long(x: Any, length: int) -> Any:
    """The last dimension cut, or filled with zeros, to a length."""
    (own,) = known(np.asarray(size_of(x, -1)), "The length of a signal")
    if own >= length:
        return x[..., :length] if own > length else x
    return af.pad(x, [[0, 0]] * (rank_of(x) - 1) + [[0, length - own]])


@onnx_op("DFT")
def dft(node: Node, x: Any, length: Any = None, axis: Any = None) -> Any:
    """Along `axis` of what the last dimension makes complex. One-sided: the half that decides a real signal.

    Frequencies are computed in double precision, as by ONNX's reference.
    """
    rank = rank_of(x)
    along = positive(int(scalar(axis, -2)), rank)
    inverse, one_sided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    (own,) = known(np.asarray(size_of(x, along)), "The length of a signal")
    count = int(scalar(length, 2 * (own - 1) if inverse and one_sided else own))
    signal = moved(_complex(x), along, rank - 2)
    if inverse and one_sided:
        found = af.expand_dims(af.signal.irfft(_long(signal, count // 2 + 1), [count]), -1)
        return moved(af.cast(found, dtype_of(x)), rank - 2, along)
    signal = _long(signal, count)
    found = af.signal.ifft(signal) if inverse else af.signal.fft(af.cast(signal, af.complex128))
    found = found[..., : count // 2 + 1] if one_sided else found
    return moved(_pairs(found, dtype_of(x)), rank - 2, along)


@onnx_op("STFT")
def stft(node: Node, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    """[batch, frames, frequencies, 2]: the transform of each frame."""
    (total,) = known(np.asarray(size_of(x, 1)), "The length of a signal")
    default = total if window is None else size_of(window, 0)
    count, hop = int(scalar(length, default)), int(scalar(step))
    starts = np.arange(1 + (total - count) // hop) * hop
    frames = af.gather(_complex(shaped(x, [size_of(x, 0), total, -1])), starts[:, None] + np.arange(count), axis=1)
    if window is not None:
        frames = frames * af.cast(_long(window, count), dtype_of(frames))
    found = af.signal.fft(frames)
    return _pairs(found[..., : count // 2 + 1] if node.attr("onesided", 1) else found, dtype_of(x))


_WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""a - b · cos(t) + c · cos(2t)."""


@onnx_op(*_WINDOWS, enlarging=True)
def window(node: Node, size: Any) -> Any:
    a, b, c = _WINDOWS[node.op]
    count = af.cast(af.reshape(size, []), af.float64)
    turns = af.range_(count) * np.float64(2 * np.pi) / (count if node.attr("periodic", 1) else count - np.float64(1))
    made = np.float64(a) - np.float64(b) * af.cos(turns) + np.float64(c) * af.cos(turns * np.float64(2))
    return af.cast(made, element_type(node.attr("output_datatype", 1)))


@onnx_op("MelWeightMatrix", enlarging=True)
def mel_weights(node: Node, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """[frequencies, bins]: triangles, which are equally wide on the scale of Mel."""
    bins, length, rate, low, high = (scalar(value) for value in (bins, length, rate, low, high))
    lowest, highest = (2595 * np.log10(1 + edge / 700) for edge in (low, high))
    edges = np.arange(bins + 2) * ((highest - lowest) / (bins + 2)) + lowest
    places = ((length + 1) * (700 * (10 ** (edges / 2595) - 1)) // rate).astype(np.int64)
    made = np.zeros([length // 2 + 1, bins])
    for at, (left, middle, right) in enumerate(zip(places, places[1:], places[2:])):
        rising = np.arange(left, middle + 1)
        made[rising, at] = (rising - left) / (middle - left) if middle > left else 1
        falling = np.arange(middle, right)
        made[falling, at] = (right - falling) / max(right - middle, 1)
    return made.astype(element_type(node.attr("output_datatype", 1)).numpy_dtype)
