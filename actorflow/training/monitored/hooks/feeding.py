"""Values that are fed to each step, and values that are asked for at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.errors import OutOfRangeError
from actorflow.public import public
from actorflow.training.monitored.commands import Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook

_LOG = get_logger("training")


@public("af.train")
class FeedFnHook(SessionRunHook):
    """Feeds each step what a function gives.

    Example:
        >>> x = af.placeholder(af.float32, [])
        >>> y = x * 10.0
        >>> numbers = iter([1.0, 2.0])
        >>> async with af.train.MonitoredSession(hooks=[af.train.FeedFnHook(lambda: {x: next(numbers)})]) as session:
        ...     print(await session.run(y), await session.run(y))
        10.0 20.0

    Args:
        feed_fn: a function without arguments that gives a dict of values by tensor, or (as an `async def`) an awaitable
            of it.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> Any:
        feeds = self.feed_fn()
        return SessionRunArgs(None, feeds) if isinstance(feeds, Mapping) else _awaited(feeds)


async def _awaited(feeds: Any) -> SessionRunArgs:
    return SessionRunArgs(None, await feeds)


@public("af.train")
class FinalOpsHook(SessionRunHook):
    """Runs something at the end; `final_ops_values` has its values then.

    Example:
        >>> total = af.Variable(0)
        >>> hook = af.train.FinalOpsHook(total)
        >>> add = total.assign_add(5)
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     _ = await session.run(add)
        >>> hook.final_ops_values
        5

    Args:
        final_ops: a tensor, a list or a dict of these.
        final_ops_feed_dict: the values that are fed.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, None before the end."""
        return self._values

    def end(self, session: Any) -> Any:
        return None if self._ops is None else act(session, self._run(session))

    def _run(self, session: Any) -> Program[None]:
        try:
            self._values = yield from run(session, self._ops, self._feeds)
        except OutOfRangeError:
            _LOG.warning(
                "What FinalOpsHook runs reads the input, which is at its end. Of a metric, for example, pass the value and "
                "not the update_op."
            )
            raise
