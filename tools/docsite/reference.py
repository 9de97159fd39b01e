"""The pages of the reference: every public name by its name space, from the tables of public names and the docstrings."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from actorflow.index import NAMES
from docsite.docstrings import markdown

PAGES = {
    "session": (
        "Sessions and graphs",
        ("session", "graph", "errors", "runtime", "cluster", "eager", "dtypes", "shapes", "nest"),
    ),
    "variables": ("Variables and gradients", ("variables", "autodiff", "lint")),
    "control_flow": ("Control flow", ("control_flow", "ops.flow")),
    "queues": ("Queues and readers", ("queues", "ops.io", "ops.state")),
    "array": ("Arrays and shapes", ("ops.array", "ops.static")),
    "math": ("Mathematics", ("ops.math", "ops.linalg", "ops.signal", "ops.quantize")),
    "sparse": ("Sparse tensors", ("ops.sparse", "ops.indexed_slices")),
    "strings": ("Strings", ("ops.strings",)),
    "random": ("Random numbers", ("ops.random",)),
    "more": ("Everything else", ("",)),
}
"""The pages of `af` itself: the file, the title, and the modules below `actorflow` whose names it has."""


@dataclass(frozen=True, slots=True)
class Public:
    """A public name: its name space, its value, and the place of its definition."""

    space: str
    name: str
    value: Any
    place: str

    @property
    def full(self) -> str:
        return f"{self.space}.{self.name}"


@functools.cache
def publics() -> tuple[Public, ...]:
    """All public names of actorflow's own name spaces. A name space itself is none of them."""
    found = []
    for space, names in NAMES.items():
        for name, place in names.items():
            module, colon, inner = place.partition(":")
            if colon and not inner:
                continue
            value = getattr(importlib.import_module(module), inner or name)
            found.append(Public(space, name, value, place))
    found += [Public("af.errors", name, value, "actorflow.errors") for name, value in _errors()]
    return tuple(found)


def _errors() -> Iterator[tuple[str, Any]]:
    from actorflow import errors

    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__:
            yield name, value


@functools.cache
def homes() -> dict[int, Public]:
    """The name under which each object is described: the one in the deepest name space, for `af` shows only what is its own."""
    found: dict[int, Public] = {}
    for one in publics():
        if inspect.isclass(one.value) or callable(one.value):
            before = found.get(id(one.value))
            if before is None:
                found[id(one.value)] = one
    return found


@functools.cache
def linked() -> dict[str, str]:
    """The names that have an entry, with those of methods: each alias leads to the entry of its home."""
    home = homes()
    found = {}
    for one in publics():
        if id(one.value) in home:
            found[one.full] = home[id(one.value)].full
            if inspect.isclass(one.value):
                for name, _ in methods(one.value):
                    found[f"{one.full}.{name}"] = f"{home[id(one.value)].full}.{name}"
    return found


def methods(owner: type) -> list[tuple[str, Any]]:
    """The public methods and properties that a class has from this project."""
    found = []
    for name, static in inspect.getmembers_static(owner):
        function = getattr(static, "fget", None) or getattr(static, "__func__", static)
        function = getattr(function, "func", function)
        module = getattr(inspect.unwrap(function) if callable(function) else function, "__module__", None) or ""
        if not name.startswith("_") and module.startswith("actorflow") and not inspect.isclass(static):
            if inspect.isfunction(inspect.unwrap(function)) if callable(function) else False:
                found.append((name, static))
    return found


