"""The names that statements bind, in the scope of their function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that the statements bind, in the order of their first binding."""
    return list(dict.fromkeys(name for statement in statements for name in _bound(statement)))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    elif isinstance(node, _SCOPES):
        if name := getattr(node, "name", None):
            yield name
        return
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        if isinstance(node, _COMPREHENSIONS) and isinstance(child, ast.comprehension):
            continue  # its target is a name of its own scope
        yield from _bound(child)


def declared_global(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that the statements declare as those of the module."""
    return {name for node in within(statements) if isinstance(node, ast.Global) for name in node.names}


def within(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of the statements, but for those of inner functions and classes."""
    for statement in statements:
        yield from _within(statement)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _within(child)


def has(statements: Iterable[ast.stmt], *kinds: type[ast.AST]) -> bool:
    """Whether a node of these kinds is among the statements, or below them in the same function."""
    return any(isinstance(node, kinds) for node in within(statements))
