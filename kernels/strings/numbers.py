"""Kernels between numbers and the strings that spell them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.registry.kernel import kernel

from .objects import mapped


@kernel("AsString")
def as_string(xp: Any, x: Any, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> Any:
    kind = as_dtype(x.dtype).kind
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise ValueError(
            f"Fill string must be one or fewer characters, one of printf's flags ' ', '+', '-', '0', '#', but is {fill!r}."
        )
    if scientific and shortest:
        raise ValueError("Cannot select both scientific and shortest notation.")
    if kind not in "fc" and (scientific or shortest or precision >= 0):
        what = "precision" if precision >= 0 else "scientific and shortest format"
        raise ValueError(f"{what} not supported for datatype {as_dtype(x.dtype)}: they are for floats.")
    flags = fill + (str(width) if width >= 0 else "")
    letter = "g" if shortest else "e" if scientific else "f"
    number = f"%{flags}{f'.{precision}' if precision >= 0 else ''}{letter}"
    if kind == "c":
        return mapped(
            lambda v: f"({_float(number, v.real, fill, width)},{_float(number, v.imag, fill, width)})".encode(), x
        )
    if kind == "f":
        return mapped(lambda v: _float(number, v, fill, width).encode(), xp.asarray(x, xp.float64))
    if kind == "b":
        return mapped(lambda v: b"true" if v else b"false", x)
    if kind == "S":
        return mapped(lambda v: v.ljust(width) if fill == "-" else v.rjust(width), x)
    return mapped(lambda v: (f"%{flags}d" % v).encode(), x)


def _float(number: str, value: float, fill: str, width: int) -> str:
    """`value` by the format `number`. C pads infinities and NaN with spaces, and writes the sign of a NaN."""
    if math.isfinite(value):
        return number % value
    text = "nan" if value != value else "inf"
    text = ("-" if math.copysign(1, value) < 0 else fill if fill in ("+", " ") else "") + text
    return text.ljust(width) if fill == "-" else text.rjust(width)


_SPACE = b" \t\n\v\f\r"
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.I)
_HEXADECIMAL = re.compile(rb"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.I)


@kernel("StringToNumber")
def string_to_number(xp: Any, x: Any, *, out_type: DType) -> Any:
    read: Callable[[bytes], Any] = _read_float if out_type.is_floating else lambda s: _read_integer(s, out_type)
    return mapped(read, x, out_type.numpy_dtype)


def _read_float(value: bytes) -> float:
    text = value.strip(_SPACE)
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.decode())
        except OverflowError:
            return -math.inf if text.startswith(b"-") else math.inf
    raise _no_number(value)


def _read_integer(value: bytes, out_type: DType) -> int:
    text = value.strip(_SPACE)
    if not _INTEGER.fullmatch(text) or len(text) > 40 or not out_type.min <= int(text) <= out_type.max:
        raise _no_number(value)
    if out_type.is_unsigned and text.startswith(b"-"):
        raise _no_number(value)
    return int(text)


def _no_number(value: bytes) -> ValueError:
    return ValueError(f"StringToNumberOp could not correctly convert string: {value.decode(errors='backslashreplace')}")
