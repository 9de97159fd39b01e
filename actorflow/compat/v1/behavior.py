"""The version, and the switches of TensorFlow's behaviour: there is only that of version 1."""

from __future__ import annotations

import sys
from types import ModuleType

from actorflow import dialect
from actorflow.public import public

VERSION = "1.15.0"
"""The version of TensorFlow whose names these are."""
public("tf", of="VERSION")

_SPOKEN = ("actorflow.compat.v1", "actorflow.compat.v0")


@public("tf", "tf:disable_resource_variables", "tf:enable_resource_variables")
def disable_v2_behavior() -> None:
    """Does nothing: there is only the behaviour of version 1.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.disable_v2_behavior()
    """


def speaks_v1() -> bool:
    """Whether the program's module that calls has a name for `actorflow.compat.v1` or `v0`, such as `tf`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "actorflow":
        frame = frame.f_back
    return any(isinstance(v, ModuleType) and v.__name__ in _SPOKEN for v in frame.f_globals.values())


def by_caller() -> None:
    """From now on modules that import `actorflow.compat.v1` have TensorFlow's behaviour where it is another."""
    dialect.speaks_v1 = speaks_v1
