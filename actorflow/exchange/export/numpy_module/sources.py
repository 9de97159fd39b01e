"""`ModuleSources`: functions, classes and constants, with all that they reach, as the source of one module."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import sys
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.errors import UnimplementedError
from actorflow.exchange.export.numpy_module.substitutes import DTYPE, ERROR, SUBSTITUTES

_OWN = "actorflow"


class ModuleSources:
    """The source of a module, definition by definition.

    A name of a function's module is followed to the object that it means. Functions and classes of actorflow's are taken over,
    numbers and texts are written down, and other modules are imported. Annotations and documentation are left out.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no identity is used twice
        self._taken: set[str] = set(dir(builtins)) | {"np"}
        self._imports: dict[str, None] = {"import numpy as np": None}
        self._definitions: list[str] = []

    def text(self) -> str:
        """The imports and the definitions."""
        return "\n".join([*sorted(self._imports), "", *self._definitions])

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return candidate

    def expression(self, value: Any, what: str = "a value") -> str:
        """An expression that gives `value`.

        Args:
            value: a function or class, a module, an element type, a number, a text, or a collection of such.
            what: its origin, for errors.

        Raises:
            UnimplementedError: it can't be written.
        """
        expression = self._names.get(id(value))
        if expression is not None:
            return expression
        written = self._plain(value, what)
        if written is not None:
            return written
        called = getattr(value, "__name__", "")
        of_numpy = isinstance(value, np.ufunc) or (getattr(value, "__module__", None) or "").startswith("numpy")
        if of_numpy and called and getattr(np, called, None) is value:
            return f"np.{called}"
        if isinstance(value, ModuleType):
            return self._module(value, what)
        if value is DType:
            return self._type_class()
        if isinstance(value, DType):
            return self._define(value, value.name, lambda name: self._dtype(value, name))
        if isinstance(value, functools.partial):
            parts = [self.expression(part, what) for part in (value.func, *value.args)]
            parts += [f"{key}={self.expression(part, what)}" for key, part in value.keywords.items()]
            self._imports["import functools"] = None
            return f"functools.partial({', '.join(parts)})"
        inner = inspect.unwrap(value) if callable(value) else value
        module = getattr(inner, "__module__", None) or ""
        name = getattr(inner, "__qualname__", "")
        if module.partition(".")[0] in sys.stdlib_module_names and name and "." not in name:
            return self._imported(module, name)
        if module.partition(".")[0] == _OWN or module.partition(".")[0] in ("kernels",):
            if isinstance(inner, (FunctionType, type)):
                return self._define(value, inner.__name__, lambda name: self._definition(inner, name))
        raise UnimplementedError(f"{what} needs {value!r:.100}, which can't be written into a standalone module.")

    def _plain(self, value: Any, what: str) -> str | None:
        """The literal of a plain value; None for any other value."""
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str, bytes, complex)):
            return repr(value)
        if isinstance(value, float):
            if math.isfinite(value):
                return repr(value)
            return f'float("{value}")'
        if isinstance(value, np.dtype):
            return f"np.dtype({value.str!r})"
        if isinstance(value, np.generic):
            return f"np.{value.dtype.name}({value.item()!r})" if value.dtype.kind in "biuf" else None
        if isinstance(value, np.ndarray):
            return f"np.array({value.tolist()!r}, np.dtype({value.dtype.str!r}))" if value.size <= 4096 else None
        if type(value) in (tuple, list, set, frozenset):
            inner = ", ".join(self.expression(item, what) for item in value)
            if type(value) is tuple:
                return f"({inner},)" if value else "()"
            if type(value) is list:
                return f"[{inner}]"
            return f"{type(value).__name__}([{inner}])"
        if type(value) is dict:
            items = [f"{self.expression(k, what)}: {self.expression(v, what)}" for k, v in value.items()]
            return "{" + ", ".join(items) + "}"
        return None

    def _define(self, value: Any, name: str, make: Callable[[str], str]) -> str:
        unique = self.fresh(name)
        self._names[id(value)] = unique  # before its source, which may name itself
        self._kept.append(value)
        self._definitions.append(make(unique))
        return unique

    def _dtype(self, dtype: DType, name: str) -> str:
        return f"{name} = {self._type_class()}({dtype.name!r}, np.dtype({np.dtype(dtype.numpy_dtype).str!r}))\n"

    def _type_class(self) -> str:
        """The class that stands for element types."""
        return self._names.get(id(DType)) or self._define(DType, "DType", lambda name: DTYPE.format(name=name))

    def _module(self, module: ModuleType, what: str) -> str:
        if module.__name__ == "numpy":
            return "np"
        if module.__name__.partition(".")[0] not in sys.stdlib_module_names | {"numpy"}:
            raise UnimplementedError(
                f"{what} needs the module {module.__name__!r}; a standalone module has numpy alone."
            )
        self._imports[f"import {module.__name__}"] = None
        return module.__name__

    def _imported(self, module: str, name: str) -> str:
        if module == "builtins":
            return name
        self._imports[f"import {module}"] = None
        return f"{module}.{name}"

    def _definition(self, value: Any, name: str) -> str:
        """The source of a function or class under a name."""
        if isinstance(value, type) and issubclass(value, Exception):
            return ERROR.format(name=name)
        if value.__name__ in SUBSTITUTES and not isinstance(value, type):
            if value.__name__ == "as_dtype":
                self._type_class()
            return SUBSTITUTES[value.__name__].replace(f"def {value.__name__}(", f"def {name}(")
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
        except (OSError, TypeError, SyntaxError):
            tree = None
        if not isinstance(tree, (ast.FunctionDef, ast.ClassDef)):
            raise UnimplementedError(f"{value.__module__}.{value.__qualname__} has no source that can be taken over.")
        module = sys.modules[value.__module__]
        names = dict(vars(module))
        if isinstance(value, FunctionType):
            names.update(inspect.getclosurevars(value).nonlocals)
        tree.name = name
        tree = _Bare().visit(tree)
        if isinstance(tree, ast.FunctionDef):
            tree.decorator_list = [d for d in tree.decorator_list if _keeps(d)]
        written = _Resolved(self, names, f"{value.__module__}.{value.__qualname__}").visit(tree)
        return ast.unparse(ast.fix_missing_locations(written)) + "\n"


