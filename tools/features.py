"""Writes docs/reference/features.md from docs/features.toml.

python tools/features.py            writes the page
python tools/features.py F26 X3     prints all tests of these rows: those that the file names, and those that carry
                                    the number in their names (`test_f26_...`)
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE, PAGE = ROOT / "docs" / "features.toml", ROOT / "docs" / "reference" / "features.md"
Rows = dict[str, dict[str, Any]]

HEAD = """\
# Features

This page says what actorflow shows, and which tests show it best. `W§n` is a section of the TensorFlow white paper (2015),
`O§n` of the OSDI paper (2016). *Lacks* says what the tests don't show, or what is not there.

`make unit PYTEST_ARGS="-k f26_"` runs all tests that carry the number of F26, and `python tools/features.py F26` lists them.
`python tools/features.py` makes this page from `docs/features.toml`.
"""


def rows() -> Rows:
    """The rows of the file, in its order."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def page(found: Rows) -> str:
    """The page that these rows make."""
    missing = [name for name, row in found.items() if not row.get("tests")]
    there = f"{len(found) - len(missing)} of {len(found)} are there. Not there: {', '.join(missing)}.\n"
    parts = [HEAD, there if missing else f"All {len(found)} are there.\n"]
    for group, names in groups(found).items():
        parts.append(f"## {group}\n")
        parts += [_row(name, found[name]) for name in names]
    return "\n".join(parts)


def groups(found: Rows) -> dict[str, list[str]]:
    """The names of the rows by their groups. A row that names no group is of the group of the row before it."""
    made: defaultdict[str, list[str]] = defaultdict(list)
    group = ""
    for name, row in found.items():
        group = row.get("group", group)
        made[group].append(name)
    return made


def _row(name: str, row: dict[str, Any]) -> str:
    paper = f" ({row['paper']})" if "paper" in row else ""
    lines = [f"- `{test if test.startswith('packages/') else f'tests/{test}'}`" for test in row.get("tests", [])]
    if "lacks" in row:
        lines.append(f"- *Lacks:* {row['lacks']}" if lines else f"- *Not there.* {row['lacks']}")
    return "\n".join([f"**{name}** {row['what']}{paper}\n", *lines]) + "\n"


def tests() -> Iterator[str]:
    """All tests of the project, as `path below tests/::name`; those of another distribution as `packages/...`."""
    folder = ROOT / "tests"
    for path in [*sorted(folder.rglob("*.py")), *sorted(ROOT.glob("packages/*/tests/*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                yield f"{path.relative_to(folder if path.is_relative_to(folder) else ROOT)}::{node.name}"


def numbers(test: str) -> list[str]:
    """The rows whose numbers a test carries: F22 and F40 for `test_f22_f40_random_graphs`."""
    carried = re.match(r"test_((?:f\d+_)+)", test.rpartition("::")[2])
    return [f"F{int(number)}" for number in re.findall(r"\d+", carried[1])] if carried else []


def by_row(found: Rows) -> dict[str, list[str]]:
    """All tests of each row, the best ones first."""
    more = defaultdict(list)
    for test in tests():
        for name in numbers(test):
            more[name].append(test)
    return {name: list(dict.fromkeys([*row.get("tests", []), *more[name]])) for name, row in found.items()}


def main(names: list[str]) -> None:
    found = rows()
    if not names:
        PAGE.write_text(page(found), encoding="utf-8")
    every = by_row(found) if names else {}
    for name in names:
        if name not in every:
            raise SystemExit(f"docs/features.toml has no row {name}.")
        print(name, found[name]["what"], *every[name], sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
