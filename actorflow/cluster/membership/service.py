"""`Membership`: the view that a task has, and the requests that read it or, at the coordinator, change it.

A task that is no coordinator hands changes on to the coordinator. A member that can't be reached stops changes until it is back,
or is declared lost by name. No change waits for a member that is declared lost, also if the change has begun before. A task
refuses a view that is older than its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import canonical
from actorflow.cluster.membership.coordinator import Coordinator
from actorflow.cluster.membership.view import GUEST, View, decode_view, differ, newer
from actorflow.cluster.wire.links import CONNECT_SECONDS, TaskLink
from actorflow.cluster.wire.messages import LEAVING, AskView, InstallView, Join, Leave, Reserve
from actorflow.cluster.wire.rpc import Handler
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)

_LOG = get_logger("cluster")
_WATCH_SECONDS = 1.0
_ENTER_SECONDS, _ENTER_PAUSE = 30.0, 0.5


class Membership:
    """The view of one task.

    Args:
        view: the first view of the task; that of a guest until it has joined.
        me: the task.
        release: of this installation; tasks of another release are refused.
        reach: gives the link to a task.
        root: runs what goes on beside requests.
        on_view: awaited with the former and the present view, before a member says that it has the view.
    """

    def __init__(
        self,
        view: View,
        me: str,
        release: str,
        reach: Callable[[str, str], Awaitable[TaskLink]],
        root: BackgroundTasks,
        on_view: Callable[[View, View], Awaitable[None]],
    ) -> None:
        self.view = view
        self._me = me
        self._release = release
        self._reach = reach
        self._root = root
        self._on_view = on_view
        self._changed = anyio.Event()
        self._closed = False
        self._following = anyio.Lock()
        self.coordinator = Coordinator(self, me, reach, root)
        """Makes the views, where this task is the coordinator."""
        self._watched: set[str] = set()
        """The tasks that are told the view whenever they are met again."""

    @property
    def is_coordinator(self) -> bool:
        """Whether this task makes the views."""
        return self.view.coordinator == self._me

    @property
    def is_guest(self) -> bool:
        """Whether the task is about to join."""
        return self.view.epoch == GUEST

    def close(self) -> None:
        """No caller waits for the next view any more."""
        self._closed = True
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # ---- taking views

    async def install(self, view: View) -> None:
        """Takes a view that a peer has told, and returns when this task follows it.

        Raises FailedPreconditionError for an older view."""
        former = self.view
        if newer(former, view):
            self.view = view
            self._tell_watchers()
            came, went = differ(former, view)
            _LOG.info("the cluster has another view", epoch=view.epoch, joined=list(came), left=list(went))
        self._watch()
        async with self._following:
            await self._on_view(former, self.view)

    async def after(self, epoch: int) -> View:
        """Waits for a view that follows that of `epoch`. Raises UnavailableError where this task ends meanwhile."""
        while self.view.epoch <= epoch:
            if self._closed:
                raise UnavailableError(f"{self._me} is about to end.")
            await self._changed.wait()
        return self.view

    async def catch_up(self, links: Mapping[str, TaskLink | None]) -> None:
        """Takes the newest of the views that peers have named when they were met.

        Raises FailedPreconditionError where this task is no member of it."""
        for link in links.values():
            if link is not None and int(link.about.get("view") or 0) > self.view.epoch:
                await self.install(decode_view(await link.call(AskView(0), timeout=CONNECT_SECONDS)))
        if self._me not in self.view.members:
            raise FailedPreconditionError(
                f"{self._me} is no member of view {self.view.epoch} of the cluster.",
                hint="It has left, or was declared lost. Start it with `actorflow worker --join`.",
            )

    def _watch(self) -> None:
        """Once a cluster has changed, its coordinator and each other member keep a link: whichever of both starts again, and
        knows only the view of the description, learns the present view."""
        if self.view.epoch <= 1:
            return
        others = self.view.members if self.is_coordinator else [self.view.coordinator]
        for task in others:
            if task not in (self._me, *self._watched):
                self._watched.add(task)
                self._root.start(self._keep_told(task))

    async def _keep_told(self, task: str) -> None:
        """Tells a task the view whenever there is another link to it."""
        informed = None
        while not self._closed and {task, self._me} <= self.view.members.keys():
            try:
                link = await self._reach(task, self.view.members[task])
                if link is not informed:
                    view = decode_view(await link.call(AskView(0), timeout=CONNECT_SECONDS))
                    if view.epoch > self.view.epoch:
                        await self.install(view)
                    elif view != self.view:
                        await link.call(InstallView(self.view.encode()), timeout=CONNECT_SECONDS)
                    informed = link
                over = anyio.Event()
                link.watchers.add(over)
                try:
                    if link.alive:
                        await over.wait()
                finally:
                    link.watchers.discard(over)
            except OpError as error:
                _LOG.debug("a task is not told the view", task=task, error=str(error))
            await anyio.sleep(_WATCH_SECONDS)
        self._watched.discard(task)

    # ---- asking for changes

    async def _at_coordinator(self) -> TaskLink | None:
        """The link to the coordinator, None at the coordinator itself. Raises UnavailableError."""
        view = self.view
        if self.is_coordinator:
            return None
        try:
            return await self._reach(view.coordinator, view.members[view.coordinator])
        except UnavailableError as error:
            raise UnavailableError(
                f"The coordinator of the cluster, {view.coordinator}, can't be reached: {error.message}",
                hint="No task joins or leaves until it is back; steps go on meanwhile.",
            ) from error

    async def enter(self, address: str) -> None:
        """Makes this task, which is up, a member. Members that can't be reached now may be back, or declared lost, in a moment.

        Raises what the coordinator says; UnavailableError if that does not change for half a minute."""
        until = anyio.current_time() + _ENTER_SECONDS
        while True:
            try:
                link = await self._at_coordinator()
                assert link is not None
                view = decode_view(await link.call(Join(self._me, address)))
                break
            except UnavailableError as error:
                if self._closed or anyio.current_time() > until:
                    raise
                _LOG.info("the cluster does not take this task now", task=self._me, error=error.message)
                await anyio.sleep(_ENTER_PAUSE)
        if self.view.epoch < view.epoch:
            await self.install(view)

    async def leave(self, task: str, how: str = "drained") -> View:
        """Takes a task out of the cluster; `how` is a member of `LEAVING`.

        Raises what `left` raises, UnavailableError, and FailedPreconditionError where the task holds variables."""
        if how not in LEAVING:
            raise InvalidArgumentError(f"A task leaves in one of the ways {', '.join(LEAVING)}, not {how[:20]!r}.")
        link = await self._at_coordinator()
        if link is not None:
            return decode_view(await link.call(Leave(task, how)))
        return await self.coordinator.leave(task, how)

    async def _reserve(self, request: Reserve) -> list[Any]:
        if request.release != self._release:
            raise FailedPreconditionError(
                f"{self._me} runs actorflow {self._release}, and the task that wants to join actorflow {request.release[:40]}.",
                hint="Install the same release of actorflow on both sides.",
            )
        link = await self._at_coordinator()
        if link is not None:
            task, view = await link.call(request)
            return [task, view]
        return [await self.coordinator.reserve(request.job, request.index, request.address), self.view.encode()]

    async def _join(self, request: Join) -> bytes:
        link = await self._at_coordinator()
        if link is not None:
            forwarded: bytes = await link.call(request)
            return forwarded
        return (await self.coordinator.join(request.task, canonical(request.address))).encode()

    # ---- what is answered

    def handlers(self, link: TaskLink) -> Mapping[str, Handler]:
        """The answers on a link, by method."""

        async def ask_view(request: AskView) -> bytes:
            view = await self.after(request.after - 1) if request.after > 0 else self.view
            if request.after > 0:
                async with self._following:  # sessions here have the devices of this view by then
                    pass
            return view.encode()

        async def install_view(request: InstallView) -> None:
            await self.install(decode_view(request.view))

        async def reserve(request: Reserve) -> list[Any]:
            return await self._reserve(request)

        async def join(request: Join) -> bytes:
            return await self._join(request)

        async def leave(request: Leave) -> bytes:
            return (await self.leave(request.task, request.how)).encode()

        return {
            "ask_view": ask_view,
            "install_view": install_view,
            "reserve": reserve,
            "join": join,
            "leave": leave,
        }
