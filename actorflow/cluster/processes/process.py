"""The life of a process that is a task: its server, the signals that end it, and the parent that it must not outlive.

SIGTERM or Ctrl-C lets the steps in flight end, for five seconds at most, and the process ends with status 0; the system ends it
two seconds later. A task that has joined a running cluster leaves it first, for fifteen seconds at most. A second signal ends it
at once. SIGUSR1 writes the stacks of all threads to stderr. A process with a parent
(`LocalCluster`) ends with it.
"""

from __future__ import annotations

import asyncio
import faulthandler
import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from actorflow.base.origins import host_and_port
from actorflow.cluster.membership.view import GUEST
from actorflow.cluster.processes.task_config import MessageAssembler, TaskConfig, send
from actorflow.engine.runtime.event_loops.polling import new_event_loop
from actorflow.errors import InvalidArgumentError, OpError, UnavailableError

if TYPE_CHECKING:
    from actorflow.cluster.server import Server

DRAIN_SECONDS = 5.0
LEAVE_SECONDS = 15.0
"""So long a task tries to leave: its variables have to move, and members that are lost have to be declared so."""
_LEAVE_PAUSE = 0.25
_CLOSE_SECONDS = 2.0
_STUCK_SECONDS = 10.0
"""A task that is there so long after its work has ended is stuck. A busy machine takes some seconds to close it."""
_SWITCH_INTERVAL = 0.0005


def make_server(config: TaskConfig) -> Server:
    """The server of a task, not yet started."""
    from actorflow.cluster.server import Server

    return Server(
        config.view or config.cluster,
        config.job,
        config.index,
        devices=config.devices,
        memory_budget=config.memory_budget,
        credentials=config.credentials,
        allowed=config.allowed,
        listen=config.listen,
        advertise=config.advertise or config.address,
        transport=config.transport,
        arena_bytes=config.arena_bytes,
        file_roots=config.file_roots,
        epoch=config.epoch,
        incarnation=config.incarnation,
        recording=config.recording,
    )


def run_task(config: TaskConfig, *, parent: Parent | None = None, up: Callable[[Server], object] | None = None) -> int:
    """Runs a task until it is told to end, and gives the process's exit status. `up` is called when it can be reached.

    Raises:
        OpError: the server can't start: an address, keys, devices.
    """
    for name in config.imports:
        import_module(name)
    anyio.run(_live, config, parent, up, backend_options={"loop_factory": new_event_loop})
    return 0


async def _live(config: TaskConfig, parent: Parent | None, up: Callable[[Server], object] | None) -> None:
    has_joined = parent is None and config.view is not None and config.view.epoch == GUEST
    with _Signals(DRAIN_SECONDS + LEAVE_SECONDS * has_joined) as signals:
        async with make_server(config) as server:
            _settle()
            async with anyio.create_task_group() as group:
                group.start_soon(_obey, signals, server, group.cancel_scope, has_joined)
                if config.metrics_port is not None:
                    from actorflow.cluster.processes.metrics_port import serve_metrics

                    names = host_and_port(server.address.partition("://")[2])[0], socket.gethostname()
                    where = config.metrics_host, config.metrics_port, names
                    port = await group.start(serve_metrics, server.status, *where)
                    _say(f"metrics at http://{config.metrics_host}:{port}/metrics")
                if up is not None:
                    up(server)
                if parent is not None:
                    parent.watch(group.cancel_scope.cancel, server.allow_files)
                    parent.tell({"incarnation": server.identity.incarnation, "address": server.address})
                await server.join()
                group.cancel_scope.cancel()
            _bound_the_end(_STUCK_SECONDS)


async def _obey(signals: _Signals, server: Server, scope: anyio.CancelScope, leaves: bool) -> None:
    """The first signal drains. A task that has joined a running cluster leaves it before that."""
    await signals.first.wait()
    if leaves:
        await _leave(server)
    with anyio.move_on_after(DRAIN_SECONDS):
        await server.drain(DRAIN_SECONDS)
    scope.cancel()


async def _leave(server: Server) -> None:
    """Leaves the cluster. It tries again while another member or the coordinator does not answer: that may pass."""
    why = f"that took more than {LEAVE_SECONDS:g} s."
    with anyio.move_on_after(LEAVE_SECONDS):
        while True:
            try:
                return await server.leave()
            except UnavailableError as error:
                why = error.message
                await anyio.sleep(_LEAVE_PAUSE)
            except OpError as error:
                why = error.message
                break
    _say(f"{server.task} ends without leaving the cluster: {why}")


class _Signals:
    """SIGTERM and Ctrl-C: the first signal is told on this event loop, a second signal ends the process, whatever it does."""

    def __init__(self, seconds: float) -> None:
        self.first = anyio.Event()
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._seen = False

    def __enter__(self) -> _Signals:
        self._former = {number: signal.signal(number, self._heard) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: Any) -> None:
        name = signal.Signals(number).name
        if self._seen:
            _say(f"{name} again: ends at once.")
            os._exit(128 + number)
        self._seen = True
        _bound_the_end(self._seconds + _STUCK_SECONDS)
        _say(f"{name}: waits up to {self._seconds:g} s for steps to end; another signal ends it at once.")
        self._loop.call_soon_threadsafe(self.first.set)


def _settle() -> None:
    """Settings of the whole process."""
    sys.setswitchinterval(_SWITCH_INTERVAL)  # a thread of Python would hold the event loop up by 5 ms at a time
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)  # for a task that does not answer any more


def _bound_the_end(seconds: float) -> None:
    """Lets the system end this process if it is still there then, even when Python is stuck. A moment that was set before is not
    put off."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, left or seconds))


def _say(text: str) -> None:
    try:
        os.write(2, f"actorflow: {text}\n".encode())  # a handler may come in the middle of a print
    except OSError:  # where the disk is full, nothing is said
        pass


def import_module(name: str) -> None:
    """Imports a module that registers ops and kernels. Raises InvalidArgumentError where that fails."""
    try:
        importlib.import_module(name)
    except Exception as error:
        raise InvalidArgumentError(
            f"The module {name!r} could not be imported: {type(error).__name__}: {error}."
        ) from error


class Parent:
    """The process that started this process, at the other end of an inherited socket."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message; a parent that is gone is noticed by `watch`."""
        try:
            send(self._wire, message)
        except OSError:
            pass

    def watch(self, stop: Callable[[], object], allow_files: Callable[[str], object]) -> None:
        """Calls `stop` on this event loop when the parent lets go or is gone; what still runs two seconds later is ended.
        Calls `allow_files` with each folder that the parent allows.

        A thread waits for that, because an event loop may be held up.
        """
        token = anyio.lowlevel.current_token()

        def wait() -> None:
            messages = MessageAssembler()
            while data := self._heard():
                for message in messages.feed(data):
                    allow_files(str(message["allow_files"]))
                    self.tell({"allowed": message["allow_files"]})
            try:
                anyio.from_thread.run_sync(stop, token=token)
            except Exception:  # the loop has ended already
                return
            time.sleep(_CLOSE_SECONDS)
            os._exit(1)

        threading.Thread(target=wait, name="actorflow parent", daemon=True).start()

    def _heard(self) -> bytes:
        try:
            return self._wire.recv(4096)
        except OSError:
            return b""
