"""The rewritten statements: functions of the operators, over functions for the branches."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from actorflow.compat.autograph.jumps import Jumps
from actorflow.compat.autograph.names import Place, bound, declared_global, has, places, unbound, within

_NOT_CALLED = (
    "super",
    "locals",
    "globals",
    "vars",
    "eval",
    "exec",
    "isinstance",
    "issubclass",
    "type",
    "hasattr",
    "getattr",
)
_LOOP_OPTIONS = "set_loop_options"


class Rewriter(ast.NodeTransformer):
    """Rewrites the control flow of one function, and of the functions within it.

    Args:
        recursive: whether functions that it calls are rewritten when they are called.
    """

    def __init__(self, recursive: bool) -> None:
        self._recursive = recursive
        self._count = 0
        self._globals: set[str] = set()
        self._bound: list[str] = []
        self._first = ""

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The function, without decorators."""
        jumps = Jumps()
        node.decorator_list = []
        document = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        body = jumps.function(node.body[len(document) :]) if node.body[len(document) :] else []
        outer = self._globals, self._bound, self._first
        self._globals, self._bound = declared_global(body), []
        self._first = next((each.arg for each in (*node.args.posonlyargs, *node.args.args)), "")
        elsewhere = self._globals | _nonlocals(body)
        rewritten = self._block(body)
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        unset = [name for name in dict.fromkeys([*self._bound, *jumps.flags]) if name not in arguments | elsewhere]
        first = [line for name in unset for line in _parsed(f"{name} = ag__.Undefined({name!r})", node.body[0])]
        declarations = [each for each in rewritten if isinstance(each, (ast.Global, ast.Nonlocal))]
        others = [each for each in rewritten if not isinstance(each, (ast.Global, ast.Nonlocal))]
        node.body = [*document, *declarations, *first, *others]
        self._globals, self._bound, self._first = outer
        return node

    def _block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for statement in block:
            visited = self.visit(statement)
            statements += visited if isinstance(visited, list) else [visited]
        return statements

    # ---- statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function within the function."""
        if has(node.body, ast.Yield, ast.YieldFrom):
            return node
        decorators = [self.visit(each) for each in node.decorator_list]
        inner = self.function(node)
        inner.decorator_list = decorators
        return inner

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """A coroutine function stays as it is."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class stays as it is."""
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        """`assert`."""
        call = _parsed("ag__.assert_stmt(a, lambda: b)", node)[0]
        assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
        message = node.msg or ast.copy_location(ast.Constant(f"Assertion failed: {ast.unparse(node.test)}"), node)
        call.value.args = [self.visit(node.test), _lambda(self.visit(message), node)]
        return call

    def visit_Return(self, node: ast.Return) -> Any:
        """`return` at the end of a function."""
        if node.value is None or ast.unparse(node.value).startswith("ag__.result("):
            return node
        node.value = _call("returned", [self.visit(node.value)], node)
        return node

    def visit_If(self, node: ast.If) -> Any:
        """`if`."""
        block = [*node.body, *node.orelse]
        names = bound(block)
        state, body, orelse = self._names("state", "body", "orelse")
        functions, labels = self._state(state, names, block, node)
        test = _checked(self.visit(node.test), block, node)
        return [
            *functions,
            self._branch(body, names, self._block(node.body), node),
            self._branch(orelse, names, self._block(node.orelse), node),
            *_parsed(f"ag__.if_stmt(test, {body}, {orelse}, {state}_get, {state}_put, {labels!r})", node, test=test),
        ]

    def visit_While(self, node: ast.While) -> Any:
        """`while`."""
        names = bound(node.body)
        state, body, test = self._names("state", "body", "test")
        options, inner = _options(node.body)
        functions, labels = self._state(state, names, node.body, node)
        in_test = bound([ast.Expr(node.test)])
        self._bound += in_test
        reason = (
            f"Line {node.test.lineno}: a while whose test binds {', '.join(in_test)} by := can't go on by a tensor."
        )
        condition = self.visit(_and_not(getattr(node, "ag_flag", ""), node.test, node))
        condition = _checked(condition, node.body, node, f"{reason} Bind the name in the body." if in_test else "")
        return [
            *functions,
            self._branch(test, in_test, _parsed("return value", node, value=condition), node),
            self._branch(body, names, self._block(inner), node),
            *_parsed(
                f"ag__.while_stmt({test}, {body}, {state}_get, {state}_put, {labels!r}, options)",
                node,
                options=options,
            ),
        ]

    def visit_For(self, node: ast.For) -> Any:
        """`for`."""
        block = [*_assigned(node.target), *node.body]
        names = bound(block)
        state, body, bind = self._names("state", "body", "bind")
        options, inner = _options(node.body)
        flag = getattr(node, "ag_flag", "")
        goes_on = f"lambda: ag__.not_({flag})" if flag else "None"
        element = ast.copy_location(ast.Name("ag_element", ast.Load()), node)
        binding = self._branch(bind, names, [ast.copy_location(ast.Assign([node.target], element), node)], node)
        binding.args.args = [ast.copy_location(ast.arg("ag_element"), node)]
        functions, labels = self._state(state, names, block, node)
        iterated = _checked(self.visit(node.iter), block, node)
        return [
            *functions,
            binding,
            self._branch(body, names, self._block(inner), node),
            *_parsed(
                f"ag__.for_stmt(iterated, {goes_on}, {bind}, {body}, ({state}_get, {state}_put, {labels!r}), options)",
                node,
                iterated=iterated,
                options=options,
            ),
        ]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """`y: kind = value`, without the kind, which no name of a branch may have."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Match(self, node: ast.Match) -> Any:
        """`match`, in which no tensor is compared with values."""
        self.generic_visit(node)
        if any(isinstance(each, (ast.MatchValue, ast.MatchSingleton)) for each in ast.walk(node)):
            reason = f"Line {node.lineno}: match compares no tensor with values. Write it as an if with elif."
            node.subject = _reasoned("compared", node.subject, reason)
        return node

    def _names(self, *words: str) -> list[str]:
        self._count += 1
        return [f"ag_{word}_{self._count}" for word in words]

    def _branch(self, name: str, names: Sequence[str], body: list[ast.stmt], at: ast.stmt) -> ast.FunctionDef:
        function = _parsed(f"def {name}(): pass", at)[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [*self._places(names, at), *(body or _parsed("pass", at))]
        return function

    def _places(self, names: Sequence[str], at: ast.stmt) -> list[ast.stmt]:
        """Declarations of names that a branch binds in the function around it."""
        outer = [name for name in names if name in self._globals]
        local = [name for name in names if name not in self._globals]
        texts = [f"global {', '.join(outer)}"] * bool(outer) + [f"nonlocal {', '.join(local)}"] * bool(local)
        return [line for text in texts for line in _parsed(text, at)]

    def _state(
        self, state: str, names: Sequence[str], block: Sequence[ast.stmt], at: ast.stmt
    ) -> tuple[list[ast.stmt], tuple[str, ...]]:
        """Functions that give the values of names, attributes and items, and new values to them; how these are called."""
        self._bound += names
        fixed, _ = places(block)
        uncertain = unbound(block)
        labels = [ast.unparse(place) for place in fixed]
        reads = [f"ag__.loaded(lambda: {name}, {name!r})" if name in uncertain else name for name in names]
        reads += [f"ag__.loaded(lambda: {label}, {label!r})" for label in labels]
        targets = [*names, *(f"ag_value_{number}" for number in range(len(fixed)))]
        lines = [f"({', '.join(targets)},) = ag_values"] if targets else ["pass"]
        lines += [_put(place, f"ag_value_{number}") for number, place in enumerate(fixed)]
        get = self._branch(f"{state}_get", names, _parsed(f"return ({''.join(f'{read}, ' for read in reads)})", at), at)
        put = self._branch(f"{state}_put", names, [line for text in lines for line in _parsed(text, at)], at)
        put.args.args = [ast.copy_location(ast.arg("ag_values"), at)]
        return [get, put], (*names, *labels)

    # ---- expressions

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`and`, `or`."""
        if _binds(node):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _call(name, [_lambda(self.visit(value), value) for value in node.values], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """`not`."""
        self.generic_visit(node)
        return _call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """`a if c else b`."""
        if _binds(node):
            return node
        self.generic_visit(node)
        return _call("if_exp", [node.test, _lambda(node.body, node), _lambda(node.orelse, node)], node)

    def visit_Call(self, node: ast.Call) -> Any:
        """A call of a function, which is rewritten when it is called."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self._first:
            names: list[ast.expr] = [
                ast.copy_location(ast.Name(name, ast.Load()), node) for name in ("__class__", self._first)
            ]
            return ast.copy_location(ast.Call(node.func, names, []), node)  # a branch is no method
        if not self._recursive or (isinstance(node.func, ast.Name) and node.func.id in _NOT_CALLED):
            return node
        node.func = _call("called", [node.func], node.func)
        return node


def _parsed(text: str, at: ast.AST, **holes: ast.expr) -> list[ast.stmt]:
    """Statements that stand in the program where another stands, with expressions for some of their names."""

    class FilledNames(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return holes.get(node.id, node)

    statements = ast.parse(text).body
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, at)
    return [FilledNames().visit(statement) for statement in statements] if holes else statements


def _call(name: str, arguments: list[ast.expr], at: ast.AST) -> ast.expr:
    function = ast.copy_location(
        ast.Attribute(ast.copy_location(ast.Name("ag__", ast.Load()), at), name, ast.Load()), at
    )
    return ast.copy_location(ast.Call(function, arguments, []), at)


def _lambda(body: ast.expr, at: ast.AST) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, body), at)


def _binds(node: ast.expr) -> bool:
    """Whether an expression binds a name or waits, so that it can't be a function of its own."""
    return any(isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))


