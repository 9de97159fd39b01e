"""`MonitoredLoop`: the one loop of training, evaluation and prediction, with hooks. Its methods are programs; see `commands.py`.

Supervisors, estimators and monitored sessions all run their steps by it. A step is an attempt of the host: when a task is lost,
the host takes the variables back, and the loop tells the hooks and does the step again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.session.session import Session
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    OutOfRangeError,
    UnavailableError,
)
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.input.coordinator import Coordinator
from actorflow.models.train.input.queue_runner import start_queue_runners
from actorflow.training.monitored.commands import Await, Program, awaited, call
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunValues, calls
from actorflow.training.supervisor.recovery.attempts import Attempt

_PREEMPTIONS = (UnavailableError, AbortedError)
_MOST_SESSIONS = 10  # that one step is tried on
_LOSSES = (UnavailableError, AbortedError, DeadlineExceededError, FailedPreconditionError)
_LOG = get_logger("training")
T = TypeVar("T")
_NO_VALUES = SessionRunValues(None)
STOPPED = "Run called even after should_stop requested."


class StepGuard(Protocol):
    """A maker of steps where tasks may be lost: a supervisor. A step is an attempt, whose loss it takes back."""

    async def attempt(self, step: int) -> Attempt:
        """A step begins, when all is well."""

    async def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None, *, trace: Trace | None = None) -> Any:
        """See `Session.run`."""


class LoopHost(Protocol):
    """The host of a loop: a supervisor, or one session."""

    @property
    def session(self) -> Session:
        """The session, when it has been started."""

    @property
    def guard(self) -> StepGuard | None:
        """The maker of steps, when it has been started; None if there are no losses, and the session makes the steps."""

    async def start(self) -> None:
        """Opens the session, and gives variables their values."""

    async def close(self, *, save: bool = True) -> None:
        """Closes the session."""


class MonitoredLoop:
    """Steps with hooks.

    Args:
        graph: the graph of the steps.
        host: what runs them.
        hooks: called in this order.
        face: gives the session as users of this loop see it: itself, or a blocking one over it.
        on_restored: called when a loss has taken the variables back.
        grace: how many seconds queue runners have to end.
        recovers: whether a host without a guard that loses its session starts again.
    """

    def __init__(
        self,
        graph: Graph,
        host: LoopHost,
        hooks: Sequence[Any],
        *,
        face: Callable[[Session], Any] = lambda session: session,
        on_restored: Callable[[], object] = lambda: None,
        grace: float = 120.0,
        recovers: bool = False,
    ) -> None:
        self.graph, self.host, self.hooks = graph, host, list(hooks)
        self.session: Any = None
        self.should_stop = False
        self.steps = 0
        self._face, self._on_restored, self._grace, self._recovers = face, on_restored, grace, recovers
        self._guard: StepGuard | None = None
        self._generation: int | None = None
        """How often losses had taken the variables back when the last step began."""
        self._before = [hook for hook in self.hooks if calls(hook, "before_run")]
        places = {id(hook): place for place, hook in enumerate(self._before)}
        self._after = [(hook, places.get(id(hook))) for hook in self.hooks if calls(hook, "after_run")]
        self._watched: tuple[Any, tuple[Any, ...], list[Any]] = (None, (), [])
        self._coord: Coordinator | None = None
        self._threads: list[Any] = []

    def begin(self) -> Program[None]:
        """Calls `begin` of all hooks, which may still add to the graph."""
        with self.graph.as_default():
            for hook in self.hooks:
                yield from call(hook.begin)

    @property
    def guard(self) -> StepGuard | None:
        """The maker of steps where tasks may be lost."""
        return self._guard

    def create(self) -> Program[None]:
        """Starts the host, and the queue runners, and calls `after_create_session` of all hooks."""
        yield from self._on_new_sessions(self._start)

    def _start(self) -> Program[None]:
        yield Await(self.host.start)
        self._guard = self.host.guard
        yield from self._created()

    def _on_new_sessions(self, part: Callable[[], Program[T]]) -> Program[T]:
        """A part that is done again on a new session if a host without a guard loses its session: a hook, a thread of
        the coordinator or the session itself raises one of the `_PREEMPTIONS`."""
        is_lost = False
        for number in range(1, _MOST_SESSIONS + 1):
            try:
                if is_lost and part != self._start:
                    yield from self._start()
                is_lost = False
                return (yield from part())
            except Exception as error:
                loss = self._loss(error)
                if loss is None or self._guard is not None or number == _MOST_SESSIONS:
                    raise
                _LOG.warning("the session was lost; the step is made on a new one", error=repr(loss))
                yield from self._stop_runners(raises=False)
                with suppress(*_PREEMPTIONS):
                    yield Await(lambda: self.host.close(save=False))
                is_lost = True
        raise AssertionError("the last try returns or raises")

    def _loss(self, error: Exception) -> Exception | None:
        """The loss of a session that `error` is, or that a thread of the coordinator met before; None for an error to raise."""
        for cause in (error, self._coord and self._coord.requested_exception):
            if self._recovers and isinstance(cause, _PREEMPTIONS):
                return cause
        return None

    def renew(self) -> Program[None]:
        """Takes a new session where a thread of the coordinator lost the one there is."""
        if self._guard is None:
            yield from self._on_new_sessions(self._raise_loss)

    def _raise_loss(self) -> Program[None]:
        if self._is_lost():
            self._coord.raise_requested_exception()  # type: ignore[union-attr]
        yield from ()

    def _is_lost(self) -> bool:
        return self._recovers and isinstance(self._coord and self._coord.requested_exception, _PREEMPTIONS)

    def is_over(self) -> bool:
        """Whether a hook, a step or a thread of the coordinator has asked for the end."""
        coord = self._coord
        return self.should_stop or (coord is not None and coord.should_stop() and not self._is_lost())

    def _created(self) -> Program[None]:
        self.session = self._face(self.host.session)
        self._coord = coord = Coordinator((), stop_grace_period_secs=self._grace)
        if self.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
            if isinstance(self.session, Session):
                yield Await(coord.__aenter__)
            self._threads = start_queue_runners(self.session, coord)
        with self.graph.as_default():
            for hook in self.hooks:
                yield from call(hook.after_create_session, self.session, coord)

    def step(
        self,
        fetches: Any,
        feeds: Callable[[], Program[Mapping[Any, Any] | None]] | Mapping[Any, Any] | None = None,
        trace: Trace | None = None,
    ) -> Program[Any]:
        """One step, until it is made. The result is the value of `fetches`. A host without a guard that loses its session starts
        again: the step is made on a new session.

        Args:
            fetches: see `Session.run`.
            feeds: values to feed; or a part of a program that gives them, which is asked when the hooks have been.
            trace: takes the events of the step.

        Raises:
            RuntimeError: a stop was requested before; or two hooks, or a hook and the step, feed the same tensor.
        """
        if self.should_stop:
            raise RuntimeError(STOPPED)
        guard = self._guard
        if guard is None:
            return (yield from self._on_new_sessions(lambda: self.attempt(fetches, feeds, trace)))
        while True:
            attempt = yield Await(lambda: guard.attempt(self.steps))
            if self._generation not in (None, attempt.generation):  # a loss between two steps, which no step has felt
                yield from self._restored(guard)
                continue
            self._generation = attempt.generation
            attempt.enter()
            try:
                result = yield from self._step(guard.run, fetches, feeds, trace)
            except Exception as error:
                attempt.reset()
                if isinstance(error, _LOSSES):
                    attempt.failures.append(error)
                leave = partial(attempt.leave, error)
                if not (yield Await(leave)):
                    raise
                yield from self._restored(guard)
            else:
                attempt.reset()
                attempt.supervisor.went_well()
                return result

    def attempt(self, fetches: Any, feeds: Any = None, trace: Trace | None = None) -> Program[Any]:
        """A try of a step, by a host without a guard.

        Args:
            fetches, feeds, trace: see `step`.
        """
        return (yield from self._step(self.host.session.run, fetches, feeds, trace))

    def call_step(self, step_fn: Callable[[Any], Any], context: Any) -> Program[Any]:
        """Calls a function that makes a step, until that is made.

        Args:
            step_fn: gets `context`, and may give an awaitable.
            context: makes the step by `attempt` or, with a guard, by `step`.
        """
        if self._guard is not None:
            return (yield from call(step_fn, context))
        return (yield from self._on_new_sessions(lambda: call(step_fn, context)))

    def _restored(self, guard: StepGuard) -> Program[None]:
        """A loss has taken the variables back."""
        attempt = yield Await(lambda: guard.attempt(self.steps))  # when all is well again
        self._generation = attempt.generation
        self._on_restored()
        yield from self._stop_runners(raises=False)
        yield from self._created()

    def _step(self, run: Callable[..., Any], fetches: Any, feeds: Any, trace: Trace | None) -> Program[Any]:
        user_feeds = None if callable(feeds) else feeds
        context = SessionRunContext(SessionRunArgs(fetches, user_feeds), self.session)
        requests: list[SessionRunArgs | None] = []
        fed: dict[Any, Any] = {}
        try:
            for hook in self._before:
                request = hook.before_run(context)
                if request is not None and type(request) is not SessionRunArgs:
                    request = yield from awaited(request)
                requests.append(request)
                if request is not None:
                    if request.feed_dict:
                        _refuse_both(fed, request.feed_dict, "Same tensor is fed by two hooks.")
                        fed.update(request.feed_dict)
                    if request.options is not None and trace is None:
                        trace = request.options if isinstance(request.options, Trace) else Trace()
            if callable(feeds):
                user_feeds = yield from feeds()
            if fed:
                _refuse_both(fed, user_feeds or {}, "Same tensor is fed by a SessionRunHook and user.")
                user_feeds = {**(user_feeds or {}), **fed}
            all_fetches = self._fetches(fetches, requests)
            if trace is None:
                values = yield Await(lambda: run(all_fetches, user_feeds))
            else:
                values = yield Await(lambda: run(all_fetches, user_feeds, trace=trace))
            self.steps += 1
            answers = _spread(requests, values)
            for hook, place in self._after:
                hook_request = None if place is None else requests[place]
                if hook_request is None or place is None:
                    result = hook.after_run(context, _NO_VALUES)
                else:
                    options = hook_request.options
                    seen = SessionRunValues(answers[place], options, None if options is None else trace)
                    result = hook.after_run(context, seen)
                if result is not None:
                    yield from awaited(result)
        except StopIteration as end:  # a generator can't pass it on
            raise OutOfRangeError("A hook says that the input is at its end.") from end
        self.should_stop = self.should_stop or context.stop_requested
        return values[0]

    def _fetches(self, fetches: Any, requests: Sequence[SessionRunArgs | None]) -> list[Any]:
        """All fetches of a step; the list of the step before if it has the same fetches."""
        hook_fetches = tuple(r.fetches for r in requests if r is not None and r.fetches is not None)
        last_fetches, last_asked, joint = self._watched
        if (
            fetches is not last_fetches
            or len(hook_fetches) != len(last_asked)
            or any(map(_differ, hook_fetches, last_asked))
        ):
            joint = [fetches, *hook_fetches]
            self._watched = fetches, hook_fetches, joint
        return joint

    def request_stop(self) -> None:
        """No further step is made."""
        self.should_stop = True

    def finish(self) -> Program[None]:
        """Calls `end` of all hooks; the session is still there."""
        with self.graph.as_default():
            for hook in self.hooks:
                yield from call(hook.end, self.session)

    def close(self) -> Program[None]:
        """Ends queue runners, and closes the host."""
        try:
            yield from self._stop_runners(raises=True)
        finally:
            yield Await(lambda: self.host.close(save=False))

    def _stop_runners(self, *, raises: bool) -> Program[None]:
        coord, self._coord = self._coord, None
        threads, self._threads = self._threads, []
        if coord is None:
            return
        coord.request_stop()
        try:
            if coord._group is not None:
                yield Await(lambda: coord.__aexit__(None, None, None))
            else:
                coord.join(threads, self._grace, ignore_live_threads=True)
        except Exception as error:
            if raises:
                raise
            _LOG.warning("a queue runner failed, and so did a task; it is started again", error=repr(error))


def _differ(left: Any, other: Any) -> bool:
    return left is not other


def _refuse_both(left: Mapping[Any, Any], other: Mapping[Any, Any], message: str) -> None:
    if both := [key for key in left if key in other]:
        raise RuntimeError(f"{message} Conflict(s): {', '.join(str(getattr(key, 'name', key)) for key in both)}")


def _spread(requests: Sequence[SessionRunArgs | None], values: Sequence[Any]) -> list[Any]:
    """The values of each request, which come after those of the step; None for requests without fetches."""
    left = iter(values)
    next(left)
    return [None if r is None or r.fetches is None else next(left) for r in requests]
