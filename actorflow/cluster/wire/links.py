"""`TaskLink`: what one task opens to another: a channel, and on one host a second channel, which then carries everything.

The side that asks opens the link, so two tasks that ask each other have two. The listening side learns by a request which channel
of the transport for tensors belongs to the link, and believes it where both have the same identity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from actorflow.cluster.processes.startup import TaskReachability, describe
from actorflow.cluster.wire.endpoints import Endpoints
from actorflow.cluster.wire.messages import Attach, Hello, OfferMemory, Request
from actorflow.cluster.wire.rpc import Handler, Rpc
from actorflow.engine.device.sharing import SharingDevice
from actorflow.engine.runtime.diagnostics.step_spans import MOST_CONTEXT
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.waiting.deadline import note
from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.errors import AbortedError, FailedPreconditionError, InvalidArgumentError, OpError, UnavailableError

_LATE_SECONDS = 0.5
"""A sleep that ends so much too late says that the process stood still."""
VERSION = "1"
_MOST_SPANS = 1024
CONNECT_SECONDS = 4.5
"""So long a session waits for absent tasks: somebody with a wrong address is told of it within five seconds."""
START_SECONDS = 120.0
"""So long programs of tasks that start beside each other wait for those that are absent, in whatever order they start."""
REPLY_SECONDS = 5.0
"""So long a task may take to answer a question for which it has to wait for nothing."""
_ATTACH_SECONDS = 5.0
_FIRST_VIEW = 1
"""The number of the view of a cluster whose members are those of its description."""


class TaskLink:
    """The way to one peer. `control` is the channel that was authenticated, and tells whether the peer lives; `tokens`
    carries tensors, and the requests of `rpc` too; `about` is what the peer said of itself."""

    def __init__(self, channel: Channel) -> None:
        self.control = channel
        self.tokens = channel
        self.about: Mapping[str, Any] = {}
        self.rpc = Rpc(channel)
        self.spans: dict[int, str] = {}
        """The contexts of spans that the peer has told for steps which it is about to ask for."""
        self.watchers: set[anyio.Event] = set()
        """Events that are set when the link ends."""
        channel.on_end(self._tell_watchers)

    def _tell_watchers(self, error: BaseException) -> None:
        for event in self.watchers:
            event.set()

    def told_span(self, step: int, context: str) -> None:
        """The peer asks for a step next, which is in a span of that context."""
        if len(self.spans) >= _MOST_SPANS:
            self.spans.clear()
        self.spans[step] = context[:MOST_CONTEXT]

    @property
    def identity(self) -> ProcessIdentity:
        """The identity of the peer."""
        return self.control.peer.identity

    @property
    def task(self) -> str:
        """The peer's task, such as /job:worker/task:1; a client's name begins with /client."""
        return self.identity.task

    @property
    def alive(self) -> bool:
        """Whether neither channel has ended."""
        return self.rpc.ended is None

    def carry(self, tokens: Channel) -> None:
        """Takes `tokens` for tensors and requests from now on. Its end is the end of the link, and the other way round."""
        self.tokens = tokens
        self.rpc.carry(tokens)
        tokens.on_end(lambda error: self.control.close(self._ended("its channel for tensors has ended", error)))
        self.control.on_end(lambda error: tokens.close(self._ended("its first channel has ended", error)))

    def _ended(self, what: str, error: BaseException) -> str:
        """Why the other channel is closed: with the cause, if the peer was lost."""
        is_lost = isinstance(error, anyio.BrokenResourceError) and bool(str(error))
        return f"{what}, because {self.task} does not answer: {error}" if is_lost else what

    async def call(self, request: Request, *, timeout: float | None = None) -> Any:
        """See `Rpc.call`."""
        return await self.rpc.call(request, timeout=timeout)

    @property
    def enclosed(self) -> Callable[[Any], Any] | None:
        """By which tensors get into the reply to the request for which a handler is called in this turn of the loop (see
        `Channel.enclosed`). None where the request came by another channel than `tokens`, and so its reply goes."""
        return self.tokens.enclosed if self.rpc.asked_by is self.tokens else None

    def check_epoch(self, epoch: int) -> None:
        """Raises AbortedError where what the peer asks belongs to another epoch than this task is in."""
        if epoch != self.tokens.epoch:
            raise AbortedError(
                f"The step belongs to epoch {epoch} of the cluster, but this task is in epoch {self.tokens.epoch}.",
                hint="Something was lost meanwhile. The next run is of the present epoch.",
            )

    async def flush(self) -> None:
        """Waits until all that was posted has left."""
        await self.control.flush()
        await self.tokens.flush()

    def close(self, reason: str = "closed") -> None:
        """Ends both channels at once, with a word to the peer."""
        self.control.close(reason)
        self.tokens.close(reason)


@dataclass(slots=True)
class _Opening:
    """A link that is being opened: when that is over, and how far it is."""

    done: asyncio.Future[OpError | None]
    """Has the error by which the opening failed; None where the link is there, or who opened it went away."""
    words: list[str] = field(default_factory=list)
    listeners: list[Callable[[str], object]] = field(default_factory=list)
    state: TaskReachability = TaskReachability()  # noqa: RUF009

    def listen(self, progress: Callable[[str], object] | None) -> None:
        """Tells `progress` each word of progress, those of before too."""
        if progress is not None:
            self.listeners.append(progress)
            for word in self.words:
                progress(word)

    def tell(self, word: str) -> None:
        """A word of progress."""
        self.state = self.state.told(word)
        self.words.append(word)
        for progress in self.listeners:
            progress(word)


def _another(address: str, link: TaskLink, task: str) -> OpError:
    """The error if another task is at an address. It passes where members change: the next view tells the tasks' addresses."""
    if link.about.get("view") not in (None, _FIRST_VIEW):
        return UnavailableError(f"At {address} is {link.task} now; {task} has left, or is elsewhere.")
    return FailedPreconditionError(
        f"At {address} is {link.task}, but {task} was to be there.",
        hint="Compare the cluster's specification with the --job and --task of the process there.",
    )


