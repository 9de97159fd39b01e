"""`MembershipChange`: how the tasks of a cluster have changed, as `Session.members` tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actorflow.public import public


@public("af")
@dataclass(frozen=True, slots=True)
class MembershipChange:
    """The tasks of a cluster at an epoch of its membership, and how they differ from those that were told before.

    Example:
        >>> async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        ...     async with af.Session(cluster.target) as session:
        ...         async for change in session.members():
        ...             print(change.epoch, change.joined)
        ...             break
        1 ('/job:worker/task:0', '/job:worker/task:1')

    Args:
        epoch: the number of the view, which grows with each task that joins or leaves.
        tasks: all tasks with their addresses.
        joined: the tasks that have joined since; all of them in the first change that is told.
        left: the tasks that have left since, or were declared lost.
    """

    epoch: int
    tasks: Mapping[str, str]
    joined: tuple[str, ...]
    left: tuple[str, ...]
