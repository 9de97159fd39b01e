"""`Exchange`: a request for inference and its answer, by callbacks alone: it costs no task."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorflow.engine.batching.batcher import PendingRequest
from actorflow.errors import UnavailableError
from actorflow.frontends.http.answers import Answer
from actorflow.frontends.serving.protocols.inference import InferenceCall, InferenceHead
from actorflow.frontends.serving.protocols.writing import is_large

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application


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
        self._inference: InferenceCall | None = None
        self._pending: PendingRequest | None = None

    def begin(self, body: bytes | list[bytes]) -> None:
        """Puts it into the queue of its model, or answers with the reason why not."""
        try:
            request = self._inference = self._application.inference(self._head, body)
            self._pending = request.model.begin(request.call, request.timeout, self._ended)
        except Exception as error:
            self._ended(None, error)

    def _ended(self, outputs: Sequence[Any] | None, error: Exception | None) -> None:
        if error is not None:
            self._finish(
                None, error if self._inference is None else error.with_traceback(None)
            )  # a step's requests share it
            return
        answer = partial(self._inference.answer, outputs)  # type: ignore[union-attr,arg-type]
        if not is_large(outputs):
            try:
                reply = answer()
            except Exception as failed:
                self._finish(None, failed)
            else:
                self._finish(reply, None)
        elif not self._application.answer_later(answer, self._finish):
            self._finish(None, UnavailableError("The model was closed."))

    def _finish(self, reply: Answer | None, error: Exception | None) -> None:
        answer = reply if reply is not None else self._application.failure(self._head.path, error)  # type: ignore[arg-type]
        self._application.count(self._head, answer[0], time.perf_counter() - self._begun)
        self._done(answer)

    def give_up(self) -> None:
        """The client has left: nothing is answered."""
        if self._pending is not None and self._pending.done is not None:
            self._pending.batcher.give_up(self._pending)
            self._application.count(self._head, 499, time.perf_counter() - self._begun)
