"""`RunningPipeline`: the stages of a pipeline that is served."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

import anyio

from actorflow.frontends.serving.pipelines.consumers import Consumer
from actorflow.frontends.serving.pipelines.stage import PipelineStage
from actorflow.frontends.serving.plugin import Gauge

_COLUMNS = ("stage", "waiting", "running", "steps", "rows", "rows by step", "ms by step", "failed", "restarts")


class RunningPipeline:
    """The stages and consumers of a pipeline, as the part of a served model that a plug-in would have.

    Args:
        stages: the stages by name.
        consumers: what takes the elements of queues.
        closed: is called when all of them are closed.
    """

    def __init__(
        self,
        stages: Mapping[str, PipelineStage],
        consumers: Sequence[Consumer],
        closed: Callable[[RunningPipeline], None],
    ) -> None:
        self.stages, self.consumers, self._closed = dict(stages), list(consumers), closed
        self._loop = asyncio.get_running_loop()

    @property
    def has_ended(self) -> bool:
        """Whether its event loop has ended, on which alone it can be closed."""
        return self._loop.is_closed()

    @property
    def _every(self) -> list[PipelineStage | Consumer]:
        return [*self.stages.values(), *self.consumers]

    async def open(self) -> None:
        """Opens all workers. Raises what the first of them raises that can't be opened; then none is open."""
        try:
            for each in self._every:
                await each.open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise

    async def drain(self) -> None:
        """Waits until the queues are empty, for some seconds; requests wait for their stages themselves."""
        await asyncio.gather(*[consumer.drain() for consumer in self.consumers])

    async def close(self) -> None:
        """Ends the requests in stages, empties the queues, and closes all workers, also where some of them fail."""
        try:
            ends = [await _outcome(stage.close()) for stage in self.stages.values()]
            ends += await asyncio.gather(*[_outcome(consumer.close()) for consumer in self.consumers])
        finally:
            self._closed(self)
        for error in ends:
            if error is not None:
                raise error

    def says(self) -> str:
        """Its stages, in a line."""
        names = [*self.stages, *[f"{consumer.name} (behind a queue)" for consumer in self.consumers]]
        return f"stages: {', '.join(names)}"

    def gauges(self) -> Iterator[Gauge]:
        """The figures of each stage, for `/metrics`."""
        for each in self._every:
            for name, text in (
                ("waiting", "Requests, or elements of a queue, that wait for a stage of a pipeline."),
                ("running", "Steps of a stage that run; rows, behind a queue."),
                ("steps", "Steps of a stage since the pipeline was opened."),
                ("rows", "Rows that went through a stage."),
                ("failed", "Requests that failed in a stage; elements, behind a queue."),
                ("restarts", "Restarts of a stage."),
            ):
                yield Gauge(f"pipeline_stage_{name}", text, getattr(each, name), each.name)

    def table(self) -> Sequence[Sequence[str]]:
        """The figures of each stage, as rows of texts below a row of headings."""
        rows: list[Sequence[str]] = [_COLUMNS]
        for each in self._every:
            steps = max(each.steps, 1)
            counts = (each.waiting, each.running, each.steps, each.rows)
            means = (f"{each.rows / steps:.1f}", f"{each.seconds / steps * 1e3:.2f}")
            rows.append((each.name, *map(str, counts), *means, str(each.failed), str(each.restarts)))
        return rows


async def _outcome(work: Awaitable[None]) -> Exception | None:
    """The error of some work, if there is any."""
    try:
        await work
    except Exception as error:
        return error
    return None
