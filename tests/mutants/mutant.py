"""`Mutant`: a change of one file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Mutant:
    """`source` is the file's new text. `line` counts from 1; `was` and `becomes` are that line, or the text that was replaced."""

    name: str
    file: str
    function: str
    line: int
    was: str
    becomes: str
    source: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key that stays the same while other lines of the file are edited."""
        return self.file, self.function, self.was, self.becomes

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function or '(module)'}\n    - {self.was}\n    + {self.becomes}"


def functions(tree: ast.Module) -> list[tuple[int, int, str]]:
    """First line, last line and qualified name, as code objects have it, of each function; outer ones come before inner ones."""
    found: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + child.name
                found.append((child.lineno, child.end_lineno or child.lineno, name))
                walk(child, f"{name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")
            else:
                walk(child, prefix)

    walk(tree, "")
    return found


def function_at(tree: ast.Module, line: int) -> str:
    """The innermost function around a line; empty outside of all."""
    return next((name for begin, end, name in reversed(functions(tree)) if begin <= line <= end), "")
