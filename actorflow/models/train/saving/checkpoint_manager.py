"""`CheckpointManager`: the latest few checkpoints of objects in a folder (`tf.train.CheckpointManager`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import describe
from actorflow.models.train.saving.checkpoint import Checkpoint
from actorflow.models.train.saving.checkpoints import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from actorflow.models.train.saving.kept_checkpoints import KeptCheckpoints
from actorflow.public import public


@public("af.train")
class CheckpointManager:
    """Saves objects into a folder, and removes checkpoints that are too many.

    Example:
        >>> checkpoint = af.train.Checkpoint(v=af.Variable(3.0))
        >>> manager = af.train.CheckpointManager(checkpoint, "models", max_to_keep=2)
        >>> for _ in range(3):
        ...     path = manager.save()
        >>> manager.latest_checkpoint, len(manager.checkpoints)
        ('models/ckpt-3', 2)
    """

    __reduce_ex__ = unpicklable("A manager of checkpoints is not pickled: hand over its folder.")

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        *,
        clock: Callable[[], float] = machine.wall_time,
    ) -> None:
        """
        Args:
            checkpoint: the `Checkpoint` of the objects.
            directory: the folder, or a URL.
            max_to_keep: the number of checkpoints to keep; None keeps all.
            keep_checkpoint_every_n_hours: of those that would be removed, one per this many hours is kept for good.
            checkpoint_name: the beginning of the files' names.
            clock: a function that returns the time in seconds.

        Raises:
            ValueError: `max_to_keep` is not a positive number.
        """
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(
                describe(f"Expected a positive integer or None for max_to_keep, got {max_to_keep}.", where=user_line())
            )
        self._checkpoint = checkpoint
        self.directory = path_text(directory, "directory")
        self._name = checkpoint_name
        state = get_checkpoint_state(self.directory)
        paths = [] if state is None else [p for p in state.all_model_checkpoint_paths if checkpoint_exists(p)]
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours, clock)
        self._kept.replace((path, clock()) for path in paths)

    @property
    def checkpoint(self) -> Checkpoint:
        return self._checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return self._kept.paths

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint in the folder, or None."""
        return latest_checkpoint(self.directory)

    def save(self, checkpoint_number: int | Any | None = None, session: Any = None) -> str:
        """Saves the objects; gives the path.

        Example:
            >>> checkpoint = af.train.Checkpoint(v=af.Variable(3.0))
            >>> manager = af.train.CheckpointManager(checkpoint, "models")
            >>> manager.save(), manager.save(checkpoint_number=100)
            ('models/ckpt-1', 'models/ckpt-100')

        Args:
            checkpoint_number: the number at the end of the path: a number or an eager variable. The count of saves unless given.
            session: for variables of a graph, see `Checkpoint.save`.

        Raises:
            OpError: writing failed. Earlier checkpoints are unchanged.
        """
        prefix = f"{self.directory.rstrip('/')}/{self._name}"
        if checkpoint_number is None:
            path = self._checkpoint.save(prefix, session)
        else:
            path = self._checkpoint.write(f"{prefix}-{int(checkpoint_number)}", session)
        dropped = self._kept.add(path)
        update_checkpoint_state(self.directory, path, self.checkpoints)
        for old in dropped:
            remove_checkpoint(old)
        return path

    def restore_or_initialize(self, session: Any = None) -> str | None:
        """Restores the newest checkpoint, if any, and gives its path; initializes the other variables of a graph.

        Example:
            >>> v = af.Variable(3.0)
            >>> manager = af.train.CheckpointManager(af.train.Checkpoint(v=v), "models")
            >>> path = manager.save()
            >>> v.assign(0.0)
            0.0
            >>> manager.restore_or_initialize(), v
            ('models/ckpt-1', 3.0)
        """
        path = self.latest_checkpoint
        self._checkpoint.restore(path).initialize_or_restore(session)
        return path
