"""Whether cuDNN is there, and the handle of each GPU.

It is found through NVIDIA's Python package (`nvidia-cudnn-frontend`, the module `cudnn`), which finds the library itself.
"""

from __future__ import annotations

import functools
import importlib
import threading
from dataclasses import dataclass, field
from typing import Any

from actorflow.base.process import forks
from actorflow.base.reports.logs import get_logger

_LEAST = 90_000
"""The version of the library from which on the calls of this package are there: 9.0."""


def loaded() -> Any:
    """The module `cudnn`, or None if it, or the library that it needs, is not installed or can't be loaded (which is then
    logged, once)."""
    with _loading:
        return _load()


_loading = forks.new_lock()


@functools.cache
def _load() -> Any:
    try:
        module = importlib.import_module("cudnn")
    except ModuleNotFoundError as error:
        if error.name != "cudnn":
            _not_used(error)
        return None
    except (ImportError, OSError) as error:  # OSError: it does not find the library
        _not_used(error)
        return None
    try:
        version = module.backend_version()
    except (AttributeError, RuntimeError) as error:  # another module of this name; no library
        _not_used(error)
        return None
    if version < _LEAST:
        _not_used(f"it is version {version}, but {_LEAST} is needed")
        return None
    return module


def _not_used(reason: object) -> None:
    get_logger("kernels").warning("cudnn is installed but not used", reason=str(reason))


@dataclass(slots=True)
class Handle:
    """cuDNN's handle of one GPU. A user of it holds the `lock`, for it has one stream at a time."""

    raw: Any
    lock: threading.Lock = field(default_factory=threading.Lock)
    _stream: int | None = None

    def enter(self, cudnn: Any, stream: int) -> Any:
        """The handle itself, whose launches go to this stream from now on."""
        if stream != self._stream:
            cudnn.set_stream(handle=self.raw, stream=stream)
            self._stream = stream
        return self.raw


class CudnnHandles:
    """The handles of this process, by GPU."""

    def __init__(self) -> None:
        self._known: dict[int, Handle] = {}
        self._lock = threading.Lock()

    def of(self, cudnn: Any, device: int) -> Handle:
        """The handle of a GPU, which is current on this thread. Raises RuntimeError if cuDNN can't make a handle."""
        with self._lock:
            handle = self._known.get(device)
            if handle is None:
                handle = self._known[device] = Handle(cudnn.create_handle())
            return handle
