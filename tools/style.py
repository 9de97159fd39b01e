"""Checks the English of docstrings, comments and documents for the commonest faults of style: `make lint` runs it.

Each rule has a pattern and what to write instead. A finding names file, line and words. The rules are few, and none may be wrong
often. Habits that a pattern can't judge, for instance a pronoun without its noun, are counted over the five parts: each has a
budget, the number that is left. A budget is only ever lowered.

    python tools/style.py            all tracked Python files and documents
    python tools/style.py FILE...    these files
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "actorflow/errors.md", "docs/")
WRITTEN = ("docs/reference/features.md",)  # by tools/features.py, from names of tests


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault: the pattern that finds it, and what to write instead.

    Args:
        pattern: a regular expression; `^` is the beginning of a sentence.
        instead: what to write, as the end of a finding.
    """

    pattern: re.Pattern[str]
    instead: str


def opens(words: str, instead: str) -> Rule:
    """A rule for the first word of a sentence that is no question."""
    return Rule(re.compile(rf"^({words})\b(?!.*\?$)"), instead)


def has(words: str, instead: str) -> Rule:
    """A rule for words anywhere."""
    return Rule(re.compile(rf"\b({words})\b", re.IGNORECASE), instead)


RULES = (
    opens("What|Who|Whoever|Whatever", "begin with the noun that it means"),
    opens("Where", "begin with the subject; put the condition behind it, or write 'If'"),
    opens("Of (?:those|these|that|them)", "begin with the subject"),
    has("hangs? (?:up)?on", "'depends on'"),
    has("anew", "'again'"),
    has("amid", "'during' or 'in the middle of'"),
    has("nobody", "'no one', or say which task, thread or caller does not"),
    has("so many", "the number or its name"),
    has("for ever", "'forever', or 'without end'"),
)


@dataclass(frozen=True, slots=True)
class Budget:
    """A habit, and the number of sentences or functions of the five parts that may have it.

    Args:
        habit: the habit, as the subject of a finding.
        most: the number that is left.
    """

    habit: str
    most: int


_ONE = re.compile(
    r"\b[Oo]nes\b|\b[Oo]ne(?=[,.;:)]|$|\s+(?:that|which|who|is|has|was|for|in|with|by|from|on|at|to|and|or|does|can|another|after|before|"
    r"whose|where|as|are|of(?! (?:the|its|their|these|those|several|two|three|many)\b))\b)"
)
_WHERE = re.compile(r"\b[Ww]here (?:it|there|they)\b")
_LONG = 35
_VAGUE = {"found", "made", "given", "known", "one", "told", "wanted", "asked", "posed"}
PARTS = ("actorflow/", "transports/", "devices/", "kernels/", "checkpoint/")
BUDGETS = {
    "one": Budget("sentences with one or ones as a pronoun", 3),
    "where": Budget("sentences that turn on 'where it', 'where there' or 'where they'", 0),
    "long": Budget(f"sentences of more than {_LONG} words", 0),
    "names": Budget(f"functions with variables that carry no noun ({', '.join(sorted(_VAGUE))})", 0),
}


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of running text: the line on which it begins, and its lines."""

    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault at a place."""

    path: str
    line: int
    words: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.words}”: write {self.instead}"


def texts(path: str, source: str) -> Iterator[Text]:
    """The running text of a file: docstrings and comments of Python, or all of a document but its code and tables."""
    yield from _python(source) if path.endswith(".py") else _document(source)


