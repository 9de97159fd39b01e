"""`call_quietly`: a call of a kernel in a context in which numpy warns of nothing, as in a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.engine.runtime.kernel_context import errors_ignored


class _Local(threading.local):
    """A context for each thread: two threads can't enter a context at the same time."""

    def __init__(self) -> None:
        self.run = errors_ignored().run


_local = _Local()


def call_quietly(kernel: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """`kernel(*inputs)`; an infinity or a NaN is a value like any other."""
    return _local.run(kernel, *inputs)


def quiet_run() -> Callable[..., Any]:
    """The function that calls another one so, on this thread: `quiet_run()(kernel, *inputs)`."""
    return _local.run
