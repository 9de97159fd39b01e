"""`part`: a part of `tf.contrib`, whose names are imported when they are first used, and which refuses others by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from actorflow.compat.contrib.inner import inside
from actorflow.compat.v1.namespaces import Namespace

PREFIX = "actorflow.compat.contrib"


def part(
    path: str, places: Mapping[str, str], refused: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the module that is `tf.contrib` and then `path`.

    Args:
        path: such as `layers`; empty for contrib itself.
        places: rows of a module and names, separated by spaces. `tf.nn` stands for public names, `.dense` for a module of
            contrib. A name `here=there` has another name there, and `here=.` is
            the module. A row of a module and nothing is the module itself.
        refused: names that are not here, each with the reason.
    """
    table: dict[str, tuple[str, str]] = {}
    for home, names in places.items():
        if not names:
            table[home.rpartition(".")[2]] = (home, "")
        for word in names.split():
            here, _, there = word.partition("=")
            table[here] = (home, "" if there == "." else there or here)
    module = f"{PREFIX}.{path}".rstrip(".")
    whole = f"tf.contrib.{path}".rstrip(".")
    reasons = dict(refused or {})

    def get(name: str) -> Any:
        if name == "python" and path:
            return inside(f"{path}.python", sys.modules[module])
        if (place := table.get(name)) is None:
            raise AttributeError(absence(whole, name, reasons, list(table)), name=name)
        home, inner = place
        thing: Any = importlib.import_module(PREFIX + home) if home.startswith(".") else _public(home)
        if inner:
            thing = getattr(thing, inner)
        setattr(sys.modules[module], name, thing)
        return thing

    listed = sorted(table)
    if module in sys.modules:
        sys.modules[module].__class__ = Namespace
    return get, listed.copy, listed


def _public(path: str) -> Any:
    import actorflow.compat.v1 as v1

    if not path.startswith("tf"):
        return importlib.import_module(path)
    thing: Any = v1
    for name in path.split(".")[1:]:
        thing = getattr(thing, name)
    return thing


def absence(whole: str, name: str, reasons: Mapping[str, str], names: list[str]) -> str:
    """The sentence that says that a name of contrib is not here: its reason, or the nearest names."""
    import difflib

    if name in reasons:
        return f"{whole}.{name} is not offered by actorflow: {reasons[name]}."
    near = difflib.get_close_matches(name, names, 2, 0.7)
    said = f" Did you mean {' or '.join(f'{whole}.{each}' for each in near)}?" if near else ""
    return f"{whole}.{name} is not offered by actorflow.{said}"
