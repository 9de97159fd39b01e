"""`tf.signal`: windows, frames, and transforms of time to frequency, over public ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.public import public


def _window(length: Any, periodic: bool, dtype: Any, a: float, b: float) -> Any:
    count = af.convert_to_tensor(length, af.int32)
    even = 1 - count % 2
    size = af.cast(count + (even if periodic else 0) - 1, dtype)
    return af.cond(
        af.equal(count, 1),
        lambda: af.ones([1], dtype),
        lambda: a - b * af.cos(2 * math.pi * af.cast(af.range_(count), dtype) / size),
    )


@public("tf.signal")
def hann_window(window_length: Any, periodic: bool = True, dtype: Any = af.float32, name: str | None = None) -> Any:
    """Hann's window: a cosine that is lifted to begin at 0 (`tf.signal.hann_window`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.hann_window(4)
        [0.  0.5 1.  0.5]

    Args:
        window_length: the number of samples.
        periodic: whether the window is that of a period, for a transform; a symmetric window otherwise.
        dtype: a floating type.
    """
    with af.name_scope(name, "hann_window"):
        return _window(window_length, periodic, dtype, 0.5, 0.5)


@public("tf.signal")
def hamming_window(window_length: Any, periodic: bool = True, dtype: Any = af.float32, name: str | None = None) -> Any:
    """Hamming's window: a cosine that is lifted to begin at 0.08 (`tf.signal.hamming_window`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.hamming_window(4)
        [0.08 0.54 1.   0.54]

    Args:
        window_length: the number of samples.
        periodic: whether the window is that of a period, for a transform; a symmetric window otherwise.
        dtype: a floating type.
    """
    with af.name_scope(name, "hamming_window"):
        return _window(window_length, periodic, dtype, 0.54, 0.46)


@public("tf.signal")
def frame(
    signal: Any,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """Windows of a signal, each `frame_step` samples behind the window before (`tf.signal.frame`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2)
        [[1 2 3]
         [3 4 5]]

    Args:
        signal: a tensor.
        frame_length, frame_step: numbers of samples.
        pad_end: whether the last windows reach beyond the end.
        pad_value: what is there.
        axis: the dimension of time.
        name: a scope.
    """
    with af.name_scope(name, "frame", [signal]):
        signal = af.convert_to_tensor(signal)
        rank = len(signal.static_shape)
        axis %= rank
        length = signal.static_shape[axis]
        size = af.shape(signal)[axis] if length is None else length
        if pad_end:
            count = -(-size // frame_step) if length is not None else (size + frame_step - 1) // frame_step
            missing = af.maximum(0, frame_length + frame_step * (count - 1) - size)
            pads: list[Any] = [[0, 0] for _ in range(rank)]
            pads[axis] = [0, missing]
            signal = af.pad(signal, af.stack([af.stack(row) for row in pads]), constant_values=pad_value)
        else:
            count = af.maximum(0, 1 + (size - frame_length) // frame_step)
        places = af.reshape(af.range_(count) * frame_step, [-1, 1]) + af.range_(frame_length)
        frames = af.gather(signal, places, axis=axis)
        if length is not None:
            number = -(-length // frame_step) if pad_end else max(0, 1 + (length - frame_length) // frame_step)
            static = list(signal.static_shape)
            frames.set_shape([*static[:axis], number, frame_length, *static[axis + 1 :]])
        return frames


@public("tf.signal")
def overlap_and_add(signal: Any, frame_step: int, name: str | None = None) -> Any:
    """The sum of windows at their places: the inverse of `frame` (`tf.signal.overlap_and_add`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.overlap_and_add([[1, 1, 1], [2, 2, 2]], 2)
        [1 1 3 2 2]
    """
    with af.name_scope(name, "overlap_and_add", [signal]):
        signal = af.convert_to_tensor(signal)
        outer = af.shape(signal)[:-2]
        count, length = af.shape(signal)[-2], af.shape(signal)[-1]
        size = (count - 1) * frame_step + length
        places = af.reshape(af.range_(count) * frame_step, [-1, 1]) + af.range_(length)
        flat = af.reshape(signal, af.stack([-1, count * length]))
        summed = af.unsorted_segment_sum(af.transpose(flat), af.reshape(places, [-1]), size)
        whole = af.reshape(af.transpose(summed), af.concat([outer, af.reshape(size, [1])], 0))
        static = signal.static_shape
        if static is not None and None not in static[-2:]:
            whole.set_shape([*static[:-2], (static[-2] - 1) * frame_step + static[-1]])
        return whole


def _enclosing(length: int) -> int:
    return 1 << max(0, (int(length) - 1)).bit_length()


@public("tf.signal")
def stft(
    signals: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The spectra of windows of signals: [..., frames, fft_length / 2 + 1] (`tf.signal.stft`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.stft(tf.ones([10]), 4, 2).shape.as_list()
        [4, 3]

    Args:
        signals: [..., samples].
        frame_length, frame_step: numbers of samples.
        fft_length: the size of the transform; the next power of two unless given.
        window_fn: a function of a length and a type, or None.
        pad_end: whether the last windows reach beyond the end.
        name: a scope.
    """
    with af.name_scope(name, "stft", [signals]):
        signals = af.convert_to_tensor(signals)
        size = _enclosing(frame_length) if fft_length is None else int(fft_length)
        frames = frame(signals, frame_length, frame_step, pad_end)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=signals.dtype)
        return af.signal.rfft(frames, [size])


