"""`StepSpans`: another system that is told of steps while they run, such as OpenTelemetry; none unless a program installs it.

A span has a context, a text that names it in other processes: a request takes it along, and the span of the task that
serves the request is its child.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
MOST_CONTEXT = 4096
"""Characters of a context; a longer context is not taken."""


class StepSpans(Protocol):
    """The interface of such a system."""

    def context(self) -> str:
        """The context of the current span; empty without a current span, and if no span is wanted."""

    def within(self, name: str, context: str, attributes: Mapping[str, Any]) -> AbstractContextManager[object]:
        """A block in which a new span is current: a child of the span with that context, or of the current span. An error that
        leaves the block is the span's."""


installed: StepSpans | None = None


def install(spans: StepSpans | None) -> None:
    """Tells `spans` of all steps of this process from now on; with None, steps are not told of any more."""
    global installed
    installed = spans


def current() -> str:
    """The context of the current span; empty without a current span."""
    return "" if installed is None else installed.context()[:MOST_CONTEXT]


async def within(name: str, context: str, attributes: Mapping[str, Any], work: Coroutine[Any, Any, T]) -> T:
    """Awaits `work` in a span of its own."""
    if installed is None:
        return await work
    with installed.within(name, context, attributes):
        return await work