class Links:
    """The links of a process: outbound links by task and address, inbound links by the identity of the peer."""

    def __init__(
        self,
        me: ProcessIdentity,
        open_endpoints: Callable[[ProcessIdentity, Callable[[Channel], object]], Endpoints],
        serve: Callable[[TaskLink], Mapping[str, Handler]] | None = None,
        root: BackgroundTasks | None = None,
    ) -> None:
        self.me = me
        self.outbound: dict[tuple[str, str], TaskLink] = {}
        self.inbound: dict[ProcessIdentity, TaskLink] = {}
        self.sharing: Sequence[SharingDevice] = ()
        """The devices here whose memory peers on this host may read."""
        self._serve = serve
        self._root = root
        self._accepted: dict[TaskLink, None] = {}
        """All that were opened to this process and are alive: a peer may open one again while the former one ends."""
        self._unattached: dict[ProcessIdentity, Channel] = {}
        self._opening: dict[tuple[str, str], _Opening] = {}
        self.endpoints = open_endpoints(me, self._accept)
        self.on_epoch: Callable[[int], object] = self.endpoints.set_epoch
        """Called with the epoch of a peer that is further than this process."""

    @property
    def data_address(self) -> str:
        """The address to which peers of the same host bring their tensors; empty if they don't."""
        return "" if self.endpoints.data is None else self.endpoints.data.address

    @property
    def accepted(self) -> Collection[TaskLink]:
        """All links that were opened to this process and are alive."""
        return self._accepted

    # ---- to others

    async def to(
        self,
        task: str,
        address: str,
        *,
        key: str | None = None,
        timeout: float = CONNECT_SECONDS,
        progress: Callable[[str], object] | None = None,
    ) -> TaskLink:
        """The link to `task` at an address, opened now unless it is alive. A task that follows another under its name has another
        address: the link to the former process is not taken for it, and no caller waits until the former address is given up.

        Raises:
            errors.UnavailableError: it is not reached in time.
            HandshakeRejected: it refuses.
            FailedPreconditionError: another task is there; or a transport for tensors is insisted on, and does not reach it.
        """
        opening: _Opening | None = None
        try:
            while True:
                link = self.outbound.get((task, address))
                if link is not None and link.alive:
                    return link
                opening = self._opening.get((task, address))
                if opening is None:
                    break
                opening.listen(progress)
                failure = await asyncio.shield(opening.done)
                if failure is not None:  # a second try now would fail as well, and the next one behind it later still
                    raise failure.located()
            opening = self._opening[task, address] = _Opening(asyncio.get_running_loop().create_future())
            opening.listen(progress)
            failure = None
            try:
                opened = await self._open(task, address, key, timeout, opening.tell)
                for place in [place for place, link in self.outbound.items() if place[0] == task and not link.alive]:
                    del self.outbound[place]
                self.outbound[task, address] = opened
                return opened
            except OpError as error:
                failure = error
                raise
            finally:
                del self._opening[task, address]
                opening.done.set_result(failure)
        except asyncio.CancelledError as error:
            if opening is not None:
                note(error, [describe(task, address, opening.state)])
            raise

    async def _open(
        self, task: str, address: str, key: str | None, timeout: float, progress: Callable[[str], object] | None
    ) -> TaskLink:
        control = self.endpoints.control
        channel = await control.connect(address, key=key, timeout=timeout, progress=progress)
        link = TaskLink(channel)
        link.rpc.start()
        try:
            epoch = 0 if self._serve is None else control.epoch
            link.about = await link.call(Hello(VERSION, epoch), timeout=timeout)
            if task and link.task != task:
                raise _another(address, link, task)
            if int(link.about.get("epoch") or 0) > control.epoch:
                self.on_epoch(int(link.about["epoch"]))
            await self._attach(link, timeout)
        except BaseException:
            link.close()
            raise
        return link

    async def _attach(self, link: TaskLink, timeout: float) -> None:
        """Opens the channel for tensors beside the first channel, if both ends have that transport and see each other."""
        data = self.endpoints.data
        if data is None:
            return
        address = str(link.about.get("data") or "")
        try:
            if not address:
                raise FailedPreconditionError("it takes no tensors that way")
            tokens = await data.connect(address, link.identity.incarnation, timeout=_ATTACH_SECONDS)
        except (OpError, anyio.BrokenResourceError) as error:
            if self.endpoints.insist:
                raise await self._refusal(link, error) from error
            return
        await link.call(Attach(), timeout=timeout)
        link.carry(tokens)
        await self._offer(link)

    async def _refusal(self, link: TaskLink, error: Exception) -> OpError:
        """The error for a peer that the transport for tensors does not reach. A second try is useless where the peer lives.
        Raises UnavailableError: it does not live."""
        said = error.message if isinstance(error, OpError) else str(error)
        kind = FailedPreconditionError if isinstance(error, FailedPreconditionError) else UnavailableError
        assert self.endpoints.data is not None
        name = self.endpoints.data.name
        if isinstance(error.__cause__, ConnectionRefusedError):
            await link.call(Hello(VERSION, self.endpoints.control.epoch), timeout=_ATTACH_SECONDS)
            kind = FailedPreconditionError
        return kind(
            f"{link.task} can't be reached over {name}: {said.rstrip('.')}.",
            hint=f"transport='auto' takes {link.control.transport} where {name} does not reach.",
        )

    async def _offer(self, link: TaskLink) -> None:
        """Finds out which devices of the peer can read memory of devices here. If none can, tokens go by the host."""
        peer_memory, offers = (
            link.tokens.peer_memory,
            [(d, description) for d in self.sharing if (description := d.offer()) is not None],
        )
        if peer_memory is None or not offers:
            return
        here = {device.name: device for device, _ in offers}
        try:
            replies = await link.call(OfferMemory([[d.name, text] for d, text in offers]), timeout=_ATTACH_SECONDS)
        except OpError as error:
            for device in here.values():
                device.refused(link.task, error.message)
            return
        for mine, theirs, reason in replies:
            if mine not in here:
                continue
            if reason:
                here[mine].refused(theirs, reason)
            else:
                peer_memory.outward.add((mine, theirs))

    # ---- from others

    def _accept(self, channel: Channel) -> None:
        if self._serve is None or self._root is None:
            channel.close("this process takes no links")
            return
        identity = channel.peer.identity
        data = self.endpoints.data
        if data is not None and channel.transport == data.name:
            former = self._unattached.get(identity)
            self._unattached[identity] = channel
            if former is not None:
                former.close("another one has come in its place")
            channel.on_end(lambda error: self._left_unattached(identity, channel))
            return
        link = TaskLink(channel)

        async def attach(request: Attach) -> None:
            tokens = self._unattached.pop(identity, None)
            if tokens is None:
                raise FailedPreconditionError(f"{link.task} has no channel for tensors beside this one.")
            link.carry(tokens)

        async def share(request: OfferMemory) -> list[Any]:
            if not all(type(o) is list and [type(v) for v in o] == [str, bytes] for o in request.offers):
                raise InvalidArgumentError("Each offer is the name of a device and the description of some memory.")
            answers = [
                [name, d.name, d.opens(description)] for name, description in request.offers for d in self.sharing
            ]
            if link.tokens.peer_memory is not None:
                link.tokens.peer_memory.inward = any(not reason for _, _, reason in answers)
            return answers

        self._accepted[link] = None
        self.inbound[identity] = link
        channel.on_end(lambda error: self._left(link))
        link.rpc.start({**self._serve(link), "attach": attach, "share": share}, self._root)

    def _left_unattached(self, identity: ProcessIdentity, channel: Channel) -> None:
        """A channel for tensors has ended. If it belongs to no link, no one takes what has come over it."""
        if self._unattached.get(identity) is channel:
            del self._unattached[identity]
            channel.close()

    def _left(self, link: TaskLink) -> None:
        self._accepted.pop(link, None)
        if self.inbound.get(link.identity) is link:
            del self.inbound[link.identity]
            for other in self._accepted:
                if other.identity == link.identity:
                    self.inbound[link.identity] = other

    def carried(self) -> list[list[Any]]:
        """The traffic of the links that this task opened, [peer, transport, edge, tokens, bytes], and what it has waited for,
        [peer, transport, edge, waits, seconds]."""
        sent = [
            [link.task, link.tokens.transport, edge, count.tokens, count.bytes]
            for link in self.outbound.values()
            if link.alive
            for edge, count in link.tokens.statistics().sent.items()
        ]
        awaited = [
            [link.task, link.tokens.transport, edge, count.waits, count.wait_seconds]
            for link in self.inbound.values()
            for edge, count in link.tokens.statistics().received.items()
            if count.waits
        ]
        return [sent, awaited]

    def from_task(self, task: str, incarnation: int) -> TaskLink:
        """The link that this incarnation of a task has opened to us. Raises UnavailableError if there is none."""
        for identity, link in self.inbound.items():
            if identity.task == task and identity.incarnation == incarnation:
                return link
        raise UnavailableError(f"{task} is not connected to {self.me.task} any more.")

    async def aclose(self) -> None:
        """Ends all links in good order."""
        try:
            await self.endpoints.aclose()
        finally:
            self.close()

    def close(self) -> None:
        """Ends all at once."""
        self.endpoints.close()
        self.outbound.clear()
        self.inbound.clear()
        self._accepted.clear()


async def patient_sleep(seconds: float) -> None:
    """Waits for so long, and again where this process stood still meanwhile: what has come in that time is yet to be read."""
    late = True
    while late:
        begun = anyio.current_time()
        await anyio.sleep(seconds)
        late = anyio.current_time() - begun > seconds + _LATE_SECONDS
