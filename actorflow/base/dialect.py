"""Whose behaviour a program means where ours and TensorFlow 1's differ."""

from __future__ import annotations

from collections.abc import Callable


def _ours() -> bool:
    return False


speaks_v1: Callable[[], bool] = _ours
"""Whether the program's module that calls is written against `actorflow.compat.v1`, which puts its own function here."""
