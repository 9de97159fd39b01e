"""docs/features.md names a test for what each feature row promises, and the tests that it names exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs" / "features.md"
ROWS = range(1, 125)

_ROW = re.compile(r"^\|[ *`]*F(\d+)\b", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")
_TEST = re.compile(r"(?P<path>[\w./-]+\.py)::(?P<name>[\w:]+)(?:\[.*\])?")

SAMPLE = """
| row | tests |
|---|---|
| F1 | `tests/test_features_doc.py::test_the_sample_is_read` |
| **F3** | run `make test`; `tests/test_features_doc.py::TestNone::test_gone[a-b]`, `tests/gone.py::test_x` |
"""


def rows(text: str) -> list[int]:
    """The feature rows of the tables in `text`."""
    return [int(number) for number in _ROW.findall(text)]


def named(text: str) -> list[tuple[str, str]]:
    """The tests in backticks, as (path, name); parameters in brackets are left out."""
    found = (_TEST.fullmatch(code) for code in _CODE.findall(text))
    return [(match["path"], match["name"]) for match in found if match]


@functools.cache
def defined(path: str) -> frozenset[str]:
    """The names of the tests in a file: functions, and `Class::method`."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
            names.update(f"{node.name}::{n.name}" for n in inner)
    return frozenset(name for name in names if name.rpartition("::")[2].startswith("test"))


def missing(text: str) -> list[str]:
    """The tests that `text` names and that do not exist."""
    return [f"{path}::{name}" for path, name in named(text) if name not in defined(path)]


def test_the_sample_is_read() -> None:
    assert rows(SAMPLE) == [1, 3]
    assert [name for _, name in named(SAMPLE)] == ["test_the_sample_is_read", "TestNone::test_gone", "test_x"]


def test_a_test_that_does_not_exist_is_found_out() -> None:
    here = "tests/test_features_doc.py"
    assert missing(SAMPLE) == [f"{here}::TestNone::test_gone", "tests/gone.py::test_x"]
    assert missing(f"`{here}::missing`") == [f"{here}::missing"], "a helper is no test"


@pytest.fixture(scope="module")
def text() -> str:
    assert DOC.is_file(), "docs/features.md is missing: it says for each feature which tests show it"
    return DOC.read_text(encoding="utf-8")


def test_every_feature_has_its_row_once_and_no_other_row_is_there(text: str) -> None:
    found = rows(text)
    assert sorted(set(found)) == list(ROWS)
    assert len(found) == len(set(found)), f"twice: {sorted({n for n in found if found.count(n) > 1})}"


def test_every_test_that_the_document_names_exists(text: str) -> None:
    assert named(text), "it names no test at all"
    assert not missing(text)
