"""The names that statements bind, in the scope of their function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FRESH = (ast.Dict, ast.List, ast.Set, ast.Call, ast.BinOp, *_COMPREHENSIONS)
_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.match_case)

Place = ast.Attribute | ast.Subscript
"""An attribute or an item that a statement sets."""


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
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    if isinstance(node, _COMPREHENSIONS):  # its targets are names of its own scope, but for those of :=
        assigned = (each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        yield from (target.id for target in assigned)
        return
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def unbound(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that may have no value behind the statements: those of `del`, and of exceptions."""
    nodes = list(within(statements))
    deleted = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
    return deleted | {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}


def places(statements: Iterable[ast.stmt]) -> tuple[list[Place], list[Place]]:
    """The attributes and the items that the statements set or delete, but for those of objects that they create.

    Returns:
        Those which a graph can carry, as they are the same before the statements and behind them, and all others.
    """
    block = list(statements)
    names = set(bound(block))
    fresh = names - {name for node in within(block) for name in _aliases(node)}
    stores = {
        ast.unparse(node): node
        for node in within(block)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
    }
    own = {label: node for label, node in stores.items() if _root(node) not in fresh}
    fixed = [node for node in own.values() if _is_fixed(node, names) and not _inner_labels(node) & set(stores)]
    return fixed, [node for node in own.values() if node not in fixed]


def _inner_labels(node: ast.expr) -> set[str]:
    """The texts of the attributes and items on which an attribute or an item depends."""
    inner = (each for each in ast.walk(node) if each is not node and isinstance(each, (ast.Attribute, ast.Subscript)))
    return {ast.unparse(each) for each in inner}


def _aliases(node: ast.AST) -> Iterator[str]:
    """The names that a node may bind to an object from elsewhere."""
    if not isinstance(node, _BINDING) or isinstance(node, ast.Assign) and isinstance(node.value, _FRESH):
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _bound(child)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_fixed(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression says the same place before and behind statements that bind the names."""
    if isinstance(node, ast.Name):
        return node.id not in names
    if isinstance(node, ast.Attribute):
        return _is_fixed(node.value, names)
    if isinstance(node, ast.Subscript):
        return _is_fixed(node.value, names) and _is_fixed(node.slice, names)
    if isinstance(node, ast.Tuple):
        return all(_is_fixed(each, names) for each in node.elts)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


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