@public("tf.signal")
def inverse_stft_window_fn(
    frame_step: int,
    forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[..., Any]:
    """The window with which `inverse_stft` gives the signal back (`tf.signal.inverse_stft_window_fn`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.inverse_stft_window_fn(2)(4, tf.float32).shape.as_list()
        [4]
    """

    def window(frame_length: int, dtype: Any) -> Any:
        with af.name_scope(name, "inverse_stft_window_fn"):
            forward = forward_window_fn(frame_length, dtype=dtype)
            overlaps = -(-frame_length // frame_step)
            square = af.pad(af.square(forward), [[0, overlaps * frame_step - frame_length]])
            total = af.reduce_sum(af.reshape(square, [overlaps, frame_step]), 0, keepdims=True)
            whole = af.reshape(af.tile(total, [overlaps, 1]), [overlaps * frame_step])
            return forward / whole[:frame_length]

    return window


@public("tf.signal")
def inverse_stft(
    stfts: Any,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """The signals of spectra of windows (`tf.signal.inverse_stft`). See `stft`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.inverse_stft(tf.signal.stft(tf.ones([10]), 4, 2), 4, 2).shape.as_list()
        [10]

    Args:
        stfts: `[..., frames, fft_length / 2 + 1]`, complex.
        frame_length, frame_step: numbers of samples.
        fft_length: the size of the transform; the next power of two unless given.
        window_fn: a function of a length and a type, or None.
    """
    with af.name_scope(name, "inverse_stft", [stfts]):
        stfts = af.convert_to_tensor(stfts)
        size = _enclosing(frame_length) if fft_length is None else int(fft_length)
        frames = af.signal.irfft(stfts, [size])
        static = list(stfts.static_shape)
        frames = frames[..., :frame_length]
        if size < frame_length:
            rank = len(static)
            frames = af.pad(frames, [*[[0, 0]] * (rank - 1), [0, frame_length - size]])
        frames.set_shape([*static[:-1], frame_length])
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


@public("tf.signal")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = af.float32,
    name: str | None = None,
) -> Any:
    """The weights of frequencies in bands of the mel scale: [frequencies, bands] (`tf.signal.linear_to_mel_weight_matrix`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.linear_to_mel_weight_matrix().shape.as_list()
        [129, 20]

    Args:
        num_mel_bins: the number of bands.
        num_spectrogram_bins: the number of frequencies.
        sample_rate: samples for each second.
        lower_edge_hertz, upper_edge_hertz: the range of the bands, in Hz.
        dtype: a floating type.

    Raises:
        ValueError: numbers that are not positive, or edges in another order.
    """
    if num_mel_bins <= 0 or sample_rate <= 0.0 or lower_edge_hertz < 0.0 or lower_edge_hertz >= upper_edge_hertz:
        raise ValueError("Numbers of bands and the rate have to be positive, and the lower edge below the upper one.")
    if upper_edge_hertz > sample_rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got {upper_edge_hertz}"
        )

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log(1.0 + hertz / 700.0)

    kind = af.as_dtype(dtype).as_numpy_dtype
    frequencies = mel(np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    slopes = np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle))
    return af.constant(
        np.pad(np.maximum(0.0, slopes), [[1, 0], [0, 0]]).astype(kind), name=name or "linear_to_mel_weight_matrix"
    )


