"""`PreparedSignature`: a signature as `run` needs it, and the plan for each value of the predicates that it feeds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.session.engine import Engine
from actorflow.engine.session.planning.predicates import MOST_PLANS, Given, all_given
from actorflow.graph.node import TensorId
from actorflow.graph.structure.feeds import Feed
from actorflow.graph.structure.fetches import Fetches


@dataclass(slots=True)
class PreparedSignature:
    """A signature that was parsed.

    plan: the one plan, where no predicate is fed; else None.
    plans: those for values of `predicates`.
    """

    fetches: Fetches
    feeds: tuple[Feed, ...]
    signature: RunSignature
    coalesce: bool
    spread: bool
    """Whether a value is fed to several tensors."""
    predicates: tuple[TensorId, ...]
    plan: Any = None
    plans: dict[Given, Any] = field(default_factory=dict)

    async def plan_for(self, now: Given, engine: Engine) -> Any:
        """The plan for the values that predicates have now, or the plan for all values if there are many."""
        if len(self.plans) >= MOST_PLANS:
            now = (None,) * len(now)
        constants = {e: value for e, value in zip(self.predicates, now) if value is not None}
        plan = self.plans[now] = await engine.plan(replace(self.signature, given=constants), coalesce=self.coalesce)
        return plan

    async def all_plans(self, engine: Engine) -> Any:
        """Makes the plans for all values. Gives the plan for any values."""
        if self.plan is not None:
            return self.plan
        for now in all_given(self.predicates):
            await self.plan_for(now, engine)
        return await self.plan_for((None,) * len(self.predicates), engine)
