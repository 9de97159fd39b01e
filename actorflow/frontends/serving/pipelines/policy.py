"""`StagePolicy`: batches, time and restarts of a stage of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from actorflow.engine.batching.rows import Batching
from actorflow.errors import AbortedError, DeadlineExceededError, UnavailableError
from actorflow.public import public


@public("af.serving")
@dataclass(frozen=True, slots=True)
class StagePolicy:
    """Batches, time and restarts of a stage.

    A restart closes the model or resource of the stage, and opens it again; then the stage runs the same rows once more. A stage
    that could not be opened again is opened by the next request that finds a restart left.

    Example:
        >>> policy = af.serving.StagePolicy(timeout=0.5, restarts=2)
        >>> policy.restarts_on(ConnectionResetError()), policy.restarts_on(ValueError())
        (True, False)

    Args:
        batching: how the rows of requests are put together. A model has `Batching()` unless given; a function takes each
            request alone, eight at a time.
        timeout: the most seconds that a request spends in the stage, its wait included; no limit of its own unless given.
        restarts: the most restarts within a time; 0 never restarts.
        within: that time, in seconds. A restart that is not left fails the request; later restarts are left again.
        delay: how many seconds a restart waits before it opens, twice as long each time within `within`, and no
            longer than that.
        restart_on: the exceptions that a restart may mend.

    Raises:
        ValueError: a number is negative, or a time is not positive.
    """

    batching: Batching | None = None
    timeout: float | None = None
    restarts: int = 3
    within: float = 60.0
    delay: float = 0.1
    restart_on: tuple[type[Exception], ...] = (UnavailableError, AbortedError, ConnectionError)

    def __post_init__(self) -> None:
        if self.restarts < 0 or self.delay < 0 or self.within <= 0 or (self.timeout is not None and self.timeout <= 0):
            raise ValueError(f"The numbers of {self} have to be positive; restarts and delay may be 0.")

    def restarts_on(self, error: Exception) -> bool:
        """Whether a restart may mend an error.

        Example:
            >>> af.serving.StagePolicy(restart_on=(OSError,)).restarts_on(BrokenPipeError())
            True
        """
        is_late = isinstance(error, DeadlineExceededError)  # which is an OSError too, as each TimeoutError is
        return isinstance(error, self.restart_on) and (not is_late or DeadlineExceededError in self.restart_on)
