"""How the value of a program differs from TensorFlow 1.15's answer to it, as `dump_contrib.py` writes answers."""

from __future__ import annotations

from typing import Any

import numpy as np


def differs(value: Any, expected: Any) -> str:
    """The difference from TensorFlow's answer; empty if there is none."""
    if not isinstance(expected, dict):
        actual = value.decode() if isinstance(value, bytes) else value
        return "" if actual == expected else f"{actual!r} and not {expected!r}"
    array = np.asarray(value)
    array = (
        array.view(array.real.dtype).reshape(*array.shape, 2) if array.dtype.kind == "c" else array.astype(np.float64)
    )
    if list(array.shape) != expected["shape"]:
        return f"shape {array.shape} and not {expected['shape']}"
    truth = np.reshape(expected["values"], expected["shape"])
    if np.allclose(array, truth, 2e-4, 2e-5, equal_nan=True):
        return ""
    return f"differs by {np.abs(array - truth).max():.3g}: {array} and not {truth}"
