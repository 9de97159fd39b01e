"""Streams of random numbers, defined bit for bit, so that a kernel of any device can draw the same numbers in any order.

A stream is the output of Philox 4x64 with 10 rounds (Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3), whose
key is two seeds and whose counter starts at (1, 0, run, kind): `run` tells the runs of one node apart, `kind` the ops with
state (0) from those without (1). Block b of four 64-bit words has b added to the counter's first word. `word64[i]` is word
i % 4 of block i // 4; `word32[2i]` and `word32[2i + 1]` are the low and the high half of `word64[i]`. Element i is then

- uniform, float32: (word32[i] >> 8) / 2^24; float16 >> 21, bfloat16 >> 24; float64: (word64[i] >> 11) / 2^53;
- an integer: low + word64[i] mod (high - low);
- normal, by Box and Muller: elements 2j and 2j + 1 are r cos t and r sin t, where r = √(-2 ln u). For float32,
  u = ((word32[2j] >> 8) + 1) / 2^24, t = float32(int32(word32[2j + 1])) · float32(π / 2^31). For float64,
  u = ((word64[2j] >> 11) + 1) / 2^53, t = float64(int64(word64[2j + 1])) · (π / 2^63). The 16-bit types are rounded from
  float32. Functions get the same argument to the bit on each device, so results differ by their own rounding only;
- normal within (-2, 2), by the inverse of its distribution: √2 erf⁻¹(x), where x = erf(√2) · 2 (v - 1/2). Here
  v = ((word32[i] >> 8) + 1/2) / 2^24, or ((word64[i] >> 12) + 1/2) / 2^52 for float64;
- the i-th key of a permutation, which sorts by keys: word64[i].

Everything is computed in blocks that stay in a core's cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import DType

from ..shared.elementwise import scalar

_BLOCK = 32768  # elements; a multiple of the words of a counter's block
Array: TypeAlias = "np.ndarray[Any, Any]"


_UINT32, _INT32 = np.dtype(np.uint32), np.dtype(np.int32)
_LITTLE_ENDIAN = np.little_endian
_MOST_IDLE = 8
_idle: list[np.random.Generator] = []
_EMPTY = (0, 0, 0, 0)


def _begun(key: Any, run: int, kind: int) -> np.random.Generator:
    """A generator at the start of a stream."""
    try:
        generator = _idle.pop()  # setting one takes a tenth of the time that making one takes
    except IndexError:
        generator = np.random.Generator(np.random.Philox(0))
    generator.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {"counter": (0, 0, run, kind), "key": key},
        "buffer": _EMPTY,
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator


class PhiloxStream:
    """One stream, read from its start on."""

    __slots__ = ("_bits", "_lent", "own")

    def __init__(self, key: Any, run: int = 0, kind: int = 0) -> None:
        self.own = _begun(key, run, kind)
        self._bits: Any = self.own.bit_generator
        self._lent = False

    def __del__(self) -> None:
        if not self._lent and len(_idle) < _MOST_IDLE:
            _idle.append(self.own)

    def words64(self, count: int) -> Array:
        words: Array = self._bits.random_raw(count)
        return words

    def words32(self, count: int) -> Array:
        """The next `count` halves of words; a half that is left over is lost."""
        words: Any = self._bits.random_raw((count + 1) // 2)
        if not _LITTLE_ENDIAN:
            words = np.stack([words & 0xFFFFFFFF, words >> 32], axis=-1).astype(np.uint32).reshape(-1)
        halves: Array = words.view(_UINT32)
        return halves[:count] if count & 1 else halves

    def generator(self) -> np.random.Generator:
        """numpy's own algorithms over the rest of the stream: for what only a host draws."""
        self._lent = True
        return self.own


Fill: TypeAlias = Callable[[PhiloxStream, Array], None]


def fill(stream: PhiloxStream, draw: Fill, sizes: Sequence[int], dtype: DType, out: Array | None = None) -> Array:
    """An array of `dtype` (into `out` where that is given) whose elements `draw` draws in order, block by block."""
    halves = dtype.size == 2
    result = np.empty(tuple(sizes), dtype.numpy_dtype) if out is None else out
    flat = result.reshape(-1)
    if not halves and flat.size <= _BLOCK:
        draw(stream, flat)
        return result
    scratch = np.empty(min(_BLOCK, flat.size), np.float32) if halves else None
    for start in range(0, flat.size, _BLOCK):
        piece = flat[start : start + _BLOCK]
        if scratch is None:
            draw(stream, piece)
        else:
            wide = scratch[: piece.size]
            draw(stream, wide)
            piece[...] = wide
    return result