def _signature(value: Any) -> str:
    """The parameters of a function or a class as a reader needs them, with defaults that are shown in short."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return "()"
    parameters = []
    star = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        text = parameter.name
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        if parameter.kind is parameter.VAR_POSITIONAL:
            text, star = f"*{text}", True
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = f"**{text}"
        elif parameter.default is not parameter.empty:
            text += f"={_default(parameter.default)}"
        parameters.append(text)
    return f"({', '.join(parameters)})"


def _default(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 30 and not re.search(r"[<\n]", shown) else "..."


def entry(one: Public) -> str:
    """The entry of a name: its signature, its other names, what its docstring says, its methods."""
    value = one.value
    others = sorted({p.full for p in publics() if p.value is value} - {one.full})
    kind = "class" if inspect.isclass(value) else "function"
    if kind == "class" and issubclass(value, Exception):
        kind = "exception"
    lines = []
    if others:
        lines.append(f"Also {', '.join(f'`{other}`' for other in others)}.")
    document = inspect.getdoc(value) or ""
    if kind == "class" and inspect.isfunction(inspect.getattr_static(value, "__init__")):
        made = value.__init__.__doc__
        if made and made != document and "Args:" not in document:
            document += "\n\n" + inspect.cleandoc(made)
    lines.append(markdown(document))
    if kind != "function":
        lines += [_method(one, name, static) for name, static in methods(value) if _own(value, name)]
    body = "\n\n".join(line for line in lines if line)
    fence = "::::::"
    called = _signature(value) if kind != "exception" else ""
    return f"{fence}{{py:{kind}}} {one.full}{called}\n\n{body}\n{fence}"


def _own(owner: type, name: str) -> bool:
    """Whether a class brings a method itself, or has it from a class that is not public."""
    home = homes()
    return not any(name in vars(base) and id(base) in home for base in owner.__mro__[1:] if name not in vars(owner))


def _method(one: Public, name: str, static: Any) -> str:
    value = getattr(one.value, name)
    is_property = not callable(value) or isinstance(static, property)
    document = markdown(inspect.getdoc(static if is_property else value) or "")
    if is_property:
        return f":::::{{py:property}} {one.full}.{name}\n\n{document}\n:::::"
    options = ":async:\n" if inspect.iscoroutinefunction(inspect.unwrap(value)) else ""
    options += ":classmethod:\n" if isinstance(static, classmethod) else ""
    options += ":staticmethod:\n" if isinstance(static, staticmethod) else ""
    return f":::::{{py:method}} {one.full}.{name}{_signature(value)}\n{options}\n{document}\n:::::"


def pages() -> dict[str, str]:
    """The pages of the reference by their file names below reference/api."""
    groups: defaultdict[str, list[Public]] = defaultdict(list)
    titles: dict[str, str] = {}
    home = homes()
    constants: defaultdict[str, list[str]] = defaultdict(list)
    for one in publics():
        if one.space == "af":
            module = one.place.partition(":")[0].removeprefix("actorflow.")
            file = next(f for f, (_, below) in PAGES.items() if any(module.startswith(prefix) for prefix in below))
            title = PAGES[file][0]
        else:
            file, title = one.space.removeprefix("af."), f"`{one.space}`"
            file = f"{file.replace('.', '_')}" if file not in PAGES else f"{file}_names"
        titles[file] = title
        if id(one.value) not in home:
            constants[file].append(one.full)
        elif home[id(one.value)] is one:
            groups[file].append(one)
        else:
            groups[file]  # a page of aliases alone
            constants[file].append("")
    aliases: defaultdict[str, list[str]] = defaultdict(list)
    for one in publics():
        if one.space != "af" and id(one.value) in home and home[id(one.value)] is not one:
            file = one.space.removeprefix("af.").replace(".", "_")
            aliases[file if file not in PAGES else f"{file}_names"].append(
                f"- {{py:obj}}`{one.full} <{home[id(one.value)].full}>`"
            )
    made = {}
    for file, title in titles.items():
        parts = [f"# {title}"]
        parts += [
            entry(one) for one in sorted(groups[file], key=lambda p: (not inspect.isclass(p.value), p.name.lower()))
        ]
        names = [name for name in constants[file] if name]
        if names:
            parts.append("## Constants\n\n" + ", ".join(f"`{name}`" for name in names))
        if aliases[file]:
            parts.append("## Described elsewhere\n\n" + "\n".join(aliases[file]))
        made[f"{file}.md"] = "\n\n".join(parts) + "\n"
    order = [f"{file}.md" for file in PAGES if file in titles] + sorted(set(made) - {f"{file}.md" for file in PAGES})
    listed = "\n".join(order)
    count = len({id(one.value) for one in publics()})
    made["index.md"] = (
        "# Public names\n\n"
        f"These pages are made from the docstrings of {count} public functions and classes. Names are given as `af.name`, after\n"
        "`import actorflow as af`. The pages follow the name spaces; `af` itself is divided by subject.\n\n"
        "The examples are run by the tests. In them ops run at once, as in `with af.eager():`, and a tensor is shown as its\n"
        "value; those that say `session` or `placeholder` have a graph of their own, and an open session.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )
    return made
