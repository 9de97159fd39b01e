"""The contract of checkpoint formats as a suite that any package can run against its own.

Without pytest, `await check(Subject("mine", MINE))` runs the rules in order and raises `Broken` with the first rule
that the format does not keep. `python -m actorflow.testing.format_contract NAME` does that for an installed format.
With pytest each rule is a test:

    from actorflow.testing import format_contract

    @format_contract.parametrize(format_contract.Subject("mine", MINE))
    def test_the_contract(subject, rule):
        format_contract.run(subject, rule)

__main__.py  `python -m actorflow.testing.format_contract NAME`
rules.py     the rules: what was saved is read, no moment shows a part of it, and damage is found
subject.py   `Subject`: the format that is tried, files that forget and fail, and saves of them
"""

from __future__ import annotations

from actorflow.testing.contract import Broken, Contract, Rule
from actorflow.testing.format_contract.rules import RULES
from actorflow.testing.format_contract.subject import Subject

CONTRACT: Contract[Subject] = Contract("checkpoint format", RULES, lambda subject: (subject,))
cases, check, parametrize, run, try_rule = (
    CONTRACT.cases,
    CONTRACT.check,
    CONTRACT.parametrize,
    CONTRACT.run,
    CONTRACT.try_rule,
)

__all__ = ["CONTRACT", "RULES", "Subject", "Rule", "Broken", "cases", "check", "parametrize", "run", "try_rule"]
