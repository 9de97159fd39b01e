"""CRC-32C (Castagnoli) and TFRecord's masked form of it, by `google-crc32c` (the extra `checksums`), by a function that another
package has provided (`provide`), or by numpy.

In numpy, a checksum is serial in the bytes, but checksums of many strings run side by side: each step takes four bytes of all
lanes by two table lookups. One long string is cut into lanes, whose checksums are joined by the matrices that shift a
checksum over zeros (Mark Adler's `crc32_combine`). Zeros before a string change nothing if the register starts at
zero, so lanes of different lengths are filled up in front.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reversed
_START = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_SMALL = 96  # bytes; below, a loop is faster than setting up lanes
_LONGEST_LANE = 8192  # longer strings are cut into lanes of their own

Array = Any


def _byte_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _byte_table()


@functools.cache
def _pair_tables() -> tuple[Array, Array]:
    """The registers that the low and the high 16 bits of a register leave after four zero bytes."""
    table = np.array(_TABLE, np.uint32)
    values = np.arange(65536, dtype=np.uint32)

    def after_zeros(register: Array, count: int) -> Array:
        for _ in range(count):
            register = table[register & 0xFF] ^ register >> 8
        return register

    return after_zeros(values, 4), after_zeros(values << 16, 4)


_provided: list[Callable[[bytes], int]] = []


def provide(function: Callable[[bytes], int]) -> None:
    """Declares a function that computes the CRC-32C of bytes. It is taken where `google-crc32c` is not there.

    Args:
        function: gives the checksum of its argument.
    """
    _provided[:] = [function]
    _library.cache_clear()


@functools.cache
def _library() -> Callable[[bytes], int] | None:
    """The checksum of `google-crc32c`, if that is installed and compiled, or else the function that was provided."""
    own = _provided[0] if _provided else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns if it is not compiled
            import google_crc32c
    except ImportError:
        return own
    compiled: Callable[[bytes], int] = google_crc32c.value
    return compiled if google_crc32c.implementation == "c" else own


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """The CRC-32C of `data`."""
    if (library := _library()) is not None:
        return library(bytes(data))
    if len(data) <= _SMALL:
        register = _START
        for byte in bytes(data):
            register = _TABLE[(register ^ byte) & 0xFF] ^ register >> 8
        return register ^ _START
    return _long(data)


def joined(first: int, second: int, size: int) -> int:
    """The CRC-32C of two strings, one behind the other.

    Args:
        first: the checksum of the first string.
        second: the checksum of the second string.
        size: how many bytes the second string has.
    """
    return _apply(_zeros_matrix(size), first) ^ second if size else first


def mask(crc: int) -> int:
    """A checksum as TFRecord stores it: rotated and moved, so that a checksum of data with checksums stays good."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: bytes | bytearray | memoryview) -> int:
    """The masked CRC-32C of `data`, as TFRecord stores it."""
    return mask(crc32c(data))


def crc32c_each(strings: Sequence[bytes | memoryview]) -> list[int]:
    """The CRC-32C of each of `strings`, all computed side by side."""
    if (library := _library()) is not None:
        return [library(bytes(string)) for string in strings]
    result = [0] * len(strings)
    groups: dict[int, list[int]] = {}
    for index, string in enumerate(strings):
        size = len(string)
        if size < 4:
            result[index] = crc32c(string)
        elif size > _LONGEST_LANE:
            result[index] = _long(string)
        else:
            groups.setdefault((size - 1).bit_length(), []).append(index)
    for bits, members in groups.items():
        if len(members) < 3 and 1 << bits <= _SMALL:
            for index in members:
                result[index] = crc32c(strings[index])
            continue
        width = -(-max(len(strings[i]) for i in members) // 4) * 4
        rows = np.frombuffer(b"".join([bytes(strings[i]).rjust(width, b"\0") for i in members]), np.uint8)
        rows = rows.reshape(len(members), width).copy()
        first = width - np.array([len(strings[i]) for i in members])
        rows[np.arange(len(members))[:, None], first[:, None] + np.arange(4)] ^= 0xFF  # the register's start
        for index, crc in zip(members, (_lanes(rows.view("<u4")) ^ np.uint32(_START)).tolist()):
            result[index] = crc
    return result


def _lanes(words: Array) -> Array:
    """The registers, started at zero, of rows of 32-bit words."""
    low, high = _pair_tables()
    register = np.zeros(len(words), np.uint32)
    index = np.empty(len(words), np.intp)
    part = np.empty_like(register)
    for word in np.ascontiguousarray(words.T):
        np.bitwise_xor(register, word, out=register)
        np.bitwise_and(register, 0xFFFF, out=index)
        np.take(low, index, out=part, mode="clip")  # the other modes copy
        np.right_shift(register, 16, out=index)
        np.take(high, index, out=register, mode="clip")
        np.bitwise_xor(register, part, out=register)
    return register


def _long(data: bytes | bytearray | memoryview) -> int:
    """One string, cut into lanes."""
    size = len(data)
    lane = 1 << max(size.bit_length() // 2, 5)  # about as long as they are many
    count = -(-size // lane)
    padded = np.zeros(count * lane, np.uint8)
    first = count * lane - size
    padded[first:] = np.frombuffer(data, np.uint8)
    padded[first : first + 4] ^= 0xFF  # the register's start
    registers = _lanes(padded.view("<u4").reshape(count, lane // 4))
    while len(registers) > 1:
        if len(registers) % 2:
            registers = np.concatenate((np.zeros(1, np.uint32), registers))
        registers = _shifted(registers[::2], lane) ^ registers[1::2]
        lane *= 2
    return int(registers[0]) ^ _START


def _shifted(registers: Array, zeros: int) -> Array:
    """The registers after `zeros` zero bytes."""
    first, second, third, fourth = _zeros_tables(zeros)
    return (
        first[registers & 0xFF]
        ^ second[registers >> 8 & 0xFF]
        ^ third[registers >> 16 & 0xFF]
        ^ fourth[registers >> 24]
    )


@functools.lru_cache(maxsize=64)
def _zeros_tables(zeros: int) -> Array:
    """For each of a register's four bytes and each value of it, the register that it leaves after `zeros` zero
    bytes."""
    values = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    result = np.zeros_like(values)
    for bit, column in enumerate(_zeros_matrix(zeros)):
        result ^= (values >> np.uint32(bit) & np.uint32(1)) * np.uint32(column)
    return result


@functools.lru_cache(maxsize=256)
def _zeros_matrix(zeros: int) -> tuple[int, ...]:
    """The value that each bit of a register takes after `zeros` zero bytes: the columns of a matrix over GF(2)."""
    if zeros == 1:
        return tuple(_TABLE[(1 << bit) & 0xFF] ^ (1 << bit) >> 8 for bit in range(32))
    half = _zeros_matrix(zeros // 2)
    columns = tuple(_apply(half, column) for column in half)
    return columns if zeros % 2 == 0 else tuple(_TABLE[c & 0xFF] ^ c >> 8 for c in columns)


def _apply(matrix: tuple[int, ...], register: int) -> int:
    result = 0
    for bit in range(32):
        if register >> bit & 1:
            result ^= matrix[bit]
    return result
