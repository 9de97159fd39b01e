"""`PlacementTrial`: steps run by the present placement and by the result of a search, in turns, until a sign test decides.

Only the program's own steps run: another run of a training step would train. Each pair of steps of one signature, in an order
that is drawn, is one comparison; under equal placements it goes either way as a coin does.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import comb
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.engine import Engine
from actorflow.engine.session.planning.planner import SearchReport
from actorflow.errors import OpError, UnavailableError
from actorflow.graph.node import TensorId
from actorflow.public import public

_WARM = 12
"""The steps by each plan that don't count: kernels are timed, and go to threads or not, and variables become constants."""
_LOOKS = (10, 14, 20, 30)
"""The numbers of pairs after which the trial is judged."""
_CHANCE = 0.0125
"""How likely equal placements may be to look so different at one of the looks."""

NOTHING_BEGUN = "Nothing of the step had begun."
"""A line of the error of a step whose tasks were not reached: it may run in another way."""
_LOST = "The master was lost, and the placement on trial with it."


def sign_test(wins: int, pairs: int) -> float:
    """The probability of at least `wins` wins where each pair is won by chance.

    Example:
        >>> from actorflow.engine.session.planning.trial import sign_test
        >>> sign_test(10, 10)
        0.000977
    """
    return float(sum(comb(pairs, k) for k in range(wins, pairs + 1)) / 2**pairs)


@dataclass(slots=True)
class _SignatureSteps:
    """The steps of one signature. `twin` is the plan by the placement on trial, once it is made."""

    plan: Any
    twin: Any = None
    drawn: int = 0
    order: list[bool] = field(default_factory=list)
    took: dict[int, dict[bool, float]] = field(default_factory=dict)


