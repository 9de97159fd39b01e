"""`CheckedThread`: a thread of a test, whose failure is one of the test."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Callable
from typing import Any


class CheckedThread:
    """The thread that `tf.test.TestCase.checkedThread` gives. A test starts it and has to join it.

    Args:
        case: the test that fails with the thread.
        target: what the thread calls.
    """

    def __init__(self, case: unittest.TestCase, target: Callable[[], Any]) -> None:
        self.joined = False
        """Whether the test has waited for its end."""
        self._case = case
        self._target = target
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as error:  # a failed assertion too
            self._failure = error

    def start(self) -> None:
        """Begins the call."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the end. Raises the test's failure if the call raised."""
        self._thread.join()
        self.joined = True
        if self._failure is not None:
            raise self._case.failureException(f"Error in a checked thread: {self._failure!r}") from self._failure

    def is_alive(self) -> bool:
        """Whether the call is still under way."""
        return self._thread.is_alive()
