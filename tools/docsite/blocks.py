"""The examples of a page: what stands between its fences, and how each is run.

A page is one program. Its blocks run from the top to the bottom in one name space and one event loop, in an empty folder, and may
`await`. Comments of HTML, which no reader sees, say what a block needs:

```
<!-- setup            -->  Python that runs before what follows; the code stands in the comment
<!-- file: train.py   -->  the block is written to this file, and runs when a line of a console does
<!-- raises: SomeError -->  the block has to raise this error; an output after it is its text
<!-- output           -->  the block is what the one before it printed; `...` stands for anything
<!-- skip: reason     -->  the block is not run
```

A block of `python` is run. A line `$ command` of a block of `console` is run by a shell; under it stands its output. In
other blocks, lines that begin with `actorflow` are read by the command's own parser, so that a wrong option is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["python", "setup", "file", "console", "output", "command", "skipped", "text"]
RUN = frozenset({"python", "console", "command"})
"""The kinds of blocks that make a page worth running."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a page.

    kind: what is done with it.
    line: the first line of its text in the page.
    text: what stands between the fences.
    argument: the file's name, the error's name, or the reason to skip.
    """

    kind: Kind
    line: int
    text: str
    argument: str = ""


_COMMENT = re.compile(r" *<!-- ?(setup|file|raises|output|skip)(?:: ?(.*?))? ?(-->)?\s*$")


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in their order.

    Raises:
        ValueError: if a comment that begins like one of ours stands before no block, or a fence is not closed.
    """
    lines = page.splitlines()
    number = 0
    mark: tuple[str, str] | None = None
    while number < len(lines):
        line = lines[number]
        comment = _COMMENT.match(line)
        fence = re.match(r"( *)(`{3,})(\{?[\w-]*\}?)", line)
        if comment and comment[1] == "setup":
            end = next((n for n in range(number + 1, len(lines)) if lines[n].strip() == "-->"), None)
            if end is None:
                raise ValueError(f"line {number + 1}: the comment is not closed")
            yield Block("setup", number + 2, "\n".join(lines[number + 1 : end]))
            number = end
        elif comment:
            mark = (comment[1], (comment[2] or "").strip())
        elif fence:
            indent, ticks, language = len(fence[1]), fence[2], fence[3]
            end = next((n for n in range(number + 1, len(lines)) if lines[n].strip() == ticks), None)
            if end is None:
                raise ValueError(f"line {number + 1}: the block is not closed")
            text = "\n".join(each[indent:] for each in lines[number + 1 : end])
            yield Block(_kind(language, mark[0] if mark else ""), number + 2, text, mark[1] if mark else "")
            number, mark = end, None
        elif line.strip() and mark:
            raise ValueError(f"line {number + 1}: a block has to follow the comment {mark[0]!r}")
        number += 1


def _kind(language: str, word: str) -> Kind:
    if word == "skip":
        return "skipped"
    if word == "file":
        return "file"
    if word == "output":
        return "output"
    if language == "python":
        return "python"
    if language == "console":
        return "console"
    return "command" if language in ("", "sh", "bash") else "text"


def matches(expected: str, found: str) -> bool:
    """Whether an output is what a page says: line by line, without blanks at the ends; `...` stands for anything."""
    want = "\n".join(line.rstrip() for line in expected.strip().splitlines())
    got = "\n".join(line.rstrip() for line in found.strip().splitlines())
    pattern = ".*?".join(re.escape(part) for part in want.split("..."))
    return re.fullmatch(pattern, got, re.DOTALL) is not None


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console, each with what is expected under it."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:]])
        elif found and found[-1][0].endswith("\\") and len(found[-1]) == 1:
            found[-1][0] = found[-1][0][:-1] + line.lstrip("> ")
        elif found:
            found[-1].append(line)
        else:
            raise ValueError(f"A console begins with a command: {line!r}")
    return [(command, "\n".join(output)) for command, *output in found]
