"""Straight-line code for loops: one generated function, one line a member.

A kernel whose body is a single `return` of an expression is written out in the line, with its parameters replaced by the
loop's variables, so that a chain of additions becomes `v2 = v1 + c2`; other kernels are called. Constants, attributes
and functions enter through the function's name space, never as source. This is the only module that calls `exec`.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
import linecache
import re
import textwrap
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from actorflow.registry.kernel import KernelDef

_counter = itertools.count()
_HEADER = 3  # lines before the first member's
_CLOSING = 6  # lines of closing brackets behind a function's last code


class Writer:
    """Collects the lines and the name space of one function, which takes its inputs as one list and empties it: no one else
    then holds an input when the code lets go of it."""

    def __init__(self, parameters: Sequence[str]) -> None:
        self._parameters = parameters
        self._lines: list[str] = []
        self._names: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self.indent = 1

    @property
    def line(self) -> int:
        """The number of the next line in the generated function's file."""
        return len(self._lines) + _HEADER + 1

    def bind(self, value: Any, prefix: str = "k") -> str:
        """A name for `value` in the name space; the same object keeps its name."""
        name = self._known.get(id(value))
        if name is None:
            name = f"{prefix}{len(self._names)}"
            self._names[name] = value
            self._known[id(value)] = name
        return name

    def add(self, line: str) -> None:
        self._lines.append("  " * self.indent + line)

    def build(self, results: str) -> tuple[Callable[..., Any], str]:
        """The function, which returns `results`, and the name of its file in tracebacks."""
        unpacked = f"{', '.join(self._parameters)}, = inputs" if self._parameters else "pass"
        # Locals are found faster than globals.
        bound = ", ".join(["inputs", *(f"{name}={name}" for name in self._names)])
        header = [f"def region({bound}):", f"  {unpacked}", "  inputs.clear()"]
        source = "\n".join([*header, *self._lines, f"  return {results}", ""])
        space = dict(self._names)
        code = _compiled(source)
        exec(code, space)
        return space["region"], code.co_filename


@functools.lru_cache(512)
def _compiled(source: str) -> CodeType:
    """The code of a source, with a file name of its own. Equal regions share it: replicas, and plans made again after a loss."""
    code: CodeType = compile(source, f"<actorflow region {next(_counter)}>", "exec")
    return code


def write_call(
    writer: Writer, entry: KernelDef, xp: Any, arguments: Sequence[str], keywords: dict[str, Any], out: str | None
) -> str:
    """The expression that computes a kernel: written out where its body allows, else a call.

    `arguments` are the spellings of its inputs, `keywords` the values of attributes and context, `out` the spelling of an
    output buffer, or None for none.
    """
    # A function that was made for one node, with what it keeps of its constants, goes with the plan.
    template = _template(entry.function) if _is_plain(entry.function) else None
    if template is not None:
        return template.fill(writer, xp, arguments, keywords, out)
    parts = [writer.bind(xp), *arguments]
    parts.extend(f"{name}={writer.bind(value)}" for name, value in keywords.items())
    if out is not None:
        parts.append(f"out={out}")
    return f"{writer.bind(entry.function)}({', '.join(parts)})"


class _Template:
    """The returned expression of a kernel as text with holes: for its parameters, for functions of `xp`, for globals."""

    def __init__(self, function: Callable[..., Any], expression: ast.expr, parameters: list[str]) -> None:
        self._parameters = parameters  # the inputs, without xp
        self._space = function.__globals__
        self._expression = expression

    def fill(self, writer: Writer, xp: Any, arguments: Sequence[str], keywords: dict[str, Any], out: str | None) -> str:
        text, holes = self._text(out is None)
        spelled = dict(zip(self._parameters, arguments, strict=False))
        spelled.update((name, writer.bind(value)) for name, value in keywords.items())
        if out is not None:
            spelled["out"] = out
        filled = {}
        for hole in holes:
            kind, _, name = hole.partition("_")
            if kind == "xp":
                filled[hole] = writer.bind(getattr(xp, name) if name else xp)
            elif name in spelled:
                filled[hole] = spelled[name]
            elif name in self._space:
                filled[hole] = writer.bind(self._space[name])
            else:
                filled[hole] = name  # a builtin
        return text.format_map(filled)

    @functools.cache  # noqa: B019  (templates live as long as their kernels)
    def _text(self, without_out: bool) -> tuple[str, tuple[str, ...]]:
        """The expression with or without an output buffer, and the names of its holes."""
        tree = _Holes(without_out).visit(copy.deepcopy(self._expression))
        text = ast.unparse(tree).replace("{", "{{").replace("}", "}}")
        holes = tuple(dict.fromkeys(re.findall(r"\bhole_(\w+)", text)))
        return re.sub(r"\bhole_(\w+)", r"{\1}", text), holes


class _Holes(ast.NodeTransformer):
    """Puts holes for names, and decides `A if out is None else B`."""

    def __init__(self, without_out: bool) -> None:
        self._without_out = without_out

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = node.test
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == "out"
            and isinstance(test.ops[0], ast.Is | ast.IsNot)
        ):
            taken = node.body if self._without_out == isinstance(test.ops[0], ast.Is) else node.orelse
            return self.visit(taken)  # type: ignore[no-any-return]
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "xp":
            return ast.Name(f"hole_xp_{node.attr}", ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "xp":
            return ast.Name("hole_xp_", ast.Load())
        if node.id == "out" and self._without_out:
            return ast.Constant(None)
        return ast.Name(f"hole_name_{node.id}", ast.Load())


def _is_plain(function: Callable[..., Any]) -> bool:
    """Whether it is written in Python, and keeps nothing."""
    return isinstance(function, FunctionType) and not function.__closure__


@functools.lru_cache(4096)
def _template(function: Callable[..., Any]) -> _Template | None:
    """The kernel's expression, or None where its body is more than one or its source is not at hand."""
    found = _definition(function)
    if found is None or len(found.body) > 2:
        return None
    body = [s for s in found.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None or found.args.vararg:
        return None
    if found.args.defaults:
        return None  # of an input that one of its ops does not have
    expression = body[0].value
    scoped = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await)
    if any(isinstance(part, scoped) for part in ast.walk(expression)):
        return None
    parameters = [a.arg for a in (*found.args.posonlyargs, *found.args.args)][1:]
    uses = [n.id for n in ast.walk(expression) if isinstance(n, ast.Name)]
    if any(uses.count(p) > 4 for p in parameters):
        return None
    return _Template(function, expression, parameters)


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The source of a function, parsed. The code knows its first line and, all but closing brackets, its last."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno - 1
    last = max((line for _, _, line in code.co_lines() if line is not None), default=first)
    for end in range(last, min(last + _CLOSING, len(lines)) + 1):
        try:
            found = ast.parse(textwrap.dedent("".join(lines[first:end]))).body
        except SyntaxError:
            continue
        return found[0] if len(found) == 1 and isinstance(found[0], ast.FunctionDef) else None
    return None


def scalar_constant(value: np.ndarray[Any, Any]) -> Any:
    """A rank-0 constant as a numpy scalar, which other scalars are added to ten times faster than to an array."""
    return value[()] if value.ndim == 0 and not value.dtype.hasobject else value
