"""benchmarks/results/mutants.json: what was tried on which commit, and which test noticed it."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mutants.automatic import MODULES
from mutants.mutant import ROOT
from mutants.reasons import reasons
from mutants.trial import Verdict

FILE = ROOT / "benchmarks" / "results" / "mutants.json"
_KEY = ("file", "function", "was", "becomes")


def former() -> dict[str, Any]:
    """The results that were written last. Raises FileNotFoundError where nothing was."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def key_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The key of a row's mutant."""
    return tuple(row[name] for name in _KEY)


def rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Verdicts as they are written. A survivor has the reason that is given for it, or null."""
    known: Mapping[tuple[str, ...], str] = reasons()
    found = []
    for v in verdicts:
        row: dict[str, Any] = {"name": v.mutant.name, "line": v.mutant.line, **dict(zip(_KEY, v.mutant.key))}
        row["noticed_by"] = v.killed_by
        if v.killed_by is None:
            row["reason"] = known.get(v.mutant.key)
        found.append(row | {"seconds": round(v.seconds, 1)})
    return found


def save(
    planted: Sequence[dict[str, Any]],
    automatic: Sequence[dict[str, Any]],
    options: Mapping[str, Any],
    *,
    again: bool = False,
) -> None:
    """Writes the file. With `again` the rows take the places of those that it has of the same mutants."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.harness import environment
    from benchmarks.harness import stored as results

    if again:
        before = former()
        options = before["options"]
        planted, automatic = (
            _put_in(before[kind], new) for kind, new in (("planted", planted), ("automatic", automatic))
        )
    found = {
        "family": "mutants",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **environment.commit(),
        "command": shlex.join(["python", "-m", "mutants", *sys.argv[1:]]),
        "machine": {name: value for name, value in environment.machine().items() if not name.startswith("peer")},
        "options": dict(options),
        "parts": {part: _count(automatic, files) for part, files in MODULES.items()},
        "planted": list(planted),
        "automatic": list(automatic),
    }
    print(f"written to {results.save(found, FILE.parent)}")


def _put_in(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    fresh = {key_of(row): row for row in new}
    return [fresh.get(key_of(row), row) for row in old]


def _count(some: Sequence[Mapping[str, Any]], files: Sequence[str]) -> dict[str, int]:
    mine = [row for row in some if row["file"] in files]
    return {"mutants": len(mine), "noticed": sum(row["noticed_by"] is not None for row in mine)}