def _python(source: str) -> Iterator[Text]:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for item in body if isinstance(body, list) else ():
            value = item.value if isinstance(item, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield from _paragraphs(value.lineno, value.value.splitlines())
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        follows = token.start[0] == last + 1 and not token.line[: token.start[1]].strip()
        if block and not follows:
            yield Text(first, tuple(block))
            block = []
        if not block:
            first = token.start[0]
        block.append(token.string.lstrip("#! ").rstrip())
        last = token.start[0]
    if block:
        yield Text(first, tuple(block))


def _document(source: str) -> Iterator[Text]:
    lines, code = [], False
    for line in source.splitlines():
        fence = line.lstrip().startswith("```")
        lines.append("" if code or fence or line.startswith(("|", "    ")) else line)
        code ^= fence
    yield from _paragraphs(1, lines)


_POINT = r"(?:[-*] |\d+\. |#+ |[\w, *]+: |errors\.\w+: |\| |\S+\.py {2,}|\S+/ {2,})"
"""The beginning of a point: of a list, a heading, an argument, an error, a row of a table, a file in a package's docstring."""


def _paragraphs(first: int, lines: list[str]) -> Iterator[Text]:
    """Lines in groups: an empty line, an indented example or the next point of a list ends one."""
    block: list[str] = []
    begin = first
    for number, raw in enumerate(lines, first):
        line = raw.strip()
        starts = re.match(_POINT, line)
        if block and (not line or starts):
            yield Text(begin, tuple(block))
            block = []
        if line:
            begin = begin if block else number
            block.append(line)
    if block:
        yield Text(begin, tuple(block))


def findings(path: str, source: str) -> list[Finding]:
    """All faults of a file, in the order of its lines. Words in quotes or backticks count for nothing."""
    found = []
    for text in texts(path, source):
        whole = "\n".join(text.lines)
        plain = re.sub(r"`[^`]*`|“[^”]*”|\"[^\"]*\"", lambda m: re.sub(r"[^\n]", "x", m[0]), whole).replace("\n", " ")
        first = re.match(rf"({_POINT})?(\*\*)?", plain)
        begins = [
            0,
            *([first.end()] if first and first.end() else []),
            *(m.end() for m in re.finditer(r"[.!?] ", plain)),
        ]
        sentences = list(zip(begins, [*begins[1:], len(plain)], strict=True))
        for one in RULES:
            if one.pattern.pattern.startswith("^"):
                spots = [begin for begin, end in sentences if one.pattern.match(plain[begin:end].rstrip())]
            else:
                spots = [m.start() for m in one.pattern.finditer(plain)]
            for at in spots:
                words = " ".join(whole[at : at + 50].split())
                found.append(Finding(path, text.line + whole.count("\n", 0, at), words, one.instead))
    return sorted(found, key=lambda f: f.line)


def habits(path: str, source: str) -> Counter[str]:
    """How often a Python file has each habit that has a budget."""
    counts: Counter[str] = Counter()
    for text in texts(path, source):
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`\"'(])", " ".join(line.strip() for line in text.lines)):
            bare = re.sub(r"`[^`]*`", "X", sentence)
            if ">>>" in sentence:
                continue
            counts["one"] += bool(_ONE.search(bare))
            counts["where"] += bool(_WHERE.search(bare))
            counts["long"] += len(bare.split()) > _LONG
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stored = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            counts["names"] += not _VAGUE.isdisjoint(stored)
    return counts


def beyond(counts: Counter[str]) -> list[str]:
    """A sentence for each budget that the five parts exceed."""
    return [
        f"The five parts have {counts[name]} {budget.habit}; the budget of tools/style.py is {budget.most}."
        for name, budget in BUDGETS.items()
        if counts[name] > budget.most
    ]


def tracked() -> list[str]:
    """The files of the project that are checked."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    return [name for name in listed if name.endswith(".py") or (name.endswith(".md") and name.startswith(DOCUMENTS))]


def main(names: list[str]) -> int:
    """Prints the findings of these files, or of all; 1 where there is one."""
    checked = [name for name in names or tracked() if name not in WRITTEN]
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in checked}
    faults = [str(finding) for name, source in sources.items() for finding in findings(name, source)]
    if not names:
        parts = (item for item in sources.items() if item[0].startswith(PARTS) and item[0].endswith(".py"))
        faults += beyond(sum((habits(*part) for part in parts), Counter()))
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
