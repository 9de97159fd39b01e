"""The waits of operations on a queue or barrier, in words."""

from __future__ import annotations

from actorflow.engine.runtime.diagnostics.waits import Users, Wait, behind, several

from .barrier import BarrierCore
from .core import QueueAttempt, QueueCore, QueueTake

_FILL = ("QueueEnqueueV2", "QueueEnqueueManyV2")
_DRAIN = ("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2", "ReaderReadV2", "ReaderReadUpToV2")
_FILLED: Users = (("filled by", _FILL), ("drained by", _DRAIN))
_DRAINED: Users = (("drained by", _DRAIN), ("filled by", _FILL))
_COMPLETED: Users = (("completed by", ("BarrierInsertMany",)), ("drained by", ("BarrierTakeMany",)))


def wait_at(core: QueueCore, attempt: QueueAttempt) -> Wait:
    """The thing for which `attempt` waits."""
    before = behind(core.before(attempt))
    if isinstance(attempt, QueueTake):
        what = f"waits for {several(attempt.count, 'element')} of {_named(core)}"
        users = _COMPLETED if isinstance(core, BarrierCore) else _FILLED
        has = f"; it has {attempt.taken} of them" if attempt.taken else ""
        return Wait(f"{what}, which is {_state(core)}{has}{before}", core.name, users)
    return Wait(
        f"waits for {'room' if attempt.adds else 'its turn'} in {_named(core)}, which is {_state(core)}{before}",
        core.name,
        _DRAINED,
    )


def _named(core: QueueCore) -> str:
    name = str(core)
    return name[0].lower() + name[1:]


def _state(core: QueueCore) -> str:
    """Its size, capacity, and whether it is closed."""
    size, limit = len(core), core.capacity
    facts = [f"{size} of {limit} elements" if limit < float("inf") else _count(size, "element")]
    if isinstance(core, BarrierCore):
        facts = [f"{_count(size, 'complete element')}, {core.incomplete} incomplete"]
    if kept := size - core.store.available(core.closed):
        facts.append(f"{kept} of them stay behind")
    facts.append("closed" if core.closed else "open")
    state = "full" if size >= limit else "not full" if size else "empty"
    return f"{state} ({', '.join(facts)})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
