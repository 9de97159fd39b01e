"""Many Example messages read at once, by the library in C, or by numpy, which goes through all of them in step. So Python works
for each feature of a batch, not for each message.

Messages of one data set have the same structure almost always: fields in the order in which writers put them, packed lists, each
name once. `read_columns` reads those. It leaves all others, such as broken messages, to the reader of single messages, which
knows every form and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, int64, string
from actorflow.base.records.features import NUMBERS
from actorflow.base.records.wire import BYTES, BrokenMessageError, varints

from ..native.library import loaded

FEWEST = 8
"""From this number of messages on it is quicker than message by message."""

_LONGEST_VARINT = 5
"""Bytes of a length: five hold 34 bits and a message has 31."""

_FIRST, _SECOND = 1 << 3 | BYTES, 2 << 3 | BYTES


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of all messages.

    Args:
        lengths: how many values each message has; -1 for a message without the feature.
        values: the values of all messages, one message after the other.
    """

    lengths: Any
    values: Any


class _Irregular(Exception):
    """The messages are not of the usual structure."""


def read_columns(
    messages: Sequence[bytes], wanted: Mapping[str, DType], packed: Collection[str] = ()
) -> dict[str, Column] | None:
    """The wanted features of serialized Examples.

    Args:
        messages: the messages.
        wanted: the element type of each feature, by its name.
        packed: the features whose strings may be packed.

    Returns:
        A column for each feature; None where a message has another structure or type than usual, which is no error yet.
    """
    library = loaded()
    if library is None:
        return read_by_numpy(messages, wanted)
    columns = library.example_columns(
        list(messages),
        [key.encode() for key in wanted],
        [NUMBERS[dtype] for dtype in wanted.values()],
        [key in packed for key in wanted],
    )
    return (
        None if columns is None else {key: Column(lengths, values) for key, (lengths, values) in zip(wanted, columns)}
    )


def read_by_numpy(messages: Sequence[bytes], features: Mapping[str, DType]) -> dict[str, Column] | None:
    """`read_columns` where the library in C is not there."""
    try:
        return _Messages(messages).columns(features)
    except (_Irregular, BrokenMessageError):
        return None


