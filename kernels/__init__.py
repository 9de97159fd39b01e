"""What each op computes on each device type.

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

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
