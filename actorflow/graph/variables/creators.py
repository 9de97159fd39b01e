"""`variable_creator_scope`: functions that make variables in the place of their class (`tf.variable_creator_scope`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias

from actorflow.public import public

Creator: TypeAlias = "Callable[..., Any]"

_creators: ContextVar[tuple[Creator, ...]] = ContextVar("actorflow_variable_creators", default=())


@public("tf")
@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Inside, each new variable is made by `variable_creator(next_creator, **arguments)`.

    Of several scopes the innermost is asked first; its `next_creator` is that of the scope around, and at last the class.
    Variables that are shared, not new, are not asked for.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> def frozen(next_creator, **arguments):
        ...     return next_creator(**{**arguments, "trainable": False})
        >>> with tf.Graph().as_default(), tf.variable_creator_scope(frozen):
        ...     print(tf.get_variable("v", [2]).trainable)
        False

    Args:
        variable_creator: gets the next creator, and the arguments of `Variable` by name; it gives a variable.
    """
    token = _creators.set((*_creators.get(), variable_creator))
    try:
        yield
    finally:
        _creators.reset(token)


class Created(type):
    """The class of `Variable`: a call asks the creators that are open."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        creators = _creators.get()
        if not creators or "_by_creators" not in vars(cls) or kwargs.get("variable_def") is not None:
            return super().__call__(*args, **kwargs)
        bound = inspect.signature(cls.__init__).bind(None, *args, **kwargs)  # type: ignore[misc]
        bound.apply_defaults()
        arguments = {name: value for name, value in bound.arguments.items() if name != "self"}
        return _make(super().__call__, creators, **arguments)


def _make(build: Creator, creators: tuple[Creator, ...], **arguments: Any) -> Any:
    if not creators:
        return build(**arguments)
    return creators[-1](partial(_make, build, creators[:-1]), **arguments)
