"""The meaning of CUDA's errors: CUDA reports an error of a kernel after its launch, to whatever call comes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorflow.errors import FailedPreconditionError, InternalError, OpError, ResourceExhaustedError, UnavailableError

_REMEMBERED = 256
_STICKY = frozenset((214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999))
"""Errors after which the driver refuses all further work of this process on the GPU."""
_NO_MEMORY = 2


class CudaErrors:
    """Errors of one GPU as ours. It knows what was launched, and what is known to have run, so it can say which kernels an error
    may be of; and whether the GPU can still be used."""

    def __init__(self, cupy: Any, name: str) -> None:
        # Copies and events fail with the first type, launches with the second.
        self.kinds = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)
        self.lost = ""
        """With which error the driver has begun to refuse all work."""
        self.closed = False
        self.number = 0
        """Of the last launch."""
        self._name = name
        self._launched: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._reached = 0

    def launched(self, what: str) -> None:
        """Something is about to be launched."""
        self.number += 1
        self._launched.append((self.number, what))

    def reached(self, number: int) -> None:
        """All launches up to this one have run."""
        self._reached = max(self._reached, number)

    def check_usable(self) -> None:
        """Raises FailedPreconditionError after `close`, UnavailableError where the driver takes no more work."""
        if self.closed:
            raise FailedPreconditionError(f"The device {self._name} is closed: its session has ended.")
        if self.lost:
            raise UnavailableError(
                f"{self._name} is lost to this process: {self.lost}.",
                device=self._name,
                hint="CUDA takes no more work after such an error. Other devices go on; start the process again for this one.",
            )

    @contextmanager
    def translating(self) -> Iterator[None]:
        """A block whose errors of CUDA become ours."""
        try:
            yield
        except self.kinds as error:
            raise self.meaning(error) from error

    def translated(self, error: BaseException | None) -> BaseException | None:
        """An error of CUDA as our error. Other errors stay as they are."""
        is_cuda = isinstance(error, self.kinds)
        return self.meaning(error) if error is not None and is_cuda else error

    def check_sticky(self, error: BaseException) -> None:
        """Raises what `error` means where the driver takes no more work after it."""
        if getattr(error, "status", 0) in _STICKY:
            raise self.meaning(error) from error

    def meaning(self, error: BaseException) -> OpError:
        """The meaning of an error of CUDA, and which kernels it may be of."""
        status = getattr(error, "status", 0)
        if status == _NO_MEMORY:
            return ResourceExhaustedError(f"{self._name} has no memory left: {error}.")
        names = list(dict.fromkeys(name for number, name in self._launched if number > self._reached))
        if status in _STICKY:
            self.lost = str(error)
        details = [f"launched since the last kernel that is known to have run: {', '.join(names[-16:]) or 'nothing'}"]
        return InternalError(
            f"A kernel failed on {self._name}: {error}.",
            node=names[0] if len(names) == 1 else None,
            device=self._name,
            details=details,
            hint="CUDA reports an error after the launch. CudaDevice(name, checked=True) finds the node.",
        )
