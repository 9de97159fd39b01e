"""Help texts, and flags as words of a command line."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from typing import Any


def get_help_width() -> int:
    """The width of help texts: the width of the terminal, or 80 without a terminal."""
    if not sys.stdout.isatty():
        return 80
    columns = shutil.get_terminal_size((80, 24)).columns
    return columns if columns >= 40 else int(os.getenv("COLUMNS", "80"))


def text_wrap(text: str, length: int | None = None, indent: str = "", firstline_indent: str | None = None) -> str:
    """A text in lines of a width, with an indent. Raises ValueError for an indent that leaves no room."""
    width = get_help_width() if length is None else length
    if len(indent) >= width:
        raise ValueError("Length of indent exceeds length")
    first = indent if firstline_indent is None else firstline_indent
    if len(first) >= width:
        raise ValueError("Length of first line indent exceeds length")
    lines: list[str] = []
    for paragraph in (line.strip() for line in text.splitlines()):
        start = first if not lines else indent
        lines.extend(textwrap.wrap(paragraph, width, initial_indent=start, subsequent_indent=indent) or [""])
    return "\n".join(lines)


def doc_to_help(doc: str) -> str:
    """A docstring as a help text: without its indent, and each paragraph as a line."""
    paragraphs = inspect.cleandoc(doc.strip()).split("\n\n")
    return "\n\n".join(" ".join(line.strip() for line in paragraph.split("\n")) for paragraph in paragraphs)


def flag_dict_to_args(flag_map: Mapping[str, Any], multi_flags: Collection[str] | None = None) -> Iterator[str]:
    """The words of a command line for values of flags: of a bool `--name` or `--noname`, of a list its items.

    A flag of `multi_flags` is repeated for each item of its list, in place of commas between.
    """
    for name, value in flag_map.items():
        if value is None:
            yield f"--{name}"
        elif isinstance(value, bool):
            yield f"--{name}" if value else f"--no{name}"
        elif isinstance(value, (bytes, str)):
            yield f"--{name}={value!s}"
        else:
            try:
                items = [str(item) for item in value]
            except TypeError:
                yield f"--{name}={value}"
            else:
                yield from (
                    [f"--{name}={item}" for item in items]
                    if multi_flags and name in multi_flags
                    else [f"--{name}={','.join(items)}"]
                )
