"""`tf.compat`: text as bytes and back, and `tf.compat.v1`."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

import actorflow.compat.v1 as v1
from actorflow.compat.v1 import dimensions as _dimensions
from actorflow.public import public

public("tf:compat")

T = TypeVar("T")
bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
"""Types of values, for `isinstance`."""
__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Bytes, or text in an encoding. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    encoded = bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes_or_text
    return _checked(encoded, bytes)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Text, or what bytes mean in an encoding. Raises TypeError for anything else."""
    decoded = bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else bytes_or_text
    return _checked(decoded, str)


as_str = as_text


def as_str_any(value: Any) -> str:
    """`as_text` of bytes, and `str` of anything else."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def _checked(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.60} is neither text nor bytes, but a {type(value).__name__}.")
    return value


def path_to_str(path: Any) -> Any:
    """The text of a path that is an object; anything else as it is."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """True: what newer versions write is read."""
    return True


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block that changes nothing."""
    yield


dimension_value, dimension_at_index = _dimensions.dimension_value, _dimensions.dimension_at_index