@functools.lru_cache(64)
def uniform(bits: int) -> Fill:
    """Draws multiples of 2^-bits in [0, 1), of float32 (up to 24 bits) or float64 (more)."""

    shift, unit = scalar(np, np.uint32, max(0, 32 - bits)), scalar(np, np.float32, 2.0**-bits)  # found once

    def draw(stream: PhiloxStream, into: Array) -> None:
        if into.itemsize == 4:
            words = stream.words32(into.size)
            np.right_shift(words, shift, words)
            into[...] = words.view(_INT32)
            np.multiply(into, unit, into)
        else:
            wide = stream.words64(into.size)
            np.right_shift(wide, 64 - bits, out=wide)
            into[...] = wide.view(np.int64)
            np.multiply(into, scalar(np, into.dtype, 2.0**-bits), out=into)

    return draw


_FEW = 2048


def few_uniform(key: Any, run: int, sizes: tuple[int, ...]) -> Array | None:
    """The first numbers of float32 that `uniform` draws of a node's stream, by one call of numpy's: cheaper than its loops for a
    few. None for many numbers, or if numpy draws others."""
    if not sizes or math.prod(sizes) > _FEW or not _agrees():
        return None
    generator = _begun(key, run, 0)
    drawn: Array = generator.random(sizes, np.float32)
    if len(_idle) < _MOST_IDLE:
        _idle.append(generator)
    return drawn


@functools.cache
def _agrees() -> bool:
    """Whether this numpy makes float32 of words as is written above. It promises so of words only."""
    words = PhiloxStream((3, 5)).words32(64)
    drawn: Any = PhiloxStream((3, 5)).own.random(64, np.float32)
    return bool((drawn == (words >> 8) * np.float32(2.0**-24)).all())


def normal(stream: PhiloxStream, into: Array) -> None:
    """Draws from the normal distribution of mean 0 and variance 1."""
    kind: Any = into.dtype.type
    pairs = (into.size + 1) // 2
    if kind is np.float32:
        words = stream.words32(2 * pairs)
        radius = ((words[0::2] >> 8).view(np.int32) + np.int32(1)).astype(kind)
        angle = words.view(np.int32)[1::2].astype(kind)
        unit, turn = kind(2.0**-24), kind(math.pi / 2**31)
    else:
        words = stream.words64(2 * pairs)
        radius = ((words[0::2] >> 11).view(np.int64) + 1).astype(kind)
        angle = words.view(np.int64)[1::2].astype(kind)
        unit, turn = kind(2.0**-53), kind(math.pi / 2**63)
    np.multiply(radius, unit, out=radius)
    np.log(radius, out=radius)
    np.multiply(radius, kind(-2), out=radius)
    np.sqrt(radius, out=radius)
    np.multiply(angle, turn, out=angle)
    np.multiply(radius, np.cos(angle), out=into[0::2])
    odd = into.size // 2
    np.sin(angle, out=angle)
    np.multiply(radius[:odd], angle[:odd], out=into[1::2])


def truncated_normal(stream: PhiloxStream, into: Array) -> None:
    """Draws from the normal distribution of mean 0 and variance 1, cut off at -2 and 2."""
    kind: Any = into.dtype.type
    if kind is np.float32:
        whole = (stream.words32(into.size) >> 8).view(np.int32) - np.int32(2**23)
        unit, centre, coefficients = 2.0**-23, 2.5, _CENTRAL_SINGLE
    else:
        whole = (stream.words64(into.size) >> 12).view(np.int64) - 2**51
        unit, centre, coefficients = 2.0**-51, 3.125, _CENTRAL_DOUBLE
    into[...] = whole
    np.add(into, kind(0.5), out=into)
    np.multiply(into, kind(unit * math.erf(math.sqrt(2))), out=into)
    # erf⁻¹(x) = x p(w), w = -ln(1 - x²): Giles, Approximating the erfinv function, 2010. As |x| < 0.9545, the
    # polynomial of the centre does.
    w = into * into
    np.subtract(kind(1), w, out=w)
    np.log(w, out=w)
    np.negative(w, out=w)
    np.subtract(w, kind(centre), out=w)
    p = np.full_like(w, coefficients[0])
    for coefficient in coefficients[1:]:
        np.multiply(p, w, out=p)
        np.add(p, kind(coefficient), out=p)
    np.multiply(p, kind(math.sqrt(2)), out=p)
    np.multiply(into, p, out=into)
    limit = np.nextafter(kind(2), kind(0))
    np.clip(into, -limit, limit, out=into)  # the polynomial's own error may lead past the edge


def integers(stream: PhiloxStream, low: int, high: int, sizes: Sequence[int], dtype: Any) -> Array:
    """Integers in [low, high), biased by no more than (high - low) / 2^64."""
    words = stream.words64(math.prod(sizes))
    np.remainder(words, np.uint64(high - low), out=words)
    np.add(words, np.uint64(low % 2**64), out=words)  # modulo 2^64, as two's complements add
    return words.view(np.int64).astype(dtype, copy=False).reshape(tuple(sizes))


_CENTRAL_SINGLE: tuple[float, ...] = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_CENTRAL_DOUBLE: tuple[float, ...] = (
    -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
    -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
    -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
)  # fmt: skip
