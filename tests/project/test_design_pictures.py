"""The pictures of docs/explanation that follow from the code are current, and the links between the pages lead somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import design_pictures  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DESIGN = ROOT / "docs" / "explanation" / "design.md"
CHAPTERS = [
    DESIGN.parent / page
    for page in re.findall(r"^\| \[[^]]*\]\((\w+\.md)\) \|", DESIGN.read_text(encoding="utf-8"), re.MULTILINE)
]


def test_the_pictures_are_current() -> None:
    """`tools/design_pictures.py` would change nothing."""
    assert design_pictures.stale() == []


def test_a_picture_follows_the_code() -> None:
    """The text between the marks is drawn again."""
    page = "a\n<!-- picture: floors -->\nold\n<!-- end -->\nb"
    drawn = design_pictures.drawn(page)
    assert "old" not in drawn and '["base:<br/>' in drawn and drawn.startswith("a\n") and drawn.endswith("\nb")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_a_picture_and_its_files(chapter: Path) -> None:
    """A picture before the first section, and the files in the last one."""
    assert len(CHAPTERS) >= 6
    text = chapter.read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert "```mermaid" in sections[0] and sections[-1].startswith("Files\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_lead_to_files(page: Path) -> None:
    """Each relative link names a file of the tree."""
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
