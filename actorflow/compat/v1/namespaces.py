"""TensorFlow's namespaces, such as `tf.math`, over actorflow's functions.

A namespace has what actorflow's of the same name has, and TensorFlow 1.15's names in it of functions that actorflow keeps
elsewhere; their marks (`@public("tf.math")`) say so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from actorflow.compat.v1 import index
from actorflow.index import NAMES
from actorflow.public import lazily

OWN = (
    "bitwise",
    "debugging",
    "dtypes",
    "errors",
    "graph_util",
    "initializers",
    "manip",
    "python_io",
    "quantization",
    "queue",
    "random",
    "spectral",
    "test",
)
"""The namespaces that actorflow does not have as well."""


class Namespace(ModuleType):
    """A module whose names are imported when they are first used: all of them, as soon as a program asks for its `__dict__`.

    Programs go through `tf.contrib.rnn.__dict__` or `vars(tf.layers)` to find all classes of a kind.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The names and what they mean, all of them."""
        for name in self.__all__:
            getattr(self, name)
        own: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(self)
        return own


def namespace(path: str, module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the module `module`, which is the namespace `path`, such as `tf.nn`."""
    places = {**NAMES.get("af" + path.removeprefix("tf"), {}), **index.NAMES[path]}
    absent = f"TensorFlow 1.15's {path}.{{name}} is not in actorflow.compat.v1, if there is such a name."
    find, listed, names = lazily(module, path, places, absent)

    def get(name: str) -> Any:
        try:
            return find(name)
        except AttributeError as error:
            reason = "" if name.startswith("_") else refusal(f"{path}.{name}")
            if not reason or "counterpart" in str(error):
                raise  # nearer words are there already
            raise AttributeError(
                f"TensorFlow 1.15's {path}.{name} is not offered by actorflow: {reason}.", name=name
            ) from None

    return get, listed, names


def refusal(path: str) -> str:
    """The reason why a name of TensorFlow is not offered for good; empty for another name."""
    from actorflow.compat.names.refused import reason

    return reason(path.removeprefix("tf."))


def register() -> None:
    """Makes each namespace below `tf` a module, without a file."""
    for path in index.NAMES:
        if path != "tf":
            name = f"{__package__}.{path.removeprefix('tf.')}"
            module: Any = Namespace(name, f"TensorFlow 1.15's `{path}`.")
            module.__getattr__, module.__dir__, module.__all__ = namespace(path, name)
            sys.modules[name] = module
