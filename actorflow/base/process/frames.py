"""The parts of CPython that are no public interface: frames, the instruction behind a call, imports under way.

Each of them has a public way that gives the same, more slowly or less often, for a Python in which it has gone. `interpreter`
has the parts of asyncio; this module is loaded by `import actorflow`, which leaves asyncio to its first use.
"""

from __future__ import annotations

import dis
import importlib
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

_frame_at: Callable[[int], FrameType] | None = getattr(sys, "_getframe", None)


def frame_of_program() -> FrameType | None:
    """The innermost frame outside actorflow, which is the line of the program; None if all are inside, or none is shown."""
    frame = None if _frame_at is None else _frame_at(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("actorflow.") and module != "actorflow":
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def awaits(code: CodeType, at: int) -> bool:
    """Whether the instruction behind a call takes an awaitable.

    A Python whose instructions have other names gives False. The callers then refuse nothing early.

    Args:
        code: the code that calls.
        at: the offset of the call in bytes, as `FrameType.f_lasti` has it.
    """
    following = (each.opname for each in dis.get_instructions(code) if each.offset > at and each.opname != "CACHE")
    return next(following, "") == "GET_AWAITABLE"


_module_locks: Mapping[str, Callable[[], Any]] = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})


def imports_of_others() -> bool:
    """Whether another thread imports a module now. A Python whose importer keeps its locks elsewhere gives False."""
    locks = [reference() for reference in list(_module_locks.values())]
    return any(getattr(lock, "owner", None) not in (None, threading.get_ident()) for lock in locks)
