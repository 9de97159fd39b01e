"""The awaitables of a session: `RunCoroutine` of `run`, and `Callable_` of `make_callable`; and the refusal of others.

A forgotten `await` is the first mistake of those who come from blocking sessions, and Python's own message for it ("unsupported
operand type(s) for +: 'coroutine' and 'int'") names neither the run nor the remedy. So a `RunCoroutine` says so where a program
takes it for the values.

A program that awaits the result of a blocking session hears from Python "object numpy.float32 can't be used in 'await'
expression", after the run. Whether a call's result is awaited can be seen in the code of the caller: the instruction behind
the call. Only code inside of an event loop awaits, where each call of a blocking session starts a thread, so that a look
costs nothing in comparison.
"""

from __future__ import annotations

import asyncio
import dis
import gc
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, MappingProxyType
from typing import Any, NoReturn

from actorflow.base.unpicklable import unpicklable
from actorflow.engine.session.engine import Engine
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.session.planning.predicates import Given, given
from actorflow.engine.session.step_runner import DeferredCall, Outcome
from actorflow.engine.session.waiting.deadline import report_failure
from actorflow.errors import with_topic
from actorflow.graph.node import TensorId
from actorflow.graph.structure.composites import spread_values
from actorflow.graph.structure.feeds import Feed

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
    *("abs", "array", "complex", "float", "index", "int", "invert", "neg", "pos", "round"),
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
        raise AttributeError(f"{_told(self)}: it has no {name!r}.")

    def __format__(self, spec: str) -> str:
        return _refuse(self) if spec else repr(self)

    def __repr__(self) -> str:
        return f"<{self.__qualname__}(...), which has begun>" if _has_begun(self) else f"<{_told(self)}>"


def _told(run: RunCoroutine) -> str:
    return f"{run.__qualname__}(...) was not awaited and has no values yet; {_REMEDY}"


def _has_begun(run: RunCoroutine) -> bool:
    return inspect.getcoroutinestate(run._coroutine) != inspect.CORO_CREATED


def _is_in_use(run: RunCoroutine) -> bool:
    """Whether it has begun, or a task holds it that will begin it."""
    return _has_begun(run) or any(_of_task(holder).get("_coro") is run for holder in gc.get_referrers(run))


def _of_task(holder: object) -> Mapping[str, Any]:
    """The attributes of a task, of which a dictionary may be all that refers to its coroutine."""
    if asyncio.isfuture(holder):
        return {"_coro": getattr(holder, "_coro", None)}
    return holder if isinstance(holder, dict) else {}


def _refuse(run: RunCoroutine, *_: Any, **__: Any) -> NoReturn:
    message = with_topic(f"{_told(run)}.", "run-not-awaited")
    if not _is_in_use(run):
        run.close()  # the error says it; Python need not warn of it too
    raise TypeError(message)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(run: RunCoroutine, *_: Any, **__: Any) -> NoReturn:
        _refuse(run)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in _AS_VALUE:
    setattr(RunCoroutine, f"__{_name}__", _refusal(f"__{_name}__"))


class Callable_:
    """Made by `Session.make_callable`; `await call(*values)` feeds the tensors of its feed list in order."""

    __slots__ = ("_build", "_compiled", "_engine", "_feeds", "_names", "_plans", "_predicates")

    __reduce_ex__ = unpicklable(
        "A callable is not pickled, for it belongs to the session of this process: make it where it is needed."
    )

    def __init__(
        self,
        engine: Engine,
        compiled: CompiledPlans,
        feeds: Sequence[Feed],
        build: Callable[[Sequence[Any]], Any],
        names: Sequence[Any] | None = None,
        predicates: Sequence[TensorId] = (),
        plans: Mapping[Given, CompiledPlans] = MappingProxyType({}),
    ) -> None:
        self._engine = engine
        self._compiled = compiled
        self._feeds = tuple(feeds)
        self._build = build
        self._names = names  # of the feed list, where a value goes to several tensors
        self._predicates, self._plans = predicates, plans

    async def __call__(self, *values: Any) -> Any:
        """Runs once. Raises TypeError where the number of values is not that of the feed list."""
        try:
            fed = self._fed(values)
            return self._build(await self._engine.run(self._plan(fed), fed))
        except BaseException as error:
            report_failure(error)
            raise

    def begin(self, *values: Any) -> Outcome:
        """The same in a callback of the session's event loop, for a list of fetches: the result of a step that ends at once, else
        what waits for it."""
        try:
            fed = self._fed(values)
            outcome = self._engine.begin(self._plan(fed), fed)
            if isinstance(outcome, list):
                built: list[Any] = self._build(outcome)
                return built
        except BaseException as error:
            report_failure(error)
            raise
        return DeferredCall(lambda: self._ended(outcome))

    async def _ended(self, step: DeferredCall) -> Any:
        try:
            return self._build(await step)
        except BaseException as error:
            report_failure(error)
            raise

    def _plan(self, fed: Mapping[TensorId, Any]) -> CompiledPlans:
        """The plan for the values that predicates have now."""
        if not self._predicates:
            return self._compiled
        return self._plans.get(given(self._predicates, fed), self._compiled)

    def _fed(self, values: Sequence[Any]) -> dict[TensorId, Any]:
        count = len(self._feeds if self._names is None else self._names)
        if len(values) != count:
            raise TypeError(f"The callable takes {count} values, but {len(values)} were given.")
        if self._names is not None:
            values = tuple(spread_values(self._names, values))
        return {feed.tensor_id: feed(value) for feed, value in zip(self._feeds, values)}


def refuse_await(session: str) -> None:
    """Raises TypeError where the line of the program that led here awaits its result."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "actorflow":
        frame = frame.f_back
    if _awaits(frame.f_code, frame.f_lasti):
        raise TypeError(
            with_topic(
                f"A blocking {session} gives its results at once: leave `await` out. To let the event loop do other work "
                "meanwhile, use `async with af.Session(...) as session:` and `await session.run(...)`.",
                "blocking-or-async",
            )
        )


@lru_cache(maxsize=256)
def _awaits(code: CodeType, at: int) -> bool:
    """Whether the instruction behind the one at this offset takes an awaitable."""
    following = (each.opname for each in dis.get_instructions(code) if each.offset > at and each.opname != "CACHE")
    return next(following, "") == "GET_AWAITABLE"
