"""Mutants that no test can kill, or that none should, with the reasons: reasons.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from mutants.mutant import ROOT

FILE = Path(__file__).with_name("reasons.toml")
_FIELDS = ("file", "function", "was", "becomes")


def reasons() -> dict[tuple[str, ...], str]:
    """The reason for each mutant, by its key."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8")).get("survivor", [])
    return {tuple(entry[field] for field in _FIELDS): entry["reason"] for entry in entries}


def stale(known: Mapping[tuple[str, ...], str]) -> list[str]:
    """The reasons for lines that are not there any more."""
    lines: dict[str, set[str]] = {}
    found = []
    for file, function, was, _ in known:
        if file not in lines:
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
            lines[file] = {" ".join(line.split()) for line in text.splitlines()}
            lines[file].add(" ".join(text.split()))
        if was not in lines[file] and not any(was in line for line in lines[file]):
            found.append(f"{file} {function}: {was}")
    return found
