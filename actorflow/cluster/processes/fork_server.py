"""The process that the tasks of a local cluster are forked from: `python -m actorflow.cluster.processes.fork_server FD`.

It imports all that a task needs once, which takes a second of a processor, and forks a task in milliseconds when it is asked
to. It has one thread and nothing open, so a fork is safe. Its tasks are killed by the system when it ends, and it ends when
the socket `FD` to the process that started it does.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_MODULES = ("actorflow.cluster.server", "anyio._backends._asyncio", "structlog.stdlib", "numpy.random")


def die_with(parent: int) -> None:
    """Asks Linux to kill this process when the thread that started it ends, and ends now if that has happened."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def preload() -> Callable[[int], int]:
    """Imports what a task needs; gives what runs a task."""
    from actorflow.base.registry import plugins
    from actorflow.cluster.processes.task_main import run_child
    from actorflow.engine.transport import installed

    for module in _MODULES:
        importlib.import_module(module)
    plugins.load_kernels()
    installed.usable()
    plugins.load("rendezvous", "local")
    plugins.load("devices", "CPU")
    return run_child


def serve(control: socket.socket, run: Callable[[int], int]) -> None:
    """Answers each request (a message with two descriptors: the task's socket and its log) with the new process's number and
    a descriptor of it, and tells how each ended."""
    me = os.getpid()
    children: dict[int, int] = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready != control.fileno():
                poll.unregister(ready)
                pid = children.pop(ready)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                os.close(ready)
                control.send(json.dumps({"ended": pid, "status": status}).encode())
                continue
            name, (wire, log), _, _ = socket.recv_fds(control, 256, 2) if _peek(control) else (b"", (-1, -1), 0, None)
            if not name:
                return
            pid = os.fork()
            if pid == 0:
                control.close()
                for number in children:
                    os.close(number)
                _become(me, name.decode(), wire, log, run)
            os.close(wire)
            os.close(log)
            number = os.pidfd_open(pid)
            children[number] = pid
            poll.register(number, select.POLLIN)
            socket.send_fds(control, [json.dumps({"started": pid}).encode()], [number])


def _peek(control: socket.socket) -> bool:
    return bool(control.recv(1, socket.MSG_PEEK))


def _become(parent: int, name: str, wire: int, log: int, run: Callable[[int], int]) -> None:
    """The rest of a task's life. Never returns."""
    status = 1
    try:
        die_with(parent)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        random.seed()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()  # else all tasks would draw the same numbers
        status = run(wire)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                pass
        os._exit(status)


def main(number: int, parent: int) -> None:
    """The life of this process. `parent` is who started it, 0 where that was not its main thread."""
    if parent:
        die_with(parent)
    os.set_inheritable(number, False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    control = socket.socket(fileno=number)
    run = preload()
    gc.collect()
    gc.freeze()  # the collector would write to pages that are shared
    serve(control, run)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
