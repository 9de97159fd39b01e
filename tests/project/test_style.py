"""tools/style.py: which sentences it finds, on which line, and which it leaves alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import style  # noqa: E402

PYTHON = '''"""{}

Second paragraph.
"""
'''


@pytest.mark.parametrize(
    ("sentence", "instead"),
    [
        ("What a node needs is here.", "begin with the noun"),
        ("It runs. Who waits for it is woken.", "begin with the noun"),
        ("Whoever asks gets an answer.", "begin with the noun"),
        ("Where the shape is open, it waits.", "begin with the subject"),
        ("Of those the first is taken.", "begin with the subject"),
        ("The result hangs on the order.", "depends on"),
        ("They hang on it.", "depends on"),
        ("It is made anew.", "again"),
        ("It ends amid a step.", "in the middle of"),
        ("Nobody takes it.", "no one"),
        ("It waits so many seconds.", "number"),
        ("It goes on for ever.", "forever"),
        ("What ran when: the events of a step.", "begin with the noun"),
    ],
)
@pytest.mark.parametrize("path", ["module.py", "docs/page.md"])
def test_a_fault_is_found_once(sentence: str, instead: str, path: str) -> None:
    """In a docstring and in a document, with what to write."""
    (found,) = style.findings(path, PYTHON.format(sentence) if path.endswith(".py") else sentence)
    assert instead in found.instead and found.line == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "What is a token?",
        "It says what it does, where it runs and who waits for it.",
        "`What` is a name. Whole numbers are fine; whether they fit is checked.",
        'The message is "Nobody waits".',
        "Wherever it is read, it is the same.",
        "A change depends on it.",
    ],
)
def test_plain_sentences_pass(sentence: str) -> None:
    """Questions, relative clauses behind their noun, quotes and code are no faults."""
    assert style.findings("module.py", PYTHON.format(sentence)) == []


def test_the_line_is_that_of_the_words() -> None:
    """In docstrings of several lines, points of lists, and comments."""
    source = '''def f():
    """Does it.

    Args:
        x: a number; it is
            made anew.
    """
    # It runs
    # for ever.
    return "nobody"  # What comes out.
'''
    found = [(one.line, one.instead[:9]) for one in style.findings("a.py", source)]
    assert found == [(6, "'again'"), (9, "'forever'"), (10, "begin wit")]


def test_documents_are_read_without_code_and_tables() -> None:
    """Text in fences, in tables and indented four spaces is left alone."""
    page = "# Title\n\n```\nWhat it prints\n```\n\n| Who | What |\n\n    Nobody\n\n- Where it is, it is.\n"
    assert [one.line for one in style.findings("docs/a.md", page)] == [11]


@pytest.mark.parametrize(
    ("source", "habit"),
    [
        ('"""A link and one that waits."""', "one"),
        ('"""The ones are sent first."""', "one"),
        ('"""It is dropped where there is no reader."""', "where"),
        (f'"""A reader {"of words " * 20}ends."""', "long"),
        ("def f():\n    found = 1\n    return found", "names"),
        ("async def f():\n    for one in ():\n        pass", "names"),
    ],
)
def test_a_habit_is_counted(source: str, habit: str) -> None:
    counts = style.habits("module.py", source)
    assert {name for name, number in counts.items() if number} == {habit}
    assert len(style.beyond(counts + style.Counter({habit: style.BUDGETS[habit].most}))) == 1


_LISTS = f"""Sums.

| first | {"words " * 20} |
| second | {"words " * 20} |

Raises:
    errors.AbortedError: {"words " * 20}
    errors.InternalError: {"words " * 20}

Example:
    >>> af.ones([2])
"""


@pytest.mark.parametrize(
    "source",
    [
        '"""One of the nodes, and one node."""',
        '"""`one that` is code."""',
        "def f(one):\n    return one",
        f'"""{_LISTS}"""',
    ],
)
def test_numbers_code_and_arguments_are_no_habit(source: str) -> None:
    assert not +style.habits("module.py", source)
