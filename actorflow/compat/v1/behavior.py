"""The version, and the switches of TensorFlow's behaviour: there is only that of version 1."""

from __future__ import annotations

import sys
from types import ModuleType

from actorflow.base import dialect
from actorflow.base.process.frames import frame_of_program
from actorflow.public import public

VERSION = "1.15.5"
"""The version of TensorFlow whose names these are."""
public("tf", of="VERSION")

_SPOKEN = ("actorflow.compat.v1", "actorflow.compat.v0")
_assumed = False


@public("tf", "tf:disable_resource_variables", "tf:enable_resource_variables")
def disable_v2_behavior() -> None:
    """Does nothing: there is only the behaviour of version 1.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.disable_v2_behavior()
    """


def speaks_v1() -> bool:
    """Whether the program's module that calls has a name for `actorflow.compat.v1` or `v0`, such as `tf`; after `assume_v1`
    whether it has none for `actorflow`."""
    frame = frame_of_program()
    names_there = {} if frame is None else frame.f_globals
    names = [v.__name__ for v in names_there.values() if isinstance(v, ModuleType)]
    if not _assumed or "actorflow" in names:
        return any(name in _SPOKEN for name in names)
    return str(names_there.get("__name__", "")).partition(".")[0] not in sys.stdlib_module_names


def assume_v1() -> None:
    """From now on all modules but those that import actorflow itself have TensorFlow's behaviour where actorflow's differs."""
    global _assumed
    _assumed = True


def by_caller() -> None:
    """From now on modules that import `actorflow.compat.v1` have TensorFlow's behaviour where actorflow's differs."""
    dialect.speaks_v1 = speaks_v1
