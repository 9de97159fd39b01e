"""`PageThread`: it answers once it is there, it says why it can't, and it leaves nothing behind, in forked children either."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import selectors
import socket
import threading
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import PATIENCE

from actorflow.cluster.config.credentials import Target
from actorflow.cluster.processes.local import LocalCluster
from actorflow.errors import UnavailableError

pytest.importorskip("httptools")
from actorflow.frontends.dashboard import beside
from actorflow.frontends.http import server

TARGET = Target("tcp://127.0.0.1:1")


def fail(*arguments: Any, **named: Any) -> Any:
    """The failure of a system that has no files left."""
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


async def fail_later(*arguments: Any, **named: Any) -> Any:
    """The same, awaited."""
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def port_of(page: beside.PageThread) -> int:
    return int(page.address.rsplit(":", 1)[1].strip("/"))


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """All sockets that listen for pages."""
    sockets: list[socket.socket] = []
    listening = server.listening

    def keep(host: str, port: int) -> socket.socket:
        sockets.append(listening(host, port))
        return sockets[-1]

    monkeypatch.setattr(server, "listening", keep)
    return sockets


@contextlib.contextmanager
def opened(port: int = 0) -> Iterator[beside.PageThread]:
    page = beside.PageThread(TARGET, port)
    try:
        yield page
    finally:
        page.close()


def no_loop(patch: pytest.MonkeyPatch) -> None:
    """A selector needs a file."""
    patch.setattr(selectors.DefaultSelector, "__init__", fail)


def no_page(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(beside.Dashboard, "__aenter__", fail_later)


def no_server(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(server, "HttpServer", fail)


def no_serving(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(asyncio.base_events.BaseEventLoop, "create_server", fail_later)


FAILURES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "no event loop": no_loop,
    "the page can't be entered": no_page,
    "no server": no_server,
    "the server can't listen": no_serving,
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_that_can_not_be_served_says_why_and_gives_its_port_back(
    name: str, listeners: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = threading.active_count()
    with monkeypatch.context() as patch:
        FAILURES[name](patch)
        with pytest.raises(UnavailableError, match=rf"127\.0\.0\.1:\d+/: {os.strerror(errno.EMFILE)}\.") as caught:
            beside.PageThread(TARGET, 0)
    assert isinstance(caught.value.__cause__, OSError) and threading.active_count() == threads
    assert [listener.fileno() for listener in listeners] == [-1]
    with opened() as page:
        assert urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(page.link, timeout=PATIENCE)


def test_an_error_of_another_kind_is_that_of_the_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    async def break_down(self: Any) -> None:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(beside.Dashboard, "__aenter__", break_down)
    with pytest.raises(ZeroDivisionError, match="broken"):
        beside.PageThread(TARGET, 0)


@pytest.mark.parametrize("name", ["Dashboard", "threading.Thread.start"])
def test_a_page_that_can_not_be_made_gives_its_port_back(
    name: str, listeners: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    holder: Any = beside
    *path, last = name.split(".")
    for part in path:
        holder = getattr(holder, part)
    monkeypatch.setattr(holder, last, fail)
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        beside.PageThread(TARGET, 0)
    assert [listener.fileno() for listener in listeners] == [-1]


def test_a_page_is_closed_between_the_end_of_its_loop_and_that_of_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    page = beside.PageThread(TARGET, 0)
    loop, thread = page._loop, page._thread
    page.close()
    assert loop is not None and loop.is_closed() and not thread.is_alive()
    monkeypatch.setattr(thread, "is_alive", lambda: True)
    page.close()


def test_a_cluster_ends_its_processes_although_its_page_does_not_close() -> None:
    class Broken:
        address = link = ""

        def close(self) -> None:
            raise ZeroDivisionError("broken")

    class Process:
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    cluster, process = LocalCluster({"worker": 1}), Process()
    cluster._page, cluster._processes["/job:worker/task:0"] = Broken(), process  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        cluster.close()
    cluster._processes.clear()
    assert process.is_closed and cluster.dashboard_link is None


# ---- forked children


@contextlib.contextmanager
def child(work: Callable[[], object]) -> Iterator[None]:
    """A forked child, which works and then lives until the end of the block."""
    told, tell = os.pipe()
    stays, stop = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: this process has threads
        number = os.fork()
    if not number:
        try:
            os.close(stop)
            work()
            os.write(tell, b"1")
            os.read(stays, 1)
        finally:
            os._exit(0)
    os.close(tell)
    os.close(stays)
    try:
        assert os.read(told, 1) == b"1"
        yield
    finally:
        os.close(stop)
        os.waitpid(number, 0)
        os.close(told)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_child_keeps_neither_the_port_of_a_page_nor_its_connections() -> None:
    with contextlib.ExitStack() as stack:
        with opened() as page:
            port, token = port_of(page), page.link.rpartition("=")[2]
            watching = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            watching.sendall(
                f"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            assert watching.recv(12) == b"HTTP/1.1 200"
            stack.enter_context(child(page.close))
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert browser.open(page.link, timeout=PATIENCE).status == 200, "the page of the parent goes on"
        with contextlib.suppress(ConnectionResetError):
            while watching.recv(1 << 16):
                pass  # the connection ends
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        with opened(port):
            pass


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="on this system a child has selectors of its own")
def test_the_copy_of_a_loop_that_a_child_closes_takes_nothing_from_the_page() -> None:
    with opened() as page:
        loop: Any = page._loop

        def close_copy() -> None:
            asyncio._set_running_loop(None)
            loop._thread_id = None  # as a collector finds it: no thread runs it
            loop.close()

        with child(
            close_copy
        ):  # the loop is still told when another thread has work for it; the system says ENOENT if not
            loop._selector._selector.modify(loop._ssock.fileno(), select.EPOLLIN)
