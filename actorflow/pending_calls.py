"""`PendingCall`: what a public coroutine function gives. A program awaits it, or hears that it did not.

A forgotten `await` is the first mistake of those who come from blocking sessions, and Python's own message for it ("unsupported
operand type(s) for +: 'coroutine' and 'int'") names neither the call nor the remedy. A `PendingCall` says so where a program
takes it for the values, and where a program drops it.
"""

from __future__ import annotations

import functools
import gc
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Coroutine, Generator, Mapping
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

D = TypeVar("D")
F = TypeVar("F", bound=Callable[..., Any])
_BLOCKING = {
    "Session": ", or use af.blocking.Session in code without `await`",
    "Estimator": ", or use an Estimator of actorflow.compat.v1 in code without `await`",
    "MonitoredSession": ", or use a session of actorflow.compat.v1 in code without `await`",
}
"""The words about code without `await`, by the class; for the classes that derive from it too."""
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
    *("abs", "array", "complex", "float", "index", "int", "invert", "neg", "pos", "round"),
    *("contains", "getitem", "iter", "len", "reversed", "setitem"),
    *("ge", "gt", "le", "lt"),
    *("enter", "exit"),
)
"""The special methods of values. Equality is left alone: others compare coroutines, and keep them in sets."""


class PendingCall(Coroutine[Any, Any, Any]):
    """A call that begins when it is awaited, or made a task. Used as a value, it raises a TypeError that names the remedy."""

    __slots__ = ("__weakref__", "_coroutine")
    _function: Callable[..., Any] | None = None
    """The function that is called, where the coroutine has another name."""
    _owner: type | None = None
    """The class of the object whose method is called."""
    _place: tuple[CodeType, int] | None = None
    """The instruction that calls."""

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

    def __bool__(self) -> bool:
        """True for what runs: asyncio asks the coroutine of each task that it shows."""
        if sys._getframe(1).f_globals.get("__name__", "").startswith("asyncio.") or _is_in_use(self):
            return True
        _refuse(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cr_") or name in ("__name__", "__qualname__"):  # for asyncio, and those who show tasks
            return getattr(self._coroutine, name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{_sentence(self)}: it has no {name!r}.")

    def __format__(self, spec: str) -> str:
        return _refuse(self) if spec else repr(self)

    def __repr__(self) -> str:
        return f"<{_title(self)}(...), which has begun>" if _has_begun(self) else f"<{_sentence(self)}>"


class PlacedCall(PendingCall):
    """A call that also says by which line it was made, and warns with the remedy if it is dropped. `Session.run` is called too
    often for that; Python warns of those that are dropped.

    Args:
        coroutine: the call.
        function: what is called.
        owner: the class of the object whose method is called.
        caller: the frame of the line that calls.
    """

    __slots__ = ("_function", "_is_taken", "_owner", "_place")

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        function: Callable[..., Any],
        owner: type | None,
        caller: FrameType,
    ) -> None:
        self._coroutine = coroutine
        self._function = function
        self._is_taken = False
        self._owner = owner
        self._place = caller.f_code, caller.f_lasti

    def __del__(self) -> None:
        if not self._is_taken and not _has_begun(self):
            self._coroutine.close()  # Python need not warn of it too
            text = f"coroutine {_title(self)!r} was never awaited, and did nothing{_where(self)}; {_advice(self)}."
            warnings.warn(text, RuntimeWarning, stacklevel=2, source=self)

    def __await__(self) -> Generator[Any, Any, Any]:
        self._is_taken = True  # from here on, the iterator alone refers to the coroutine
        return self._coroutine.__await__()


def _sentence(call: PendingCall) -> str:
    return f"{_title(call)}(...) was not awaited and has no values yet{_where(call)}; {_advice(call)}"


def _title(call: PendingCall) -> str:
    if call._function is None:
        return str(call.__qualname__)
    name = call._function.__name__
    return name if call._owner is None else f"{call._owner.__name__}.{name}"


def _where(call: PendingCall) -> str:
    if call._place is None:
        return ""
    code, at = call._place
    line = next((line for start, end, line in code.co_lines() if start <= at < end), None) or code.co_firstlineno
    return f" (called at {code.co_filename}:{line})"


def _advice(call: PendingCall) -> str:
    owner, _, name = _title(call).rpartition(".")
    if owner:
        words = re.findall("[A-Z][a-z]+", owner) or [owner]
        name = f"{words[-1].lower()}.{name}"
    kinds = [owner] if call._owner is None else [kind.__name__ for kind in call._owner.__mro__]
    other = next((_BLOCKING[kind] for kind in kinds if kind in _BLOCKING), "")
    return f"write `await {name.removesuffix('.__call__')}(...)`{other}"


def _has_begun(call: PendingCall) -> bool:
    return inspect.getcoroutinestate(call._coroutine) != inspect.CORO_CREATED


def _is_in_use(call: PendingCall) -> bool:
    """Whether it has begun, or a task holds it that will begin it."""
    return _has_begun(call) or any(_of_task(holder).get("_coro") is call for holder in gc.get_referrers(call))


def _of_task(holder: object) -> Mapping[str, Any]:
    """The attributes of a task, of which a dictionary may be all that refers to its coroutine."""
    import asyncio  # not at the import of actorflow, which it would make longer by a fifth

    if asyncio.isfuture(holder):
        return {"_coro": getattr(holder, "_coro", None)}
    return holder if isinstance(holder, dict) else {}


def _refuse(call: PendingCall, *_: Any, **__: Any) -> NoReturn:
    from actorflow.errors import with_topic

    message = with_topic(f"{_sentence(call)}.", "run-not-awaited")
    if not _is_in_use(call):
        call.close()  # the error says it; Python need not warn of it too
    raise TypeError(message)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(call: PendingCall, *_: Any, **__: Any) -> NoReturn:
        _refuse(call)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in _AS_VALUE:
    setattr(PendingCall, f"__{_name}__", _refusal(f"__{_name}__"))


def pending_calls(definition: D) -> D:
    """Has a public coroutine function, or the methods of a public class that are such, give a `PlacedCall`."""
    if inspect.iscoroutinefunction(definition):
        return _pending(definition, is_method=False)  # type: ignore[return-value]
    if isinstance(definition, type):
        for kind in definition.__mro__:
            if kind.__module__.partition(".")[0] == "actorflow":
                for name, member in list(vars(kind).items()):
                    if not name.startswith("_") and inspect.iscoroutinefunction(member) and not _is_pending(member):
                        setattr(kind, name, _pending(member, is_method=True))
    return definition


def pending_if_awaited(function: F) -> F:
    """Has a function give a `PlacedCall` for a coroutine. It does the work at once for a blocking session, and gives a
    coroutine for an asynchronous session."""
    return _pending(function, is_method="self" in inspect.signature(function).parameters)  # type: ignore[return-value]


def _is_pending(function: Callable[..., Any]) -> bool:
    return inspect.unwrap(function) is not function and not function.__code__.co_flags & inspect.CO_COROUTINE


def _pending(function: Callable[..., Any], *, is_method: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not inspect.iscoroutine(result):
            return result
        return PlacedCall(result, function, type(args[0]) if is_method else None, sys._getframe(1))

    if sys.version_info >= (3, 12) and inspect.iscoroutinefunction(function):
        return inspect.markcoroutinefunction(call)
    return call
