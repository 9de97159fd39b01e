"""Writes the files and first lines of the functions that public names and registered kernels lead to, as JSON.

A public name is a name that a namespace of `actorflow.index`, of `actorflow.compat.v1` or of `tf.contrib` lists. A class gives
its public methods and its constructor, with those that it inherits.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

ROOTS = ("actorflow", "actorflow.blocking", "actorflow.testing", "actorflow.compat.v1", "actorflow.compat.contrib")


def exported(module: ModuleType) -> list[str]:
    """The names that a module lists, or defines without an underscore where it lists none."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def functions(value: Any) -> Iterator[FunctionType]:
    """The functions behind a public value."""
    if isinstance(value, type):
        for owner in value.__mro__:
            for name, member in vars(owner).items():
                if name in ("__init__", "__new__", "__call__") or not name.startswith("_"):
                    yield from functions(getattr(member, "__func__", member) if not isinstance(member, type) else None)
    elif callable(value):
        inner = inspect.unwrap(value)
        if isinstance(inner, FunctionType):
            yield inner


def public() -> Iterator[Any]:
    """The values of all public names, each once."""
    waiting: list[ModuleType] = [importlib.import_module(name) for name in ROOTS]
    seen = {id(module) for module in waiting}
    while waiting:
        module = waiting.pop()
        for name in exported(module):
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError):  # such as a name of an extra that is not installed
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            if not isinstance(value, ModuleType):
                yield value
            elif value.__name__.startswith("actorflow"):
                waiting.append(value)


def main() -> None:
    """Writes the list."""
    from actorflow.base.registry import kernel, plugins

    plugins.load_kernels()

    computed = [entry.function for entries in kernel.registered().values() for entry in entries]
    places = {
        (function.__code__.co_filename, function.__code__.co_firstlineno)
        for value in (*public(), *computed)
        for function in functions(value)
    }
    json.dump(sorted(places), sys.stdout)


if __name__ == "__main__":
    main()
