"""`open_door`, and the finder that Python's imports ask for `tensorflow` and the modules below."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import linecache
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.compat.contrib import inner
from actorflow.compat.door import modules, private, protos, refused, second
from actorflow.compat.v1 import behavior
from actorflow.public import Alias

PEERS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-rocm",
    "tensorflow-aarch64",
    "tf-nightly",
    "tf-nightly-gpu",
)
"""The distributions that hold TensorFlow's own package `tensorflow`."""

_SECOND = second.Second()
_OURS = ("actorflow.compat.v1.", "actorflow.compat.contrib.")
_ESTIMATOR = "tensorflow_estimator"
_INNER = ("python", "core", "contrib", "examples", "compiler", "lite", "tools")


def open_door(alone: bool = False) -> ModuleType:
    """Has `import tensorflow` give `actorflow.compat.v1` from now on, and the modules below it their aliases.

    Args:
        alone: whether TensorFlow may not be installed beside.

    Returns:
        The module `actorflow.compat.v1`.

    Raises:
        ImportError: TensorFlow itself is imported already, or `alone` holds and it is installed.

    Example:
        >>> from actorflow.compat.door import open_door
        >>> import actorflow.compat.v1 as v1
        >>> open_door() is v1
        True
        >>> from tensorflow.python.ops import array_ops
        >>> array_ops.expand_dims is v1.expand_dims
        True
    """
    if alone and (peer := installed_peer()):
        raise ImportError(
            f"actorflow-tensorflow does not live beside {peer}: both are the package `tensorflow`, and one has overwritten "
            f"files of the other. Keep one: `pip uninstall {peer}`, or `pip uninstall actorflow-tensorflow`; then install the "
            "other again. `actorflow tf script.py` runs a script over actorflow with nothing installed."
        )
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and loaded is not v1 and not getattr(loaded, "__spec__", None) == _opening(loaded):
        raise ImportError("TensorFlow is imported in this process already, so actorflow can't answer for it.")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
        behavior.assume_v1()
    sys.modules["tensorflow"] = v1
    return v1


def _opening(loaded: ModuleType) -> Any:
    """The specification of a module that is being imported now: that of the distribution, which calls."""
    spec = getattr(loaded, "__spec__", None)
    return spec if getattr(spec, "_initializing", False) else ()


def installed_peer() -> str | None:
    """The distribution of TensorFlow that is installed here, or None."""
    for name in PEERS:
        try:
            importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return name
    return None


