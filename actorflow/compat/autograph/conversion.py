"""A function becomes another function, whose control flow on tensors builds nodes, with the lines of the program."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from actorflow.compat.autograph import expressions, operators, places
from actorflow.compat.autograph.names import has
from actorflow.compat.autograph.statements import Rewriter
from actorflow.compat.autograph.states import Undefined

UNCHANGED = "_not_rewritten"
"""The mark of functions that stay as they are."""
_NAME = "ag__"
"""The name by which rewritten functions read the operators."""
_LIBRARIES = frozenset(
    ("actorflow", "tensorflow", "numpy", "scipy", "six", "absl", "kernels", "google", "matplotlib", "pandas", "tf_slim")
)
_conversions: weakref.WeakKeyDictionary[Any, dict[bool, Any]] = weakref.WeakKeyDictionary()


def converted(function: Callable[..., Any], recursive: bool = True) -> Any:
    """The function with the control flow of graphs. A method stays bound.

    Args:
        function: a function of Python, or a method.
        recursive: whether functions that it calls are rewritten when they are called.

    Raises:
        ValueError: its source can't be read or rewritten, or Python does not compile what it becomes.
    """
    if isinstance(function, MethodType):
        return MethodType(converted(function.__func__, recursive), function.__self__)
    if not isinstance(function, FunctionType):
        raise ValueError(f"AutoGraph rewrites functions of Python, not {type(function).__name__}: {function!r:.80}.")
    if hasattr(function, UNCHANGED) or _NAME in function.__code__.co_freevars:
        return function
    kept = _conversions.setdefault(function, {})
    if recursive not in kept:
        try:
            kept[recursive] = _convert(function, recursive)
        except (SyntaxError, KeyError) as error:
            raise ValueError(f"AutoGraph does not rewrite {function.__qualname__}: {error}.") from error
    return kept[recursive]


def called(function: Any) -> Any:
    """The function that a rewritten function calls in the place of `function`: rewritten if it is the program's own."""
    try:
        if function in expressions.BUILTINS:
            return expressions.BUILTINS[function]
    except TypeError:
        return function
    inner = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(inner, FunctionType) or not _is_own(inner):
        return function
    try:
        return converted(function)
    except ValueError:
        return function


def convertible(function: Any) -> Any:
    """The function rewritten, or itself if there is no way."""
    try:
        return converted(function)
    except ValueError:
        return function


def _is_own(function: FunctionType) -> bool:
    top = (function.__module__ or "").partition(".")[0]
    return top not in _LIBRARIES and top not in sys.stdlib_module_names or top == "__main__"


def source_of(function: Callable[..., Any], recursive: bool = True) -> str:
    """The text of the rewritten function."""
    inner = function if isinstance(function, (FunctionType, MethodType)) else inspect.unwrap(function)
    return ast.unparse(_tree(inner.__func__ if isinstance(inner, MethodType) else inner, recursive))


def _tree(function: Any, recursive: bool) -> ast.FunctionDef:
    """The rewritten function as a tree, with its lines in the program's file."""
    try:
        lines, first = inspect.getsourcelines(getattr(function, "__code__", function))  # a function unwraps itself
        indented = lines[0][:1].isspace()
        tree = ast.parse(("if 1:\n" if indented else "") + "".join(lines))
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(
            f"The source of {getattr(function, '__name__', function)!s} can't be read, so its control flow is not rewritten."
        ) from error
    ast.increment_lineno(tree, first - 1 - indented)
    definition: Any = tree.body[0]
    definition = definition.body[0] if indented else definition
    if not isinstance(definition, ast.FunctionDef) or has(definition.body, ast.Yield, ast.YieldFrom, ast.Await):
        raise ValueError(
            f"{getattr(function, '__name__', function)!s} is a lambda, a generator or a coroutine function, which is not "
            "rewritten: write it as a function with def."
        )
    if any(isinstance(node, (ast.Name, ast.Attribute)) and _mangled(node) for node in ast.walk(definition)):
        raise ValueError(f"{function.__qualname__} uses names such as __x of its class, and is not rewritten.")
    return Rewriter(recursive).function(definition)


def _mangled(node: ast.Name | ast.Attribute) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr
    return name.startswith("__") and not name.endswith("__")


def _convert(function: FunctionType, recursive: bool) -> Any:
    definition = _tree(function, recursive)
    definition.name = "ag_function"  # its own name stays that of the module, or of the function around it
    free = [*function.__code__.co_freevars, _NAME]
    around = ast.parse(f"def around({', '.join(free)}): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body = [definition]
    ast.copy_location(around, definition)
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = next(_codes(compile(module, function.__code__.co_filename, "exec"), definition.name, 2))
    code = code.replace(co_name=function.__code__.co_name, co_qualname=function.__code__.co_qualname)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_NAME] = CellType(_OPERATORS)
    closure = tuple(cells[name] for name in code.co_freevars)
    rewritten = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    rewritten.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(rewritten, function)
    del rewritten.__dict__["__wrapped__"]  # its signature is its own, or that of what it wraps
    if hasattr(function, "__wrapped__"):
        rewritten.__dict__["__wrapped__"] = function.__wrapped__
    setattr(rewritten, UNCHANGED, True)
    return rewritten


def _codes(code: CodeType, name: str, depth: int) -> Iterator[CodeType]:
    """The code objects of a name, at a depth below another."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if depth == 1 and constant.co_name == name:
                yield constant
            elif depth > 1:
                yield from _codes(constant, name, depth - 1)


_OPERATORS = SimpleNamespace(
    if_stmt=operators.if_stmt,
    while_stmt=operators.while_stmt,
    for_stmt=operators.for_stmt,
    if_exp=operators.if_exp,
    and_=expressions.and_,
    or_=expressions.or_,
    not_=expressions.not_,
    assert_stmt=expressions.assert_stmt,
    result=expressions.result,
    returned=expressions.returned,
    loaded=places.loaded,
    put_attribute=places.put_attribute,
    put_item=places.put_item,
    python_only=places.python_only,
    compared=places.compared,
    called=called,
    Undefined=Undefined,
)
"""The functions that rewritten functions call as `ag__`."""
