"""`Coordinator`: makes the views of a cluster, one turn after another.

A turn is one round of questions and one view, for all changes that wait by then. Changes gather while the members hear of a view,
and for a moment after it. So a burst of changes is a few views, and a single change does not wait. The coordinator asks all
members for their views, so that after a restart it knows the newest view. It makes the next view, takes it itself, and tells it
to all members. A task that asked for a change hears when all members have the view. A change that can't be is refused alone.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import canonical, parse_task
from actorflow.cluster.membership.changes import Change, Entry, Place
from actorflow.cluster.membership.rounds import DOUBT_SECONDS, Rounds
from actorflow.cluster.membership.view import View, decode_view, differ, left, place_for
from actorflow.cluster.wire.failures import first_of
from actorflow.cluster.wire.links import CONNECT_SECONDS, TaskLink
from actorflow.cluster.wire.messages import AskState, AskView, InstallView
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import FailedPreconditionError, OpError, UnavailableError

_LOG = get_logger("cluster")
_RESERVED_SECONDS = 60.0
_AGAIN_SECONDS = 0.25
_GATHER_SECONDS = 0.1
"""So long after a view joins and leaves wait for others, with which they share the next view."""
_MOST_NAMED = 4
_MOVE_SECONDS = 10.0
"""So long a task that leaves waits for a supervisor to move its variables."""
_MOVE_PAUSE, _LONGEST_PAUSE = 0.02, 0.2


class ViewHolder(Protocol):
    """The view of the coordinator's own task."""

    view: View

    async def install(self, view: View) -> None:
        """Takes a view."""


