"""Parts of tensors: a variable that is kept in slices is saved slice by slice, and may be read in other slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.errors import InvalidArgumentError

_SPEC = re.compile(r"((?:\d+ )+)(\d+,\d+(?::\d+,\d+)*)")


@dataclass(frozen=True, slots=True)
class TensorRegion:
    """The part of a tensor of shape `whole` that begins at `begin` and has the shape `shape`."""

    whole: tuple[int, ...]
    begin: tuple[int, ...]
    shape: tuple[int, ...]

    @staticmethod
    def all_of(shape: Sequence[int]) -> TensorRegion:
        """A tensor of this shape as its own only part."""
        return TensorRegion(tuple(shape), (0,) * len(shape), tuple(shape))

    @staticmethod
    def parse(spec: str) -> TensorRegion | None:
        """Reads TensorFlow's way to write a part: "10 3 0,5:0,3" are the first 5 of 10 rows. "" is None: all of it.

        Raises:
            InvalidArgumentError: it is no such text, or a part that sticks out.
        """
        if not spec:
            return None
        match = _SPEC.fullmatch(spec)
        if match is None:
            raise InvalidArgumentError(f"{spec!r} is no part of a tensor; one is written as '10 3 0,5:0,3'.")
        whole = tuple(map(int, match[1].split()))
        pairs = [tuple(map(int, pair.split(","))) for pair in match[2].split(":")]
        region = TensorRegion(whole, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))
        if not region.fits():
            raise InvalidArgumentError(f"The part {spec!r} of a tensor sticks out of it.")
        return region

    def fits(self) -> bool:
        """Whether the part lies inside of its tensor."""
        return len(self.whole) == len(self.begin) == len(self.shape) and all(
            begin + size <= most for begin, size, most in zip(self.begin, self.shape, self.whole)
        )

    def __str__(self) -> str:
        """As Python writes it: [0:5, 0:3]."""
        return f"[{', '.join(f'{b}:{b + s}' for b, s in zip(self.begin, self.shape))}]"

    def meets(self, other: TensorRegion) -> bool:
        """Whether the two have an element in common."""
        return all(
            max(b, ob) < min(b + s, ob + os)
            for b, s, ob, os in zip(self.begin, self.shape, other.begin, other.shape, strict=True)
        )

    def copy(self, source: Any, into: TensorRegion, target: Any) -> None:
        """Copies what an array with this part and an array with the part `into` have in common."""
        mine, theirs = [], []
        for b, s, ob, os in zip(self.begin, self.shape, into.begin, into.shape, strict=True):
            first, last = max(b, ob), max(max(b, ob), min(b + s, ob + os))
            mine.append(slice(first - b, last - b))
            theirs.append(slice(first - ob, last - ob))
        target[tuple(theirs)] = source[tuple(mine)]


def covers(parts: Sequence[TensorRegion]) -> bool:
    """Whether `parts`, cut along one dimension, are all of their tensor, each element once."""
    whole = parts[0].whole
    if any(part.whole != whole or not part.fits() for part in parts):
        return False
    if not whole:
        return len(parts) == 1
    if 0 in whole:
        return True  # there is no element that could be missing, nor a dimension that tells of the cut
    cut = [d for d, most in enumerate(whole) if any(part.shape[d] != most for part in parts)] or [0]
    if len(cut) > 1:
        return False
    reached = 0
    for begin, size in sorted((part.begin[cut[0]], part.shape[cut[0]]) for part in parts):
        if begin != reached:
            return False
        reached += size
    return reached == whole[cut[0]]
