"""`Members`: the views of the cluster, for a supervisor: tasks that join are watched, and tasks that leave are not lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.membership.view import View, decode_view
from actorflow.cluster.wire.messages import AskView, Leave
from actorflow.errors import OpError
from actorflow.training.supervisor.monitor import Monitor

_LOG = get_logger("supervisor")
_AGAIN_SECONDS = 0.25


class Members:
    """Follows the members of the cluster by the links of a monitor.

    Args:
        keeps_variables: whether variables are lost with a task that leaves.
        on_change: called with the names of the members when they have changed.
        uses: whether the session runs nodes on a task, so that no step can go on without it.
        job: the job of the logical workers; None if the training has none.
        lost_seconds: see `Supervisor`.
        has_copies: whether the variables of a task have their values on others as well, and may go there for good.
    """

    def __init__(
        self,
        keeps_variables: Callable[[str], bool],
        on_change: Callable[[Collection[str]], object],
        lost_seconds: float | None = None,
        *,
        uses: Callable[[str], bool],
        job: str | None,
        has_copies: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.keeps_variables, self.on_change, self.lost_seconds = keeps_variables, on_change, lost_seconds
        self._uses, self._job, self._has_copies = uses, job, has_copies
        self._jobs: set[str] = set() if job is None else {job}
        """The jobs that take part, also while they have no task."""
        self.view: View | None = None
        """The newest view that a member has told."""
        self._changed = anyio.Event()

    async def follow(self, monitor: Monitor, tell: Callable[[View], object]) -> None:
        """Tells the view at first, and then each newer view, without end. While no task answers no change is told."""
        while True:
            task = next((task for task, life in monitor.lives.items() if life.is_up), None)
            if task is None:
                await monitor.next_change()
                continue
            epoch = 0 if self.view is None else self.view.epoch + 1
            try:
                view = decode_view(await monitor.call(task, AskView(epoch)))
            except OpError as error:
                _LOG.debug("the members of the cluster are not known now", error=str(error))
                await anyio.sleep(_AGAIN_SECONDS)
                continue
            tell(view)

    def take(self, view: View) -> bool:
        """Takes a view if it is newer than the view before, and says so."""
        if self.view is not None and view.epoch <= self.view.epoch:
            return False
        self.view = view
        self._jobs.update(job for job, _, _ in view.limits)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        return True

    def know(self, tasks: Iterable[str]) -> None:
        """The jobs of tasks that are watched take part from now on."""
        self._jobs.update(parse_task(task)[0] for task in tasks)

    def takes_part(self, task: str) -> bool:
        """Whether a task that has joined does so for this training: its job has limits, computes logical workers, or had a task
        before. Tasks of other jobs are somebody else's."""
        return parse_task(task)[0] in self._jobs

    def is_needed(self, task: str) -> bool:
        """Whether steps wait for a task: it computes logical workers, or the session uses it. In a training whose workers go on
        by themselves the others need no worker that joins."""
        return parse_task(task)[0] == self._job or self._uses(task)

    async def next_view(self) -> None:
        """Waits until another view is there."""
        await self._changed.wait()

    def lacking(self) -> tuple[str, ...]:
        """A sentence for each job that has fewer tasks than it needs. Without a view nothing is known to be lacking."""
        if self.view is None:
            return ()
        counts = [(job, self.view.count(job), least) for job, least, _ in self.view.limits]
        return tuple(f"job {job!r} has {count} of {least} tasks" for job, count, least in counts if count < least)

    def has(self, task: str) -> bool:
        """Whether a task is a member, as far as is known."""
        return self.view is None or task in self.view.members

    def can_spare(self, task: str) -> bool:
        """Whether training can go on without a task: it holds no variables, or there are copies, and its job has more tasks than
        it needs."""
        view = self.view
        if view is None or task not in view.members or task == view.coordinator:
            return False
        if self.keeps_variables(task) and not self._has_copies(task):
            return False
        job, _ = parse_task(task)
        return view.count(job) > max(view.limit(job)[0], 1)

    async def declare_lost(self, monitor: Monitor, task: str) -> View:
        """Takes a task that is lost out of the cluster. Raises what the coordinator says, and UnavailableError."""
        assert self.view is not None
        return decode_view(await monitor.call(self.view.coordinator, Leave(task, "lost")))
