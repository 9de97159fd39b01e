"""What a GPU computes: which of the kernels for every device it takes, and those that it has of its own.

Importing this package needs neither a GPU nor CuPy: kernels are given their array module.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
