"""`Progress`: the state of a training, from its events: steps a second, the loss, the time left, checkpoint and evaluation."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Any

from actorflow.public import public
from actorflow.training.estimator.events import (
    Evaluated,
    Exported,
    Saved,
    StepMade,
    TrainingBegun,
    TrainingEnded,
    is_scalar,
)
from actorflow.training.estimator.progress.views import ProgressView, find_view
from actorflow.training.supervisor.events import Event, Restored

_PAUSE = 0.1
_SPAN = 5.0
_SHOWN_METRICS = 4
_SHOWN_EVALUATIONS = 5


@public("af.estimator")
class Progress:
    """Shows the progress of a training in a terminal or a notebook. Called with each event.

    An Estimator has its own. This is for a loop that is written by hand.

    Example:
        >>> import time
        >>> with af.estimator.Progress() as progress:
        ...     progress(af.estimator.TrainingBegun(time.time(), step=0, last_step=3))
        ...     for step in range(1, 4):
        ...         progress(af.estimator.StepMade(time.time(), step, loss=1.0 / step, examples=32 * step, epoch=0))

    Args:
        wanted: None shows it in a terminal and in a notebook; True in a file too, as a plain line now and then; False
            nowhere. "line" or "table" shows it in that form in a terminal, and elsewhere as True does.
        view: the place that shows it, instead.

    Raises:
        ValueError: `wanted` is something else.
        UnimplementedError: a table is wanted, and `rich` is not installed.
    """

    def __init__(self, wanted: bool | str | None = None, *, view: ProgressView | None = None) -> None:
        self._view = find_view(wanted) if view is None else view
        self._last: int | None = None
        self._recent: deque[StepMade] = deque()
        self._notes: dict[str, str] = {}
        self.evaluations: deque[Evaluated] = deque(maxlen=_SHOWN_EVALUATIONS)
        """The last evaluations."""
        self._drawn = 0.0
        self._is_over = True

    @property
    def is_shown(self) -> bool:
        """Whether it is shown anywhere."""
        return self._view is not None

    def __call__(self, event: Event) -> None:
        """Takes note of an event, and draws if that is due.

        Args:
            event: an event of an Estimator or a supervisor.
        """
        if isinstance(event, TrainingBegun):
            self._last, self._is_over = event.last_step, False
            self._recent.clear()
        elif isinstance(event, StepMade):
            self._recent.append(event)
            while event.time - self._recent[0].time > _SPAN:
                self._recent.popleft()
        elif isinstance(event, Saved):
            self._notes["saved"] = f"{event.step:,}"
        elif isinstance(event, Evaluated):
            self.evaluations.append(event)
        elif isinstance(event, Exported):
            self._notes["exported"] = event.exporter
        elif isinstance(event, Restored):
            self._recent.clear()
            self._notes["restored"] = f"{event.step:,} after a loss"
        if isinstance(event, TrainingEnded):
            self.close()
        elif not self._is_over and (event.time - self._drawn >= _PAUSE or not isinstance(event, StepMade)):
            self._drawn = event.time
            self._draw(False)

    def rows(self) -> dict[str, str]:
        """The state now, by what it is called. Evaluations are apart.

        Example:
            >>> progress = af.estimator.Progress(False)
            >>> progress(af.estimator.TrainingBegun(0.0, step=0, last_step=100))
            >>> progress(af.estimator.StepMade(10.0, 20, loss=0.5, examples=640, epoch=1))
            >>> progress.rows()
            {'step': '20/100', 'loss': '0.5'}
        """
        rows: dict[str, str] = {}
        if self._recent:
            first, now = self._recent[0], self._recent[-1]
            rows["step"] = f"{now.step:,}" + (f"/{self._last:,}" if self._last else "")
            if now.epoch > 1:
                rows["epoch"] = f"{now.epoch}"
            rows["loss"] = f"{now.loss:.4g}"
            seconds = now.time - first.time
            if seconds > 0 and now.step > first.step:
                rate = (now.step - first.step) / seconds
                rows["steps/s"] = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
                if now.examples > first.examples:
                    rows["examples/s"] = f"{(now.examples - first.examples) / seconds:,.0f}"
                if self._last and self._last > now.step:
                    rows["left"] = _duration((self._last - now.step) / rate)
        return rows | self._notes

    @property
    def share(self) -> float | None:
        """The share of the steps that are made; None where the last step is not known."""
        return min(self._recent[-1].step / self._last, 1.0) if self._recent and self._last else None

    def line(self) -> str:
        """The state now, as a line.

        Example:
            >>> progress = af.estimator.Progress(False)
            >>> progress(af.estimator.TrainingBegun(0.0, step=0, last_step=100))
            >>> progress(af.estimator.StepMade(10.0, 20, loss=0.5, examples=640, epoch=1))
            >>> progress.line()
            'step 20/100  loss 0.5'
        """
        parts = [
            f"{text} {label}" if label in ("steps/s", "examples/s", "left") else f"{label} {text}"
            for label, text in self.rows().items()
        ]
        if not self._recent:
            parts.insert(0, "training begins")
        if self.evaluations:
            last = self.evaluations[-1]
            name = f" {last.name}" if last.name else ""
            shown = ", ".join(f"{key} {value}" for key, value in metrics_of(last).items())
            parts.append(f"evaluated{name} {last.step:,}: {shown}")
        return "  ".join(parts)

    def print(self, *values: Any) -> None:
        """Prints above what is shown.

        Example:
            >>> with af.estimator.Progress(False) as progress:
            ...     progress.print("the learning rate is now", 0.01)
            the learning rate is now 0.01

        Args:
            values: see `print`.
        """
        if self._view is not None:
            self._view.clear()
        print(*values, flush=self._view is not None)
        if not self._is_over:
            self._draw(False)

    def close(self) -> None:
        """Shows the end of a training, also an end by an error.

        Example:
            >>> progress = af.estimator.Progress(False)
            >>> progress.close()
        """
        if not self._is_over:
            self._is_over = True
            self._draw(True)

    def _draw(self, is_last: bool) -> None:
        if self._view is not None:
            self._view.draw(self, is_last)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def metrics_of(event: Evaluated) -> dict[str, str]:
    """The first scalar metrics of an evaluation, as text."""
    scalars = {
        key: f"{float(value):.4g}" for key, value in event.metrics.items() if is_scalar(value) and key != "global_step"
    }
    return dict(list(scalars.items())[:_SHOWN_METRICS])


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
