"""The documentation's site: examples of pages run, pictures are drawn, docstrings become Markdown, dead links show."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

import actorflow as af

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docsite import blocks, figures, flowchart, links, sequence, staging  # noqa: E402
from docsite.docstrings import markdown  # noqa: E402

PAGES = sorted((ROOT / "docs").rglob("*.md"))
RUNNER = ROOT / "tools" / "docsite" / "running.py"


def found(page: str) -> list[tuple[str, str, str]]:
    return [(block.kind, block.text, block.argument) for block in blocks.blocks(textwrap.dedent(page))]


def test_the_blocks_of_a_page() -> None:
    """Comments say what is done with the block that follows them; a fence in a list is taken without its indent."""
    page = """
        <!-- setup
        x = 1
        -->
        Text.

        ```python
        print(x)
        ```
        <!-- output -->
        ```text
        1
        ```
        <!-- file: a.py -->
        ```python
        import a
        ```
        - a point:

          ```console
          $ python a.py
          ```
        <!-- raises: ValueError -->
        ```python
        int("a")
        ```
        <!-- skip: it needs a machine of its own -->
        ```python
        wait()
        ```
        ```
        actorflow status
        ```
    """
    assert found(page) == [
        ("setup", "x = 1", ""),
        ("python", "print(x)", ""),
        ("output", "1", ""),
        ("file", "import a", "a.py"),
        ("console", "$ python a.py", ""),
        ("python", 'int("a")', "ValueError"),
        ("skipped", "wait()", "it needs a machine of its own"),
        ("command", "actorflow status", ""),
    ]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("```python\nx", "line 1: the block is not closed"),
        ("<!-- setup\nx", "line 1: the comment is not closed"),
        ("<!-- output -->\nno block", "line 2: a block has to follow"),
    ],
)
def test_a_page_with_a_mistake_says_where(page: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(blocks.blocks(page))


def test_outputs_match_with_dots_for_anything() -> None:
    assert blocks.matches("a ... c\nd", "a b c\nd\n")
    assert blocks.matches("a\n...", "a\nb\nc  \n")
    assert not blocks.matches("a", "ab")
    assert not blocks.matches("a.c", "abc"), "a single dot is a dot"


def test_the_commands_of_a_console() -> None:
    assert blocks.commands("$ a\nx\ny\n$ b \\\n    c\n$ d") == [("a", "x\ny"), ("b c", ""), ("d", "")]


def run(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, RUNNER, page], capture_output=True, text=True, check=False)


def test_the_examples_of_a_page_run_as_one_program(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nimport anyio\n\nx = 1\nawait anyio.lowlevel.checkpoint()\n```\n"
        "<!-- file: a.py -->\n```python\nprint(2)\n```\n"
        "```console\n$ python a.py\n2\n```\n<!-- raises: ZeroDivisionError -->\n```python\nx / 0\n```\n"
        "<!-- output -->\n```text\ndivision by ...\n```\n```\nactorflow status --json tcp://machine:7070\n```\n"
    )
    done = run(page)
    assert done.returncode == 0 and "4 examples" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\n```python\nprint(1)\nraise KeyError('k')\n```", r"page.md:3: the block raised(.|\n)*KeyError"),
        ("```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```", r"page.md:6: it prints\n1"),
        ("```console\n$ echo 1\n2\n```", r"page.md:2: echo 1 prints"),
        ("```console\n$ false\n```", r"page.md:2: false ends with status 1"),
        ("<!-- raises: ValueError -->\n```python\n1\n```", r"does not raise ValueError"),
        ("```\nactorflow status --jsn\n```", r"unrecognized arguments: --jsn"),
    ],
)
def test_an_example_that_is_wrong_fails(text: str, says: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    done = run(page)
    assert done.returncode == 1 and re.search(says, done.stderr), done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_each_page_can_be_read(page: Path) -> None:
    """Its comments and fences are well-formed, and each block that is not run has a reason."""
    for block in blocks.blocks(page.read_text(encoding="utf-8")):
        assert block.kind != "skipped" or len(block.argument) > 10, f"{page}:{block.line}: say why it is not run"


# ---- pictures


def places(picture: str) -> dict[str, tuple[float, float]]:
    """The places of the words in the boxes."""
    tree = ET.fromstring(picture)
    texts = [
        text for group in tree.iter() if group.get("class") == "box" for text in group if text.tag.endswith("text")
    ]
    return {text.text or "": (float(text.get("x") or 0), float(text.get("y") or 0)) for text in texts}


def test_a_flowchart_is_drawn_in_the_order_of_its_arrows() -> None:
    at = places(
        flowchart.flowchart_svg(
            'flowchart TB\n a["one"] --> b["two<br/>lines"]\n a -- "why" --> c\n b --> d(["end"])\n c --> d'
        )
    )
    assert at["one"][1] < at["two"][1] < at["lines"][1] < at["end"][1]
    assert abs(at["two"][0] - at["c"][0]) > 20, "boxes of one layer stand apart"


def test_a_flowchart_with_a_cycle_and_a_long_edge_is_drawn() -> None:
    picture = flowchart.flowchart_svg('flowchart LR\n a --> b --> c --> d\n a --> d\n d -. "back" .-> b')
    at = places(picture)
    assert at["a"][0] < at["b"][0] < at["c"][0] < at["d"][0]
    assert picture.count("<polygon") == 5 and ">back<" in picture and 'class="dashed"' in picture


def test_a_picture_that_would_be_too_wide_goes_downwards() -> None:
    at = places(
        flowchart.flowchart_svg("flowchart LR\n " + " --> ".join(f'n{i}["a box with many words"]' for i in range(8)))
    )
    assert len({x for x, _ in at.values()}) == 1


def test_a_sequence_is_drawn_row_by_row() -> None:
    text = "sequenceDiagram\n participant A as one\n participant B as two\n"
    text += " A->>B: ask <this>\n B-->>A: answer\n B->>B: think\n A--xB: lost"
    picture = sequence.sequence_svg(text)
    assert list(places(picture)) == ["one", "two"]
    assert re.findall(r">([^<]+)</text>", picture)[2:] == ["ask &lt;this&gt;", "answer", "think", "lost"]


@pytest.mark.parametrize("text", ["graph TD\n a --> b", "flowchart LR\n a ==> b", "flowchart LR\n a[b] --> c"])
def test_a_picture_in_words_that_are_not_known_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="This is not"):
        flowchart.flowchart_svg(text)


# ---- pages


def test_a_docstring_becomes_markdown() -> None:
    made = markdown("""Adds |x| and *y*.

        Some `code *here*`:

            z = add(x, y)

            print(z)

        Example:
            >>> add(1, *[2])
            3

        Args:
            x, y: what is added,
                of any shape.

        Raises:
            ValueError: they differ.
        """)
    assert made == textwrap.dedent("""\
        Adds |x| and \\*y\\*.

        Some `code *here*`:

        ```python
        z = add(x, y)

        print(z)
        ```

        **Example**

        ```pycon
        >>> add(1, *[2])
        3
        ```

        **Parameters**

        - `x`, `y`: what is added, of any shape.

        **Raises**

        - `ValueError`: they differ.""")


def test_a_page_is_staged(tmp_path: Path) -> None:
    """Links follow their files, other files are copied, names are linked but in code and headings, comments go."""
    text = "# `af.Session`\n\n[a](../../CONTRIBUTING.md#tests) [b](../../examples/adder.py) [c](../../tests/) "
    text += "`af.Session.run` `af.gone`\n\n<!-- setup\nx\n-->\n```python\naf.Session\n```\n"
    made = staging.staged(text, "docs/guides/x.md", "guides/x.md", tmp_path)
    assert made == (
        "# `af.Session`\n\n[a](../project/contributing.md#tests) [b](../files/examples/adder.py) c "
        "{py:obj}`af.Session.run <af.Session.run>` `af.gone`\n\n```python\naf.Session\n```\n"
    )
    assert (tmp_path / "examples" / "adder.py").exists()


def test_figures_come_from_the_results() -> None:
    assert "| one fed add, `run` |" in figures.table("session_calls")
    with pytest.raises(KeyError):
        figures.table("no_such_family")


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">1</a><a href="b.html#y">2</a><img src="no.png"><a href="https://e.org/">3</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p><a href="a.html">4</a>')
    assert links.dead_links(tmp_path) == [
        "a.html: b.html#y: the page has no such place",
        "a.html: no.png leads nowhere",
    ]


def test_f122_the_page_on_the_context_has_an_example() -> None:
    """`make docs` runs it: the last layer of a trained network is trained again."""
    page = (ROOT / "docs" / "explanation" / "context.md").read_text(encoding="utf-8")
    kinds = [block.kind for block in blocks.blocks(page)]
    assert kinds == ["python", "output"]
    for name in ("DistBelief", "Spark", "AlexNet"):
        assert f"## {name}" in page or name in page


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_forms_of_issues_are_what_github_reads(form: Path) -> None:
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem != "config":
        assert {"name", "description", "body"} <= content.keys()
        assert all({"type", "attributes"} <= field.keys() for field in content["body"])
        ids = [field["id"] for field in content["body"] if field["type"] != "markdown"]
        assert len(set(ids)) == len(ids)


def test_the_citation_names_this_version() -> None:
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert content["cff-version"] == "1.2.0" and content["version"] == af.__version__
