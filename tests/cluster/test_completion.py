"""`actorflow completion`: words for shells and pages of `man`, both from the commands' own help."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from actorflow.frontends.cli.main import main, parser
from actorflow.frontends.cli.shell import completion
from actorflow.frontends.cli.shell.manual import Section, man_page, sections


@pytest.fixture(scope="module")
def every() -> list[Section]:
    return list(sections(parser()))


def completed(script: str, *words: str) -> set[str]:
    """The words that bash offers after these, of which the last is not finished."""
    line = " ".join(f"'{word}'" for word in words)
    program = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _actorflow; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["st"], {"status"}),
        (["keys", ""], {"init", "show", "-h", "--help"}),
        (["keys", "init", "--f"], {"--for"}),
        (["worker", "--log-level", "w"], {"warning"}),
        (["completion", "f"], {"fish"}),
        (["worker", "--keys", ""], set()),
    ],
    ids=" ".join,
)
def test_bash_offers_what_may_follow(every: list[Section], words: list[str], offered: set[str]) -> None:
    """Commands, their options, and the values of options that have few; nothing (so files) where anything may follow."""
    assert completed(completion.bash(every), "actorflow", *words) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_can_read_their_scripts(every: list[Section], shell: str) -> None:
    """The scripts name each command and each option; where the shell is installed, it reads them."""
    script = completion.SCRIPTS[shell](every)
    for one in every:
        assert all(word in script for word in one.below)
        assert all(option.lstrip("-") in script for option in one.options)
    found = shutil.which(shell)
    if found:
        done = subprocess.run([found, "-n"], input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("actorflow st", {"status"}),
        ("actorflow keys ", {"init", "show"}),
        ("actorflow worker --log-level w", {"warning"}),
        ("actorflow completion f", {"fish"}),
    ],
)
def test_fish_offers_what_may_follow(every: list[Section], tmp_path: Path, line: str, offered: set[str]) -> None:
    script = f"{completion.fish(every)}\ncomplete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert {row.partition("\t")[0] for row in done.stdout.splitlines()} == offered


def test_each_command_has_a_page_of_the_manual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its usage and its options; the pages refer to each other."""
    assert main(["completion", "man", "--into", str(tmp_path / "man1")]) == 0
    names = {path.name for path in (tmp_path / "man1").iterdir()}
    assert {"actorflow.1", "actorflow-worker.1", "actorflow-keys-init.1"} <= names
    assert f"{len(names)} pages" in capsys.readouterr().out
    page = (tmp_path / "man1" / "actorflow-keys-init.1").read_text(encoding="utf-8")
    assert page.startswith('.TH "ACTORFLOW-KEYS-INIT" 1')
    assert ".B \\-\\-for FILE" in page and "actorflow\\-keys(1)" in page
    assert "~/.config/actorflow/keys.toml" in page and str(Path.home() / ".config") not in page


def test_signs_of_the_formatter_mean_themselves() -> None:
    one = Section("tool", "A tool.", "tool [-x]", (("options", ((".x", "'quoted' \\n"),)),), {}, {})
    page = man_page(one)
    assert ".B \\&.x\n\\&'quoted' \\en\n" in page and "tool [\\-x]" in page


def test_sections_of_a_parser() -> None:
    """Hidden arguments are left out; defaults stand in the help; an argument of few words offers them."""
    made = argparse.ArgumentParser(prog="tool", description="does it")
    made.add_argument("--hidden", help=argparse.SUPPRESS)
    made.add_argument("--size", default=3, help="how large; default: %(default)s")
    made.add_argument("--fast", action="store_true", help="do it fast")
    made.add_argument("way", choices=["up", "down"], help="where to")
    (one,) = sections(made)
    assert one.about == "Does it." and one.words == ("up", "down")
    rows = dict(row for _, rows in one.groups for row in rows)
    assert rows["--size SIZE"] == "how large; default: 3" and "--hidden" not in str(rows)
    assert one.options["--fast"] is None and one.options["--size"] == ()
