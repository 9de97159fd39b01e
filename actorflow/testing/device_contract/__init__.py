"""The contract of devices as a suite that any package can run against its own.

Without pytest, `await check(MyDevice)` runs the rules in order and raises `Broken` with the first rule that the device
does not keep. `python -m actorflow.testing.device_contract NAME` does that for a type that is installed. With pytest
each rule is a test:

    from actorflow.testing import device_contract

    @device_contract.parametrize(MyDevice)
    def test_the_contract(subject, rule):
        device_contract.run(subject, rule)

__main__.py  `python -m actorflow.testing.device_contract NAME`
memory.py    the rules on devices by themselves: names, memory, work on threads, copies to the host and back
steps.py     the rules on steps: a session on the device gives the CPU's values, keeps variables in order, and leaves nothing
subject.py   `Subject`: the type of device that is tried, devices of it, and sessions beside a CPU
"""

from __future__ import annotations

from actorflow.engine.device.base import DeviceFactory
from actorflow.testing.contract import Broken, Contract, Rule
from actorflow.testing.device_contract import memory, steps
from actorflow.testing.device_contract.subject import Subject, closing_devices

RULES: tuple[Rule[Subject], ...] = (*memory.RULES, *steps.RULES, *memory.LAST)


def _subjects(thing: DeviceFactory | Subject) -> tuple[Subject, ...]:
    return (thing,) if isinstance(thing, Subject) else (Subject(thing, thing.type),)  # type: ignore[attr-defined]


CONTRACT = Contract("device type", RULES, _subjects, closing_devices)
cases, check, parametrize, run, try_rule = (
    CONTRACT.cases,
    CONTRACT.check,
    CONTRACT.parametrize,
    CONTRACT.run,
    CONTRACT.try_rule,
)

__all__ = ["CONTRACT", "RULES", "Subject", "Rule", "Broken", "cases", "check", "parametrize", "run", "try_rule"]
