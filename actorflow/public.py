"""Public names: where each is written, and how a namespace finds it when it is first used (PEP 562).

A function or a class says beside its definition under which names it is public:

    @public("af", "af.linalg:inv")
    def matrix_inverse(...): ...     # af.matrix_inverse, af.linalg.inv

`tools/public_names.py` reads these marks from the sources, without importing them. It writes the tables in `index.py`, which
the namespaces read, and the stubs (`*.pyi`), which type checkers and editors read. `make names` runs it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

from actorflow.index import NAMES
from actorflow.pending_calls import pending_calls

T = TypeVar("T")

_PUBLIC_MODULES = {
    f"actorflow.{name}": place[:-1]
    for name, place in NAMES["af"].items()
    if place.endswith(":") and place != f"actorflow.{name}:"
}
"""The modules that programs import as `actorflow.data`, and their places."""


def public(*paths: str, of: str = "") -> Callable[[T], T]:
    """Marks a function or a class as public. A program that does not await a call of a coroutine function hears of that.

    A constant can't carry a mark: there `public("af", of="int8 int16")` is a statement of its own. Without `of`, such a
    statement marks its whole module.

    Args:
        paths: the namespaces (`af`, `af.math`, `tf.random`), each with the name in it (`af.linalg:inv`) where that is another
            one than the definition's. `af` is `actorflow`; `tf` is `actorflow.compat.v1`, which has all names of `af`.
        of: the constants that are meant, separated by spaces.
    """
    return pending_calls


def namespace(path: str, module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the module `module`, which is the namespace `path`, such as `af.nn`."""
    return lazily(module, path, NAMES[path], "module {module!r} has no attribute {name!r}.")


def lazily(
    module: str, path: str, places: Mapping[str, str], absent: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module whose names are imported when they are first used.

    Args:
        module: the module's name.
        path: what its users write for it, such as `af.nn`.
        places: for each name `module` (which has the same name there), `module:name`, or `module:` for the module itself.
        absent: the message where a name is not there, with `{module}` and `{name}`; nearest names are added to it.
    """
    names = sorted(places)

    def get(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise _AbsentError(absent.format(module=module, name=name), path, name)
        home, colon, inner = place.partition(":")
        target: Any = importlib.import_module(home)
        if inner or not colon:
            target = getattr(target, inner or name)
        setattr(sys.modules[module], name, target)
        return target

    return get, names.copy, names


class _AbsentError(AttributeError):
    """A name that is not there. Its message, with the nearest names, is made when it is read: each `import` of a module of
    actorflow asks for a name that is not there yet, and so does `hasattr`."""

    def __init__(self, message: str, path: str, name: str) -> None:
        super().__init__(message, name=name)
        self._path = path

    def __str__(self) -> str:
        from actorflow.suggest import suggestion

        return f"{self.args[0]}{suggestion(self._path, str(self.name))}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


_AbsentError.__name__ = _AbsentError.__qualname__ = "AttributeError"  # as which it is printed
_AbsentError.__module__ = "builtins"


class _PublicModules:
    """Finds `actorflow.data` and the modules below it at their places in the tree: `import actorflow.data` gives the module
    `actorflow.models.data` itself, which is not loaded a second time."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a public module; None for all others."""
        if not name.startswith("actorflow."):
            return None
        top, _, inner = name.removeprefix("actorflow.").partition(".")
        home = _PUBLIC_MODULES.get(f"actorflow.{top}")
        if home is None:
            return None
        place = f"{home}.{inner}" if inner else home
        return ModuleSpec(name, Alias(lambda: importlib.import_module(place)))  # type: ignore[arg-type]


class Alias:
    """A loader that gives an existing module under a second name, and leaves its attributes as they are.

    Args:
        module: gives the module, when the second name is imported.
    """

    def __init__(self, module: Callable[[], ModuleType]) -> None:
        self._module = module
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the first name."""
        module = self._module()
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own specification back, in whose place the import has put that of the alias."""
        module.__spec__ = self._spec


sys.meta_path.insert(0, _PublicModules)