def _keeps(decorator: ast.expr) -> bool:
    """Whether a decorator changes what a function is: those that keep results, and contexts."""
    text = ast.unparse(decorator)
    return text.startswith(("functools.", "contextmanager", "cache", "lru_cache"))


class _Bare(ast.NodeTransformer):
    """Leaves annotations and documentation out."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        for argument in (
            *node.args.posonlyargs,
            *node.args.args,
            *node.args.kwonlyargs,
            node.args.vararg,
            node.args.kwarg,
        ):
            if argument is not None:
                argument.annotation = None
        node.body = _without_document(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        keeps = bool(node.decorator_list) or any("NamedTuple" in ast.unparse(base) for base in node.bases)
        node.body = _without_document(node.body)
        if keeps:  # the fields of records are their annotations
            for index, entry in enumerate(node.body):
                if isinstance(entry, ast.AnnAssign):
                    entry.annotation = ast.Name("object", ast.Load())
                else:
                    node.body[index] = self.visit(entry)
            return node
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], node.value)


def _without_document(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return (body[1:] or [ast.Pass()]) if is_text else body


class _Resolved(ast.NodeTransformer):
    """Puts expressions of the new module in the place of names that mean something in the old module."""

    def __init__(self, sources: ModuleSources, names: dict[str, Any], what: str) -> None:
        self._sources, self._names, self._what = sources, names, what
        self._local: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        own = {argument.arg for argument in every if argument is not None}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                own.add(inner.id)
            elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and inner is not node:
                own.add(inner.name)
            elif isinstance(inner, ast.arg):
                own.add(inner.arg)
            elif isinstance(inner, ast.ExceptHandler) and inner.name:
                own.add(inner.name)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [None if d is None else self.visit(d) for d in arguments.kw_defaults]
        self._local.append(own)
        node.body = [self.visit(statement) for statement in node.body]
        self._local.pop()
        return node

    def _means(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether an expression names something of the old module, and that thing."""
        if isinstance(node, ast.Name):
            if any(node.id in own for own in self._local) or node.id not in self._names:
                return False, None
            return True, self._names[node.id]
        if isinstance(node, ast.Attribute):
            there, value = self._means(node.value)
            own = there and isinstance(value, ModuleType) and value.__name__.partition(".")[0] in (_OWN, "kernels")
            if own and hasattr(value, node.attr):
                return True, getattr(value, node.attr)
        return False, None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._replaced(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        there, _ = self._means(node)
        return self._replaced(node) if there else self.generic_visit(node)

    def _replaced(self, node: ast.expr) -> ast.AST:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        there, value = self._means(node)
        if not there:
            return node
        return ast.parse(self._sources.expression(value, self._what), mode="eval").body
