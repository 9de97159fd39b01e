"""The platforms on which actorflow is known to work. It is imported first, and warns elsewhere."""

from __future__ import annotations

import os
import sys
import warnings

SYSTEMS = ("linux",)
MACHINES = ("x86_64", "aarch64")


def untested(system: str, machine: str) -> str | None:
    """A sentence for a platform that actorflow is not tested on, None for the others.

    Args:
        system: as `sys.platform` has it.
        machine: as `os.uname` has it; empty where that is not known.
    """
    if system in SYSTEMS and machine in MACHINES:
        return None
    here = " on ".join(filter(None, (system, machine)))
    return (
        f"actorflow is made for Linux on x86-64 and aarch64 and not tested here ({here}): a session in one process may work, "
        "clusters of processes and shared memory need Linux."
    )


def _warn() -> None:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    if sentence := untested(sys.platform, machine):
        warnings.warn(sentence, RuntimeWarning, stacklevel=4)


_warn()
