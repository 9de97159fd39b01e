"""The platforms on which actorflow is known to work. It is imported first. It warns elsewhere, and refuses a Python or a
numpy that is too old in a sentence. Python 3.7 can still read this file.
"""

from __future__ import annotations

import os
import sys
import warnings

SYSTEMS = ("linux",)
MACHINES = ("x86_64", "aarch64")
WEBASSEMBLY = ("emscripten", "wasm32")
"""The system and the machine that have sessions in one process alone: neither threads, nor processes, nor sockets."""
PYTHON = (3, 11)
NUMPY = 2
"""The oldest Python and the oldest numpy, as pyproject.toml has them."""
_SUPPORTED = "CPython 3.11 or later and numpy 2 or later are supported"


def too_old(python: tuple[int, int], numpy: str) -> str | None:
    """A sentence for a Python or a numpy that is too old, None for the others.

    Args:
        python: the first two numbers of its version.
        numpy: its version; empty if numpy is not there yet.
    """
    if python < PYTHON:
        return "actorflow can't run on Python {}.{}: {}.".format(*python, _SUPPORTED)
    if numpy and int(numpy.partition(".")[0]) < NUMPY:
        return f"actorflow can't run with numpy {numpy}: {_SUPPORTED}. Install it: pip install 'numpy>=2'."
    return None


def numpy_missing(error: str) -> str | None:
    """A sentence for an error of numpy's import that is not numpy's fault, None for the others.

    Args:
        error: the text of the error, or of the error behind it.
    """
    if "subinterpreters" not in error:
        return None
    return (
        "actorflow can't run in an isolated subinterpreter, because numpy can't: use threads, which share one session, or "
        "processes."
    )


def untested(system: str, machine: str) -> str | None:
    """A sentence for a platform that actorflow is not tested on, None for the others.

    Args:
        system: as `sys.platform` has it.
        machine: as `os.uname` has it; empty where that is not known.
    """
    if system in SYSTEMS and machine in MACHINES or (system, machine) == WEBASSEMBLY:
        return None
    here = " on ".join(filter(None, (system, machine)))
    return (
        f"actorflow is made for Linux on x86-64 and aarch64 and not tested here ({here}): a session in one process may work, "
        "clusters of processes and shared memory need Linux."
    )


def _warn() -> None:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    sentence = untested(sys.platform, machine)
    if sentence is not None:
        warnings.warn(sentence, RuntimeWarning, stacklevel=4)


def _refuse() -> None:
    version = ""
    if sys.version_info >= PYTHON:
        try:
            import numpy

            version = numpy.__version__
        except ImportError as error:
            sentence = numpy_missing(str(error))
            if sentence is None:
                raise
            raise ImportError(sentence) from None
    sentence = too_old(sys.version_info[:2], version)
    if sentence is not None:
        raise ImportError(sentence)


_refuse()
_warn()
