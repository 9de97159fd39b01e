"""`Model`: a model that generates, in a session, and its loop of steps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any

import anyio

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.session import Session
from actorflow.errors import DeadlineExceededError, InternalError, InvalidArgumentError, OpError, UnavailableError
from actorflow.exchange.sources.signature import Signature
from actorflow.exchange.sources.source import Source, read
from actorflow.frontends.generation.description import METHOD, START, STEP, Description
from actorflow.frontends.generation.request import GenerationRequest, Rules
from actorflow.frontends.generation.scheduler import Limits, RequestScheduler, SchedulerStep
from actorflow.frontends.generation.stream import Stream
from actorflow.frontends.generation.text import Text
from actorflow.frontends.generation.tokenizers import Tokenizer, tokenizer_of
from actorflow.frontends.serving.plugin import Gauge
from actorflow.public import public

_LOG = get_logger("generation")
_LOOKS = 0.5
"""Seconds between looks for readers that take nothing, while requests rest."""


def generates(signatures: Mapping[str, Signature]) -> bool:
    """Whether the signatures are those of a model that generates."""
    return all(name in signatures and signatures[name].method == METHOD for name in (START, STEP))


class GenerationEngine:
    """The steps of a model in a session that someone else opens and closes.

    Args:
        session: a session with the model's values.
        signatures: its signatures.
        limits: how much it does at a time.
        blocks: how many blocks its pool has; what the model says unless given.

    Raises:
        InvalidArgumentError: there are no blocks.
    """

    def __init__(
        self, session: Session, signatures: Mapping[str, Signature], limits: Limits, blocks: int | None
    ) -> None:
        if blocks is not None and blocks < 1:
            raise InvalidArgumentError(f"A pool has a block at least, not {blocks}.")
        self._session, self._signatures, self._limits, self._blocks = session, signatures, limits, blocks
        self._work = asyncio.Event()
        self._moved = asyncio.Event()
        """Set when a step or a request has ended."""
        self._tasks: BackgroundTasks | None = None
        self._scope: anyio.CancelScope | None = None
        self._step: SchedulerStep | None = None
        self.steps = 0
        """How many steps have run."""

    async def start(self) -> None:
        """Makes the caches, and begins to take requests.

        Raises:
            InvalidArgumentError: the model is none that generates.
        """
        if not generates(self._signatures):
            raise InvalidArgumentError(
                "The model does not generate: it has no signatures for that.",
                hint="af.generation.save writes a model that does.",
            )
        start, step = self._signatures[START], self._signatures[STEP]
        feeds = {} if self._blocks is None else {start.inputs["blocks"].tensor: self._blocks}
        self.description = Description.of(await self._session.run(start.outputs["description"].tensor, feeds))
        self.tokenizer: Tokenizer | None = tokenizer_of(self.description.tokenizer)
        blocks = self.description.blocks if self._blocks is None else self._blocks
        self.scheduler = RequestScheduler(self.description, self._limits, blocks)
        self._names = list(step.inputs)
        tensors = [port.tensor for port in step.inputs.values()]
        self._call = await self._session.make_callable(step.outputs["tokens"].tensor, tensors)
        self._tasks = BackgroundTasks()
        self._tasks.start(self._run())

    async def close(self) -> None:
        """Ends all requests, and takes no more."""
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            self._fail(UnavailableError("The model was closed."))
            await tasks.close()

    async def drain(self) -> None:
        """Waits until all requests have ended."""
        while self._tasks is not None and (self.scheduler.running or self.scheduler.queue):
            self._moved.clear()
            await self._moved.wait()

    def says(self) -> str:
        """The requests for it, in a line."""
        if self.tokenizer is None:
            return "generates tokens, but not over HTTP: it has no tokenizer"
        return "generates; POST /v1/completions, and the page /generate"

    def gauges(self) -> Sequence[Gauge]:
        """Numbers for `/metrics`."""
        scheduler = self.scheduler
        return (
            Gauge("generation_running", "Requests that go through the steps.", len(scheduler.running)),
            Gauge("generation_queued", "Requests that wait for a place or for blocks.", len(scheduler.queue)),
            Gauge("generation_free_blocks", "Blocks of the pool that are free.", scheduler.blocks.free),
            Gauge("generation_steps", "Steps since the model was loaded.", self.steps),
        )

    def table(self) -> Sequence[Sequence[str]]:
        """No table for the page."""
        return ()

    def add(self, request: GenerationRequest, timeout: float | None) -> None:
        """Takes a request, which has `timeout` seconds to its end.

        Raises:
            OpError: see `RequestScheduler.add`; or the model is closed.
        """
        if self._tasks is None:
            raise UnavailableError("The model was closed.")
        self.scheduler.add(request)
        if timeout is not None and not request.is_ended:
            error = DeadlineExceededError(f"The answer was not whole after {timeout:g} seconds.")
            loop = asyncio.get_running_loop()
            request.alarm = loop.call_later(max(0.0, timeout), self.end, request, "error", error).cancel
        self._work.set()

    def end(self, request: GenerationRequest, reason: str = "cancelled", error: OpError | None = None) -> None:
        """Ends a request. A step whose requests have all ended is stopped."""
        self.scheduler.end(request, reason, error)
        step = self._step
        if self._scope is not None and step is not None and all(each.is_ended for each in step.requests):
            self._scope.cancel()
        self._work.set()
        self._moved.set()

    def _fail(self, error: OpError) -> None:
        for request in [*self.scheduler.running, *self.scheduler.queue]:
            self.end(request, "error", error)

    async def _run(self) -> None:
        while True:
            try:
                await self._turn()
            except Exception as error:  # no reader waits for a loop that is gone, and later requests are served
                _LOG.error("the steps of a model failed", error=str(error), exc_info=True)
                self._step = self._scope = None
                self._fail(InternalError(f"The steps of the model failed: {error!r}."))
                self._work.clear()
                await self._work.wait()

    async def _turn(self) -> None:
        """A step, or a rest while no request can go on."""
        step = self._step = self.scheduler.step()
        if step is None:
            await self._rest()
            return
        with anyio.CancelScope() as self._scope:
            await self._run_step(step)
        self._step = self._scope = None
        self._moved.set()
        await asyncio.sleep(0)  # readers and other tasks of the loop have their turn
        self._end_late()

    async def _run_step(self, step: SchedulerStep) -> None:
        try:
            chosen = await self._call(*[step.feeds[name] for name in self._names])
        except Exception as error:
            failure = error if isinstance(error, OpError) else InternalError(f"A step failed: {error!r}.")
            _LOG.error("a step of a model failed", error=str(error), exc_info=not isinstance(error, OpError))
            for request in step.requests:
                self.end(request, "error", failure)
            return
        self.steps += 1
        self.scheduler.advance(step, chosen.tolist())

    async def _rest(self) -> None:
        """Waits for work: for a request, or for the reader of a resting request."""
        self._work.clear()
        if not self.scheduler.running:
            await self._work.wait()
            return
        with anyio.move_on_after(_LOOKS):
            await self._work.wait()
        self._end_late()

    def _end_late(self) -> None:
        for request in self.scheduler.late(asyncio.get_running_loop().time()):
            seconds = self.scheduler.limits.unread_seconds
            error = DeadlineExceededError(f"The reader of the answer took no token for {seconds:g} seconds.")
            self.end(request, "error", error)

    def generate(
        self, prompt: str | Sequence[int], rules: Rules, stop: Sequence[str] = (), timeout: float | None = None
    ) -> Stream:
        """The tokens that follow a prompt. See `Model.generate`."""
        text = Text(self.tokenizer, stop)
        request = GenerationRequest(self.tokens(prompt), rules)
        self.add(request, timeout)
        return Stream(request, text, self.end, self._work.set)

    def tokens(self, prompt: str | Sequence[int]) -> tuple[int, ...]:
        """The tokens of a prompt.

        Raises:
            InvalidArgumentError: it is a text, and the model has no tokenizer; or it is neither text nor tokens.
        """
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise InvalidArgumentError(
                    "The model has no tokenizer, so a prompt is a list of tokens.",
                    hint="af.generation.save(..., tokenizer=...) writes a model with a tokenizer.",
                )
            if len(prompt) > 64 * self.description.context:
                raise InvalidArgumentError(
                    f"The prompt has {len(prompt)} letters, more than {self.description.context} tokens may hold."
                )
            return tuple(self.tokenizer.encode(prompt))
        try:
            tokens = tuple([token.__index__() for token in prompt])
        except (TypeError, AttributeError):
            raise InvalidArgumentError("A prompt is a text, or a list of tokens, which are whole numbers.") from None
        return tokens


@public("af.generation")
class Model:
    """A model that generates, in this process. Requests go through the same steps, and join and leave between them.

    Example:
        >>> decoding = af.generation.Decoding(context=32, vocabulary=256)
        >>> table = af.constant(np.roll(np.eye(256, dtype=np.float32), 1, 1))  # after each letter, the next
        >>> _ = decoding.choose(decoding.last(af.gather(table, decoding.tokens)))
        >>> await af.generation.save(session, "models/letters/1", decoding, tokenizer=af.generation.Bytes())
        >>> async with af.generation.Model("models/letters/1") as model:
        ...     print([token.text async for token in model.generate("a", max_tokens=4, temperature=0.0)])
        ['b', 'c', 'd', 'e']

    Args:
        path: a folder that `save` has written, or another file of a model with its signatures.
        limits: how much it does at a time.
        blocks: how many blocks its pool has; what the model says unless given.
        tags: the tags of the graph of a saved model.
        session_options: options of the session, by name.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        blocks: int | None = None,
        tags: Collection[str] = ("serve",),
        session_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._path, self._tags = path_text(path), tags
        self._limits, self._blocks = limits or Limits(), blocks
        self._options = dict(session_options or {})
        self._session: Session | None = None
        self._engine: GenerationEngine | None = None

    async def __aenter__(self) -> Model:
        source: Source = await machine.on_thread(lambda: read(self._path, self._tags, None))
        session = self._session = Session(None, source.graph, **self._options)
        try:
            await source.start(session)
            engine = GenerationEngine(session, source.signatures, self._limits, self._blocks)
            await engine.start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.close()
            raise
        self._engine = engine
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all requests with UnavailableError, and closes the session."""
        with anyio.CancelScope(shield=True):
            engine, self._engine = self._engine, None
            session, self._session = self._session, None
            try:
                if engine is not None:
                    await engine.close()
            finally:
                if session is not None:
                    await session.close()

    @property
    def engine(self) -> GenerationEngine:
        """Its steps. Raises UnavailableError while it is not open."""
        if self._engine is None:
            raise UnavailableError("The model is not open.", hint="async with af.generation.Model(path) as model: ...")
        return self._engine

    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        stop: Sequence[str] = (),
        timeout: float | None = None,
        rules: Rules | None = None,
        **options: Any,
    ) -> Stream:
        """The tokens that follow a prompt, for `async for`.

        The same prompt with the same rules and seed has the same random numbers, whatever other requests are beside it.

        Args:
            prompt: a text, or a list of tokens.
            stop: texts that end the answer, and are not part of it.
            timeout: the most seconds from now to the last token.
            rules: how tokens are chosen.
            options: parameters of `Rules`, instead of `rules`: `max_tokens=8, temperature=0.7`.

        Raises:
            InvalidArgumentError: the prompt or the rules do not fit the model.
            Overloaded: too many requests wait.
            UnavailableError: the model is not open.
        """
        if rules is not None and options:
            raise InvalidArgumentError(f"Give rules, or their parameters {sorted(options)}, but not both.")
        return self.engine.generate(prompt, rules or Rules(**options), stop, timeout)

    def statistics(self) -> Mapping[str, int]:
        """How many requests run and wait, how many blocks are free, and how many steps have run.

        Example:
            >>> decoding = af.generation.Decoding(context=32, vocabulary=4, blocks=9)
            >>> _ = decoding.choose(decoding.last(af.one_hot(decoding.tokens, 4)))
            >>> await af.generation.save(session, "models/echo/1", decoding)
            >>> async with af.generation.Model("models/echo/1") as model:
            ...     print(model.statistics())
            {'running': 0, 'queued': 0, 'free_blocks': 9, 'blocks': 9, 'steps': 0}
        """
        scheduler = self.engine.scheduler
        return {
            "running": len(scheduler.running),
            "queued": len(scheduler.queue),
            "free_blocks": scheduler.blocks.free,
            "blocks": scheduler.blocks.count,
            "steps": self.engine.steps,
        }
