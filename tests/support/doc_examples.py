"""The examples in docstrings: the pieces of Python that stand indented in them, outside of sections such as `Args:`."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import actorflow as af

_SECTION = re.compile(r"^(Args|Returns|Raises|Yields):", re.MULTILINE)


def pieces(docstring: str) -> list[str]:
    """The examples of one docstring."""
    text = _SECTION.split(docstring)[0]
    found = re.findall(r"(?:^ {4,}.*\n?|^\n(?= {4}))+", text + "\n", re.MULTILINE)
    return [textwrap.dedent(piece).strip("\n") for piece in found if piece.strip()]


def examples(namespace: Any) -> list[tuple[str, str]]:
    """The examples of all names of a namespace: the name, and the piece."""
    named = [(name, getattr(namespace, name)) for name in namespace.__all__]
    return [(name, piece) for name, value in named for piece in pieces(inspect.getdoc(value) or "")]


def run_example(piece: str) -> None:
    """Runs a piece in a graph of its own."""
    with af.Graph().as_default():
        exec(compile(piece, "example", "exec"), {"af": af, "__name__": "example"})
