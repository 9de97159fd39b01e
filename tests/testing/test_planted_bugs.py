"""The list of planted bugs, and the reasons for mutants that survive, fit the sources as they are. `make mutants` runs them."""

from __future__ import annotations

import ast

from mutants.planted import PLANTED
from mutants.reasons import reasons, stale


def test_each_bug_changes_one_place_into_other_valid_code() -> None:
    for bug in PLANTED:
        ast.parse(bug.mutant().source)
        assert bug.was != bug.becomes


def test_there_are_enough_bugs_of_different_names() -> None:
    assert len({bug.name for bug in PLANTED}) == len(PLANTED) >= 20


def test_each_reason_is_one_for_a_line_that_is_there() -> None:
    assert stale(reasons()) == []
