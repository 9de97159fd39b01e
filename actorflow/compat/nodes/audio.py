"""Nodes of sound: files, spectra and their coefficients (`tf.audio` and TensorFlow's example of spoken commands)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.files import audio
from actorflow.graph.graphdef.rewrites.attributes import Attributes


def _decoded(a: Attributes, t: Sequence[Any]) -> Any:
    return list(audio.decode_wav(t[0], a("desired_channels", -1), a("desired_samples", -1)))


def _spectrum(a: Attributes, t: Sequence[Any]) -> Any:
    """`AudioSpectrogram`: the magnitudes of the frequencies of each window, `[channels, windows, frequencies]`."""
    window, stride, is_squared = a("window_size"), a("stride"), a("magnitude_squared", False)
    length = 1 << (window - 1).bit_length()

    def spectrum(sound: Any) -> Any:
        channels = np.ascontiguousarray(sound.T)
        if channels.shape[1] < window:
            return np.zeros((len(channels), 0, length // 2 + 1), np.float32)
        frames = np.lib.stride_tricks.sliding_window_view(channels, window, 1)[:, ::stride]
        shape = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
        values = np.abs(np.fft.rfft(frames * shape, length))
        return (values**2 if is_squared else values).astype(np.float32)

    result = af.py_func(spectrum, [t[0]], af.float32, stateful=False)
    result.set_shape([None, None, length // 2 + 1])
    return result


def mel_table(bins: int, rate: float, low: float, high: float, channels: int) -> Any:
    """The weight of each frequency in each mel channel, `[channels, bins]`, as triangles over the mel scale.

    Args:
        bins: of the spectrum.
        rate: samples a second.
        low, high: the limits in hertz.
        channels: of the table.
    """

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(hertz / 700.0)

    first, last = mel(low), mel(high)
    spacing = (last - first) / (channels + 1)
    centres = first + spacing * np.arange(1, channels + 2)
    step = 0.5 * rate / (bins - 1)
    begin, end = int(1.5 + low / step), int(high / step)
    table = np.zeros((channels, bins))
    for place in range(max(begin, 0), min(end + 1, bins)):
        height = mel(place * step)
        channel = int(np.searchsorted(centres, height)) - 1  # the centre at or below
        lower = centres[channel] if channel >= 0 else first
        weight = (centres[channel + 1] - height) / (centres[channel + 1] - lower)
        if channel >= 0:
            table[channel, place] += weight
        if channel + 1 < channels:
            table[channel + 1, place] += 1 - weight
    return table


def _coefficients(a: Attributes, t: Sequence[Any]) -> Any:
    """`Mfcc`: the cosine transform of the logarithms of mel channels. A spectrum is of squares."""
    low, high = a("lower_frequency_limit", 20.0), a("upper_frequency_limit", 4000.0)
    channels, count = a("filterbank_channel_count", 40), a("dct_coefficient_count", 13)
    angles = np.pi / channels * np.outer(np.arange(count), np.arange(channels) + 0.5)
    cosines = np.sqrt(2.0 / channels) * np.cos(angles)

    def coefficients(spectrum: Any, rate: Any) -> Any:
        table = mel_table(spectrum.shape[-1], float(rate), low, high, channels)
        energies = np.sqrt(spectrum.astype(np.float64)) @ table.T
        return (np.log(np.maximum(energies, 1e-12)) @ cosines.T).astype(np.float32)

    result = af.py_func(coefficients, list(t), af.float32, stateful=False)
    result.set_shape([*(t[0].static_shape or (None, None, None))[:2], count])
    return result


FORMS = {
    "AudioSpectrogram": _spectrum,
    "DecodeWav": _decoded,
    "EncodeWav": lambda a, t: audio.encode_wav(*t),
    "Mfcc": _coefficients,
}
"""For each op how it is built."""
