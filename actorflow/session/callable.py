"""`Callable_`: a prepared run, for loops in which each microsecond counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from actorflow.session.failed_run import report_failure
from actorflow.session.planning.builder import CompiledPlans
from actorflow.session.structure.composites import spread_values
from actorflow.session.structure.feeds import Feed
from actorflow.unpicklable import unpicklable


class Callable_:
    """Made by `Session.make_callable`; `await call(*values)` feeds the tensors of its feed list in order."""

    __slots__ = ("_build", "_compiled", "_feeds", "_names", "_run")

    __reduce_ex__ = unpicklable(
        "A callable is not pickled, for it belongs to the session of this process: make it where it is needed."
    )

    def __init__(
        self,
        run: Callable[..., Awaitable[list[Any]]],
        compiled: CompiledPlans,
        feeds: Sequence[Feed],
        build: Callable[[Sequence[Any]], Any],
        names: Sequence[Any] | None = None,
    ) -> None:
        self._run = run
        self._compiled = compiled
        self._feeds = tuple(feeds)
        self._build = build
        self._names = names  # of the feed list, where a value goes to several tensors

    async def __call__(self, *values: Any) -> Any:
        """Runs once. Raises TypeError where the number of values is not that of the feed list."""
        try:
            wanted = len(self._feeds if self._names is None else self._names)
            if len(values) != wanted:
                raise TypeError(f"The callable takes {wanted} values, but {len(values)} were given.")
            if self._names is not None:
                values = tuple(spread_values(self._names, values))
            feeds = {feed.tensor_id: feed(value) for feed, value in zip(self._feeds, values)}
            return self._build(await self._run(self._compiled, feeds))
        except BaseException as error:
            report_failure(error)
            raise
