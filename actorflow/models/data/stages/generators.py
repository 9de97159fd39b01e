"""Elements of Python's generators: an asynchronous generator holds no thread; others run on a thread, some elements ahead."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from time import perf_counter
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.errors import OpError
from actorflow.graph.ops.flow.py_func import raised
from actorflow.models.data.functions.conversion import converted
from actorflow.models.data.node import array
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import EndOfSequence, Stage, stage

_LOG = get_logger("data")
MOST_AHEAD = 64
BURST = 2e-3
"""For how many seconds a thread makes elements that were not asked for."""
CLOSE_SECONDS = 0.05
"""For how many seconds the end of an iterator waits for a generator's own end."""
_END = object()


@stage("generator")
class Generator(Stage):
    """The elements of a generator, converted to the types that were stated.

    Its state is how many elements it gave: a generator that goes on there is called again, and its first elements are dropped.
    The option `ahead` says how many elements a thread makes before they are asked for, where each is large. With the option
    `exact` they are dicts of arrays of those types, which no one writes: they are taken as they are. With the option `goes_on`
    none are dropped: what it gave is given to no one again, such as the names of `SharedFiles`."""

    def setup(self) -> None:
        self.found: deque[Any] = deque()
        """Elements, errors and the end, as they came."""
        self.ahead = int(self.node.options.get("ahead", 0))
        """How many elements a thread makes at a time; 0 for as many as it makes in a moment."""
        self.exact = sorted(self.node.spec.structure) if self.node.options.get("exact") else None
        """The keys of elements that are taken as they are."""
        self.taken = 0
        self.drop = 0
        self.ended = False
        self.working = False
        self.generator: Any = None
        self.waits = False
        """Whether a pull waits for an element: only then does the thread wake the event loop."""
        self.news = asyncio.Event()
        self.asked = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.running.at_end.append(lambda: _close(self.generator))

    async def next(self, most: int) -> list[Element]:
        while not self.ended:
            while not self.found:
                self.news.clear()
                self._work()
                self.waits = True
                if not self.found:  # the thread looks whether a pull waits when it has added an element
                    await self.news.wait()
                self.waits = False
            elements: list[Element] = []
            while self.found and len(elements) < most:
                entry = self.found[0]
                try:
                    self._take(entry, elements)
                except Exception:
                    if elements:
                        break  # it is raised by the next pull
                    self._leave(entry)
                    raise
                self._leave(entry)
            if elements:
                if self.ahead and len(self.found) <= self.ahead // 2 and not self.ended and not self.working:
                    self._work()
                return elements
        raise EndOfSequence

    def _take(self, entry: Any, elements: list[Element]) -> None:
        """Adds what was found as an element, unless it is to be dropped or is the end. Raises its error."""
        if isinstance(entry, Failure):
            raise entry.error if isinstance(entry.error, OpError) else raised(self.node.function, entry.error)
        if entry is _END or self.taken < self.drop:
            return
        if self.exact is not None:
            elements.append(tuple([entry[key] for key in self.exact]))
        else:
            elements.append(converted(entry, self.node.spec, f"the generator {self.node.function.name}"))

    def _leave(self, entry: Any) -> None:
        """Goes on behind what was found."""
        self.found.popleft()
        if entry is _END or isinstance(entry, Failure):
            self.ended, self.generator = True, None
        else:
            self.taken += 1

    def _work(self) -> None:
        """Has more elements made, unless that is under way."""
        if self.generator is None:
            arguments = [value[()] if (value := array(tensor)).ndim == 0 else value for tensor in self.node.tensors]
            try:
                self.generator = self.node.function.call(*arguments)
                if not hasattr(self.generator, "__anext__"):
                    if hasattr(self.generator, "__aiter__"):
                        self.generator = self.generator.__aiter__()
                    else:
                        self.generator = iter(self.generator)
            except Exception as error:
                self._add(Failure(error))
                return
        self.asked.set()
        if not self.working:
            self.working = True
            self.running.start(self._pump() if hasattr(self.generator, "__anext__") else self._burst())

    def _add(self, entry: Any) -> None:
        self.found.append(entry)
        self.news.set()

    async def _pump(self) -> None:
        """Asks an asynchronous generator for each element that is wanted, and closes it in the end."""
        generator = self.generator
        try:
            while True:
                await self.asked.wait()
                self.asked.clear()
                try:
                    self._add(await generator.__anext__())
                except StopAsyncIteration:
                    self._add(_END)
                    return
                except asyncio.CancelledError as error:
                    if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                        raise
                    self._add(Failure(error))  # the generator's own: no one cancelled the task
                    return
                except Exception as error:
                    self._add(Failure(error))
                    return
        finally:
            if inspect.isasyncgen(generator):
                with anyio.CancelScope(shield=True):
                    await generator.aclose()

    async def _burst(self) -> None:
        await machine.on_own_thread(self._produce, self.generator)
        self.working = False
        self.news.set()

    def _produce(self, generator: Any) -> None:
        """Takes elements of an ordinary generator, on a thread."""
        began = perf_counter()
        for _ in range(self.ahead or MOST_AHEAD):
            try:
                entry: Any = next(generator)
            except StopIteration:
                entry = _END
            except BaseException as error:  # SystemExit too: it would end the thread, and the pull would never end
                entry = Failure(error)
            self.found.append(entry)
            if self.running.closed:
                _clean_up(generator)
                return
            if entry is _END or isinstance(entry, Failure):
                break
            late = not self.ahead and perf_counter() - began > BURST
            if self.waits or late:
                try:
                    self.loop.call_soon_threadsafe(self.news.set)
                except RuntimeError:  # the loop is closed
                    return
            if late:
                break

    def own(self) -> Any:
        return [max(self.taken, self.drop), self.ended]

    def set_own(self, state: Any) -> None:
        count, self.ended = state
        self.drop = 0 if self.node.options.get("goes_on") else count


def _close(generator: Any) -> None:
    """Closes an ordinary generator, so that its files and connections are closed now.

    The code behind its `yield` may wait for anything. So it has a thread, and the event loop goes on after a moment.
    """
    if not inspect.isgenerator(generator):
        return
    if inspect.getgeneratorstate(generator) != inspect.GEN_SUSPENDED or not machine.current().is_real:
        _clean_up(generator)
        return
    thread = threading.Thread(target=_clean_up, args=(generator,), name="actorflow generator's end", daemon=True)
    thread.start()
    thread.join(CLOSE_SECONDS)


def _clean_up(generator: Any) -> None:
    """Closes an ordinary generator. A thread that runs it does so itself."""
    try:
        generator.close()
    except ValueError:  # a thread runs it
        return
    except Exception as error:
        _LOG.warning("a generator failed when it was closed", generator=generator.__name__, error=str(error))


class Failure:
    """An error of a generator, in the place of an element."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error
