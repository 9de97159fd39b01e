"""`RequestScheduler`: which requests run, and which of their tokens go through the next step. It has no I/O and no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError, OpError, Overloaded
from actorflow.frontends.generation.blocks import FreeBlocks
from actorflow.frontends.generation.description import Description
from actorflow.frontends.generation.request import GenerationRequest
from actorflow.public import public


@public("af.generation")
@dataclass(frozen=True, slots=True)
class Limits:
    """How much a model does at a time.

    Example:
        >>> af.generation.Limits(max_running=8).max_queued
        256

    Args:
        max_running: the most requests that go through a step together.
        max_queued: the most requests that wait; another request is refused.
        max_step_tokens: the most tokens of a step. A longer prompt is read in several steps, beside the others.
        max_unread: a request rests if its reader has this number of tokens to take.
        unread_seconds: after how many seconds of rest it is cancelled.

    Raises:
        InvalidArgumentError: a number is too small.
    """

    max_running: int = 32
    max_queued: int = 256
    max_step_tokens: int = 128
    max_unread: int = 64
    unread_seconds: float = 10.0

    def __post_init__(self) -> None:
        if min(self.max_running, self.max_unread) < 1 or self.max_queued < 0 or self.unread_seconds <= 0:
            raise InvalidArgumentError(f"The limits of a model that generates are positive: {self}.")
        if self.max_step_tokens < self.max_running:
            raise InvalidArgumentError(f"A step takes a token of each request that runs at least: {self}.")


@dataclass(frozen=True, slots=True)
class SchedulerStep:
    """The requests of a step, how many tokens of each it reads, and its inputs by name."""

    requests: Sequence[GenerationRequest]
    counts: Sequence[int]
    feeds: dict[str, Any]


class RequestScheduler:
    """The requests of a model.

    Args:
        description: the facts of the model.
        limits: how much it does at a time.
        blocks: how many blocks its pool has.
    """

    def __init__(self, description: Description, limits: Limits, blocks: int) -> None:
        self.description, self.limits = description, limits
        self.blocks = FreeBlocks(blocks)
        self.queue: deque[GenerationRequest] = deque()
        self.running: list[GenerationRequest] = []
        self._width = -(-description.context // description.block_size)

    def add(self, request: GenerationRequest) -> None:
        """Lets a request wait for its turn. A request for no tokens has ended at once.

        Raises:
            InvalidArgumentError: it is empty, longer than the context or the pool, or has tokens that are none.
            Overloaded: too many wait.
        """
        facts, prompt = self.description, request.prompt
        if not prompt:
            raise InvalidArgumentError("A prompt has one token at least.", hint="Begin with a token that begins texts.")
        if min(prompt) < 0 or max(prompt) >= facts.vocabulary:
            raise InvalidArgumentError(
                f"Tokens are in [0, {facts.vocabulary}), but the prompt has {min(prompt)} to {max(prompt)}."
            )
        if len(prompt) + request.rules.max_tokens > facts.context:
            raise InvalidArgumentError(
                f"The prompt has {len(prompt)} tokens, and {request.rules.max_tokens} are asked for, but the context of "
                f"the model has {facts.context}.",
                hint="Send a shorter prompt, or ask for fewer tokens.",
            )
        if self._needs(request) > self.blocks.count:
            raise InvalidArgumentError(
                f"The request needs {self._needs(request)} blocks, but the model has {self.blocks.count}.",
                hint="Open the model with more blocks.",
            )
        if not request.rules.max_tokens:
            request.reason = "length"
            return
        if len(self.queue) >= self.limits.max_queued and not self._fits(request):
            raise Overloaded(f"{len(self.queue)} requests wait, which is the most.", retry_after=1.0)
        self.queue.append(request)
        self._admit()

    def _needs(self, request: GenerationRequest) -> int:
        return -(-request.most // self.description.block_size)

    def _fits(self, request: GenerationRequest) -> bool:
        """Whether a request could run now."""
        has_place = len(self.running) < self.limits.max_running
        return not self.queue and has_place and self._needs(request) <= self.blocks.free

    def _admit(self) -> None:
        """Lets requests run for which a place and blocks are free, in their order."""
        while self.queue and len(self.running) < self.limits.max_running:
            blocks = self.blocks.take(self._needs(self.queue[0]))
            if blocks is None:
                break
            request = self.queue.popleft()
            request.blocks = blocks
            self.running.append(request)

    def step(self) -> SchedulerStep | None:
        """The next step; None where no request can go on."""
        self._admit()
        requests = [request for request in self.running if len(request.unread) < self.limits.max_unread]
        if not requests:
            return None
        left = self.limits.max_step_tokens - len(requests)
        tokens = []
        for request in requests:
            some = request.next_tokens(1 if self.description.by_one else 1 + left)
            left -= len(some) - 1
            tokens.append(some)
        return SchedulerStep(requests, [len(some) for some in tokens], self._feeds(requests, tokens))

    def _feeds(self, requests: Sequence[GenerationRequest], tokens: Sequence[list[int]]) -> dict[str, Any]:
        counts = np.array([len(some) for some in tokens], np.int32)
        ends = np.cumsum(counts, dtype=np.int32)
        tables = np.zeros((len(requests), self._width), np.int32)
        for row, request in enumerate(requests):
            tables[row, : len(request.blocks)] = request.blocks
        owners = np.repeat(np.arange(len(requests), dtype=np.int32), counts)
        reads = np.array([request.read for request in requests], np.int32)
        rules = [request.rules for request in requests]
        return {
            "tokens": np.array([token for some in tokens for token in some], np.int32),
            "places": np.arange(len(owners), dtype=np.int32) - (ends - counts)[owners] + reads[owners],
            "owners": owners,
            "tables": tables,
            "ends": ends - 1,
            "temperature": np.array([rule.temperature for rule in rules], np.float32),
            "top_k": np.array([rule.top_k for rule in rules], np.int32),
            "top_p": np.array([rule.top_p for rule in rules], np.float32),
            "seed": np.array([rule.seed for rule in rules], np.int64),
            "chosen": np.array([len(request.answer) for request in requests], np.int64),
        }

    def advance(self, step: SchedulerStep, chosen: Sequence[int]) -> None:
        """Takes the tokens that a step chose, a token for each of its requests. Those that have ended meanwhile take none.
        A request for which none could be chosen fails, and no other."""
        for request, count, token in zip(step.requests, step.counts, chosen):
            if request.is_ended:
                continue
            request.read += count
            if request.read < len(request.prompt):
                continue
            if token < 0:
                text = "No token can be chosen: the logits of a row are empty, or not all numbers."
                self.end(request, "error", InvalidArgumentError(text))
                continue
            if token in self.description.stop_tokens or token in request.rules.stop_tokens:
                self.end(request, "stop")
                continue
            request.answer.append(token)
            request.unread.append(token)
            if len(request.answer) >= request.rules.max_tokens:
                self.end(request, "length")
            else:
                request.wake()

    def end(self, request: GenerationRequest, reason: str, error: OpError | None = None) -> None:
        """Ends a request. Its blocks are free at once: a step that still writes them is over before the next begins."""
        if request.is_ended:
            return
        request.reason, request.error = reason, error
        if request.blocks:
            self.running.remove(request)
            self.blocks.give(request.blocks)
            request.blocks = ()
        else:
            self.queue.remove(request)
        request.alarm()
        request.wake()

    def late(self, now: float) -> list[GenerationRequest]:
        """The requests that have rested for too long, because their readers take nothing.

        Args:
            now: the time, by any clock that is the same in all calls.
        """
        late = []
        for request in self.running:
            if len(request.unread) < self.limits.max_unread:
                request.stalled = None
            elif request.stalled is None:
                request.stalled = now
            elif now - request.stalled > self.limits.unread_seconds:
                late.append(request)
        return late