class _Messages:
    """The bytes of all messages behind each other, and where the entries of their maps are."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._joined = b"".join(messages)
        self._bytes = np.frombuffer(self._joined + bytes(_LONGEST_VARINT + 1), np.uint8)
        self._count = len(messages)
        ends = np.cumsum([len(message) for message in messages], dtype=np.int64)
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
        full = np.flatnonzero(starts < ends)
        at, end = starts[full], ends[full]
        at, features_end = self._field(at, end, _FIRST)
        self._require(features_end == end)
        self._entries(full, at, end)

    def _entries(self, owner: Any, at: Any, end: Any) -> None:
        """Finds names and values in the maps that begin at `at`."""
        rows: list[tuple[Any, ...]] = []
        while len(owner):
            going = at < end
            if not going.all():
                owner, at, end = owner[going], at[going], end[going]
                continue
            entry, entry_end = self._field(at, end, _FIRST)
            name, name_end = self._field(entry, entry_end, _FIRST)
            value, value_end = self._field(name_end, entry_end, _SECOND)
            self._require(value_end == entry_end)
            rows.append((owner, name, name_end, value, value_end))
            at = entry_end
        columns: list[Any] = [np.concatenate(p) for p in zip(*rows)] if rows else [np.zeros(0, np.int64)] * 5
        self._owner, self._name, self._name_end, self._value, self._value_end = columns

    def columns(self, features: Mapping[str, DType]) -> dict[str, Column]:
        """See `read_columns`."""
        return {key: self._column(key.encode(), dtype) for key, dtype in features.items()}

    def _column(self, key: bytes, dtype: DType) -> Column:
        mine = np.flatnonzero(self._name_end - self._name == len(key))
        names = self._bytes[self._name[mine, None] + np.arange(len(key))]
        mine = mine[(names == np.frombuffer(key, np.uint8)).all(1)]
        mine = mine[np.argsort(self._owner[mine], kind="stable")]
        owner, at, end = self._owner[mine], self._value[mine], self._value_end[mine]
        self._require(owner[1:] != owner[:-1])
        has_list = at < end
        owner, at, end = owner[has_list], at[has_list], end[has_list]
        at, list_end = self._field(at, end, NUMBERS[dtype] << 3 | BYTES)
        self._require(list_end == end)
        lengths = np.full(self._count, -1, np.int64)
        lengths[owner] = 0
        counts, values = self._strings(at, end) if dtype is string else self._numbers(at, end, dtype)
        lengths[owner] = counts
        return Column(lengths, values)

    def _strings(self, at: Any, end: Any) -> tuple[Any, Any]:
        """How many strings each list has, and the strings."""
        counts = np.zeros(len(at), np.int64)
        lists, pieces = np.arange(len(at)), list[tuple[Any, Any, Any]]()
        while True:
            going = at < end
            lists, at, end = lists[going], at[going], end[going]
            if not len(lists):
                break
            begin, at = self._field(at, end, _FIRST)
            counts[lists] += 1
            pieces.append((lists, begin, at))
        if not pieces:
            return counts, np.zeros(0, object)
        of, begins, ends = (np.concatenate(parts) for parts in zip(*pieces))
        order = np.argsort(of, kind="stable")
        joined, values = self._joined, np.empty(len(of), object)
        values[:] = [joined[a:b] for a, b in zip(begins[order].tolist(), ends[order].tolist())]
        return counts, values

    def _numbers(self, at: Any, end: Any, dtype: DType) -> tuple[Any, Any]:
        """How many numbers each packed list has, and the numbers."""
        full = at < end
        begin, packed_end = self._field(at[full], end[full], _FIRST)
        self._require(packed_end == end[full])
        sizes = np.zeros(len(at), np.int64)
        sizes[full] = packed_end - begin
        packed = self._gather(begin, sizes[full])
        if dtype is not int64:
            self._require(sizes % 4 == 0)
            return sizes // 4, packed.view("<f4").astype(dtype.numpy_dtype, copy=False)
        lasts = np.concatenate((np.zeros(1, np.int64), np.cumsum(packed < 0x80)))
        ends = np.cumsum(sizes)
        self._require(packed[ends[sizes > 0] - 1] < 0x80)  # so no number goes from one list into the next
        return lasts[ends] - lasts[ends - sizes], varints(packed)

    def _gather(self, begin: Any, sizes: Any) -> Any:
        """The bytes of all ranges, in their order."""
        if not len(begin):
            return np.zeros(0, np.uint8)
        if (sizes == sizes[0]).all():
            return self._bytes[begin[:, None] + np.arange(sizes[0])].reshape(-1)
        before = np.cumsum(sizes) - sizes
        return self._bytes[np.repeat(begin - before, sizes) + np.arange(sizes.sum())]

    def _field(self, at: Any, end: Any, key: int) -> tuple[Any, Any]:
        """The beginning and the end of the content of the field at each place. Each field has this key and lies before
        `end`."""
        self._require(self._bytes[at] == key)
        length = np.zeros(len(at), np.int64)
        at = at + 1
        going: Any = slice(None)
        for place in range(_LONGEST_VARINT):
            byte = self._bytes[at[going]].astype(np.int64)
            length[going] |= (byte & 0x7F) << 7 * place
            at[going] += 1
            more = np.flatnonzero(byte >= 0x80)
            if not len(more):
                break
            going = more if place == 0 else going[more]
        else:
            raise _Irregular
        self._require(at + length <= end)
        return at, at + length

    @staticmethod
    def _require(holds: Any) -> None:
        if not holds.all():
            raise _Irregular
