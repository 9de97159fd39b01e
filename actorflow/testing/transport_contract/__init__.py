"""The contract of transports as a suite that any package can run against its own.

Without pytest, `await check(STREAMS)` runs the rules in order and raises `Broken` with the first one that the transport does not
keep; `python -m actorflow.testing.transport_contract NAME` does that for one that is installed. With pytest each rule is a test:

    from actorflow.testing import transport_contract

    @transport_contract.parametrize(STREAMS)
    def test_the_contract(subject, rule):
        transport_contract.run(subject, rule)

ends.py      the rules on beginnings and ends: who may come in, how a channel ends, and that nothing is left of it
__main__.py  `python -m actorflow.testing.transport_contract NAME`
steps.py     the rules on steps, epochs and messages: what is over is over at both ends, and nothing of it is kept
subject.py   `Subject`: the transport that is tried, and pairs of its endpoints; `Rule`, and what the bodies of rules use
tokens.py    the rules on tokens: tensors arrive as they were sent, once, each for the one who waits for it
"""

from __future__ import annotations

from typing import Any

import anyio

from actorflow.testing.transport_contract import ends, steps, tokens
from actorflow.testing.transport_contract.subject import ARENAS, Broken, Rule, Subject
from actorflow.transport.factory import Arena, TransportFactory

RULES: tuple[Rule, ...] = (*ends.FIRST, *tokens.RULES, *steps.RULES, *ends.LAST)
"""From what the others need to what needs the others: the first that is broken is the one to mend."""


def subjects_of(factory: TransportFactory) -> tuple[Subject, ...]:
    """A transport in all the ways in which the core uses it: without and with keys, without and with an arena."""
    found = [Subject(factory)]
    if factory.make_keys is not None:
        found.append(Subject(factory, f"{factory.name} with keys", keys=factory.make_keys()))
    if factory.make_arena is not None:
        found.append(Subject(factory, f"{factory.name} with an arena", arena_bytes=64 << 20))
    return tuple(found)


def cases(*transports: TransportFactory | Subject) -> list[tuple[Subject, Rule]]:
    """Each transport with each rule that it has to keep."""
    subjects = [one for made in transports for one in ([made] if isinstance(made, Subject) else subjects_of(made))]
    return [(subject, rule) for subject in subjects for rule in RULES if rule.applies(subject)]


async def try_rule(subject: Subject, rule: Rule) -> None:
    """Tries one rule. Raises Broken, which names the transport and the rule."""
    arenas: list[Arena] = []
    former = ARENAS.set(arenas)
    try:
        await rule.run(subject)
    except Exception as error:
        what = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
        raise Broken(
            f"The transport {subject} breaks the rule {rule.name}:\n  {rule.promise}\nIt was found that {what}"
        ) from error
    finally:
        ARENAS.reset(former)
        for arena in arenas:
            arena.close()


async def check(*transports: TransportFactory | Subject) -> int:
    """Tries all rules in order, and gives how many were kept. Raises Broken for the first one that is not."""
    found = cases(*transports)
    for subject, rule in found:
        await try_rule(subject, rule)
    return len(found)


def run(subject: Subject, rule: Rule) -> None:
    """`try_rule` on an event loop of its own, for tests without `async`."""
    anyio.run(try_rule, subject, rule)


def parametrize(*transports: TransportFactory | Subject) -> Any:
    """A decorator of pytest's for a test with the arguments `subject` and `rule`."""
    import pytest  # which only tests need

    return pytest.mark.parametrize(
        ("subject", "rule"), [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in cases(*transports)]
    )


__all__ = [
    "RULES", "Subject", "Rule", "Broken",
    "cases", "check", "parametrize", "run", "subjects_of", "try_rule",
]  # fmt: skip
