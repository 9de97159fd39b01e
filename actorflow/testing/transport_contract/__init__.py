"""The contract of transports as a suite that any package can run against its own.

Without pytest, `await check(STREAMS)` runs the rules in order and raises `Broken` with the first rule that the
transport does not keep. `python -m actorflow.testing.transport_contract NAME` does that for an installed transport.
With pytest each rule is a test:

    from actorflow.testing import transport_contract

    @transport_contract.parametrize(STREAMS)
    def test_the_contract(subject, rule):
        transport_contract.run(subject, rule)

ends.py      the rules on beginnings and ends: who may come in, how a channel ends, and that nothing is left of it
__main__.py  `python -m actorflow.testing.transport_contract NAME`
steps.py     the rules on steps, epochs and messages: what is over is over at both ends, and nothing of it is kept
subject.py   `Subject`: the transport that is tried, and pairs of its endpoints
tokens.py    the rules on tokens: tensors arrive as they were sent, once, each for the task that waits for it
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from actorflow.engine.transport.factory import Arena, TransportFactory
from actorflow.testing.contract import Broken, Contract, Rule
from actorflow.testing.transport_contract import ends, steps, tokens
from actorflow.testing.transport_contract.subject import ARENAS, Subject

RULES: tuple[Rule[Subject], ...] = (*ends.FIRST, *tokens.RULES, *steps.RULES, *ends.LAST)
"""From what the others need to what needs the others: the first broken rule is the rule to mend."""


def subjects_of(factory: TransportFactory) -> tuple[Subject, ...]:
    """A transport in all the ways in which the core uses it: without and with keys, without and with an arena."""
    subjects = [Subject(factory)]
    if factory.make_keys is not None:
        subjects.append(Subject(factory, f"{factory.name} with keys", keys=factory.make_keys()))
    if factory.make_arena is not None:
        subjects.append(Subject(factory, f"{factory.name} with an arena", arena_bytes=64 << 20))
    return tuple(subjects)


def _subjects(thing: TransportFactory | Subject) -> tuple[Subject, ...]:
    return (thing,) if isinstance(thing, Subject) else subjects_of(thing)


@contextmanager
def _closing_arenas() -> Iterator[None]:
    arenas: list[Arena] = []
    former = ARENAS.set(arenas)
    try:
        yield
    finally:
        ARENAS.reset(former)
        for arena in arenas:
            arena.close()


CONTRACT = Contract("transport", RULES, _subjects, _closing_arenas)
cases, check, parametrize, run, try_rule = (
    CONTRACT.cases,
    CONTRACT.check,
    CONTRACT.parametrize,
    CONTRACT.run,
    CONTRACT.try_rule,
)

__all__ = [
    "CONTRACT", "RULES", "Subject", "Rule", "Broken",
    "cases", "check", "parametrize", "run", "subjects_of", "try_rule",
]  # fmt: skip
