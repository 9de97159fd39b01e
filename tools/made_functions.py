"""Stubs of the functions that a module makes of classes: `dense = function_of(Dense, example)`.

Such a function takes `inputs`, and then what the constructor of its class takes. The arguments stand in the class alone. This
module reads them there, and writes them with their types for type checkers and editors.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAKER = "function_of"


@dataclass(frozen=True, slots=True)
class MadeFunction:
    """A function that is made of a class.

    Args:
        text: its definition in a stub.
        imports: the names of types and defaults, and the modules that have them.
    """

    text: str
    imports: Mapping[str, str]


class Sources:
    """The modules of a checkout, each of which is read once.

    Args:
        root: the folder of the checkout.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        """The syntax tree of a module."""
        if module not in self._trees:
            self._trees[module] = ast.parse(self.text(module))
        return self._trees[module]

    def text(self, module: str) -> str:
        """The text of a module; of a package, that of its `__init__`."""
        path = self._root.joinpath(*module.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return file.read_text(encoding="utf-8")

    def home(self, module: str, name: str) -> str:
        """The module in which a name of `module` is defined."""
        for node in self.tree(module).body:
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                return node.module or ""
        return module

    def lineage(self, module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
        """A class and its first bases, each with its module."""
        module = self.home(module, name)
        kind = next(node for node in self.tree(module).body if isinstance(node, ast.ClassDef) and node.name == name)
        yield module, kind
        if kind.bases and isinstance(kind.bases[0], ast.Name):
            yield from self.lineage(module, kind.bases[0].id)


def made_functions(root: Path, module: str) -> dict[str, MadeFunction]:
    """The functions that a module makes of classes, by their names.

    Args:
        root: the folder of the checkout.
        module: the name of the module.
    """
    sources, functions = Sources(root), dict[str, MadeFunction]()
    for node in sources.tree(module).body if f"{MAKER}(" in sources.text(module) else ():
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target, call = node.targets[0], node.value
        if isinstance(call.func, ast.Name) and call.func.id == MAKER and isinstance(target, ast.Name):
            assert isinstance(call.args[0], ast.Name)
            functions[target.id] = _made(sources, module, target.id, call.args[0].id)
    return functions


def _made(sources: Sources, module: str, name: str, kind: str) -> MadeFunction:
    lineage = list(sources.lineage(module, kind))
    maker = next(node for node in sources.tree(module).body if isinstance(node, ast.FunctionDef) and node.name == MAKER)
    inner = next(node for node in maker.body if isinstance(node, ast.FunctionDef))
    home, begin = next(
        (home, node)
        for home, owner in lineage
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    own, given = begin.args, inner.args.args[0]
    defaults = [*[None] * (len(own.args) - len(own.defaults)), *own.defaults]
    parameters = [ast.unparse(given)]
    for argument, default in list(zip(own.args, defaults, strict=True))[1:]:
        parameters.append(ast.unparse(argument) + ("" if default is None else f" = {ast.unparse(default)}"))
    assert inner.returns is not None
    lines = [f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {ast.unparse(inner.returns)}:"]
    document = inspect.cleandoc(ast.get_docstring(lineage[0][1]) or "").split("\n\n")[0]
    document = f"{document}\n\nMakes an `af.layers.{kind}` and calls it.".replace(
        f"`tf.layers.{kind}`", f"`tf.layers.{name}`"
    )
    lines += [textwrap.indent(f'"""{document}\n"""', "    ")]
    imports = {
        **_names(sources, home, [*own.args, *own.defaults]),
        **_names(sources, module, [given, inner.returns]),
    }
    return MadeFunction("\n".join(lines), imports)


def _names(sources: Sources, module: str, nodes: list[ast.arg] | list[ast.expr] | list[ast.AST]) -> dict[str, str]:
    """The names in some annotations and defaults, and the modules that define them."""
    names = {node.id for root in nodes for node in ast.walk(root) if isinstance(node, ast.Name)}
    return {name: sources.home(module, name) for name in names if not hasattr(builtins, name)}
