"""`PlacementStudy`: a step, its devices and a placement."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from actorflow.engine.placement.search.apart import search_apart
from actorflow.engine.placement.search.codec import decode_problem, encode_problem
from actorflow.engine.placement.search.problem import SearchProblem, SearchResult
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.search.searched import described
from actorflow.engine.placement.search.starts import starts
from actorflow.engine.placement.search.timelines import lines, svg
from actorflow.engine.placement.simulation.link_costs import LinkCost
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.study.comparison import MeasuredStep, StepComparison, compare
from actorflow.engine.placement.study.what_if import bandwidth_of, with_links, with_workers
from actorflow.errors import DataLossError, InvalidArgumentError
from actorflow.public import public

T = TypeVar("T")
_MAGIC = b"actorflow placement study 2\n"


@public("af")
@dataclass(frozen=True)
class PlacementStudy:
    """A step, the devices and a placement, as plain data: what the step is expected to take, here and on other machines.

    `await session.study_placement()` gives the study of the steps that run most. Nothing that is asked of it runs a step.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> y = af.reduce_sum(x * x)
        >>> async with af.Session(devices={"CPU": 2}) as session:
        ...     _ = await session.run(y, {x: [1.0, 2.0]})
        ...     study = await session.study_placement()  # as text it has the step's length, and how busy each device is
        ...     better = study.search(0.01)  # seconds; better.what_if(bandwidth="10Gb/s") has other links
        ...     print(better.seconds <= study.seconds)
        True

    Args:
        problem: what is placed: costs, devices, and which device each group may have.
        result: the search that has found the placement, if a search has.
    """

    problem: SearchProblem
    result: SearchResult | None = None
    _computed: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """The simulated length of the step."""
        return self.timeline.seconds

    @property
    def bound(self) -> float:
        """The seconds that no placement goes below."""
        return min(self._simulator.bound, self.seconds)

    @property
    def timeline(self) -> StepTimeline:
        """The simulated step: when each node begins and ends."""
        return self._kept("timeline", lambda: self._simulator.run(self._at))

    @property
    def _simulator(self) -> Simulator:
        problem = self.problem
        return self._kept("simulator", lambda: Simulator(problem.work, problem.machine, problem.grouping.group))

    @property
    def _at(self) -> Sequence[int]:
        """The placement in force, or else the greedy placement."""
        return self.problem.present or next(at for name, at in starts(self.problem) if name == "greedy")

    def _kept(self, name: str, compute: Callable[[], T]) -> T:
        if name not in self._computed:
            self._computed[name] = compute()
        return cast(T, self._computed[name])

    def placement(self) -> dict[str, str]:
        """The device of each node.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> y = af.reduce_sum(x, name="y")
            >>> _ = await session.run(y, {x: [1.0, 2.0]})
            >>> (await session.study_placement()).placement()["y"]
            '/job:localhost/replica:0/task:0/device:CPU:0'
        """
        names, group = self.problem.machine.names, self.problem.grouping.group
        return {node: names[self._at[g]] for node, g in zip(self.problem.work.names, group)}

    def search(self, seconds: float = 10.0, *, seed: int = 0, trials: int | None = None) -> PlacementStudy:
        """The same step as the best placement has it that a search finds; it is never slower. Blocks.

        Args:
            seconds: how long to search, in a process of its own.
            seed: of the search's random numbers.
            trials: how many placements to simulate, in place of seconds.

        Raises:
            ResourceExhaustedError: no placement that it tries fits into the devices' memory.
        """
        if trials is not None:
            result = search(self.problem, trials=trials, seed=seed)
        else:
            result = search_apart(self.problem, seconds, seed=seed)
        return PlacementStudy(replace(self.problem, present=list(result.at)), result)

    def what_if(
        self, *, workers: int = 0, bandwidth: float | str | None = None, latency: float | None = None
    ) -> PlacementStudy:
        """The same step on another machine. The placement stays; `search` finds a placement that makes use of the change.

        Args:
            workers: how many more tasks there are, each on a host of its own with a device like the last device.
            bandwidth: of the links between tasks, in bytes a second or as "10Gb/s".
            latency: of the links between tasks, in seconds.

        Raises:
            ValueError: a number is negative, or no bandwidth.
        """
        if workers < 0 or (latency is not None and latency < 0):
            raise ValueError("workers and latency are 0 or more.")
        problem = replace(self.problem, present=list(self._at))
        rate = None if bandwidth is None else bandwidth_of(bandwidth)

        def changed(link: LinkCost) -> LinkCost:
            link = link if rate is None else replace(link, bandwidth=rate)
            return link if latency is None else replace(link, latency=latency)

        problem = with_links(problem, changed)
        return PlacementStudy(with_workers(problem, workers) if workers else problem)

    def compare(self, trace: MeasuredStep) -> StepComparison:
        """The step beside a measured step, with what each node on its way to the end adds to the difference.

        A traced step is a little slower than others: its threads ask the event loop after each kernel.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> y = af.reduce_sum(x)
            >>> trace = af.Trace(detail="plan")
            >>> for trace_of in [None, trace]:
            ...     _ = await session.run(y, {x: [1.0, 2.0]}, trace=trace_of)
            >>> comparison = (await session.study_placement()).compare(trace)

        Args:
            trace: of one run, made with `detail="plan"`, as untraced steps run.

        Raises:
            ValueError: the trace has no events.
        """
        return compare(self.problem, self.timeline, trace)

    def __str__(self) -> str:
        texts = lines(self.problem, self.timeline, "the step")
        texts.append(f"No placement takes less than {self.bound * 1e3:.4g} ms.")
        return "\n".join(texts if self.result is None else [*texts, described(self.result)])

    def svg(self, *others: PlacementStudy, titles: Sequence[str] = ()) -> str:
        """The timeline as a picture, with those of other studies below it on the same scale. Nodes on the critical path are red.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> _ = await session.run(af.reduce_sum(x), {x: [1.0, 2.0]})
            >>> study = await session.study_placement()
            >>> study.svg(study.what_if(bandwidth="10Gb/s"), titles=["now", "slower links"])[:4]
            '<svg'

        Args:
            others: the studies whose timelines are drawn below.
            titles: of the timelines.
        """
        names = [*titles, *(f"step {k}" for k in range(len(titles), len(others) + 1))]
        return svg([(name, study.problem, study.timeline) for name, study in zip(names, (self, *others))])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the step, the devices and the placement to a file, for `load` and for `actorflow place`.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> _ = await session.run(af.reduce_sum(x), {x: [1.0, 2.0]})
            >>> (await session.study_placement()).save("step.study")
        """
        Path(path).write_bytes(_MAGIC + encode_problem(replace(self.problem, present=list(self._at))))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PlacementStudy:
        """The study that `save` has written.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> _ = await session.run(af.reduce_sum(x), {x: [1.0, 2.0]})
            >>> study = await session.study_placement()
            >>> study.save("step.study")
            >>> af.PlacementStudy.load("step.study").placement() == study.placement()
            True

        Raises:
            InvalidArgumentError: the file is something else.
            DataLossError: the file is damaged.
        """
        content = Path(path).read_bytes()
        if not content.startswith(_MAGIC):
            raise InvalidArgumentError(
                f"{os.fspath(path)} is no study of a placement.", hint="PlacementStudy.save writes one."
            )
        try:
            return cls(decode_problem(content[len(_MAGIC) :]))
        except Exception as error:
            raise DataLossError(f"{os.fspath(path)} is damaged: {error}") from error