@public("tf.signal", "tf.spectral")
def dct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Any:
    """The discrete cosine transform of the last dimension, of type 1, 2 or 3 (`tf.signal.dct`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.dct([1.0, 1.0])
        [4. 0.]

    Args:
        input: samples in the last dimension, whose size is known.
        type: 1, 2 or 3.
        n: the number of samples, cut or filled with zeros; all unless given.
        axis: -1.
        norm: None or `ortho`.

    Raises:
        ValueError: another type or norm.
        NotImplementedError: another axis.
    """
    if axis != -1:
        raise NotImplementedError(f"The transform is along the last axis, -1, not {axis}: transpose the input first.")
    if type not in (1, 2, 3) or norm not in (None, "ortho"):
        raise ValueError(f"Only types 1, 2 and 3, and norms None and 'ortho' are supported, not {type=}, {norm=}.")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    with af.name_scope(name, "dct", [input]):
        input = af.convert_to_tensor(input)
        size = input.static_shape[-1]
        if size is None:
            raise ValueError("The size of the last dimension has to be known.")
        if n is not None:
            rank = len(input.static_shape)
            input = input[..., :n] if n <= size else af.pad(input, [*[[0, 0]] * (rank - 1), [0, n - size]])
            size = n
        matrix = af.constant(_cosines(size, type, norm).astype(input.dtype.as_numpy_dtype))
        flat = af.matmul(af.reshape(input, [-1, size]), matrix)
        return af.reshape(flat, af.shape(input))


def _cosines(size: int, kind: int, norm: str | None) -> Any:
    """The matrix of a transform: the samples are rows, the frequencies columns."""
    k, i = np.arange(size)[None, :], np.arange(size)[:, None]
    if kind == 1:
        matrix = 2 * np.cos(np.pi * i * k / (size - 1))
        matrix[0], matrix[-1] = 1.0, (-1.0) ** np.arange(size)
        return matrix
    if kind == 2:
        matrix = 2 * np.cos(np.pi * (2 * i + 1) * k / (2 * size))
        if norm == "ortho":
            matrix *= np.where(k == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size)))
        return matrix
    matrix = 2 * np.cos(np.pi * (2 * k + 1) * i / (2 * size))
    matrix[0] = 1.0
    if norm == "ortho":
        matrix[0] = math.sqrt(1 / size)
        matrix[1:] *= math.sqrt(1 / (2 * size))
    return matrix


@public("tf.signal", "tf.spectral")
def idct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Any:
    """The inverse of `dct`, without its scale unless `norm` is `ortho` (`tf.signal.idct`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.idct([4.0, 0.0])
        [4. 4.]

    Args:
        input: coefficients in the last dimension, whose size is known.
        type: 1, 2 or 3.
        n: the number of coefficients, cut or filled with zeros; all unless given.
        axis: -1.
        norm: None or `ortho`.
    """
    return dct(input, {1: 1, 2: 3, 3: 2}.get(type, type), n, axis, norm, name or "idct")


@public("tf.signal")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """The coefficients of logarithms of mel spectra (`tf.signal.mfccs_from_log_mel_spectrograms`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.signal.mfccs_from_log_mel_spectrograms([[1.0, 1.0]])
        [[2. 0.]]
    """
    with af.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectra = af.convert_to_tensor(log_mel_spectrograms)
        count = spectra.shape.as_list()[-1]
        if not count:
            raise ValueError("num_mel_bins must be positive.")
        return dct(spectra, 2) * (1.0 / math.sqrt(count * 2.0))
