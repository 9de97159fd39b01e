"""`DataDecoder`: how the items of an encoded record become tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class DataDecoder(ABC):
    """A decoder of records. `TFExampleDecoder` is that of `tf.train.Example`; programs derive others."""

    @abstractmethod
    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of some items of a record.

        Args:
            data: the encoded record.
            items: the names of the items, in the order of the tensors.
        """

    @abstractmethod
    def list_items(self) -> list[str]:
        """The names of all items."""
