"""TensorFlow 1.15's names, so that a TensorFlow 1 script runs with one changed import.

    import actorflow.compat.v1 as tf

Spelling only: each name is actorflow's own function or class, and sessions are blocking ones. A name that is missing raises
an AttributeError that says so. Importing it makes the sizes of a `TensorShape` `Dimension`s in this process, as TensorFlow
1's are; `enable_v2_tensorshape()` undoes that.
"""

from __future__ import annotations

import importlib
from typing import Any

import actorflow as _af
from actorflow.compat.v1 import app, flags, gfile
from actorflow.compat.v1 import logs as logging
from actorflow.compat.v1.config import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunOptions
from actorflow.compat.v1.dimensions import (
    Dimension,
    dimension_at_index,
    dimension_value,
    disable_v2_tensorshape,
    enable_v2_tensorshape,
)
from actorflow.compat.v1.namespaces import NAMESPACES as _NAMESPACES
from actorflow.compat.v1.namespaces import namespace as _namespace
from actorflow.compat.v1.sessions import InteractiveSession, Session, get_default_session

__all__ = [
    "ConfigProto",
    "Dimension",
    "GPUOptions",
    "GraphOptions",
    "InteractiveSession",
    "OpError",
    "OptimizerOptions",
    "RunOptions",
    "Session",
    "app",
    "compat",
    "dimension_at_index",
    "dimension_value",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_resource_variables",
    "enable_v2_tensorshape",
    "executing_eagerly",
    "flags",
    "get_default_session",
    "gfile",
    "logging",
]

__version__ = "1.15.0"
"""The version of TensorFlow whose names these are."""
VERSION = __version__
OpError = _af.errors.OpError

disable_v2_tensorshape()


def disable_v2_behavior() -> None:
    """Does nothing: there is only the behaviour of version 1."""


disable_eager_execution = disable_resource_variables = enable_resource_variables = disable_v2_behavior


def executing_eagerly() -> bool:
    """False: ops become nodes."""
    return False


# Names that actorflow spells otherwise: they would hide a builtin there, or are TensorFlow's older ones.
_SPELLED_OTHERWISE = {
    "NoGradient": "NotDifferentiable",
    "double": "float64",
    "half": "float16",
    "print": "print_",
    "range": "range_",
    "slice": "slice_",
    "tuple": "tuple_",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "compat":  # which imports this package
        return importlib.import_module("actorflow.compat.v1.compat")
    if name in _NAMESPACES:
        found = globals()[name] = _namespace(name)
        return found
    try:
        return getattr(_af, _SPELLED_OTHERWISE.get(name, name))
    except AttributeError:
        raise AttributeError(
            f"TensorFlow 1.15's tf.{name} is not in actorflow.compat.v1, if there is such a name."
        ) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *_NAMESPACES, *_SPELLED_OTHERWISE, *_af.__all__})
