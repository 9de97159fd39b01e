"""`SessionRunHook` and what it is given: who looks at a training, and takes part in its steps (`tf.train.SessionRunHook`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.public import public


@public("af.train")
@dataclass(frozen=True, slots=True)
class SessionRunArgs:
    """The fetches and feeds that a hook adds to a step.

    Example:
        >>> loss = af.placeholder(af.float32, name="loss")
        >>> args = af.train.SessionRunArgs(fetches={"loss": loss}, feed_dict={loss: 0.5})
        >>> await session.run(args.fetches, args.feed_dict)
        {'loss': 0.5}

    Args:
        fetches: a tensor, an operation, a name, or a list, tuple or dict of these; None for nothing.
        feed_dict: values for tensors that no other hook and not the step itself feeds.
        options: an `af.Trace` that takes the events of the step, or `RunOptions` of `compat.v1`.
    """

    fetches: Any = None
    feed_dict: Mapping[Any, Any] | None = None
    options: Any = None


@public("af.train")
@dataclass(frozen=True, slots=True)
class SessionRunValues:
    """The results of a step for a hook.

    Example:
        >>> values = af.train.SessionRunValues(results={"loss": 0.5})
        >>> values.results["loss"]
        0.5

    Args:
        results: the values of the hook's `fetches`, in the same structure; None if the hook asked for none.
        options: the hook's options.
        run_metadata: the `af.Trace` of the step if a hook asked for it, or None.
    """

    results: Any
    options: Any = None
    run_metadata: Any = None


@public("af.train")
class SessionRunContext:
    """The step that a hook is called for.

    Example:
        >>> class StopWhenSmall(af.train.SessionRunHook):
        ...     def before_run(self, run_context):
        ...         return af.train.SessionRunArgs(loss)
        ...     def after_run(self, run_context, run_values):
        ...         if run_values.results < 0.1:
        ...             run_context.request_stop()
        >>> v = af.Variable(1.0)
        >>> loss = v * v
        >>> train = af.train.GradientDescentOptimizer(0.25).minimize(loss)
        >>> async with af.train.MonitoredSession(hooks=[StopWhenSmall()]) as session:
        ...     while not session.should_stop():
        ...         await session.run(train)
        ...         print(await session.run(v))
        0.5
        0.25

    Args:
        original_args: the step's own fetches and feeds, as `SessionRunArgs`.
        session: the session under the training. A `run` of it is a run of its own, and calls no hook.
    """

    __slots__ = ("_stop", "original_args", "session")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self.original_args, self.session = original_args, session
        self._stop = False

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants the training to end."""
        return self._stop

    def request_stop(self) -> None:
        """This step is the last step."""
        self._stop = True


@public("af.train")
class SessionRunHook:
    """Takes part in a training, evaluation or prediction. Its methods may be `async def`, where the training is awaited.

    In a training with `await`, `session.run` gives an awaitable: a hook that runs something is an `async def`. In a
    blocking one the hook is called in the user's thread, and `session.run` gives the values.

    The fetches of `before_run` are those of the step itself. So a variable, such as the global step, has the value
    before the step's update; `run_context.session.run(v)` in `after_run` gives the value after it.

    Example:
        >>> class Losses(af.train.SessionRunHook):
        ...     def before_run(self, run_context):
        ...         return af.train.SessionRunArgs(loss)
        ...     def after_run(self, run_context, run_values):
        ...         print(run_values.results)
        >>> v = af.Variable(3.0)
        >>> loss = v * v
        >>> train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
        >>> async with af.train.MonitoredSession(hooks=[Losses()]) as session:
        ...     for _ in range(2):
        ...         await session.run(train)
        9.0
        5.76
    """

    def begin(self) -> Any:
        """Called once before the session is there. The graph is the default graph, and may still be added to.

        Example:
            >>> class Count(af.train.SessionRunHook):
            ...     def begin(self):
            ...         print(len(af.trainable_variables()), "variables")
            >>> v = af.Variable(3.0)
            >>> async with af.train.MonitoredSession(hooks=[Count()]) as session:
            ...     pass
            1 variables
        """

    def after_create_session(self, session: Any, coord: Any) -> Any:
        """Called when the session is there and variables have their values; again when a loss has taken them back.

        Example:
            >>> class Shown(af.train.SessionRunHook):
            ...     async def after_create_session(self, session, coord):
            ...         print("begins with", await session.run(v))
            >>> v = af.Variable(3.0)
            >>> async with af.train.MonitoredSession(hooks=[Shown()]) as session:
            ...     pass
            begins with 3.0

        Args:
            session: the session.
            coord: the `Coordinator` of the threads or tasks of the training.
        """

    def before_run(self, run_context: SessionRunContext) -> Any:
        """Called before each step. Gives `SessionRunArgs`, what the hook adds to it, or None.

        Example:
            >>> class Feeding(af.train.SessionRunHook):
            ...     def before_run(self, run_context):
            ...         return af.train.SessionRunArgs(None, {x: 2.0})
            >>> x = af.placeholder(af.float32, [])
            >>> y = x * 10.0
            >>> async with af.train.MonitoredSession(hooks=[Feeding()]) as session:
            ...     print(await session.run(y))
            20.0
        """

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        """Called after each step that went well.

        Example:
            >>> class Twice(af.train.SessionRunHook):
            ...     count = 0
            ...     def after_run(self, run_context, run_values):
            ...         self.count += 1
            ...         if self.count == 2:
            ...             run_context.request_stop()
            >>> v = af.Variable(3.0)
            >>> hook = Twice()
            >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
            ...     while not session.should_stop():
            ...         _ = await session.run(v)
            >>> hook.count
            2

        Args:
            run_context: the step.
            run_values: the values that the hook asked for.
        """

    def end(self, session: Any) -> Any:
        """Called at the end, with the session. It is not called when an exception other than the end of the input ends the
        training.

        Example:
            >>> class Last(af.train.SessionRunHook):
            ...     async def end(self, session):
            ...         print("ends with", await session.run(v))
            >>> v = af.Variable(3.0)
            >>> async with af.train.MonitoredSession(hooks=[Last()]) as session:
            ...     pass
            ends with 3.0
        """


def calls(hook: Any, method: str) -> bool:
    """Whether a hook has a method of its own, so that it has to be called."""
    return getattr(type(hook), method, None) is not getattr(SessionRunHook, method)
