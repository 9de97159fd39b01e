"""Errors for values that can't be pickled: they say so in a sentence, and what to hand over in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from actorflow.errors import with_topic


def unpicklable(sentence: str) -> Callable[[Any, SupportsIndex], Any]:
    """The method `__reduce_ex__` of a class whose objects are neither pickled nor copied by `copy`.

        __reduce_ex__ = unpicklable("The tensor {self.name} is not pickled: hand over its name.")

    Args:
        sentence: says why, and what to do; `{self}` in it stands for the object, `{self.x}` for its attribute.
    """

    def __reduce_ex__(self: Any, protocol: SupportsIndex) -> Any:
        raise TypeError(with_topic(sentence.format(self=self), "not-pickled"))

    return __reduce_ex__
