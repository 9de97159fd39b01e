"""The library in C: whether it is there, and its kernels as functions."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from actorflow.base import byte_strings
from actorflow.base.packed_strings import PackedStrings
from actorflow.base.process.platforms import MACHINES
from actorflow.base.records import crc32c, tfrecord
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.tape import tape
from actorflow.errors import InvalidArgumentError

from ..shared.tapes import TapesInC

LEVELS = ("avx512", "avx2", "plain")
"""Sets of instructions, the best first."""


@functools.cache
def loaded() -> Any:
    """The extension module, or None if it is missing; then a line of the log says why.

    Raises:
        InvalidArgumentError: ACTORFLOW_NATIVE names no set of instructions.
    """
    setting = os.environ.get("ACTORFLOW_NATIVE", "")
    if setting not in ("", "off", *LEVELS):
        raise InvalidArgumentError(f"ACTORFLOW_NATIVE is {setting!r}; it may be 'off', {', '.join(map(repr, LEVELS))}.")
    if setting == "off":
        return _without("ACTORFLOW_NATIVE is 'off'")
    try:
        library = _imported(os.environ.get("ACTORFLOW_NATIVE_BUILD", ""))
    except ImportError as error:
        name = f"{__package__}._native"
        missing = isinstance(error, ModuleNotFoundError) and error.name == name
        return _without(
            "it was not compiled as the package was installed" if missing else _for_another(error) or str(error)
        )
    sources = getattr(library, "sources", "")  # the oldest builds do not have it
    if not sources or sources != _digest(sources):
        return _without(
            "it was compiled from other sources than those here; compile it again: python setup.py build_ext -i"
        )
    if setting and not library.use_level(setting):
        return _without(f"this processor has no {setting}")
    crc32c.provide(library.crc32c)
    tfrecord.provide(library.cut_records)
    tape.provide(TapesInC(library))
    byte_strings.provide(library.bind("as_strings", _left_to_caller))
    library.use_packed(PackedStrings)
    return library


def _imported(build: str) -> Any:
    """The module that was installed, or another build of it, such as one under a sanitizer, whose path is given."""
    name = f"{__package__}._native"
    if not build:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, build)
    if spec is None or spec.loader is None:
        raise ImportError(f"{build} is no extension module")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    return library


_MACHINES = MappingProxyType({3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"})
"""Processors by their numbers in the header of a library (ELF's `e_machine`)."""


def _for_another(error: ImportError) -> str | None:
    """The reason if the library is for another processor: the system says then that the file is missing."""
    try:
        header = Path(error.path or "").read_bytes()[:20]
    except OSError:
        return None
    number, here = int.from_bytes(header[18:20], "little"), platform.machine()
    if header[:4] != b"\x7fELF" or _MACHINES.get(number) == here:
        return None
    return (
        f"{error.path} was compiled for {_MACHINES.get(number, f'the processor {number}')}, and this machine is {here}; install "
        f"actorflow again here: the library is made for {' and '.join(MACHINES)}"
    )


def _digest(otherwise: str) -> str:
    """The hash of the sources as setup.py makes it; `otherwise` if they are not here, as in an installed package."""
    sources = sorted((Path(__file__).parent / "src").glob("*.[ch]"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16] if sources else otherwise


def _without(reason: str) -> None:
    get_logger("kernels").info("kernels in C are left to numpy", reason=reason, platform=sys.platform)


def available() -> bool:
    """Whether the library is there."""
    return loaded() is not None


def _left_to_caller(*arguments: Any) -> None:
    """Stands for: the caller computes it, or says what is wrong."""


def function(name: str, python: Callable[..., Any] = _left_to_caller) -> Callable[..., Any]:
    """The kernel `name` as a builtin function, which leaves what it does not know to `python`. Without the library, `python`.
    Unless that is given, the result is None there, and the caller computes it.

    Large arrays are divided among threads where that pays (`..shared.threads`).
    """
    library = loaded()
    if library is None:
        return python
    from ..shared.threads import is_large, threaded, threads_of_short_call

    library.share_short_calls(threads_of_short_call)

    def otherwise(*arguments: Any) -> Any:
        if is_large(arguments):
            result = threaded(
                (name, *[getattr(argument, "size", 0) for argument in arguments]),
                functools.partial(_call, name, arguments),
            )
            if result is not NotImplemented:
                return result
        return python(*arguments)

    bound: Callable[..., Any] = library.bind(name, otherwise)
    return bound


def put(result: Any, out: Any) -> Any:
    """The result, in the memory that is there for it, or as it is where that is None."""
    if out is None or result is out:
        return result
    out[...] = result
    return out


def _call(name: str, arguments: tuple[Any, ...], threads: int) -> Any:
    return loaded().call(name, threads, *arguments)
