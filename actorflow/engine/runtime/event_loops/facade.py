"""Blocking facades: classes whose methods wait for those of an asynchronous class, with its signatures and docstrings.

A facade names each method that it takes over:

    class LocalCluster(BlockingFacade[local.LocalCluster]):
        kill = blocking(local.LocalCluster.kill)
        target_of = forwarded(local.LocalCluster.target_of)

Type checkers and editors read the signature of the asynchronous method from that line, without stubs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from actorflow.engine.runtime.event_loops.driver import LoopDriver, Start

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
F = TypeVar("F")


class BlockingFacade(Generic[A]):
    """The object that a program without `await` holds. Its calls go to `_inner`, on the event loop that `_driver` drives."""

    _inner: A
    _driver: LoopDriver
    _owns_driver = True

    def _call(self, start: Start[T]) -> T:
        return self._driver.call(start)

    def _last_call(self, start: Start[T]) -> T:
        """A call after which the event loop is closed."""
        try:
            return self._call(start)
        finally:
            self._close_driver()

    def _close_driver(self) -> None:
        if self._owns_driver:
            self._driver.close()

    def __enter__(self) -> Self:
        inner: Any = self._inner
        try:
            self._call(inner.__aenter__)
        except BaseException:
            self._close_driver()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inner: Any = self._inner
        self._last_call(lambda: inner.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """The method of a facade that waits for a coroutine method of the inner object. The facade says by `_call` how.

    Args:
        method: the coroutine method, as a function of its class.
    """

    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._call(lambda: method(self._inner, *args, **kwargs))  # type: ignore[no-any-return]

    return _like(method, call)


def forwarded(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The method of a facade that calls an ordinary method of the inner object in the caller's thread.

    Args:
        method: the ordinary method, as a function of its class.
    """

    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self._inner, *args, **kwargs)

    return _like(method, call)


def constructed(inner: Callable[P, A]) -> Callable[[Callable[[F, A], None]], Callable[Concatenate[F, P], None]]:
    """A decorator for the `__init__` of a facade, which gets the inner object; the program passes that object's arguments.

    Args:
        inner: the asynchronous class.
    """

    def decorated(init: Callable[[F, A], None]) -> Callable[Concatenate[F, P], None]:
        def construct(self: F, /, *args: P.args, **kwargs: P.kwargs) -> None:
            init(self, inner(*args, **kwargs))

        functools.update_wrapper(construct, init)
        construct.__wrapped__ = inner.__init__  # type: ignore[attr-defined]
        return construct

    return decorated


def _like(method: Callable[..., Any], call: F) -> F:
    """`call` under the name of `method`, with its signature, and with its docstring but for the examples, which await."""
    functools.update_wrapper(call, method, updated=())  # type: ignore[arg-type]
    call.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    del call.__wrapped__  # type: ignore[attr-defined]  # who unwraps it would take it for a coroutine function
    parts = (inspect.getdoc(method) or "").split("\n\n")
    kept = [part for part in parts if not part.startswith("Example:")]
    call.__doc__ = "\n\n".join([*kept, f"See `{method.__qualname__}`."])
    return call
