"""`Exchange`: a request for inference and its answer, by callbacks alone: it costs no task."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.serving.batcher import Pending
from actorflow.serving.protocols.answers import Answer
from actorflow.serving.protocols.inference import Inference, InferenceHead

if TYPE_CHECKING:
    from actorflow.serving.application import Application


class Exchange:
    """A request for inference, from its begin to its answer.

    Args:
        application: the application.
        head: what its path and headers ask for.
        done: is called with the answer.
    """

    __slots__ = ("_application", "_begun", "_done", "_head", "_inference", "_pending")

    def __init__(self, application: Application, head: InferenceHead, done: Callable[[Answer], None]) -> None:
        self._application, self._head, self._done = application, head, done
        self._begun = time.perf_counter()
        self._inference: Inference | None = None
        self._pending: Pending | None = None

    def begin(self, body: bytes) -> None:
        """Puts it into the queue of its model, or answers with the reason why not."""
        try:
            found = self._inference = self._application.inference(self._head, body)
            self._pending = found.model.begin(found.call, found.timeout, self._ended)
        except Exception as error:
            self._ended(None, error)

    def _ended(self, outputs: Sequence[Any] | None, error: Exception | None) -> None:
        try:
            if error is not None:
                raise error.with_traceback(None)  # the requests of one step may share it
            answer = self._inference.answer(outputs)  # type: ignore[union-attr,arg-type]
        except Exception as failed:
            answer = self._application.failure(self._head.path, failed)
        self._application.count(self._head, answer[0], time.perf_counter() - self._begun)
        self._done(answer)

    def give_up(self) -> None:
        """The client has left: nothing is answered."""
        if self._pending is not None and self._pending.done is not None:
            self._pending.batcher.give_up(self._pending)
            self._application.count(self._head, 499, time.perf_counter() - self._begun)
