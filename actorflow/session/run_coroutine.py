"""`RunCoroutine`: what `Session.run` gives: a coroutine that says so where a program takes it for the values.

A forgotten `await` is the first mistake of those who come from blocking sessions, and Python's own message for it ("unsupported
operand type(s) for +: 'coroutine' and 'int'") names neither the run nor the remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn

_REMEDY = "write `await session.run(...)`, or use af.blocking.Session in code without `await`"
_ARITHMETIC = (
    "add",
    "and",
    "divmod",
    "floordiv",
    "lshift",
    "matmul",
    "mod",
    "mul",
    "or",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
)
_AS_VALUE = (
    *_ARITHMETIC,
    *(f"r{name}" for name in _ARITHMETIC),
    *("abs", "array", "bool", "complex", "float", "index", "int", "invert", "neg", "pos", "round"),
    *("contains", "getitem", "iter", "len", "reversed", "setitem"),
    *("ge", "gt", "le", "lt"),
    *("enter", "exit"),
)
"""The special methods of values. Equality is left alone: others compare coroutines, and keep them in sets."""


class RunCoroutine(Coroutine[Any, Any, Any]):
    """A run that begins when it is awaited, or made a task. Used as a value, it raises a TypeError that names the remedy."""

    __slots__ = ("__weakref__", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cr_") or name in ("__name__", "__qualname__"):  # for asyncio, and those who show tasks
            return getattr(self._coroutine, name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{_told(self)}: it has no {name!r}.")

    def __format__(self, spec: str) -> str:
        return _refuse(self) if spec else repr(self)

    def __repr__(self) -> str:
        return f"<{_told(self)}>"


def _told(run: RunCoroutine) -> str:
    return f"{run.__qualname__}(...) was not awaited and has no values yet; {_REMEDY}"


def _refuse(run: RunCoroutine, *_: Any, **__: Any) -> NoReturn:
    message = f"{_told(run)}."
    run.close()  # the error says it; Python need not warn of it too
    raise TypeError(message)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(run: RunCoroutine, *_: Any, **__: Any) -> NoReturn:
        _refuse(run)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in _AS_VALUE:
    setattr(RunCoroutine, f"__{_name}__", _refusal(f"__{_name}__"))
