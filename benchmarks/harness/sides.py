"""How a piece of work is called on each side: our session, our blocking session, the peer's session."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal, TypeAlias

from benchmarks.harness.definitions import Build, Call, Comparison, Work

Style: TypeAlias = Literal["run", "callable"]


def peer_library() -> Any:
    """TensorFlow as its first version was used: graphs and sessions, everything else as it comes."""
    library: Any = importlib.import_module("tensorflow.compat.v1")
    library.disable_v2_behavior()
    return library


def our_library() -> Any:
    return importlib.import_module("actorflow")


def _feeds(work: Work) -> Iterator[dict[Any, Any]]:
    return itertools.cycle([dict(zip(work.placeholders, batch, strict=True)) for batch in work.batches])


@asynccontextmanager
async def ours(build: Build, style: Style = "run", **options: Any) -> AsyncIterator[Call]:
    """`await session.run(...)`, or a callable of `await session.make_callable(...)`. `options` are those of the plans."""
    af = our_library()
    work = build(af)
    async with af.Session(graph=work.graph, options=af.PlanOptions(**options)) as session:
        if work.init is not None:
            await session.run(work.init)
        if style == "run":
            feeds = _feeds(work)
            yield lambda: session.run(work.fetches, next(feeds))
        else:
            prepared = await session.make_callable(work.fetches, list(work.placeholders))
            batches = itertools.cycle(work.batches)
            yield lambda: prepared(*next(batches))


def _blocking(session: Any, work: Work, style: Style) -> Call:
    if work.init is not None:
        session.run(work.init)
    if style == "run":
        feeds = _feeds(work)
        return lambda: session.run(work.fetches, next(feeds))
    prepared = session.make_callable(work.fetches, list(work.placeholders))
    batches = itertools.cycle(work.batches)
    return lambda: prepared(*next(batches))


@contextmanager
def ours_blocking(build: Build, style: Style = "run") -> Iterator[Call]:
    """`session.run(...)` of `af.blocking.Session`, from a thread that has no event loop."""
    af = our_library()
    work = build(af)
    with af.blocking.Session(graph=work.graph) as session:
        yield _blocking(session, work, style)


@contextmanager
def peer(build: Build, style: Style = "run") -> Iterator[Call]:
    """`session.run(...)` of the peer in its default configuration."""
    work = build(peer_library())
    session = importlib.import_module("tensorflow.compat.v1").Session(graph=work.graph)
    with session:
        yield _blocking(session, work, style)


def compare(
    name: str, work: str, build: Build, style: Style = "run", *, blocking: bool = False, note: str = "", **options: Any
) -> Comparison:
    """The comparison of one graph: `run` against `run`, or `make_callable` against `make_callable`.

    `options` are those of our asynchronous session.
    """
    return Comparison(
        name,
        work,
        ours=(lambda: ours_blocking(build, style)) if blocking else (lambda: ours(build, style, **options)),
        peer=lambda: peer(build, style),
        note=note,
    )
