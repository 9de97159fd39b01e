"""docs/reference/features.md is made from docs/features.toml; a row names tests that exist and carry its number, or its lack."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool() -> Any:
    """`tools/features.py` as a module."""
    spec = importlib.util.spec_from_file_location("features", ROOT / "tools" / "features.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


features = tool()
ROWS = features.rows()
TESTS = frozenset(features.tests())

SAMPLE = {
    "F1": {"group": "First", "what": "One.", "paper": "W§2", "tests": ["test_a.py::test_f01_one"]},
    "F2": {"what": "Two.", "lacks": "Planned."},
    "X1": {"group": "Second", "what": "Three.", "tests": ["test_a.py::test_three"], "lacks": "Half of it."},
}
TEXT = """\
2 of 3 are there. Not there: F2.

## First

**F1** One. (W§2)

- `tests/test_a.py::test_f01_one`

**F2** Two.

- *Not there.* Planned.

## Second

**X1** Three.

- `tests/test_a.py::test_three`
- *Lacks:* Half of it.
"""


def faults(name: str, row: dict[str, Any]) -> list[str]:
    """The faults of a row."""
    found = [f"{key}?" for key in row.keys() - {"group", "what", "paper", "tests", "lacks"}]
    named = row.get("tests", [])
    if not named and not row.get("lacks"):
        found.append("neither tests nor what is missing")
    if len(named) > 3:
        found.append("more than three tests: name those that show it best")
    for test in named:
        if test not in TESTS:
            found.append(f"{test} does not exist")
        elif name.startswith("F") and features.numbers(test) and name not in features.numbers(test):
            found.append(f"{test} carries the number of another row")
    return found


def test_a_page_has_groups_rows_and_tests() -> None:
    assert features.page(SAMPLE) == features.HEAD + "\n" + TEXT


def test_tests_carry_the_numbers_of_their_rows() -> None:
    assert features.numbers("test_a.py::test_f01_f124_one") == ["F1", "F124"]
    assert features.numbers("test_a.py::test_one_f2_two") == []


def test_a_row_that_is_wrong_is_found_out() -> None:
    here = "project/test_features_doc.py::test_a_page_has_groups_rows_and_tests"
    other = "engine/runtime/test_fuzz.py::test_f22_f40_random_graphs_give_the_bits_of_the_oracle"
    assert faults("F22", {"what": "", "tests": [here, other]}) == []
    assert faults("F1", {"what": "", "tests": []}) == ["neither tests nor what is missing"]
    assert faults("F1", {"what": "", "tests": ["test_gone.py::test_x"]}) == ["test_gone.py::test_x does not exist"]
    assert faults("F1", {"what": "", "tests": [other]}) == [f"{other} carries the number of another row"]
    assert faults("F1", {"what": "", "tests": [here] * 4, "test": 1}) == [
        "test?",
        "more than three tests: name those that show it best",
    ]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_tests_that_exist_and_carry_its_number(name: str) -> None:
    assert not faults(name, ROWS[name])


def test_every_feature_has_its_row() -> None:
    assert [name for name in ROWS if name.startswith("F")] == [f"F{number}" for number in range(1, 137)]


def test_every_number_that_a_test_carries_is_a_row() -> None:
    assert not {number for test in TESTS for number in features.numbers(test)} - ROWS.keys()


def test_the_page_is_current() -> None:
    assert features.PAGE.read_text(encoding="utf-8") == features.page(ROWS), "run python tools/features.py"
