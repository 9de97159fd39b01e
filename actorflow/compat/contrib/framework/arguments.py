"""`arg_scope`: default arguments for functions of layers, over a block of a program."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

Scope = dict[str, dict[str, Any]]

_scope: ContextVar[Scope] = ContextVar("arg_scope", default={})  # noqa: B039  (a scope is never changed)
_arguments: dict[str, tuple[str, ...]] = {}


def arg_scope_func_key(op: Callable[..., Any]) -> str:
    """The text under which the arguments of a function are kept."""
    return str(getattr(op, "_key_op", str(op)))


def add_arg_scope(func: Any) -> Any:
    """Has `arg_scope` give arguments to a function: a decorator.

    Example:
        >>> from actorflow.compat.contrib import framework
        >>> @framework.add_arg_scope
        ... def scaled(x, factor=1):
        ...     return x * factor
        >>> with framework.arg_scope([scaled], factor=3):
        ...     print(scaled(2))
        6
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        defaults = _scope.get().get(key)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    key = f"{getattr(func, '__module__', '')}.{getattr(func, '__qualname__', func)}"
    call._key_op = key  # type: ignore[attr-defined]
    _arguments[key] = tuple(name for name, p in inspect.signature(func).parameters.items() if p.default is not p.empty)
    return call


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether a function takes arguments from `arg_scope`."""
    return arg_scope_func_key(func) in _arguments


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that `arg_scope` can give to a function.

    Raises:
        ValueError: the function is not decorated.
    """
    _check(func)
    return _arguments[arg_scope_func_key(func)]


def current_arg_scope() -> Scope:
    """The arguments that functions get here."""
    return _scope.get()


@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Inside, each function of a list has other default arguments; those of outer blocks stay.

    Args:
        list_ops_or_scope: decorated functions, or what `as` of another block has given.
        kwargs: the arguments.

    Raises:
        ValueError: a function is not decorated, or arguments come with a former scope.
        TypeError: neither a list nor a scope.

    Example:
        >>> from actorflow.compat.contrib import layers, framework
        >>> with framework.arg_scope([layers.fully_connected], activation_fn=None) as scope:
        ...     pass
        >>> with framework.arg_scope(scope):
        ...     print(len(framework.current_arg_scope()))
        1
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = {key: dict(arguments) for key, arguments in list_ops_or_scope.items()}
    elif isinstance(list_ops_or_scope, (list, tuple, set)):
        scope = dict(_scope.get())
        for op in list_ops_or_scope:
            _check(op)
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    else:
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


def _check(op: Callable[..., Any]) -> None:
    if not has_arg_scope(op):
        name = f"{getattr(op, '__module__', '')}.{getattr(op, '__name__', op)}"
        raise ValueError(f"{name} is not decorated with @add_arg_scope, so arg_scope can't give it arguments.")
