"""`tf.autograph`: Python's control flow on tensors, rewritten by the standard `ast` into nodes of a graph.

conversion.py    a function becomes another function, with the lines of the program
experimental.py  `tf.autograph.experimental`
expressions.py   `and`, `or`, `not`, comparisons in a row, and Python's functions, on tensors
jumps.py         `break`, `continue` and `return` become flags
names.py         the names that statements bind
operators.py     `if`, `while` and `for`, on tensors
places.py        attributes and items that statements set
states.py        the values of names before and behind a statement
statements.py    the rewritten statements
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.compat.autograph import experimental as experimental
from actorflow.compat.autograph.conversion import converted, source_of
from actorflow.public import public

public("tf:autograph")

_verbosity = [0, False]


def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """A function that builds nodes for the `if`, `while` and `for` of `entity` whose conditions are tensors.

    Args:
        entity: a function of Python, whose source can be read.
        recursive: whether functions that it calls are rewritten as well.
        arg_values, arg_types: must be None: nothing is assumed of arguments.
        experimental_optional_features: accepted for compatibility; see `tf.autograph.experimental.Feature`.

    Raises:
        ValueError: there is no source, as of a lambda, or `arg_values` is given.
    """
    if arg_values is not None or arg_types is not None:
        raise ValueError("to_graph() assumes nothing of arguments: arg_values and arg_types must be None.")
    return converted(entity, recursive)


def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """The text of what `to_graph` gives, with `ag__` for the functions that it calls.

    Args:
        entity: a function of Python, whose source can be read.
        recursive, arg_values, arg_types, experimental_optional_features: see `to_graph`.
        indentation: what a block begins with.

    Raises:
        ValueError: there is no source, as of a lambda.
    """
    lines = source_of(entity, recursive).splitlines()
    depth = [(len(line) - len(line.lstrip())) // 4 for line in lines]
    return "\n".join(indentation * count + line.lstrip() for count, line in zip(depth, lines)) + "\n"


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Keeps the level; nothing is told of a conversion that succeeds.

    Args:
        level: 0 for nothing; more for more.
        alsologtostdout: kept as well.
    """
    _verbosity[:] = [level, alsologtostdout]


def trace(*args: Any) -> None:
    """Prints the arguments when the graph is built."""
    print(*args)
