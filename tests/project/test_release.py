"""A release is refused where no commit would say what was released; the changelog's section becomes that of the version."""

from __future__ import annotations

import datetime
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.date(2027, 1, 2)
CHANGELOG = "# Changelog\n\n## 0.2.0, not released yet\n\n- A change.\n\n## 0.1.0, 2026-01-01\n\n- The first.\n"
PROJECT = '[project]\nname = "thing"\nversion = "0.1.0"\n'


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["release"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit, which the tool takes for its own."""
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "DIST", tmp_path / "dist")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "actorflow").mkdir()
    (tmp_path / "actorflow" / "__init__.py").write_text('"""It."""\n\n__version__ = "0.1.0"\n')
    (tmp_path / "CITATION.cff").write_text("title: it\nversion: 0.1.0\n")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_the_section_of_the_changelog_gets_the_version_and_the_day(release: ModuleType) -> None:
    text = release.prepared(CHANGELOG, "0.2.0", DAY)
    assert text == CHANGELOG.replace("0.2.0, not released yet", "0.2.0, 2027-01-02")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# Changelog\n\n## 0.1.0, 2026-01-01\n\n- The first.\n", "no section"),
        ("# Changelog\n\n## 0.2.0, not released yet\n\n## 0.1.0, 2026-01-01\n", "empty"),
    ],
)
def test_a_changelog_that_says_nothing_of_the_release_refuses_it(release: ModuleType, text: str, says: str) -> None:
    with pytest.raises(release.Refused, match=says):
        release.prepared(text, "0.2.0", DAY)


def test_the_version_is_committed_and_tagged(
    release: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["--prepare", "0.2.0"]) == 0
    assert release.tag_of_head() == "v0.2.0" and "v0.2.0 is tagged" in capsys.readouterr().out
    assert release.version_of((folder / "pyproject.toml").read_text()) == "0.2.0"
    assert "not released yet" not in (folder / "CHANGELOG.md").read_text()
    for name, line in release.VERSIONS.items():
        assert line.format("0.2.0") in (folder / name).read_text()
    release.check_clean()


@pytest.mark.parametrize("command", [[], ["--prepare", "0.2.0"]])
def test_a_tree_that_is_not_clean_is_refused(
    release: ModuleType, folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "more.txt").write_text("not in git")
    assert release.main(command) == 1
    assert "not clean" in (said := capsys.readouterr().err) and "more.txt" in said


@pytest.mark.parametrize(
    ("tags", "says"),
    [((), "HEAD has no tag"), (("v0.0.1",), "HEAD has the tags v0.0.1, and pyproject.toml has the version 0.1.0")],
)
def test_a_commit_without_the_tag_of_its_version_is_not_built(
    release: ModuleType, folder: Path, tags: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for tag in tags:
        subprocess.run(["git", "tag", tag], cwd=folder, check=True)
    assert release.main([]) == 1
    assert says in capsys.readouterr().err and not (folder / "dist").exists()


@pytest.mark.parametrize(
    ("version", "says"), [("next", "no version"), ("0.1", "no version"), ("0.1.0", "is there already")]
)
def test_a_version_that_is_none_or_taken_is_refused(
    release: ModuleType, folder: Path, version: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "tag", "v0.1.0"], cwd=folder, check=True)
    assert release.main(["--prepare", version]) == 1
    assert says in capsys.readouterr().err