@public("af")
class PlacementTrial:
    """The result of `await session.replan(search=seconds)`: the search's findings, and the trial of its placement.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> y = af.reduce_sum(x * x)
        >>> async with af.Session(devices={"CPU": 2}) as session:
        ...     _ = await session.run(y, {x: [1.0, 2.0]})
        ...     trial = await session.replan(search=0.01)
        ...     print(trial.report.found <= trial.report.present)
        True

    Attributes:
        report: the search: the simulated seconds of the step before (`present`) and after (`found`), the `bound` that no
            placement goes below, the number of `trials`, and more.
        verdict: what became of the placement, as text.
        adopted: whether it is in force now; None while the trial goes on.
        pairs: the number of pairs of steps that were compared.
        wins: the number of those in which the new placement was faster.

    Args:
        engine: runs the steps; its `run` is this object's until the trial is over.
        report: the search.
        adopt: is called when the new placement is in force.
    """

    def __init__(self, engine: Engine, report: SearchReport, adopt: Callable[[], None]) -> None:
        self.report = report
        self.verdict = report.text
        self.adopted: bool | None = None if report.better else False
        self.pairs = self.wins = 0
        self._engine = engine
        self._run = engine.run
        self._adopt = adopt
        self._turns: dict[int, _SignatureSteps] = {}
        self._chance = random.Random(report.seed)
        self._over = asyncio.Event()
        self._root = BackgroundTasks()
        if report.better:
            engine.run = self._step
        else:
            self._over.set()

    __reduce_ex__ = unpicklable(
        "The trial of a placement belongs to its session and is not pickled: hand over its `verdict`."
    )

    def __repr__(self) -> str:
        return f"<actorflow.PlacementTrial: {self.wins} of {self.pairs} pairs won; {self.verdict}>"

    async def done(self) -> bool:
        """Waits until it is decided, which takes some twenty to sixty steps of the program; gives `adopted`.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> y = af.reduce_sum(x * x)
            >>> async with af.Session(devices={"CPU": 2}) as session:
            ...     _ = await session.run(y, {x: [1.0, 2.0]})
            ...     trial = await session.replan(search=0.01)
            ...     await trial.close()
            ...     print(await trial.done())
            False
        """
        await self._over.wait()
        return bool(self.adopted)

    async def close(self) -> None:
        """Ends a trial that is not decided, and puts the former placement back.

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> y = af.reduce_sum(x * x)
            >>> async with af.Session(devices={"CPU": 2}) as session:
            ...     _ = await session.run(y, {x: [1.0, 2.0]})
            ...     trial = await session.replan(search=0.01)
            ...     await trial.close()
        """
        if self.adopted is None:
            self._decide(False, "The trial was ended before it was decided; the former placement is back.")
        if not self._root.closed:
            await self._over.wait()
            await self._root.close()

    async def _step(
        self,
        plan: Any,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        begun: float | None = None,
    ) -> list[Any]:
        """A step of the program, by the one plan or by the other."""
        turns = self._turns.get(id(plan)) or self._first_seen(plan)
        if turns.twin is None or trace is not None or self.adopted is not None:
            return await self._run(plan, feeds, timeout, trace, begun)
        number, is_new = self._drawn(turns)
        clock = asyncio.get_running_loop().time
        since = clock()
        try:
            result = await self._run(turns.twin if is_new else plan, feeds, timeout, trace, begun)
        except Exception as error:
            if not is_new or self.adopted is not None:
                raise
            self._decide(False, f"A step failed by it: {error!s:.200}. The former placement is back.")
            if isinstance(error, UnavailableError) and NOTHING_BEGUN in error.details:
                # A task is lost that the new one alone may need.
                return await self._run(plan, feeds, timeout, trace, begun)
            if isinstance(error, OpError):
                error.add_note("The step ran by a placement on trial; the former placement is back.")
            raise
        turns.took.setdefault(number, {})[is_new] = clock() - since
        if number >= _WARM and len(turns.took[number]) == 2 and self.adopted is None:
            self._compare(turns.took.pop(number))
        return result

    def _first_seen(self, plan: Any) -> _SignatureSteps:
        turns = self._turns[id(plan)] = _SignatureSteps(plan)
        signature = self._engine.asked(plan)
        if signature is not None:
            self._root.start(self._prepare(turns, *signature))
        return turns

    async def _prepare(self, turns: _SignatureSteps, signature: Any, coalesce: bool) -> None:
        try:
            turns.twin = await self._engine.plan(signature, coalesce=coalesce, trial=True)
        except OpError as error:
            if self.adopted is None:
                self._decide(False, f"It can't be planned: {error!s:.200}. The former placement stays.")

    def _drawn(self, turns: _SignatureSteps) -> tuple[int, bool]:
        """The number of the next step's pair, and whether it runs by the new placement."""
        number = turns.drawn // 2
        turns.drawn += 1
        if not turns.order:
            first = self._chance.random() < 0.5
            turns.order = [not first, first]
        return number, turns.order.pop()

    def _compare(self, took: Mapping[bool, float]) -> None:
        self.pairs += 1
        self.wins += took[True] < took[False]
        if self.pairs not in _LOOKS:
            return
        score = f"{self.wins} of {self.pairs} steps were faster by it than those beside them"
        if sign_test(self.wins, self.pairs) <= _CHANCE:
            self._decide(True, f"It is in force: {score}.")
        elif self.pairs == _LOOKS[-1] or self.wins * 2 < self.pairs:
            self._decide(False, f"It was put back: {score}.")

    def _decide(self, adopt: bool, verdict: str) -> None:
        self.adopted, self.verdict = adopt, verdict
        self._engine.run = self._run
        get_logger("placement").info("the trial of a placement is over", adopted=adopt, verdict=verdict)
        if self._root.start(self._settle(adopt, verdict)) is None:
            self._over.set()

    async def _settle(self, adopt: bool, verdict: str) -> None:
        try:
            if await self._engine.settle(adopt, verdict):
                self._adopt()
            elif adopt:
                self.adopted, self.verdict = False, _LOST
        except OpError:
            self.adopted, self.verdict = False, _LOST
        finally:
            self._turns.clear()
            self._over.set()
