"""A mutant's trial: the tests that enter what was changed are run on it, and what came of that."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.footprints import Footprint
from mutants.mutant import Mutant
from mutants.records import Choice, choose
from mutants.server import NOT_LIVE, Server
from mutants.tree import Tree

_FAILED, _INTERRUPTED, _INTERNAL, _USAGE = 1, 2, 3, 4
_IMPORTS_BROKEN = ("ImportError while loading conftest", "Traceback (most recent call last)")
START_SECONDS = 20.0
"""So long may a run take beyond its tests' seconds, which are taken times three: the machine has other work."""
_TEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`killed_by` is the test that noticed, or another word on how it was noticed; None for a survivor."""

    mutant: Mutant
    killed_by: str | None
    why: str
    tests: int
    seconds: float


def try_out(tree: Tree, mutant: Mutant, footprints: Sequence[Footprint], most_seconds: float) -> Verdict:
    """Shows a mutant to the tests. Raises RuntimeError where these could not be run."""
    choice = choose(footprints, mutant.file, mutant.function, most_seconds)
    if not choice.tests:
        return Verdict(mutant, None, "no test enters the file", 0, 0.0)
    path = tree.root / mutant.file
    limits = {test: _TEST_SECONDS + 4 * seconds for test, seconds in choice.tests.items()}
    server = tree.server(sorted({one.test.partition("::")[0] for one in footprints}))
    begin = time.monotonic()
    original = tree.source(mutant.file)
    limit = START_SECONDS + 3 * choice.seconds
    while True:
        with tree.mutated(mutant):
            answer = server.ask(path, original, mutant.source, limits, limit)
            if answer["status"] == NOT_LIVE:
                killed_by, why = _by_itself(tree, choice, limits, limit + START_SECONDS)
                break
        if answer["status"] is None:
            killed_by, why = "the time limit", "the tests did not end"
            break
        killed_by, why = answer.get("test"), answer.get("why", "")
        if killed_by not in limits or _passes(server, path, original, killed_by, limits):
            break
        del limits[killed_by]  # it fails on the source as it is, now and then at least
    return Verdict(mutant, killed_by, why, len(choice.tests), time.monotonic() - begin)


def _passes(server: Server, path: Path, source: str, test: str, limits: Mapping[str, float]) -> bool:
    answer = server.ask(path, source, source, {test: limits[test]}, START_SECONDS + limits[test])
    return bool(answer["status"] == 0)


def _by_itself(tree: Tree, choice: Choice, limits: Mapping[str, float], limit: float) -> tuple[str | None, str]:
    """Runs the tests in a new interpreter."""
    asked = tree.root.parent / "asked"
    log, failed = asked.with_suffix(".log"), asked.with_suffix(".failed")
    asked.write_text(json.dumps(limits), encoding="utf-8")
    failed.unlink(missing_ok=True)
    status = tree.pytest(["-x", *choice.files], limit, log, FOOTPRINTS_RUN=str(asked))
    return _cause(status, log, failed)


def _cause(status: int | None, log: Path, failed: Path) -> tuple[str | None, str]:
    text = log.read_text(encoding="utf-8", errors="replace")
    if status == 0:
        return None, ""
    if failed.exists():
        found = json.loads(failed.read_text(encoding="utf-8"))
        return found["test"], "; ".join(found["why"])
    if status is None:
        return "the time limit", "the tests did not end"
    if status < 0:
        return "a crash", f"signal {-status}"
    if status in (_FAILED, _INTERRUPTED, _INTERNAL, _USAGE) and any(word in text for word in _IMPORTS_BROKEN):
        return "the import", text.strip().splitlines()[-1]
    if status == _FAILED and "Timeout" in text:
        return "a test's time limit", "a test did not end"
    if status in (_FAILED, _INTERRUPTED):
        return "collecting", text.strip().splitlines()[-1]
    raise RuntimeError(f"pytest could not run ({status}):\n{text[-2000:]}")
