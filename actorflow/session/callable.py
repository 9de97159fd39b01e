"""`Callable_`: a prepared run, for loops in which each microsecond counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from actorflow.session.feeds import Feed
from actorflow.session.planner import Compiled


class Callable_:
    """Made by `Session.make_callable`; `await call(*values)` feeds the tensors of its feed list in order."""

    __slots__ = ("_build", "_compiled", "_feeds", "_run")

    def __init__(
        self,
        run: Callable[..., Awaitable[list[Any]]],
        compiled: Compiled,
        feeds: Sequence[Feed],
        build: Callable[[Sequence[Any]], Any],
    ) -> None:
        self._run = run
        self._compiled = compiled
        self._feeds = tuple(feeds)
        self._build = build

    async def __call__(self, *values: Any) -> Any:
        """Runs once. Raises TypeError where the number of values is not that of the feed list."""
        if len(values) != len(self._feeds):
            raise TypeError(f"The callable takes {len(self._feeds)} values, but {len(values)} were given.")
        feeds = {feed.endpoint: feed(value) for feed, value in zip(self._feeds, values)}
        return self._build(await self._run(self._compiled, feeds))
