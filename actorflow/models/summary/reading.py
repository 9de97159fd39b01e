"""`read_events`: the events of a file or folder, up to damage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from actorflow.base.records.files import tf_record_iterator
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.reports import logs
from actorflow.errors import DataLossError, NotFoundError
from actorflow.models.summary.protos import Event
from actorflow.public import public

_LOG = logs.get_logger("summary")


@public("af.train")
def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The events of a file, in sequence (`tf.train.summary_iterator`).

    Example:
        >>> with af.summary.Writer("logs/run1") as writer:
        ...     writer.scalar("loss", 0.5, step=1)
        >>> import glob
        >>> [event.step for event in af.train.summary_iterator(glob.glob("logs/run1/*")[0])]
        [0, 1]

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a record is damaged or cut off, or is no event. Those before it are given first.
    """
    for record in tf_record_iterator(path):
        try:
            event = Event.FromString(record)
        except BrokenMessageError as error:
            raise DataLossError(f"A record of {os.fspath(path)!r} is no event: {error}") from None
        yield event


@public("af.summary")
def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The events of a file, or of all event files of a folder in the order of their names.

    A file that is damaged, foreign or still being written is read up to there; the log says where.

    Example:
        >>> with af.summary.Writer("logs/run1") as writer:
        ...     writer.scalar("loss", 0.5, step=1)
        >>> for event in af.summary.read_events("logs/run1"):
        ...     for value in event.summary.value:
        ...         print(event.step, value.tag)
        1 loss

    Raises:
        NotFoundError: there is no such file or folder.
    """
    place = Path(path)
    if not place.exists():
        raise NotFoundError(f"There is no file or folder {str(place)!r}.")
    files = sorted(p for p in place.iterdir() if "tfevents" in p.name) if place.is_dir() else [place]
    return _all(files)


def _all(files: list[Path]) -> Iterator[Event]:
    for file in files:
        try:
            yield from summary_iterator(file)
        except DataLossError as error:
            _LOG.info("an event file is read up to its damage", file=str(file), damage=str(error))
