"""`markdown`: a docstring of this project as Markdown. Its prose is Markdown already; its sections and examples are not."""

from __future__ import annotations

import inspect
import re
import textwrap

_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example):\n((?:(?: .*)?\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}([*\w.`]+(?:, [*\w.`]+)*): ?", re.MULTILINE)
TITLES = {
    "Args": "Parameters",
    "Raises": "Raises",
    "Returns": "Returns",
    "Yields": "Yields",
    "Attributes": "Attributes",
}


def markdown(docstring: str) -> str:
    """The docstring with its examples in fences and its sections as lists."""
    text = inspect.cleandoc(docstring) + "\n"
    parts: list[str] = []
    at = 0
    for section in _SECTION.finditer(text):
        parts += [_body(text[at : section.start()]), _section(section[1], section[2])]
        at = section.end()
    parts.append(_body(text[at:]))
    return "\n\n".join(part for part in parts if part)


def _section(title: str, body: str) -> str:
    if title == "Example":
        return f"**Example**\n\n```pycon\n{textwrap.dedent(body).strip()}\n```"
    body = body.rstrip("\n") + "\n"
    found = list(_ENTRY.finditer(body)) if title != "Returns" else []
    lines = [f"**{TITLES[title]}**", ""]
    if not found:
        return "\n".join([*lines, escaped(textwrap.dedent(body).strip())])
    ends = [*(entry.start() for entry in found[1:]), len(body)]
    for entry, end in zip(found, ends, strict=True):
        words = " ".join(body[entry.end() : end].split())
        names = ", ".join(f"`{name.strip('`')}`" for name in entry[1].split(", "))
        lines.append(f"- {names}: {escaped(words)}")
    return "\n".join(lines)


def _body(text: str) -> str:
    """Prose, with what stands indented after an empty line as code."""
    parts = []
    for piece in re.split(r"\n{2,}", text.strip("\n")):
        if piece.startswith("    "):
            parts.append(f"```python\n{textwrap.dedent(piece)}\n```")
        elif piece.strip():
            parts.append(escaped(piece))
    return re.sub(r"\n```\n\n```python\n", "\n\n", "\n\n".join(parts))


def escaped(prose: str) -> str:
    """Prose whose signs mean themselves, outside of backticks: `*`, `<`, `[` and `|` are formulas there, not marks."""
    pieces = re.split(r"(`+[^`]*`+)", prose)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"(?<!^)([*<_\[\]$])", r"\\\1", _bullets(piece)) for piece in pieces
    )


def _bullets(piece: str) -> str:
    return re.sub(r"^(\s*)#", r"\1\\#", piece, flags=re.MULTILINE)
