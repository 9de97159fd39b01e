"""Public names that are imported when they are first used, so that `import actorflow` stays quick (PEP 562).

A package lists its names as ordinary imports under `if TYPE_CHECKING:`, for people and type checkers, and then says

    __getattr__, __dir__ = lazily(__name__, __file__)

which reads the same list.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

_BLOCK = re.compile(r"^if TYPE_CHECKING:\n((?:(?:    .*)?\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|([^#\n(]+))", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def listed(file: str) -> dict[str, tuple[str, str]]:
    """The names that the `TYPE_CHECKING` block of a source file imports: the module and the name there, `*` for all."""
    with open(file, encoding="utf-8") as source:
        block = _BLOCK.search(source.read())
    found: dict[str, tuple[str, str]] = {}
    for module, several, one in _IMPORT.findall(block[1] if block else ""):
        for part in _COMMENT.sub("", several or one).split(","):
            name, _, alias = part.strip().partition(" as ")
            if name:
                found[f"* {module}" if name == "*" else alias.strip() or name] = (module, name)
    return found


def lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the module `package`, for the names that its source `file` lists."""
    names = listed(file)
    stars = [module for module, name in names.values() if name == "*"]

    def find(name: str) -> tuple[str, str] | None:
        if name in names:
            return names[name]
        return next((module, name) for module in stars if name in importlib.import_module(module).__all__)

    def get(name: str) -> Any:
        try:
            found = None if name.startswith("__") else find(name)
        except StopIteration:
            found = None
        if found is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inner = found
        if module == package:
            value = importlib.import_module(f"{module}.{inner}")
        else:
            value = getattr(importlib.import_module(module), inner)
        setattr(sys.modules[package], name, value)
        return value

    def names_of() -> list[str]:
        own = [name for name in vars(sys.modules[package]) if not name.startswith("_")]
        starred = [name for module in stars for name in importlib.import_module(module).__all__]
        return sorted({*own, *starred, *(name for name in names if not name.startswith("* "))})

    return get, names_of
