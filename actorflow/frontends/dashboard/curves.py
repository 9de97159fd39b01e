"""`Curves`: what a training has written, for the page: the last points of each tag, and its checkpoints."""

from __future__ import annotations

import math
import os
from collections import deque
from pathlib import Path
from typing import Any

from actorflow.errors import OpError
from actorflow.models.summary.reading import read_events
from actorflow.models.train.saving.checkpoints import get_checkpoint_mtimes, get_checkpoint_state

MOST_POINTS = 1000
_MOST_CURVES = 60
_MOST_CHECKPOINTS = 20
_MOST_BYTES = 64 << 20
"""Event files beyond this size are left out: a page is no place to read them."""


class Curves:
    """The scalars in the event files below a folder, each folder a run, and the checkpoints there.

    Files that have grown are read again, up to damage or to what is still being written.

    Args:
        folder: what `tensorboard --logdir` takes.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._read: dict[Path, tuple[int, dict[str, deque[tuple[int, float]]]]] = {}

    def read(self) -> dict[str, Any]:
        """For each curve its run, its tag, and its points [step, value], in JSON's types; and the checkpoints. Blocks."""
        left_out = []
        points_of: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for path in sorted(self._folder.rglob("*tfevents*")):
            size = path.stat().st_size
            if size > _MOST_BYTES:
                left_out.append(str(path.relative_to(self._folder)))
                continue
            if path not in self._read or self._read[path][0] != size:
                self._read[path] = size, _scalars(path)
            run = str(path.parent.relative_to(self._folder))
            for tag, points in self._read[path][1].items():
                points_of.setdefault((run, tag), []).extend(points)
        curves = [
            {"run": run, "tag": tag, "points": points[-MOST_POINTS:]}
            for (run, tag), points in sorted(points_of.items())[:_MOST_CURVES]
        ]
        more = max(0, len(points_of) - _MOST_CURVES)
        return {"curves": curves, "more": more, "left_out": left_out, "checkpoints": self._checkpoints()}

    def _checkpoints(self) -> list[dict[str, Any]]:
        """The checkpoints of the folder and of those below it, the newest first: which, and when they were saved."""
        saved_names = []
        for file in sorted(self._folder.rglob("checkpoint")):
            try:
                state = get_checkpoint_state(file.parent)
                for path in dict.fromkeys(state.all_model_checkpoint_paths if state is not None else ()):
                    saved_names += [
                        (saved, os.path.relpath(path, self._folder)) for saved in get_checkpoint_mtimes([path])
                    ]
            except OpError as error:
                saved_names.append((file.stat().st_mtime, f"{file.relative_to(self._folder)}: {error.message}"))
        return [{"saved": saved, "name": name} for saved, name in sorted(saved_names, reverse=True)[:_MOST_CHECKPOINTS]]


def _scalars(path: Path) -> dict[str, deque[tuple[int, float]]]:
    points: dict[str, deque[tuple[int, float]]] = {}
    for event in read_events(path):
        for value in event.summary.value:
            number = value.simple_value
            is_scalar = value.WhichOneof("value") == "simple_value"  # an image or a histogram has a number of 0 too
            if is_scalar and math.isfinite(number) and value.tag:
                points.setdefault(value.tag, deque(maxlen=MOST_POINTS)).append((int(event.step), float(number)))
    return points
