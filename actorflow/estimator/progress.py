"""The live line of a training: steps a second, the loss, what is left, the last checkpoint and evaluation.

It is drawn from an Estimator's events, which are public: a program may draw its own from `Estimator.events()`.
"""

from __future__ import annotations

import html
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from actorflow.estimator.events import Evaluated, Exported, Saved, StepMade, TrainingBegun, TrainingEnded
from actorflow.supervisor.events import Event, Restored

_PAUSE = 0.1
_SPAN = 5.0
_SHOWN_METRICS = 4


class Progress:
    """The state of a training, as a line. Called with each event.

    Args:
        draw: shows a line in place of the one before; the last one of a training comes with True.
    """

    def __init__(self, draw: Callable[[str, bool], None]) -> None:
        self._draw = draw
        self._last: int | None = None
        self._recent: deque[StepMade] = deque()
        self._notes: dict[str, str] = {}
        self._drawn = 0.0
        self._is_over = True

    def __call__(self, event: Event) -> None:
        """Takes note of an event, and draws where that is due."""
        if isinstance(event, TrainingBegun):
            self._last, self._is_over = event.last_step, False
            self._recent.clear()
        elif isinstance(event, StepMade):
            self._recent.append(event)
            while event.time - self._recent[0].time > _SPAN:
                self._recent.popleft()
        elif isinstance(event, Saved):
            self._notes["saved"] = f"saved {event.step:,}"
        elif isinstance(event, Evaluated):
            shown = [
                f"{key} {float(value):.4g}"
                for key, value in event.metrics.items()
                if np.ndim(value) == 0 and key != "global_step"
            ]
            name = f" {event.name}" if event.name else ""
            self._notes["evaluated"] = f"evaluated{name} {event.step:,}: {', '.join(shown[:_SHOWN_METRICS])}"
        elif isinstance(event, Exported):
            self._notes["exported"] = f"exported {event.exporter}"
        elif isinstance(event, Restored):
            self._recent.clear()
            self._notes["restored"] = f"restored {event.step:,} after a loss"
        if isinstance(event, TrainingEnded):
            self._is_over = True
            self._draw(self.line(), True)
        elif not self._is_over and (event.time - self._drawn >= _PAUSE or not isinstance(event, StepMade)):
            self._drawn = event.time
            self._draw(self.line(), False)

    def line(self) -> str:
        """The state now."""
        parts = []
        if self._recent:
            first, now = self._recent[0], self._recent[-1]
            parts.append(f"step {now.step:,}" + (f"/{self._last:,}" if self._last else ""))
            if now.epoch > 1:
                parts.append(f"epoch {now.epoch}")
            parts.append(f"loss {now.loss:.4g}")
            seconds = now.time - first.time
            if seconds > 0 and now.step > first.step:
                rate = (now.step - first.step) / seconds
                parts.append(f"{rate:,.0f} steps/s" if rate >= 10 else f"{rate:.2g} steps/s")
                if now.examples > first.examples:
                    parts.append(f"{(now.examples - first.examples) / seconds:,.0f} examples/s")
                if self._last and self._last > now.step:
                    parts.append(f"{_duration((self._last - now.step) / rate)} left")
        else:
            parts.append("training begins")
        return "  ".join([*parts, *self._notes.values()])

    def close(self) -> None:
        """Ends the line, where the training ended by an error."""
        if not self._is_over:
            self._is_over = True
            self._draw(self.line(), True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def terminal(file: TextIO, columns: Callable[[], int]) -> Callable[[str, bool], None]:
    """Draws a line in place of the one before.

    Args:
        file: the terminal.
        columns: gives its width.
    """

    def draw(line: str, is_last: bool) -> None:
        width = max(columns() - 1, 20)
        shown = line if is_last or len(line) <= width else f"{line[: width - 1]}…"
        file.write(f"\r\x1b[K{shown}" + ("\n" if is_last else ""))
        file.flush()

    return draw


def notebook(display: Callable[..., Any], as_html: Callable[[str], Any]) -> Callable[[str, bool], None]:
    """Draws a line in a cell's output.

    Args:
        display: IPython's `display`.
        as_html: IPython's `HTML`.
    """
    handle: list[Any] = []

    def draw(line: str, is_last: bool) -> None:
        parts = "".join(f"<td style='text-align:left'>{html.escape(part)}</td>" for part in line.split("  "))
        shown = as_html(f"<table><tr>{parts}</tr></table>")
        if handle:
            handle[0].update(shown)
        else:
            handle.append(display(shown, display_id=True))

    return draw


def progress(wanted: bool | None) -> Progress | None:
    """The progress of a training where it is to be shown; None where it is not.

    Args:
        wanted: whether it is; None shows it in a terminal and in a notebook.
    """
    if wanted is False:
        return None
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        from importlib import import_module

        place = import_module("IPython.display")
        return Progress(notebook(place.display, place.HTML))
    if wanted or (sys.stderr is not None and sys.stderr.isatty()):
        import shutil

        return Progress(terminal(sys.stderr, lambda: shutil.get_terminal_size().columns))
    return None
