"""Series: the work of neighbouring nodes whose kernels are prepared, done in one call.

A kernel that was prepared for one node (`KernelDef.prepare`) may have a step: its work, without Python around it. Steps that
follow each other in a region are joined. Then nothing is between two of them but the work, and the tensors that no other node
reads lie side by side in one piece of memory (`actorflow.engine.runtime.codegen.series`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """The place of a tensor in a call of a series.

    Args:
        array: the number of an argument.
        begin: the tensor's first element there.
    """

    array: int
    begin: int


class SeriesStep(Protocol):
    """The work of a node's kernel, as a part of a series."""

    @property
    def reads(self) -> Sequence[int]:
        """The positions of the node's inputs that it reads. The others are constants that it knows."""

    def join(
        self, steps: Sequence[SeriesStep], places: Sequence[Sequence[SeriesPlace]], given: int, sizes: Sequence[int]
    ) -> Callable[..., None] | None:
        """The function that does several steps in order, this step first; None if they can't be joined.

        Args:
            steps: all steps, in order.
            places: for each the places of what it reads, and of its result.
            given: how many arguments of the function are inputs. They are contiguous or not. The others are written to.
            sizes: the number of elements of each argument.
        """


_steps: weakref.WeakKeyDictionary[Callable[..., Any], SeriesStep] = weakref.WeakKeyDictionary()


def offer(kernel: Callable[..., Any], step: SeriesStep) -> None:
    """Says that a prepared kernel has a step."""
    _steps[kernel] = step


def step_of(kernel: Callable[..., Any]) -> SeriesStep | None:
    """The step of a kernel; None for a kernel without a step."""
    try:
        return _steps.get(kernel)
    except TypeError:  # it can't be in a table
        return None
