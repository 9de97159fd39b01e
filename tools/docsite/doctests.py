"""`run_example`: the examples in docstrings, in the form of Python's doctest, and how they run.

    python tools/docsite/doctests.py FILE...            runs the examples of these modules
    python tools/docsite/doctests.py --write FILE...    writes what they print under them, too

An example stands in a docstring, in its section `Example:`, behind `>>>`. It needs no preparation that its reader does not see
but this: `af` and `np` are imported, ops run at once (as in `with af.eager():`), random numbers begin with the same seed, and the
working folder is empty and goes away. An example that says `session`, `placeholder` or `TestCase` gets a graph of its own
instead, and an open `af.Session` named `session` unless it opens one itself. An `await` may stand anywhere.

Values are shown as readers want to see them: a tensor by its value, floating-point numbers with four digits behind the point. In
an expected output `...` stands for anything.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import random
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anyio
import numpy as np

import actorflow as af
from docsite.blocks import matches
from docsite.running import executed

PROMPT = ">>> "
SECONDS = 60
WIDTH = 100
"""Characters of an error that an example shows."""


@dataclass(frozen=True, slots=True)
class Example:
    """The example of one docstring.

    file: the module.
    line: the line of the module in which the docstring begins.
    statements: what runs, each with the output that is expected.
    """

    file: Path
    line: int
    statements: tuple[doctest.Example, ...]

    def where(self, statement: doctest.Example) -> str:
        return f"{self.file}:{self.line + statement.lineno}"


class ExampleError(Exception):
    """A statement of an example does not do what the docstring says."""


def examples(file: Path) -> Iterator[Example]:
    """The examples of a module: of its docstrings, and of texts from which docstrings are made."""
    source = file.read_text(encoding="utf-8")
    if PROMPT in source:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and PROMPT in node.value:
                if statements := tuple(doctest.DocTestParser().get_examples(node.value)):
                    yield Example(file, node.lineno, statements)


async def run_example(example: Example) -> list[str]:
    """Runs the statements of an example, and gives what each one printed.

    Raises:
        ExampleError: one failed, or printed something else; it says the file and the line.
    """
    printed = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        async with _scope(example) as names:
            for statement in example.statements:
                try:
                    with anyio.fail_after(SECONDS):
                        printed.append(await _output(example, statement, names))
                except TimeoutError:
                    raise ExampleError(f"{example.where(statement)} did not end within {SECONDS} seconds") from None
            af.summary.FileWriterCache.clear()  # their files are in the folder
    return printed


def complaints(example: Example, printed: list[str]) -> list[str]:
    """Outputs that differ from what the docstring says."""
    return [
        f"{example.where(statement)}: {statement.source.strip()} prints\n{output}\nand not\n{statement.want}"
        for statement, output in zip(example.statements, printed, strict=True)
        if not matches(statement.want, output)
    ]


@contextlib.asynccontextmanager
async def _scope(example: Example) -> Any:
    """The names that an example finds, in a graph of its own or where ops run at once."""
    names: dict[str, Any] = {"__name__": "example", "af": af, "np": np}
    try:
        nodes = list(ast.walk(ast.parse("".join(statement.source for statement in example.statements))))
    except SyntaxError as error:
        raise ExampleError(f"{example.where(example.statements[0])}: {error}") from None
    uses = [node.ctx for node in nodes if isinstance(node, ast.Name) and node.id == "session"]
    in_a_graph = uses or any(
        isinstance(node, ast.Attribute) and node.attr in ("placeholder", "TestCase") for node in nodes
    )
    random.seed(0)
    np.random.seed(0)
    with af.Graph().as_default() if in_a_graph else af.eager():
        af.set_random_seed(0)
        if uses and not any(isinstance(use, ast.Store) for use in uses):
            async with af.Session() as names["session"]:
                yield names
        else:
            yield names


async def _output(example: Example, statement: doctest.Example, names: dict[str, Any]) -> str:
    source = "\n" * (example.line + statement.lineno - 1) + statement.source
    showing, sys.displayhook = sys.displayhook, _show
    try:
        return await executed(source, f"example of {example.file.name}", names, mode="single")
    except Exception as error:
        if statement.exc_msg is None:
            raise ExampleError(f"{example.where(statement)} raised\n{traceback.format_exc()}") from None
        return "Traceback (most recent call last):\n    ...\n" + _named(error)
    finally:
        sys.displayhook = showing


def _named(error: Exception) -> str:
    """An error as the end of a traceback has it: the first line, in short."""
    module = type(error).__module__
    name = type(error).__qualname__ if module == "builtins" else f"{module}.{type(error).__qualname__}"
    said = f"{name}: {error}".splitlines()[0]
    return said if len(said) <= WIDTH else f"{said[:WIDTH].rpartition(' ')[0]} ..."


def _show(value: Any) -> None:
    if value is not None:
        print(shown(value))


def shown(value: Any) -> str:
    """A value as an example shows it."""
    if isinstance(value, af.SparseTensor) and hasattr(value.values, "numpy"):
        parts = {"indices=": value.indices, "values=": value.values, "dense_shape=": value.dense_shape}
        return _joined("SparseTensor(", parts.items(), ")")
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        fields = ((f"{name}=", one) for name, one in value._asdict().items())
        return _joined(f"{type(value).__name__}(", fields, ")")
    if type(value) is list:
        return _joined("[", (("", one) for one in value), "]")
    if type(value) is tuple:
        return _joined("(", (("", one) for one in value), ",)" if len(value) == 1 else ")")
    if type(value) is dict:
        return _joined("{", ((f"{key!r}: ", one) for key, one in value.items()), "}")
    if hasattr(value, "numpy") and callable(value.numpy):
        value = value.numpy()
    if isinstance(value, np.ndarray) and value.ndim:
        if value.dtype.kind == "f":
            value = np.where(np.abs(value) < 5e-5, 0.0, value)  # without the sign of what is shown as a zero
        text = np.array2string(value, precision=4, suppress_small=True, separator=" ")
        return "\n".join(line for line in text.splitlines() if line.strip())
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, np.floating | np.complexfloating | float | complex):
        size = float(np.abs(value))
        near = value == 0 or 1e-3 <= size < 1e15 or not np.isfinite(value)
        return str(np.round(value, 4) + 0.0) if near else f"{value:.3g}"
    return str(value) if isinstance(value, np.generic) and not isinstance(value, bytes | str) else repr(value)


def _joined(begin: str, parts: Iterable[tuple[str, Any]], end: str) -> str:
    """Values behind their labels; the rows of an array stand under each other."""
    text = begin
    for number, (label, value) in enumerate(parts):
        text += (", " if number else "") + label
        column = len(text) - text.rfind("\n") - 1
        text += shown(value).replace("\n", "\n" + " " * column)
    return text + end


def rewritten(source: str, found: list[tuple[Example, list[str]]]) -> str:
    """A module with the outputs of its examples as they are; an output with `...` that fits stays."""
    lines = source.splitlines()
    for example, printed in sorted(found, key=lambda pair: -pair[0].line):
        for statement, output in reversed(list(zip(example.statements, printed, strict=True))):
            if matches(statement.want, output):
                continue
            begin = example.line + statement.lineno - 1 + statement.source.count("\n")
            end = begin + statement.want.count("\n")
            indent = lines[begin - 1][: len(lines[begin - 1]) - len(lines[begin - 1].lstrip())]
            lines[begin:end] = [f"{indent}{line}".rstrip().replace("\\", "\\\\") for line in output.splitlines()]
    return "\n".join(lines) + "\n"


async def run_module(file: Path) -> tuple[list[tuple[Example, list[str]]], list[str]]:
    """Runs the examples of a module: those that ended, with what they printed, and the errors of the others."""
    ended, errors = [], []
    for example in examples(file):
        try:
            ended.append((example, await run_example(example)))
        except ExampleError as error:
            errors.append(str(error))
    return ended, errors


def main(arguments: list[str]) -> int:
    """Runs the examples of the named files; 1 where one fails."""
    faults = []
    for file in [Path(name).resolve() for name in arguments if name != "--write"]:
        ended, errors = anyio.run(run_module, file)
        faults += errors
        if "--write" in arguments:
            file.write_text(rewritten(file.read_text(encoding="utf-8"), ended), encoding="utf-8")
        else:
            faults += [fault for example, printed in ended for fault in complaints(example, printed)]
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
