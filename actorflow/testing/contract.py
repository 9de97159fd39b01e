"""`Contract`: promises that others' packages can test of what they bring, and the first promise that is broken.

A rule is an asynchronous function of the subject that it tries; its docstring is the promise. The contracts of transports,
devices and checkpoint formats are made of it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio

from actorflow.errors import OpError

S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
SECONDS = 50.0
"""The longest that anything which ought to happen may take."""


class Broken(AssertionError):
    """A rule of a contract is not kept."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """One promise of a contract.

    Args:
        name: of its function.
        promise: it in a sentence.
        run: tries it. Raises what shows that it is broken.
        applies: whether a subject of this kind has to keep it.
    """

    name: str
    promise: str
    run: Callable[[S], Awaitable[None]]
    applies: Callable[[S], bool]

    def __str__(self) -> str:
        return self.name


def rule(applies: Callable[[Any], bool] = lambda subject: True) -> Callable[[Callable[[S], Awaitable[None]]], Rule[S]]:
    """Makes a rule of a function, whose docstring is the promise."""

    def decorate(run: Callable[[S], Awaitable[None]]) -> Rule[S]:
        return Rule(run.__name__, " ".join((run.__doc__ or "").split()), run, applies)

    return decorate


@dataclass(frozen=True, slots=True)
class Contract(Generic[S]):
    """The rules for one kind of thing.

    Args:
        what: the kind, such as "transport".
        rules: from what the others need to what needs the others: the first broken rule is the rule to mend.
        subjects_of: what one thing, or a subject that was made by hand, is tried as.
        around: a block in which each rule is tried, which closes what the rule left open.
    """

    what: str
    rules: Sequence[Rule[S]]
    subjects_of: Callable[[Any], Sequence[S]]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext

    def cases(self, *things: Any) -> list[tuple[S, Rule[S]]]:
        """Each thing with each rule that it has to keep."""
        subjects = [subject for thing in things for subject in self.subjects_of(thing)]
        return [(subject, rule) for subject in subjects for rule in self.rules if rule.applies(subject)]

    async def try_rule(self, subject: S, rule: Rule[S]) -> None:
        """Tries one rule. Raises Broken, which names the subject and the rule."""
        with self.around():
            try:
                await rule.run(subject)
            except Exception as error:
                what = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
                raise Broken(
                    f"The {self.what} {subject} breaks the rule {rule.name}:\n  {rule.promise}\nIt was found that {what}"
                ) from error

    async def check(self, *things: Any) -> int:
        """Tries all rules in order, and gives how many were kept. Raises Broken for the first rule that is not."""
        cases = self.cases(*things)
        for subject, rule in cases:
            await self.try_rule(subject, rule)
        return len(cases)

    def run(self, subject: S, rule: Rule[S]) -> None:
        """`try_rule` on an event loop of its own, for tests without `async`."""
        anyio.run(self.try_rule, subject, rule)

    def parametrize(self, *things: Any) -> Any:
        """A decorator of pytest's for a test with the arguments `subject` and `rule`."""
        import pytest  # which only tests need

        return pytest.mark.parametrize(
            ("subject", "rule"), [pytest.param(*case, id=f"{case[0]}-{case[1]}") for case in self.cases(*things)]
        )

    def main(self, module: str, find: Callable[[str], Any]) -> int:
        """The command `python -m MODULE NAME`: 0 where what is installed by that name keeps all rules, else 1."""
        parser = argparse.ArgumentParser(prog=f"python -m {module}")
        parser.add_argument("name", help=f"the name of a {self.what} that is installed")
        name = parser.parse_args().name
        try:
            count = anyio.run(self.check, find(name))
        except (Broken, OpError) as error:
            print(error, file=sys.stderr)
            return 1
        print(f"The {self.what} {name} keeps all rules ({count} trials).")
        return 0


# ---- what bodies of rules are written with


async def got(work: Awaitable[T]) -> T:
    """The result of `work`. Raises Broken where that takes too long."""
    with anyio.move_on_after(SECONDS):
        return await work
    raise Broken(f"nothing came within {SECONDS:g} s")


async def until(condition: Callable[[], object], what: str) -> None:
    """Lets the loop turn until `condition` is true, which `what` says in words."""
    with anyio.move_on_after(SECONDS):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.001)
        return
    raise Broken(f"within {SECONDS:g} s it did not come about that {what}")


@contextmanager
def raises(kind: type[E] | tuple[type[E], ...], pattern: str = "") -> Iterator[None]:
    """The block raises an error of `kind` whose text has `pattern`."""
    expected = kind.__name__ if isinstance(kind, type) else " or ".join(error_type.__name__ for error_type in kind)
    try:
        yield
    except kind as error:
        if not re.search(pattern, str(error)):
            raise Broken(f"the {type(error).__name__} says {str(error)!r}, which has no {pattern!r}") from error
        return
    except Exception as error:
        raise Broken(f"{expected} was expected, but {type(error).__name__} was raised: {error}") from error
    raise Broken(f"{expected} was expected, but nothing was raised")


def same(actual: object, expected: object, what: str) -> None:
    """Raises Broken unless the two are equal."""
    if actual != expected:
        raise Broken(f"{what}: {_short(actual)} was found, but {_short(expected)} expected")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."
