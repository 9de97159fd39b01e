"""Compiled parts of scipy, without the packages around them.

`import scipy.linalg` takes 200 ms, most of them for documentation and for other libraries' arrays. Its routines are in
extension modules that depend on none of that, and take 10 ms each. They are loaded here beside `sys.modules`: a later import of
scipy loads them itself, and so puts them into its packages, where programs look for them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from actorflow.base.process import forks

_loading = forks.new_lock()


@functools.cache
def part(name: str) -> Any:
    """An extension module of scipy, such as `scipy.linalg._flapack`; None where scipy is not installed."""
    with _loading:
        try:
            return sys.modules.get(name) or _alone(name) or importlib.import_module(name)
        except ImportError:
            return None


def _alone(name: str) -> Any:
    """The module without its packages; None where only their import makes it ready."""
    top, *folders, _ = name.split(".")
    package = importlib.util.find_spec(top)
    # Elsewhere than on POSIX systems the package says first where its libraries are.
    if os.name != "posix" or package is None or package.origin is None:
        return None
    spec = PathFinder.find_spec(name, [str(Path(package.origin).parent.joinpath(*folders))])
    if spec is None or spec.loader is None:
        return None
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:  # it needs another part
        return None
    if sys.modules.get(name) is module:  # older kinds of extension modules enter themselves
        del sys.modules[name]
    return module
