"""Compares the variables that a program wants with those that a checkpoint has: all differences at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape, compatible, num_elements, show
from actorflow.errors import InvalidArgumentError, NotFoundError

_NEAR_AMONG = 2000  # names among which near names are looked for; each comparison takes a while


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """A variable that is to be restored, under its name in the checkpoint. A shape of None takes any. Of a slice it is the
    shape of all of the variable."""

    name: str
    dtype: DType
    shape: Shape
    sliced: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """Names that the checkpoint lacks, those that it has beside, and a sentence for each variable of another type or shape."""

    prefix: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]

    def refuse(self, *, strict: bool = False) -> None:
        """Raises where something is missing or mismatched, with `strict` also where something is unexpected.

        Raises:
            NotFoundError: names are missing.
            InvalidArgumentError: none is, but types or shapes differ, or there are unexpected names.
        """
        if not (self.missing or self.mismatched or strict and self.unexpected):
            return
        details = []
        if self.missing:
            details.append(f"{len(self.missing)} missing: {', '.join(map(self._with_nearest, self.missing))}")
        details.extend(self.mismatched)
        if self.unexpected:
            details.append(f"{len(self.unexpected)} only in the checkpoint: {', '.join(self.unexpected)}")
        kind = NotFoundError if self.missing else InvalidArgumentError
        raise kind(
            "Restoring from checkpoint failed for a mismatch between values and variables. "
            f"The checkpoint {self.prefix!r} does not fit the variables: {len(self.missing)} are missing, "
            f"{len(self.mismatched)} have another type or shape. Nothing was restored.",
            details=details,
            hint="A Saver with a dict {name in the checkpoint: variable} restores under other names, or a part.",
        )

    def _with_nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.unexpected[:_NEAR_AMONG], 1) if len(self.missing) <= 20 else []
        return f"{name} (the checkpoint has {near[0]})" if near else name


def compare(
    prefix: str, contents: Mapping[str, Any], wanted: Sequence[RestoreRequest], *, reshape: bool = False
) -> Differences:
    """How what is wanted differs from what there is, by names, each with its `element_type` and `shape`."""
    mismatched = []
    for w in wanted:
        stored = contents.get(w.name)
        if stored is None:
            continue
        if stored.element_type is not w.dtype.base_dtype:
            mismatched.append(
                f"{w.name} is of {stored.element_type.name} in the checkpoint, but the variable is of {w.dtype}"
            )
        elif not _fits(stored, w.shape, reshape and not w.sliced):
            mismatched.append(
                f"{w.name} has shape {show(stored.shape)} in the checkpoint, but the variable has {show(w.shape)}"
            )
    names = {w.name for w in wanted}
    return Differences(
        prefix,
        tuple(_absent((w.name for w in wanted), contents)),
        tuple(sorted(name for name in contents if name not in names)),
        tuple(dict.fromkeys(mismatched)),
    )


def _absent(names: Iterable[str], contents: Mapping[str, Any]) -> list[str]:
    return sorted({name for name in names if name not in contents})


def _fits(stored: Any, shape: Shape, reshape: bool) -> bool:
    if compatible(shape, stored.shape):
        return True
    return reshape and num_elements(shape) == num_elements(stored.shape)