class Coordinator:
    """The changes of a cluster, at its coordinator.

    Args:
        holder: has the view of this task, and takes views.
        me: this task.
        reach: gives the link to a task.
        root: runs the turns.
    """

    def __init__(
        self,
        holder: ViewHolder,
        me: str,
        reach: Callable[[str, str], Awaitable[TaskLink]],
        root: BackgroundTasks,
    ) -> None:
        self.turn = anyio.Lock()
        """Held during a turn."""
        self._holder = holder
        self._me = me
        self._reach = reach
        self._root = root
        self._queue: list[Entry] = []
        self._turns: asyncio.Task[None] | None = None
        self._arrived = anyio.Event()
        self._gathers_until = -math.inf
        self._reserved: dict[str, tuple[str, float]] = {}
        """The addresses of tasks that are about to join, and until when their places are kept."""
        self._rounds = Rounds()

    # ---- changes

    async def reserve(self, job: str, index: int | None, address: str) -> str:
        """A place for a task that is about to join, kept for a minute. Raises what `place_for` raises, UnavailableError."""
        place, view = canonical(address), self._holder.view
        if place in view.members.values():  # A member comes back. A change that is under way may wait for just that.
            return place_for(view, job, index, place)
        entry = Place(job, index, place)
        await self._until_over(entry)
        return entry.task

    async def join(self, task: str, address: str) -> View:
        """Makes a task a member; the view that has it. Raises what `joined` raises, UnavailableError."""
        await self._reach(task, address)  # a member can be reached
        if self._holder.view.members.get(task) == address:
            return self._holder.view
        view = await self._until_over(Change(task, address))
        self._reserved.pop(task, None)
        return view

    async def leave(self, task: str, how: str) -> View:
        """Takes a task out of the cluster. Raises what `left` raises, UnavailableError, FailedPreconditionError."""
        change = Change(task, how=how, member=self._holder.view.members.get(task))
        if how == "lost":
            if self._holder.view.epoch > 1:  # else this task may have started again, and has yet to learn the view
                left(self._holder.view, task)
            self._rounds.give_up(task)
        try:
            if how == "drained":
                await self._until_stateless(task)
            return await self._until_over(change)
        except BaseException:
            if change.is_decided and not change.over.is_set():  # the turn goes on without its caller
                self._root.start(self._undo(change))
            else:
                await self._undo(change)
            raise

    async def _undo(self, change: Change) -> None:
        """A task that was about to leave, or was being declared lost, stays, once that is certain."""
        if change.is_decided:
            await change.over.wait()
        if change.view is not None or change.how == "saved":
            return
        if change.how == "drained":
            await self._keep(change.task)
            return
        if change.error is None or isinstance(change.error, UnavailableError):
            self._rounds.doubt(change.task)
        else:
            self._rounds.trust(change.task)
        self._root.start(self._tell_later(change.task))

    async def _tell_later(self, task: str) -> None:
        """Tells a member, which may have missed a view while its loss was declared, the present view. It is trusted once it
        answers."""
        with anyio.move_on_after(DOUBT_SECONDS):
            while (address := self._holder.view.members.get(task)) is not None and not self._rounds.is_lost(task):
                view = self._holder.view
                try:
                    link = await self._reach(task, address)
                    await link.call(InstallView(view.encode()), timeout=CONNECT_SECONDS)
                except FailedPreconditionError as error:
                    _LOG.warning("a task refuses a view", task=task, epoch=view.epoch, error=str(error))
                except OpError:
                    await anyio.sleep(_AGAIN_SECONDS)
                    continue
                if self._holder.view != view:
                    continue
                if not self._rounds.is_lost(task):
                    self._rounds.trust(task)
                return

    # ---- turns

    async def _until_over(self, entry: Entry) -> View:
        """The view that all members have after a change. Raises why it is refused."""
        self._queue.append(entry)
        self._arrived.set()
        if self._turns is None or self._turns.done():
            self._turns = self._root.start(self._take_turns())
            if self._turns is None:
                self._end()
            else:
                self._turns.add_done_callback(self._turns_over)
        try:
            await entry.over.wait()
        finally:
            if entry in self._queue:
                self._queue.remove(entry)
            if not entry.is_decided:  # whoever asked has gone, and may be dead
                entry.refuse(UnavailableError("The request has been withdrawn."))
        if entry.error is not None:
            raise entry.error
        assert entry.view is not None
        return entry.view

    async def _take_turns(self) -> None:
        """One turn after another, while anything waits."""
        try:
            while self._queue:
                await self._gather()
                async with self.turn:
                    entries = self._take()
                    try:
                        await self._take_turn(entries)
                    except Exception as error:
                        for entry in entries:
                            entry.refuse(error)
                    except BaseException:
                        self._queue += entries
                        raise
        finally:
            self._end()

    def _turns_over(self, turns: asyncio.Task[None]) -> None:
        """Refuses what waits for turns that were cancelled, perhaps before they began."""
        if turns is self._turns and turns.cancelled():
            self._end()

    async def _gather(self) -> None:
        """Waits while all that waits may wait for more."""
        while self._queue and not any(map(_is_urgent, self._queue)):
            self._arrived = anyio.Event()
            with anyio.move_on_after(self._gathers_until - anyio.current_time()) as scope:
                await self._arrived.wait()
            if scope.cancelled_caught:
                break

    def _take(self) -> list[Entry]:
        """The entries of a turn: places alone as long as changes wait for others, unless a loss is among them."""
        gathers = anyio.current_time() < self._gathers_until
        urgent = [entry for entry in self._queue if _is_urgent(entry)]
        has_loss = any(isinstance(entry, Change) for entry in urgent)
        entries = urgent if gathers and not has_loss else self._queue
        self._queue = [entry for entry in self._queue if entry not in entries]
        return entries

    def _end(self) -> None:
        """Refuses what waits where no turn comes any more."""
        for entry in self._queue:
            entry.refuse(UnavailableError(f"{self._me} is about to end."))

    async def _take_turn(self, entries: list[Entry]) -> None:
        await self._survey()
        former = view = self._holder.view
        places = [entry for entry in entries if isinstance(entry, Place)]
        changes = [entry for entry in entries if isinstance(entry, Change)]
        for place in places:
            if not place.over.is_set():
                self._place(place, former)
        async with anyio.create_task_group() as group:
            for change in changes:
                if change.how == "drained":
                    group.start_soon(self._check_stateless, change, former)
        touched: set[str] = set()
        carried = []
        for change in changes:
            if change.over.is_set():
                continue
            if touched & change.touches(former):
                self._queue.append(change)
                continue
            try:
                view = change.apply(view)
            except OpError as error:
                change.refuse(error)
            else:
                change.is_decided = True
                touched |= change.touches(former)
                carried.append(change)
        if view is not former:
            view = replace(view, epoch=former.epoch + 1)
            await self._holder.install(view)
            await self._tell_all(view, differ(former, view)[0])
            self._gathers_until = anyio.current_time() + _GATHER_SECONDS
        for change in carried:
            if change.address is None:
                self._rounds.trust(change.task)
                # a lost task may have been slow only
                self._root.start(self._dismiss(change.task, former.members[change.task], view))
            change.grant(view)

    def _place(self, place: Place, view: View) -> None:
        now = anyio.current_time()
        rows = self._reserved.items()
        self._reserved = {task: row for task, row in rows if row[1] > now and row[0] != place.address}
        try:
            place.task = place_for(view, place.job, place.index, place.address, self._reserved)
        except OpError as error:
            place.refuse(error)
        else:
            self._reserved[place.task] = place.address, now + _RESERVED_SECONDS
            place.grant(view)

    # ---- questions to members

    async def _survey(self) -> None:
        """Asks the members for their views, lost members left out, and takes the newest view. All members have it at the end.

        Raises UnavailableError if a member does not answer: it may know a newer view."""
        while True:
            surveyed = self._holder.view
            replies: list[View] = []

            async def ask(task: str, address: str, replies: list[View] = replies) -> None:
                try:
                    link = await self._reach(task, address)
                    reply = await link.call(AskView(0), timeout=CONNECT_SECONDS)
                except OpError as error:
                    job, index = parse_task(task)
                    raise UnavailableError(
                        f"No task joins or leaves now, since {task} does not answer: {error.message}",
                        hint=f"Wait until it is back; or, if it never comes back: actorflow leave {job}:{index} --lost",
                    ) from error
                replies.append(decode_view(reply))

            try:
                await self._rounds.ask(self._others(surveyed), ask)
            except BaseExceptionGroup as errors:
                raise first_of(errors) from None
            newest = max(replies, key=lambda view: view.epoch, default=surveyed)
            if newest.epoch > self._holder.view.epoch:
                await self._holder.install(newest)
            if self._holder.view == surveyed:
                if any(view.epoch < surveyed.epoch for view in replies):
                    await self._tell_all(surveyed, ())
                return

    async def _tell_all(self, view: View, came: tuple[str, ...]) -> None:
        """Tells a view to all other members, as often as each needs, except members that are declared lost."""

        async def tell(task: str, address: str) -> None:
            while self._holder.view == view:
                try:
                    link = await self._reach(task, address)
                    await link.call(InstallView(view.encode()))
                    return
                except FailedPreconditionError as error:
                    _LOG.warning("a task refuses a view", task=task, epoch=view.epoch, error=str(error))
                    return
                except OpError:
                    if task in came:
                        return  # it hears of it when it asks again
                    await anyio.sleep(_AGAIN_SECONDS)

        await self._rounds.ask(self._others(view), tell)

    def _others(self, view: View) -> list[tuple[str, str]]:
        return [(task, address) for task, address in view.tasks if task != self._me]

    async def _dismiss(self, task: str, address: str, view: View) -> None:
        """Tells a task that it has left."""
        try:
            await (await self._reach(task, address)).call(InstallView(view.encode()), timeout=CONNECT_SECONDS)
        except OpError as error:
            _LOG.info("a task that has left does not hear of it", task=task, error=str(error))

    # ---- variables of tasks that leave

    async def _until_stateless(self, task: str) -> None:
        """Gives a supervisor, if there is any, some time to move what only this task holds. Other changes go on meanwhile: the
        supervisor may need some of them first, such as that a lost task is declared so. Errors are those of the change itself."""
        with suppress(OpError), anyio.move_on_after(_MOVE_SECONDS):
            left(self._holder.view, task)
            link, pause = await self._reach(task, self._holder.view.members[task]), _MOVE_PAUSE
            while True:
                names, has_supervisor = await link.call(AskState(True), timeout=CONNECT_SECONDS)
                if not (names and has_supervisor):
                    return
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _keep(self, task: str) -> None:
        """Tells a task that it does not leave after all. Else its variables would go on moving away from it."""
        with suppress(OpError), anyio.move_on_after(CONNECT_SECONDS, shield=True):
            if (address := self._holder.view.members.get(task)) is not None:
                link = await self._reach(task, address)
                await link.call(AskState(False), timeout=CONNECT_SECONDS)

    async def _check_stateless(self, change: Change, view: View) -> None:
        """Refuses that a task leaves with the only copy of something, or without an answer."""
        try:
            left(view, change.task)
            link = await self._reach(change.task, view.members[change.task])
            names, _ = await link.call(AskState(True), timeout=CONNECT_SECONDS)
        except OpError as error:
            change.refuse(error)
            return
        if names:
            more = "" if len(names) <= _MOST_NAMED else f" and {len(names) - _MOST_NAMED} more"
            text = f"{change.task} holds the only copy of {', '.join(names[:_MOST_NAMED])}{more}; it does not leave with that."
            hint = "Save a checkpoint, and let it leave as saved: scale(..., saved=True), actorflow leave --saved."
            change.refuse(FailedPreconditionError(text, hint=hint))


def _is_urgent(entry: Entry) -> bool:
    """Whether an entry does not wait for others: a place, or a loss, for which steps wait."""
    return isinstance(entry, Place) or (isinstance(entry, Change) and entry.how == "lost")
