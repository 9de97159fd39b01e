"""`stage`: the pages of docs/ as Sphinx reads them, in a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from docsite import figures, manual, reference
from docsite.flowchart import flowchart_svg
from docsite.sequence import sequence_svg

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "actorflow/errors.md": "reference/errors.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/results/README.md": "project/results.md",
}
"""Pages of the project that stand outside of docs/, and where the site has them."""

_FENCE = re.compile(r"^( *)(`{3,})(.*?)^\1\2[ ]*$\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?\[[^\]]*\]\()((?!https?:|#|mailto:)[^)#\s]+)((?:#[^)]*)?\))")
_NAME = re.compile(r"(?<![`\w{}])`(af(?:\.\w+)+)(?:\(\))?`(?![`\w])")
_COMMENT = re.compile(r"^ *<!-- ?(?:setup|output|skip|raises)\b.*?-->\n", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^( *)<!-- file: (\S+) -->\n *```(\w+)\n", re.MULTILINE)
_MARK = re.compile(r"^<!-- (?:picture|events|metrics|kernel coverage|end)\b.*?-->\n", re.MULTILINE)
_FIGURES = re.compile(r"^<!-- figures: (\w+) -->\n", re.MULTILINE)


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """A text with its prose changed, and its blocks as they were."""
    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])


def pictures(text: str) -> str:
    """Blocks of Mermaid as SVG that stands in the page."""

    def drawn(fence: re.Match[str]) -> str:
        body = fence[3]
        if not body.startswith("mermaid\n"):
            return fence[0]
        source = body.removeprefix("mermaid\n")
        draw = sequence_svg if source.startswith("sequenceDiagram") else flowchart_svg
        return f'```{{raw}} html\n<div class="picture">\n{draw(source, "picture")}\n</div>\n```\n'

    return _FENCE.sub(drawn, text)


def names(prose: str) -> str:
    """Public names in backticks as links to their entries; not in headings, whose links are made from their words."""
    known = reference.linked()

    def link(found: re.Match[str]) -> str:
        home = known.get(found[1])
        return found[0] if home is None else f"{{py:obj}}`{found[0].strip('`')} <{home}>`"

    return "\n".join(line if line.startswith("#") else _NAME.sub(link, line) for line in prose.split("\n"))


def relink(text: str, source: str, target: str, files: Path) -> str:
    """Links of a page that stands at `source` in the project and at `target` in the site.

    A link to a page leads to its place in the site. A link to another file of the project becomes a download; that file is
    copied. A link to a folder stays as its words.
    """
    here = os.path.dirname(target)

    def link(found: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(source), found[2]))
        if path in PROJECT_PAGES:
            place = PROJECT_PAGES[path]
        elif path.startswith("docs/"):
            place = path.removeprefix("docs/")
        elif (ROOT / path).is_file():
            place = f"files/{path}"
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, files / path)
        elif (ROOT / path).is_dir():
            return found[1].removesuffix("](").lstrip("[")
        else:
            return found[0]  # Sphinx says that it leads nowhere
        return f"{found[1]}{os.path.relpath(place, here or '.')}{found[3]}"

    return outside_fences(text, lambda prose: _LINK.sub(link, prose))


def staged(text: str, source: str, target: str, files: Path) -> str:
    """A page of the project as Sphinx reads it."""
    text = _FIGURES.sub(lambda found: figures.table(found[1]) + "\n", text)
    text = _MARK.sub("", _COMMENT.sub("", text))
    text = _FILE.sub(r"\1```{code-block} \3\n\1:caption: \2\n\n", text)
    text = relink(pictures(text), source, target, files)
    return outside_fences(text, names)


def stage(folder: Path) -> None:
    """Brings a folder to the whole source of the site. Pages that are as before stay, so that Sphinx does not read them again."""
    files = folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    before = {path for path in folder.rglob("*") if path.is_file()} if folder.exists() else set()
    made: dict[str, str | bytes] = {}
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(DOCS).as_posix()
        if path.suffix == ".md":
            made[name] = staged(path.read_text(encoding="utf-8"), f"docs/{name}", name, files)
        elif path.is_file() and "__pycache__" not in name:
            made[name] = path.read_bytes()
    for source, name in PROJECT_PAGES.items():
        if (ROOT / source).exists():
            made[name] = staged((ROOT / source).read_text(encoding="utf-8"), source, name, files)
    made |= {f"reference/api/{name}": text for name, text in reference.pages().items()}
    made["reference/command.md"] = manual.page()
    for path in before - {folder / name for name in made}:
        path.unlink(missing_ok=True)
    for name, content in made.items():
        _write(folder / name, content if isinstance(content, bytes) else content.encode())


def _write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
