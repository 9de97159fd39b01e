"""The kernels: each op's computation on each device type.

A kernel is an implementation of an op that the core declares. Importing this package imports all its modules, and so
registers all of them; the core finds it through the entry point group `actorflow.kernels`. Modules import the core as
`from actorflow.x import y`, their siblings relatively, and no other part.
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.kernels, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.kernels`"
    )

import importlib
import pkgutil
from collections.abc import Iterable

LIBRARIES = ("cuda", "cudnn", "jit", "onednn")  # packages that load their own modules


def _load(package: str, path: Iterable[str]) -> None:
    for module_info in pkgutil.iter_modules(path):
        if module_info.name.startswith("_"):  # the library in C, which `native` loads if possible
            continue
        module = importlib.import_module(f"{package}.{module_info.name}")
        if module_info.ispkg and module_info.name not in LIBRARIES:
            _load(module.__name__, module.__path__)


_load(__name__, __path__)
