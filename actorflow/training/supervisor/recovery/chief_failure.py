"""The failure of a chief before training begins: the chief tells the tasks of its cluster, and workers that wait say it."""

from __future__ import annotations

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.wire.failures import sendable_text
from actorflow.engine.session.session import Session
from actorflow.errors import OpError, UnavailableError

_LOG = get_logger("supervisor")
_REPORT_SECONDS = 4.0
_LOOK_SECONDS = 1.0
_TELL_SECONDS = 5.0
_LONGEST_REASON = 2000


async def tell_failure(session: Session, error: BaseException) -> None:
    """Lets all tasks of a session's cluster know why its chief gives up. A task that is not reached does not hear it.

    It raises no error of its own: the chief's error counts.
    """
    engine = session._engine
    if not isinstance(engine, RemoteEngine):
        return
    link = engine.remote.link
    if isinstance(error, UnavailableError) and (link is None or not link.alive):
        return  # the cluster is not reached, which would hold the chief up once more
    with anyio.move_on_after(_TELL_SECONDS, shield=True):
        try:
            await engine.tell_chief_failure(sendable_text(f"{type(error).__name__}: {error}"[:_LONGEST_REASON]))
        except Exception as failure:
            _LOG.info("the tasks have not heard why the chief failed", error=repr(failure))


async def tell_ready(session: Session) -> None:
    """Lets all tasks of a session's cluster know that its chief is ready, so that they forget why a chief before it failed."""
    engine = session._engine
    if not isinstance(engine, RemoteEngine):
        return
    with anyio.move_on_after(_TELL_SECONDS):
        try:
            await engine.tell_chief_failure("")
        except Exception as failure:
            _LOG.info("the tasks have not heard that the chief is ready", error=repr(failure))


class ChiefWait:
    """A worker's wait for its chief. Once it has taken some seconds the log says for what it waits, and why the chief failed.

    Args:
        session: the worker's session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._begin = anyio.current_time()
        self._next_report = self._begin + _REPORT_SECONDS
        self._next_look = self._begin
        self.failure = ""
        """The reason why the chief failed, as far as it is known."""

    async def look(self, absent: OpError | None = None) -> None:
        """Says what there is to say, once a round of the wait has found that it is not over.

        Args:
            absent: the error by which the task does not take steps.
        """
        now = anyio.current_time()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if (failure := await self._ask()) != self.failure:
                self.failure = failure
                if failure:
                    _LOG.warning("the chief has failed; this task waits for it to start again", error=failure)
        if now >= self._next_report:
            self._next_report = now + 10 * _REPORT_SECONDS
            seconds = round(now - self._begin, 1)
            if absent is not None:
                _LOG.warning("waiting for the chief; no step runs yet", error=absent.message, seconds=seconds)
            else:
                _LOG.warning("waiting for the chief to give variables their values", seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        """Sleeps, and looks from time to time meanwhile."""
        until = anyio.current_time() + seconds
        while (left := until - anyio.current_time()) > 0:
            await anyio.sleep(min(left, _LOOK_SECONDS))
            await self.look()

    async def _ask(self) -> str:
        engine = self._session._engine
        if not isinstance(engine, RemoteEngine):
            return ""
        try:
            with anyio.move_on_after(_TELL_SECONDS):
                return await engine.chief_failure()
        except OpError:
            pass  # the wait itself says what does not answer
        return self.failure
