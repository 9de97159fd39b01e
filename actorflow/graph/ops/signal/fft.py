"""Discrete Fourier transforms over the last 1, 2 or 3 dimensions.

The inverse transforms divide by the number of elements. The real transforms keep the half of the last dimension that
decides the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import COMPLEX, DType
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.ops.array.join import concat, stack
from actorflow.graph.ops.array.pad_tile import pad
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.arithmetic import maximum, minimum
from actorflow.graph.ops.math.cast import cast, complex_op
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import equal, logical_or, where_v2
from actorflow.graph.ops.math.reduction import reduce_prod
from actorflow.graph.ops.shape_rules import at_least_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_REAL = frozenset((dt.float32, dt.float64))


def _work(c: Inference) -> float:
    """5·n·log n of the input's elements; a guess if their number is unknown."""
    source = c.shapes[0]
    count = 1e4 if source is None or None in source else max(math.prod(source), 2)  # type: ignore[arg-type]
    return 5 * count * math.log2(count)


def _of_rank(rank: int) -> Any:
    return lambda c: at_least_rank(c, 0, rank)


@public("af", "af.signal", "tf.spectral")
@op("FFT", shape=_of_rank(1), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def fft(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of a complex tensor over its last dimension (`tf.fft`).

    Example:
        >>> af.fft([1 + 0j, 0j, 0j, 0j])
        [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
        >>> af.abs(af.fft(af.cast([1.0, -1.0, 1.0, -1.0], af.complex64)))
        [0. 0. 4. 0.]
    """


@public("af", "af.signal", "tf.spectral")
@op("IFFT", shape=_of_rank(1), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def ifft(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of `fft` (`tf.ifft`).

    Example:
        >>> af.ifft(af.fft([1 + 0j, 2 + 0j, 3 + 0j]))
        [1.+0.j 2.+0.j 3.+0.j]
    """


@public("af", "af.signal", "tf.spectral")
@op("FFT2D", shape=_of_rank(2), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def fft2d(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of a complex tensor over its last two dimensions (`tf.fft2d`).

    Example:
        >>> af.fft2d(af.ones([2, 2], af.complex64))
        [[4.+0.j 0.+0.j]
         [0.+0.j 0.+0.j]]
    """


@public("af", "af.signal", "tf.spectral")
@op("IFFT2D", shape=_of_rank(2), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def ifft2d(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of `fft2d` (`tf.ifft2d`).

    Example:
        >>> af.ifft2d([[4 + 0j, 0j], [0j, 0j]])
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """


@public("af", "af.signal", "tf.spectral")
@op("FFT3D", shape=_of_rank(3), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def fft3d(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of a complex tensor over its last three dimensions (`tf.fft3d`).

    Example:
        >>> af.fft3d(af.ones([2, 2, 2], af.complex64))[0, 0, 0]
        (8+0j)
    """


@public("af", "af.signal", "tf.spectral")
@op("IFFT3D", shape=_of_rank(3), dtypes=COMPLEX, prefer=dt.complex64, work=_work)
def ifft3d(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of `fft3d` (`tf.ifft3d`).

    Example:
        >>> af.ifft3d(af.fft3d(af.ones([2, 2, 2], af.complex64)))[0, 0]
        [1.+0.j 1.+0.j]
    """


_FORWARD = {1: fft, 2: fft2d, 3: fft3d}
_BACKWARD = {1: ifft, 2: ifft2d, 3: ifft3d}
_RANKS = {"FFT": 1, "FFT2D": 2, "FFT3D": 3}


def _elements(x: Tensor, rank: int) -> Tensor:
    """The number of elements of a transform, in x's type."""
    return cast(reduce_prod(shape(x)[-rank:]), x.dtype)


@fft.gradient
@fft2d.gradient
@fft3d.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    rank = _RANKS[node.type]
    return [_BACKWARD[rank](dy) * _elements(dy, rank)]


@ifft.gradient
@ifft2d.gradient
@ifft3d.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    rank = _RANKS[node.type.removeprefix("I")]
    share = np.float64(1) / cast(reduce_prod(shape(dy)[-rank:]), dt.float64)
    return [_FORWARD[rank](dy) * cast(share, dy.dtype)]  # a division of complex numbers takes four times as long


# ---- real tensors


def _lengths(c: Inference, rank: int, halved: bool) -> Shape:
    source = at_least_rank(c, 0, rank)
    merge(c.shapes[1], (rank,))
    if source is None:
        return None
    value = c.value(1)
    if value is None:
        return (*source[:-rank], *(None,) * rank)
    if (value < 0).any():
        raise ValueError(f"The lengths of a transform are zero or more, but are {value.tolist()}.")
    sizes = [int(size) for size in value]
    if halved:
        sizes[-1] = sizes[-1] // 2 + 1 if sizes[-1] else 0
    return (*source[:-rank], *sizes)


def _to_complex(c: Inference) -> DType:
    return dt.complex64 if c.dtypes[0] is dt.float32 else dt.complex128


def _to_real(c: Inference) -> DType:
    return c.dtypes[0].real_dtype


def _halved(rank: int) -> Any:
    return lambda c: _lengths(c, rank, True)


def _whole(rank: int) -> Any:
    return lambda c: _lengths(c, rank, False)


_FFT_LENGTH = {"fft_length": dt.int32}


@op("RFFT", shape=_halved(1), dtypes=_REAL, types=_FFT_LENGTH, result=_to_complex, work=_work)
def rfft_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The transform of a real tensor over its last dimension. See `rfft`."""


@op("RFFT2D", shape=_halved(2), dtypes=_REAL, types=_FFT_LENGTH, result=_to_complex, work=_work)
def rfft2d_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The transform of a real tensor over its last two dimensions. See `rfft2d`."""


@op("RFFT3D", shape=_halved(3), dtypes=_REAL, types=_FFT_LENGTH, result=_to_complex, work=_work)
def rfft3d_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The transform of a real tensor over its last three dimensions. See `rfft3d`."""


@op("IRFFT", shape=_whole(1), dtypes=COMPLEX, types=_FFT_LENGTH, result=_to_real, work=_work)
def irfft_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of RFFT. See `irfft`."""


@op("IRFFT2D", shape=_whole(2), dtypes=COMPLEX, types=_FFT_LENGTH, result=_to_real, work=_work)
def irfft2d_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of RFFT2D. See `irfft2d`."""


@op("IRFFT3D", shape=_whole(3), dtypes=COMPLEX, types=_FFT_LENGTH, result=_to_real, work=_work)
def irfft3d_op(input: TensorLike, fft_length: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of RFFT3D. See `irfft3d`."""


_REAL_FORWARD = {1: rfft_op, 2: rfft2d_op, 3: rfft3d_op}
_REAL_BACKWARD = {1: irfft_op, 2: irfft2d_op, 3: irfft3d_op}


def _fitted(x: Tensor, source: Tensor, rank: int) -> Tensor:
    """`x` with its last `rank` dimensions cut, or filled up with zeros at their ends, to those of `source`."""
    own, target = (tensor.static_shape for tensor in (x, source))
    if own is not None and target is not None and own[-rank:] == target[-rank:] and is_static(own[-rank:]):
        return x
    whole, sizes = shape(x), shape(source)[-rank:]
    batch = whole[:-rank]
    kept = slice_(x, zeros_like(whole), concat([batch, minimum(whole[-rank:], sizes)], 0))
    missing = concat([zeros_like(batch), maximum(sizes - whole[-rank:], 0)], 0)
    return pad(kept, stack([zeros_like(missing), missing], axis=1))


@rfft_op.gradient
@rfft2d_op.gradient
@rfft3d_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """The real part of the transform back, of the half that there is; the other half counts as zeros. The inverse takes an
    element of the half for two, so it gets half of those that are."""
    rank = _RANKS[node.type.removeprefix("R")]
    source, lengths = node.inputs
    weighted = _weighted(dy, lengths, 0.5, cast(reduce_prod(lengths), dt.float64), source.dtype)
    return [_shaped(_fitted(_REAL_BACKWARD[rank](weighted, lengths), source, rank), source), None]


@irfft_op.gradient
@irfft2d_op.gradient
@irfft3d_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """The transform of `dy`, twice where an element of the half stands for two."""
    rank = _RANKS[node.type.removeprefix("IR")]
    source, lengths = node.inputs
    half = _REAL_FORWARD[rank](dy, lengths)
    share = np.float64(1) / cast(reduce_prod(lengths), dt.float64)
    return [_shaped(_fitted(_weighted(half, lengths, 2.0, share, dy.dtype), source, rank), source), None]


def _weighted(half: Tensor, lengths: Tensor, pair: float, scale: Tensor, kind: DType) -> Tensor:
    """The half of a spectrum times `scale`, and the elements for two times `pair` too. `kind` is the type of real parts."""
    places = range_(shape(half)[-1])
    alone = logical_or(equal(places, 0), equal(places * 2, lengths[-1]))
    weights = cast(where_v2(alone, np.float64(1), np.float64(pair)) * scale, kind)
    return half * complex_op(weights, zeros_like(weights))


def _shaped(gradient: Tensor, source: Tensor) -> Tensor:
    gradient.set_shape(source.shape)
    return gradient


def _default_lengths(source: Tensor, rank: int, inverse: bool) -> Tensor:
    """The lengths for a transform of all that there is: those of the last dimensions, of which an inverse one sees but
    half of the last."""
    static = source.static_shape
    if static is not None and len(static) >= rank and None not in static[-rank:]:
        lengths = [int(size) for size in static[-rank:] if size is not None]
        if inverse:
            lengths[-1] = max(2 * (lengths[-1] - 1), 0)
        return convert_to_tensor(np.array(lengths, np.int32), graph=source.graph)
    sizes = shape(source)[-rank:]
    return concat([sizes[:-1], maximum(2 * (sizes[-1:] - 1), 0)], 0) if inverse else sizes


def _transform(inverse: bool, rank: int, x: TensorLike, fft_length: TensorLike | None, name: str | None) -> Tensor:
    with composite(name, f"{'i' * inverse}rfft{['', '2d', '3d'][rank - 1]}", x, fft_length) as scope:
        preferred = dt.complex64 if inverse else dt.float32
        source = convert_to_tensor(x, preferred_dtype=preferred)
        if fft_length is None:
            at_least = source.static_shape
            if at_least is not None and len(at_least) < rank:
                raise ValueError(
                    f"Shape {source.shape} of {source.name} must have rank at least {rank}, the dimensions of the transform."
                )
            lengths = _default_lengths(source, rank, inverse)
        else:
            lengths = convert_to_tensor(fft_length, dt.int32)
        return (_REAL_BACKWARD if inverse else _REAL_FORWARD)[rank](source, lengths, name=scope)


@public("af.signal", "tf.spectral")
def rfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of a real tensor over its last dimension (`tf.signal.rfft`).

    Example:
        >>> af.signal.rfft([1.0, -1.0, 1.0, -1.0])
        [0.+0.j 0.+0.j 4.+0.j]

    Args:
        input_tensor: float32 or float64, of rank 1 or more.
        fft_length: an int32 vector of one number: how long the transform is; the last dimension is cut to it, or filled
            up with zeros. By default it is as long as that.

    Returns:
        The first fft_length / 2 + 1 elements, complex64 or complex128; the others are their conjugates.
    """
    return _transform(False, 1, input_tensor, fft_length, name)


@public("af.signal", "tf.spectral")
def rfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """`rfft` over the last two dimensions, with two lengths (`tf.signal.rfft2d`). Only the last dimension is halved.

    Example:
        >>> af.signal.rfft2d([[1.0, 2.0], [3.0, 4.0]])
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return _transform(False, 2, input_tensor, fft_length, name)


@public("af.signal", "tf.spectral")
def rfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """`rfft` over the last three dimensions, with three lengths (`tf.signal.rfft3d`). Only the last dimension is halved.

    Example:
        >>> af.signal.rfft3d(af.ones([2, 4, 8])).shape
        TensorShape([2, 4, 5])
    """
    return _transform(False, 3, input_tensor, fft_length, name)


@public("af.signal", "tf.spectral")
def irfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft` (`tf.signal.irfft`).

    Example:
        >>> af.signal.irfft(af.signal.rfft([1.0, 2.0, 3.0, 4.0]))
        [1. 2. 3. 4.]

    Args:
        input_tensor: complex64 or complex128, of rank 1 or more.
        fft_length: an int32 vector of one number: how long the result is, of which fft_length / 2 + 1 elements are used.
            By default 2 · (n - 1) for a last dimension of size n: for an odd length it has to be given.
    """
    return _transform(True, 1, input_tensor, fft_length, name)


@public("af.signal", "tf.spectral")
def irfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`, with two lengths (`tf.signal.irfft2d`). See `irfft`.

    Example:
        >>> af.signal.irfft2d(af.signal.rfft2d([[1.0, 2.0], [3.0, 4.0]]))
        [[1. 2.]
         [3. 4.]]
    """
    return _transform(True, 2, input_tensor, fft_length, name)


@public("af.signal", "tf.spectral")
def irfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`, with three lengths (`tf.signal.irfft3d`). See `irfft`.

    Example:
        >>> af.signal.irfft3d(af.signal.rfft3d([[[1.0, 2.0], [3.0, 4.0]]]))
        [[[1. 2.]
          [3. 4.]]]
    """
    return _transform(True, 3, input_tensor, fft_length, name)


# ---- the order of frequencies


@public("af.signal")
def fftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """`x` with the frequency zero in the middle of its dimensions, or of those named (`tf.signal.fftshift`).

    Raises ValueError where no axes are named and the rank is not known.

    Example:
        >>> af.signal.fftshift([0, 1, 2, -2, -1])
        [-2 -1  0  1  2]
    """
    with composite(name, "fftshift", x):
        return _rotated(x, axes, lambda size: size - size // 2)


@public("af.signal")
def ifftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift` (`tf.signal.ifftshift`).

    Example:
        >>> af.signal.ifftshift([-2, -1, 0, 1, 2])
        [ 0  1  2 -2 -1]
    """
    with composite(name, "ifftshift", x):
        return _rotated(x, axes, lambda size: size // 2)


def _rotated(x: TensorLike, axes: Any, start: Callable[[Tensor], Tensor]) -> Tensor:
    moved = convert_to_tensor(x)
    if axes is None:
        if moved.static_shape is None:
            raise ValueError(f"The rank of {moved.name} is not known, so that the axes have to be named.")
        axes = range(len(moved.static_shape))
    for axis in [axes] if isinstance(axes, int) else axes:
        size = shape(moved)[axis]
        moved = gather(moved, (range_(size) + start(size)) % size, axis=axis)
    return moved