def _and_not(flag: str, test: ast.expr, at: ast.AST) -> ast.expr:
    if not flag:
        return test
    kept = _parsed(f"not {flag} and test", at, test=test)[0]
    assert isinstance(kept, ast.Expr)
    return kept.value


def _assigned(target: ast.expr) -> list[ast.stmt]:
    return [ast.Assign([copy.deepcopy(target)], ast.Constant(None))]


def _nonlocals(block: Sequence[ast.stmt]) -> set[str]:
    return {name for node in within(block) if isinstance(node, ast.Nonlocal) for name in node.names}


def _put(place: Place, value: str) -> str:
    owner, label = ast.unparse(place.value), ast.unparse(place)
    if isinstance(place, ast.Attribute):
        return f"ag__.put_attribute({owner}, {place.attr!r}, {value}, {label!r})"
    return f"ag__.put_item({owner}, {ast.unparse(place.slice)}, {value}, {label!r})"


def _checked(value: ast.expr, block: Sequence[ast.stmt], at: ast.stmt, reason: str = "") -> ast.expr:
    """The expression that decides a statement, refused for a tensor if the block sets what a graph can't carry."""
    _, moving = places(block)
    if moving and not reason:
        kind = type(at).__name__.lower()
        reason = (
            f"Line {moving[0].lineno}: {ast.unparse(moving[0])} is set in the {kind} of line {at.lineno}, which a tensor "
            "decides, and its object or index changes there. Bind a name there, and set the item or attribute behind it."
        )
    return _reasoned("python_only", value, reason) if reason else value


def _reasoned(name: str, value: ast.expr, reason: str) -> ast.expr:
    return _call(name, [value, ast.copy_location(ast.Constant(reason), value)], value)


def _options(body: list[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
    """The options of a loop that its first statement says, as a dictionary, and the other statements."""
    first = body[0]
    empty = ast.copy_location(ast.Dict([], []), first)
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Call)):
        return empty, body
    function = first.value.func
    if getattr(function, "attr", getattr(function, "id", "")) != _LOOP_OPTIONS:
        return empty, body
    pairs = [(ast.copy_location(ast.Constant(each.arg), first), each.value) for each in first.value.keywords]
    options = ast.copy_location(ast.Dict([key for key, _ in pairs], [value for _, value in pairs]), first)
    return options, body[1:] or [ast.copy_location(ast.Pass(), first)]
