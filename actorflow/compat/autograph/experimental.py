"""`tf.autograph.experimental`: marks of functions, options of loops, and names of features."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from actorflow.compat.autograph.conversion import UNCHANGED


class Feature(Enum):
    """The conversions that TensorFlow has switches for (`tf.autograph.experimental.Feature`); nothing goes by it here."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """A mark of a function that stays as it is; without a function a decorator."""
    if func is None:
        return do_not_convert
    setattr(func, UNCHANGED, True)
    return func


def set_loop_options(
    parallel_iterations: Any = None, back_prop: Any = None, swap_memory: Any = None, maximum_iterations: Any = None
) -> None:
    """As the first statement of a loop: the options of its `tf.while_loop`. Elsewhere nothing.

    Args:
        parallel_iterations, back_prop, swap_memory, maximum_iterations: those of `tf.while_loop`.
    """
