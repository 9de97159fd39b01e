"""The hook that makes Keras take a backend with a name that is not on its list.

Keras 3.15 chooses its backend by the name, in five modules. Each has a branch for every name, and the branch of `openvino`
imports from `keras.src.backend.openvino`. The hook loads these five modules with the branch pointed here. In a sixth, the rules
of types keep float64 by the name of TensorFlow alone; it is kept here too. Nothing on the disk changes. `BRANCHES` counts the
places, so a Keras that has changed there is told by its version, not by a strange error later.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

BRANCHES = {
    "keras.src.backend": 3,
    "keras.src.layers.layer": 3,
    "keras.src.models.model": 3,
    "keras.src.export.saved_model": 3,
    "keras.src.utils.backend_utils": 3,
    "keras.src.backend.common.dtypes": 1,
}
"""The modules that choose by a backend's name, and how many places are changed in each."""

_WIDE = '"float64" if config.backend() == "tensorflow" else "float32"'
_WORDS = {'"openvino"': '"actorflow"', "keras.src.backend.openvino": "keras_actorflow.src", _WIDE: '"float64"'}


def adapted(name: str, source: str) -> str:
    """The source of a module of Keras with the branch of `openvino` made that of `actorflow`.

    Args:
        name: the module's name, which is in `BRANCHES`.
        source: its text.

    Raises:
        ImportError: the module has not the branch that is expected.
    """
    name_of_choice = r'(?:(?<=backend\(\) == )|(?<=_backend == )|(?<="numpy", ))"openvino"'
    pattern = name_of_choice + r"|keras\.src\.backend\.openvino|\bOpen(?:vino|VINO)(?=\w+ as )|" + re.escape(_WIDE)
    text, count = re.subn(pattern, lambda match: _WORDS.get(match[0], "Actorflow"), source)
    expected = BRANCHES[name]
    if count != expected:
        version = importlib.metadata.version("keras")
        raise ImportError(
            f"keras-actorflow can't plug into Keras {version}: its module {name} chooses the backend in another way than "
            f"expected ({count} places instead of {expected}). Install a Keras that this version supports: "
            "pip install 'keras>=3.15,<3.16'."
        )
    return text


class _Loader(SourceLoader):
    """Loads a module of Keras from its file, with the branch changed."""

    def __init__(self, name: str, path: str) -> None:
        self._name, self._path = name, path

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        return compile(adapted(self._name, self.get_data(self._path).decode()), self._path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in BRANCHES:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """Lets the next `import keras` choose actorflow.

    Raises:
        ImportError: Keras is imported already, with another backend.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("keras.src.backend.config")
    if loaded is not None:
        raise ImportError(
            f"Keras is imported already, with the backend {loaded.backend()!r}. Import keras_actorflow before keras, or set "
            "KERAS_BACKEND=actorflow in the environment."
        )
    os.environ["KERAS_BACKEND"] = "actorflow"
    sys.meta_path.insert(0, _Finder())
