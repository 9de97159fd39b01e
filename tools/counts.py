"""Counts what tells how large and how tangled the five parts are.

python tools/counts.py           of this checkout
python tools/counts.py FOLDER    of another one

Code lines are neither blank, nor comments, nor docstrings. A knot is a set of folders below `actorflow/` that import each other,
directly or over others; imports within functions and those for type checkers count. Of functions with many parameters those are
left out whose parameters are given from outside: public functions, public methods and constructors of public classes, ops and
kernels.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from affected_tests import imports

PARTS = ("actorflow", "transports", "devices", "kernels", "checkpoint")
OP = re.compile(r"_?[A-Z][A-Za-z0-9]+")
LONG_MODULE, LONG_CLASS, LONG_FUNCTION, MANY_PARAMETERS = 350, 300, 60, 9


@dataclass(frozen=True, slots=True)
class Source:
    """A module: where it is, its syntax tree, and the numbers of its lines of code."""

    path: Path
    tree: ast.Module
    code: frozenset[int]

    def size(self, node: ast.stmt) -> int:
        """The code lines of a class or a function."""
        return sum(line in self.code for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def sources(root: Path) -> Iterator[Source]:
    """The modules of the five parts."""
    for part in PARTS:
        for path in sorted((root / part).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            documents: set[int] = set()
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Constant)
                    and isinstance(node.value.value, str)
                ):
                    documents.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            lines = enumerate(map(str.strip, text.split("\n")), 1)
            code = frozenset(n for n, line in lines if line and not line.startswith("#") and n not in documents)
            yield Source(path.relative_to(root), tree, code)


def arrows(root: Path, modules: list[Source]) -> dict[str, set[str]]:
    """For each folder below `actorflow/`, the folders that its modules import."""
    inner = [source.path for source in modules if source.path.parts[0] == "actorflow" and len(source.path.parts) > 2]
    users: dict[str, set[str]] = {path.parts[1]: set() for path in inner}
    for path in inner:
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        for parts in (name.split(".") for name in imports(root / path, module, {})):
            if parts[0] == "actorflow" and len(parts) > 1 and parts[1] in users:
                users[path.parts[1]].add(parts[1])
    return users


def largest_knot(users: Mapping[str, set[str]]) -> int:
    """The size of the largest set of folders that reach each other."""
    reach = {folder: set(below) for folder, below in users.items()}
    for middle in reach:
        for below in reach.values():
            if middle in below:
                below |= reach[middle]
    return max(sum(other in reach[folder] and folder in reach[other] for other in reach) or 1 for folder in reach)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many parameters a function has, `self` and `cls` left out."""
    own = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([argument for argument in own if argument.arg not in ("self", "cls")])


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def first_line(function: Function) -> int:
    """The line of a function's first decorator, or its own."""
    return min(node.lineno for node in (function, *function.decorator_list))


def names_an_op(function: Function) -> bool:
    """Whether a decorator names the op that a function declares, computes or builds: `@op`, `@kernel`, `@update("ApplyAdam")`."""
    calls = [call for call in function.decorator_list if isinstance(call, ast.Call)]
    first = [call.args[0] for call in calls if call.args]
    return any(isinstance(call.func, ast.Name) and call.func.id in ("op", "kernel") for call in calls) or any(
        isinstance(argument, ast.Constant) and OP.fullmatch(str(argument.value)) for argument in first
    )


def public_lines(root: Path) -> set[tuple[str, int]]:
    """The files and first lines of the functions that public names and registered kernels of a checkout lead to."""
    script = Path(__file__).with_name("public_functions.py")
    environment = {**os.environ, "PYTHONPATH": str(root)}
    rows = subprocess.run(
        [sys.executable, script], env=environment, cwd=root, check=True, capture_output=True, text=True
    )
    return {(os.path.relpath(path, root), line) for path, line in json.loads(rows.stdout)}


def counts(root: Path) -> dict[str, int]:
    """The figures of a checkout, by what they count."""
    modules = list(sources(root))
    functions = [
        (source, node)
        for source in modules
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    classes = [(source, node) for source in modules for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    session = next(node for source, node in classes if node.name == "Session" and source.path.name == "session.py")
    begin = next(node for node in session.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    users, public = arrows(root, modules), public_lines(root)
    return {
        "folders side by side in actorflow/": len(users),
        "largest knot of these folders": largest_knot(users),
        "arguments of Session": parameters(begin),
        f"functions of {MANY_PARAMETERS} parameters and more": sum(
            parameters(node) >= MANY_PARAMETERS
            and not names_an_op(node)
            and (str(source.path), first_line(node)) not in public
            for source, node in functions
        ),
        f"functions over {LONG_FUNCTION} lines": sum(source.size(node) > LONG_FUNCTION for source, node in functions),
        f"modules over {LONG_MODULE} lines": sum(len(source.code) > LONG_MODULE for source in modules),
        f"classes over {LONG_CLASS} lines": sum(source.size(node) > LONG_CLASS for source, node in classes),
        "code lines of the five parts": sum(len(source.code) for source in modules),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    for what, number in counts(folder).items():
        print(f"{number:>8,}  {what}")
