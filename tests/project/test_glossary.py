"""docs/reference/glossary.md says where each term is defined, and one meaning is all that a term has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| term", "| was"))
]
TERMS = {row[0]: row for row in ROWS if re.match(r"`[\w/]+\.(py|md)`", row[3])}


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_defined_where_the_glossary_says(term: str) -> None:
    """The file is there, and a name beside it stands in that file as a word."""
    path, *names = re.findall(r"`([^`]+)`", TERMS[term][3])
    text = (ROOT / path).read_text(encoding="utf-8")
    for name in names:
        assert re.search(rf"\b{name}\b", text), f"{path} has no {name}"


def test_each_term_has_one_row_and_all_four_cells() -> None:
    """No term has two rows; the words of no use any more are in the last section."""
    words = [word for row in ROWS if len(row) == 4 and row[0] in TERMS for word in row[0].split(", ")]
    assert len(words) == len(set(words)) >= 70
    assert all(all(row) for row in TERMS.values())
