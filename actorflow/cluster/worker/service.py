"""`WorkerService`: the requests of masters to the worker of a task, each decoded and handed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack

from actorflow.cluster.remote_step import begin_step, in_span, serve_partial_step, serve_step
from actorflow.cluster.wire.failures import decode_error
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import (
    AbortStep,
    AskCopies,
    AskState,
    Costs,
    DropState,
    LinkTraffic,
    Pending,
    Recent,
    Record,
    Register,
    Release,
    Reset,
    RunPart,
    StepWaits,
)
from actorflow.cluster.wire.rpc import Handler
from actorflow.cluster.worker.task_partition import check_partition, decode_partition
from actorflow.cluster.worker.worker import Worker
from actorflow.engine.placement.measuring import encode_observed
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.errors import AlreadyExistsError


class WorkerService:
    """Answers masters for `worker`. A part that is registered over a link belongs to that link, and ends with it."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def handlers(self, link: TaskLink) -> Mapping[str, Handler]:
        """The answers on a link to a master, by method."""
        link.control.on_end(lambda error: self._worker.forget(link))

        async def register(request: Register) -> None:
            part = decode_partition(request.content)
            check_partition(part, [device.name for device in self._worker.devices])
            await self._worker.register(part, link)

        def run_part(request: RunPart) -> StepResult[Any]:
            if self._worker.is_under_way(request.step):
                raise AlreadyExistsError(f"Step {request.step} is under way here.")
            return StepResult.ended(
                lambda: begin_step(link, request, self._begin_part), lambda: self._end(request.step)
            )

        async def abort_step(request: AbortStep) -> list[str]:
            return self._worker.abort(request.step, decode_error(request.error, link.task), link)

        async def look(request: StepWaits) -> bytes:
            packed: bytes = msgpack.packb(
                [
                    [report.step, report.idle, report.lines]
                    for report in self._worker.look(request.steps, link, request.lines)
                ]
            )
            return packed

        async def release(request: Release) -> None:
            self._worker.release(request.session, link)

        async def reset(request: Reset) -> None:
            self._worker.reset(request.containers)

        async def ask_state(request: AskState) -> list[Any]:
            self._worker.leaving = request.leaving
            return [self._worker.kept(), self._worker.has_supervisor]

        async def ask_copies(request: AskCopies) -> bytes:
            packed: bytes = msgpack.packb(self._worker.copies(request.owner))
            return packed

        async def drop_state(request: DropState) -> None:
            self._worker.drop_state(request.owner, request.copies, request.variables)

        async def pending(request: Pending) -> str:
            return self._worker.pending()

        async def carried(request: LinkTraffic) -> bytes:
            packed: bytes = msgpack.packb(self._worker.links.carried())
            return packed

        async def record(request: Record) -> bytes:
            return self._worker.record(request.every, request.events)

        async def recent(request: Recent) -> bytes:
            return self._worker.recent(request.seconds)

        async def costs(request: Costs) -> bytes:
            packed: bytes = msgpack.packb(encode_observed(self._worker.observed(request.session, link)))
            return packed

        return {
            "costs": costs,
            "register": register,
            "run_part": run_part,
            "abort_step": abort_step,
            "release": release,
            "reset": reset,
            "ask_state": ask_state,
            "ask_copies": ask_copies,
            "drop_state": drop_state,
            "pending": pending,
            "look": look,
            "carried": carried,
            "record": record,
            "recent": recent,
        }

    def _begin_part(self, request: RunPart, link: TaskLink) -> StepResult[Any]:
        self._worker.check_open()
        link.check_epoch(request.epoch)
        number, step = request.part, request.step
        partition = self._worker.find(number, link)
        if partition.part.partial:
            return serve_partial_step(
                link.tokens, request, lambda caller: self._worker.run_partial(number, step, caller, link)
            )

        def run(feeds: list[Any], trace: Trace | None) -> StepResult[list[Any]]:
            return self._worker.run(number, step, feeds, request.timeout, trace, link)

        spanned = in_span(link, step, "actorflow.run_part", self._worker.links.me.task, run)
        return serve_step(link, request, partition.part.feeds, partition.forms, spanned)

    def _end(self, step: int) -> None:
        """The request of a step is answered."""
        if not self._worker.is_under_way(step):
            self._worker.drop_tokens(step)
        self._worker.finish(step)