class Finder(importlib.abc.MetaPathFinder):
    """Finds `tensorflow`, `tensorflow_estimator` and all modules below them: nothing of these names comes from a file."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of an alias. Raises ImportError for a module that is not here, with the reason."""
        if fullname.startswith(_OURS):
            return self._missing(fullname, path)
        if fullname.partition(".")[0] not in ("tensorflow", _ESTIMATOR):
            return None
        module = module_of(_estimators(fullname) if fullname.startswith(_ESTIMATOR) else fullname)
        return ModuleSpec(fullname, Alias(lambda: module), is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def _missing(fullname: str, path: Sequence[str] | None) -> None:
        """Raises for `from tensorflow import name` without such a name: Python asks for a module of the name then."""
        if PathFinder.find_spec(fullname, path) is None:
            space, _, name = fullname.removeprefix("actorflow.compat.").removeprefix("v1.").rpartition(".")
            raise _error(f"tf has no {f'{space}.{name}'.lstrip('.')} here. {_nearest(space, name)}".strip())


def _estimators(fullname: str) -> str:
    """The module of `tensorflow` that stands for a module of the package `tensorflow_estimator`."""
    below = fullname.removeprefix(_ESTIMATOR).removeprefix(".python")
    return f"tensorflow.python{below or '.estimator'}"


def module_of(fullname: str) -> ModuleType:
    """The module that `fullname` means, such as `tensorflow.python.ops.array_ops`.

    Raises:
        ImportError: it is refused, or no table names it.
    """
    parts = fullname.split(".")[1:]
    while parts[:2] == ["compat", "v1"] or parts[:2] == ["_api", "v1"]:
        parts = parts[2:]
    if not parts:
        return v1
    if parts[:2] == ["compat", "v2"]:
        return _second(parts[2:])
    below = ".".join(parts)
    is_listed = parts[0] == "python" and (
        ".".join(parts[1:]) in modules.SPACES or ".".join(parts[1:]) in modules.PACKAGES
    )
    if not is_listed and (reason := refused.reason(below)):
        if below.startswith(refused.AT_USE):
            return refused.RefusedModule(fullname, reason)
        raise _error(f"{fullname} is not offered by actorflow: {reason}")
    if parts[0] == "python" and below.removeprefix("python").lstrip(".") in modules.PACKAGES:
        return _Inner(fullname, "", {})
    if parts[0] == "python" and (spaces := modules.SPACES.get(".".join(parts[1:]))) is not None:
        return _alias_or_inner(fullname, spaces)
    if parts[0] == "core" and (table := protos.table(".".join(parts[1:]))) is not None:
        return _Inner(fullname, "", table)
    if parts[0] == "contrib":
        return _contrib(fullname, parts[1:])
    if parts[0] == "examples":
        return _examples(fullname, parts[1:])
    public = _public(below)
    if isinstance(public, ModuleType):
        return public
    last = parts[-1]
    parent = ".".join(parts[:-1])
    if parts[0] not in _INNER and public is None:
        missing = f"tensorflow.{below}"
        raise _error(f"No module {missing} is offered by actorflow. {_nearest(parent, last)}".strip())
    if public is not None:
        raise _error(f"tensorflow.{below} is not a module, but a {type(public).__name__}.")
    home = sys.modules.get(f"tensorflow.{parent}")
    if isinstance(home, _Inner) and home.is_leaf:  # `from tensorflow.python.ops.array_ops import name`
        raise _error(home.absence(last))
    raise _error(
        f"{fullname} is a private module of TensorFlow, and no table of actorflow names it.{_asked()} Take the names from the "
        f"public API (`tf.`), or say in a report which ones the program uses.{modules.nearest(below)}"
    )


def _asked() -> str:
    """A sentence with the line of the program that imports."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_globals.get("__name__") == __name__ or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    path, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(path, line).strip()
    return f" {path}:{line} asks for it: `{text}`." if text else ""


def _alias_or_inner(fullname: str, spaces: str) -> ModuleType:
    if spaces.startswith("="):
        public = _public(spaces[1:])
        assert isinstance(public, ModuleType), spaces
        return public
    key = fullname.partition("tensorflow.python.")[2]
    return _Inner(fullname, spaces, private.NAMES.get(key, {}), is_leaf=True)


def _contrib(fullname: str, parts: list[str]) -> ModuleType:
    """`tensorflow.contrib` and its parts. Modules within a part (`contrib.layers.python.layers.utils`) have the part's names."""
    module = importlib.import_module("actorflow.compat.contrib")
    for depth, part in enumerate(parts):
        if part == "python" and depth == 1:
            return _inside(".".join(parts), module)
        if part in ("python", "ops"):
            break
        try:
            below = getattr(module, part)
        except AttributeError as error:
            raise _error(str(error)) from None
        if not isinstance(below, ModuleType):
            raise _error(f"{fullname} is not a module, but a {type(below).__name__}.")
        module = below
    return module


def _inside(path: str, part: ModuleType) -> ModuleType:
    try:
        return inner.inside(path, part)
    except AttributeError as error:
        raise _error(str(error)) from None


def _second(parts: list[str]) -> ModuleType:
    """`tensorflow.compat.v2`, or a namespace below it."""
    thing: Any = _SECOND
    for part in parts:
        try:
            thing = getattr(thing, part)
        except AttributeError as error:
            raise _error(str(error)) from None
    if not isinstance(thing, ModuleType):
        raise _error(f"{'.'.join(['tensorflow.compat.v2', *parts])} is not a module, but a {type(thing).__name__}.")
    return thing


def _examples(fullname: str, parts: list[str]) -> ModuleType:
    if parts in (["tutorials", "mnist", "input_data"], ["tutorials", "mnist", "python", "learn"]):
        return importlib.import_module("actorflow.compat.contrib.learn.datasets.mnist")
    if ["tutorials", "mnist"][: len(parts)] == parts:
        return _Inner(fullname, "", {})
    raise _error(f"{fullname} is a program of TensorFlow's sources, which actorflow does not hold.")


def _public(path: str) -> Any:
    """The thing that the public path below `tf` means, or None."""
    thing: Any = v1
    for part in path.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return None
    return thing


def _nearest(space: str, name: str) -> str:
    from actorflow.suggest import suggestion

    return suggestion(f"tf.{space}".rstrip("."), name).strip()


def _error(message: str) -> ImportError:
    """An error without the module's name: with it, `from package import name` would swallow the message."""
    return ModuleNotFoundError(message)


class _Inner(ModuleType):
    """An inner module of TensorFlow, such as `tensorflow.python.ops.array_ops`. It has no code: each name is looked up in the
    table of private names, and then in public namespaces."""

    def __init__(self, name: str, spaces: str, names: dict[str, str], is_leaf: bool = False) -> None:
        super().__init__(name, f"Names of TensorFlow 1.15's `{name}`, over actorflow's.")
        self.__path__: list[str] = []
        self._spaces = spaces.split()
        self._names = names
        self.is_leaf = is_leaf

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        if (place := self._names.get(name)) is not None:
            thing = private.get(place)
        elif not self.is_leaf:
            raise AttributeError(self.absence(name), name=name)
        else:
            thing = self._search(name)
        setattr(self, name, thing)
        return thing

    def _search(self, name: str) -> Any:
        """The public name in this module's own namespaces, or else in any."""
        for space in (*self._spaces, *modules.ALL):
            thing = _public(name if space == "tf" else f"{space}.{name}")
            if thing is not None and not isinstance(thing, ModuleType):
                return thing
        raise AttributeError(self.absence(name), name=name)

    def absence(self, name: str) -> str:
        """The sentence that says that `name` is not here."""
        spaces = [space for space in self._spaces if space != "tf"] or [""]
        return f"actorflow's {self.__name__} has no {name}. {_nearest(spaces[0], name)}".strip()

    def __dir__(self) -> list[str]:
        names = set(self._names) | set(self.__dict__)
        for space in self._spaces:
            names.update(dir(v1 if space == "tf" else _public(space)))
        return sorted(names)
