"""Each public function of three or more parameters says in its docstring what each of them is."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_overloads

import pytest

from actorflow.compat.v1.index import NAMES as THEIRS
from actorflow.index import NAMES

ENOUGH = 3  # a function of fewer parameters can say in a sentence what they are


def described(docstring: str) -> set[str]:
    """The parameters with an entry in the section `Args:`. One entry may describe several: `low, high: the bounds.`"""
    section = re.search(r"^Args:\n((?:(?: .*)?\n)*)", docstring + "\n", re.MULTILINE)
    entries = re.findall(r"^ {4}([*\w]+(?:, [*\w]+)*):", section[1], re.MULTILINE) if section else []
    return {name.lstrip("*") for entry in entries for name in entry.split(", ")}


def parameters(function: Any) -> list[str]:
    """The arguments that a caller passes. Each node takes a `name`: it is left out, and so is the object of a
    method."""
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls", "name")]


def accepted(function: Any) -> set[str]:
    """The names of all parameters, those of its overloads among them; those of a message are its fields."""
    named = {name for form in (function, *get_overloads(function)) for name in inspect.signature(form).parameters}
    return named | set(getattr(function, "FIELDS", ()))


def undescribed(function: Any, docstring: str) -> list[str]:
    """The parameters that a docstring leaves out, where it has to describe them."""
    names = parameters(function)
    return [name for name in names if name not in described(docstring)] if len(names) >= ENOUGH else []


def callables(module: str, name: str, value: Any) -> Iterator[tuple[str, Any, str]]:
    """The callables of a public name: the place (`module:name`), the object that takes the parameters, and the docstring for
    them.
    """
    if not inspect.isclass(value):
        if callable(value) and not inspect.ismodule(value):
            yield f"{module}:{name}", value, inspect.getdoc(value) or ""
        return
    of_class = inspect.getdoc(value) or ""
    made_by = inspect.getattr_static(value, "__init__")
    if inspect.isfunction(made_by):
        takes = value if hasattr(value, "FIELDS") else made_by
        yield f"{module}:{name}", takes, f"{of_class}\n\n{inspect.getdoc(made_by) or ''}"
    elif hasattr(value, "_fields"):  # a NamedTuple
        yield f"{module}:{name}", value, of_class
    for method, static in inspect.getmembers_static(value):
        home = getattr(inspect.unwrap(getattr(static, "__func__", static)), "__module__", None) or ""
        if not method.startswith("_") and home.startswith("actorflow") and not inspect.isclass(static):
            bound = getattr(value, method)
            if callable(bound):
                yield f"{home}:{bound.__qualname__}", bound, inspect.getdoc(bound) or ""


def public() -> dict[str, tuple[Any, str]]:
    """Each public callable that actorflow defines, once, by its place."""
    found: dict[str, tuple[Any, str]] = {}
    for names in (*NAMES.values(), *THEIRS.values()):
        for name, place in names.items():
            home, colon, inner = place.partition(":")
            if inner or not colon:
                value = getattr(importlib.import_module(home), inner or name)
                found.update((place, (f, doc)) for place, f, doc in callables(home, inner or name, value))
    return found


def test_each_parameter_is_described() -> None:
    every = public()
    left_out = {place: undescribed(*found) for place, found in every.items()}
    assert len(every) > 1000, "public functions were not found"
    assert not {place: names for place, names in left_out.items() if names}


def test_no_entry_describes_what_is_no_parameter() -> None:
    every = {place: described(doc) - accepted(f) for place, (f, doc) in public().items()}
    assert not {place: names for place, names in every.items() if names}


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("Adds.\n\nArgs:\n    x: one.\n    y, z: two,\n        with: more.\n\nReturns:\n    n: no.", {"x", "y", "z"}),
        ("Adds.\n\nArgs:\n    *xs: some.\n\n    **more: others.\nRaises:\n    E: no.", {"xs", "more"}),
        ("Adds x and y.\n\nReturns:\n    x: the sum.", set()),
        ("", set()),
    ],
)
def test_what_a_docstring_describes(docstring: str, found: set[str]) -> None:
    assert described(docstring) == found


def test_a_parameter_without_an_entry_is_found() -> None:
    def few(x: int, y: int, *, name: str) -> None: ...
    def many(self: Any, x: int, y: int, *z: int, name: str) -> None: ...

    assert undescribed(few, "Adds.") == []
    assert undescribed(many, "Adds.\n\nArgs:\n    x, z: what is added.") == ["y"]
