"""The texts of errors lead to entries that explain them, each entry is led to, and `actorflow explain` prints it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import actorflow as af
from actorflow.errors import with_topic
from actorflow.frontends.cli.main import main
from actorflow.frontends.cli.shell.explain import topics

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("actorflow", "kernels", "devices", "transports", "checkpoint")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def used() -> Iterator[str]:
    """The topics that texts in the sources name."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if "with_topic(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "with_topic":
                    assert isinstance(node.args[1], ast.Constant), f"{path}:{node.lineno}: a topic is a word"
                    yield node.args[1].value


def test_each_topic_has_an_entry_and_each_entry_a_text() -> None:
    assert set(used()) == set(topics())


def test_the_last_line_of_a_text_says_where_the_error_is_explained() -> None:
    error = af.errors.InvalidArgumentError("It failed.", hint=with_topic("Do this.", "placeholder-not-fed"))
    assert str(error) == "It failed.\n  Do this.\n  More: actorflow explain placeholder-not-fed"


def test_an_entry_is_printed_without_what_only_the_page_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "placeholder-not-fed"]) == 0
    printed = capsys.readouterr().out
    assert "    await session.run(af.reduce_sum(x))" in printed.replace("        ", "    ")
    assert "<!--" not in printed and "```" not in printed


def test_all_topics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.split() == list(topics())


def test_a_class_is_explained_by_its_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "af.errors.DataLossError"]) == 0
    assert "damaged" in capsys.readouterr().out


def test_an_unknown_topic_names_similar_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "placeholder-not-feed"]) == 2
    assert "Similar: placeholder-not-fed" in capsys.readouterr().err
