"""`simulate`: runs a program of several machines in one thread, on virtual time, with whatever befalls them, from one seed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from actorflow.testing.events import Trace
from actorflow.testing.faults import Faults, Injector
from actorflow.testing.files import FileFaults
from actorflow.testing.loop import DAY
from actorflow.testing.network import Link
from actorflow.testing.running import no_threads, ordered_scopes
from actorflow.testing.world import OBSERVER, World

T = TypeVar("T")
Main = Callable[[World], Coroutine[Any, Any, T]]
_LAST_LINES = 15


def simulate(
    main: Main[T],
    *,
    seed: int,
    hosts: Iterable[str] = (),
    faults: Faults | None = None,
    link: Link | None = None,
    file_faults: FileFaults | None = None,
    shuffle: bool = False,
    limit: float = DAY,
    trace: Trace | None = None,
) -> T:
    """Runs `await main(world)` on virtual time, and gives its result.

    The main program observes: it starts programs on machines with `world.spawn(host, program)`, makes or heals faults, and
    waits for what comes of it. In each program `SimulatedEndpoint` is its machine's, and files are its machine's. Equal
    seeds give equal runs, in every process.

    Args:
        seed: whatever is drawn, is drawn from it.
        hosts: the names of the machines; `main` is the observer's.
        faults: what befalls machines and links by chance; without it, what the main program does.
        link: what links are like.
        file_faults: what goes wrong with files by chance.
        shuffle: whether the ready callbacks of a process run in any order, instead of asyncio's.
        limit: the virtual seconds after which a program is taken for endless.
        trace: takes the events; `Trace(print)` shows them.

    Raises:
        Deadlock: nothing will ever happen again; the message lists the tasks that wait.
        RuntimeError: a thread or a socket was asked for, or an event loop runs already.
        BaseException: what `main` raises, or a program that no one waits for; a note tells the seed.
    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError(
            "simulate() runs event loops of its own: call it from a plain function, not from a coroutine."
        )
    trace = trace or Trace(keep=_LAST_LINES)
    with no_threads(), ordered_scopes(), _no_collection():
        world = World(seed, hosts, link=link, file_faults=file_faults, shuffle=shuffle, limit=limit, trace=trace)
        if faults is not None:
            Injector(world, faults, OBSERVER)
        try:
            return world.run(main)
        except BaseException as error:
            last = "".join(f"\n  {line}" for line in trace.lines[-_LAST_LINES:])
            error.add_note(
                f"This was seed {seed}, after {world.now:.6f} virtual seconds; "
                f"replay(main, seed={seed}, ...) shows all events. The last:{last}"
            )
            raise


def replay(main: Main[T], *, seed: int, show: Callable[[str], object] = print, **options: Any) -> T:
    """`simulate` with the same arguments, which shows each event as it happens."""
    return simulate(main, seed=seed, trace=Trace(show, keep=_LAST_LINES), **options)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage is collected when allocations of the whole process say so; what finalizers do then would come by chance.
    The world collects it at moments of its own."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
