"""`kernel_context`: where kernels run: in a copy of the caller's context in which numpy warns of nothing, with the limit of
threads of the session.

An infinity or a NaN is a value of a graph like any other. `np.errstate` would do, but each step of a program asks for this, and
to enter and leave `np.errstate` takes longer than a small step's kernels. So its variable is set here to the same value.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context

import numpy as np

MOST_THREADS: ContextVar[int | None] = ContextVar("actorflow_most_threads", default=None)
"""How many threads may compute one kernel; None for all that there are."""


def kernel_context(threads: int | None = None) -> Context:
    """A copy of the context of the caller in which numpy ignores overflows, divisions by zero and the like.

    Args:
        threads: how many threads may compute one kernel; unless given, all that there are.
    """
    context = copy_context()
    for variable, value in _IGNORED:
        context.run(variable.set, value)
    if threads is not None:
        context.run(MOST_THREADS.set, threads)
    return context


def errors_ignored() -> Context:
    """A context in which nothing is set but what `np.errstate` sets."""
    context = Context()
    context.run(np.errstate(all="ignore").__enter__)
    return context


_IGNORED = tuple(errors_ignored().items())
