"""`Callable_` of `make_callable`, which a program awaits; and the refusal of awaits for what blocking sessions give.

A program that awaits the result of a blocking session hears from Python "object numpy.float32 can't be used in 'await'
expression", after the run. Whether a call's result is awaited can be seen in the code of the caller: the instruction behind
the call. Only code inside of an event loop awaits, where each call of a blocking session starts a thread, so that a look
costs nothing in comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from actorflow.base.process.frames import awaits, frame_of_program
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.engine import Engine
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.session.planning.predicates import Given, given
from actorflow.engine.session.waiting.deadline import report_failure
from actorflow.errors import with_topic
from actorflow.graph.node import TensorId
from actorflow.graph.structure.composites import spread_values
from actorflow.graph.structure.feeds import Feed
from actorflow.pending_calls import PendingCall


class _Reported:
    """A block whose failure is reported."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            report_failure(error)


_REPORTED = _Reported()


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

    def __call__(self, *values: Any) -> Coroutine[Any, Any, Any]:
        """Runs once. Raises TypeError where the number of values is not that of the feed list."""
        return PendingCall(self._run(*values))

    async def _run(self, *values: Any) -> Any:
        """See `__call__`."""
        with _REPORTED:
            fed = self._fed(values)
            return self._build(await self._engine.run(self._plan(fed), fed))

    _run.__qualname__ = "callable"  # for those who show tasks

    def begin(self, *values: Any) -> StepResult[Any]:
        """The same in a callback of the session's event loop: the result, which is here if the step ends at once."""
        with _REPORTED:
            fed = self._fed(values)
            return self._engine.begin(self._plan(fed), fed).then(self._build, within=_Reported)

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


_INSTEAD = "use `async with af.Session(...) as session:` and `await session.run(...)`"


def refuse_await(session: str, instead: str = _INSTEAD) -> None:
    """Raises TypeError where the line of the program that led here awaits its result.

    Args:
        session: the words for what was called.
        instead: what a program writes that awaits.
    """
    frame = frame_of_program()
    if frame is not None and awaits(frame.f_code, frame.f_lasti):
        raise TypeError(
            with_topic(
                f"A blocking {session} gives its results at once: leave `await` out. To let the event loop do other work "
                f"meanwhile, {instead}.",
                "blocking-or-async",
            )
        )
