"""`table`: measurements of benchmarks/results as a table, for the pages that speak of speed."""

from __future__ import annotations

import functools
import re
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "README.md"


@functools.cache
def _sections() -> dict[str, str]:
    _, *parts = re.split(r"^## ", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0].strip(): part.partition("\n")[2].strip() for part in parts}


def table(name: str) -> str:
    """The table of one family of measurements, with the line that says when and where they were made.

    Raises:
        KeyError: if there are no measurements of that name.
    """
    return _sections()[name]
