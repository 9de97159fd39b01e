"""A module that a task imports first: from then on it is in a network namespace of its own, the one that bears its name."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

PREFIX = "ACTORFLOW_CHAOS_SPACES"
"""The variable that says how the names of namespaces begin."""
_CLONE_NEWNET = 0x40000000


def enter() -> None:
    """Lets this process have the namespace of its task. Raises OSError."""
    name = (
        Path("/proc/self/comm").read_text(encoding="utf-8").strip().replace(":", "-")
    )  # a task's process is called worker:0
    with open(f"/run/netns/{os.environ[PREFIX]}{name}", "rb") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns failed")


if PREFIX in os.environ:
    enter()
