"""A timeline as Perfetto's protobuf (`perfetto/protos/trace`). Names are written once and then referred to by numbers."""

from __future__ import annotations

from typing import Any

from actorflow.base.records.wire import FIXED64, write_field, write_int, write_varint
from actorflow.engine.runtime.timeline.tracks import TraceTimeline, Value

_BEGIN, _END, _COUNTER = 1, 2, 4
_SEQUENCE = write_int(10, 1)
_CATEGORIES, _NAMES, _ARGS = 1, 2, 3
_CLEARED, _NEEDED = 1, 2
_COUNT = 2
_FIRST_PROCESS = 1 << 32  # numbers of tracks for processes, beside those of lanes


def to_perfetto(timeline: TraceTimeline) -> bytes:
    """The bytes of a `.pftrace` file."""
    writer = _Writer()
    writer.describe(timeline)
    changes: list[tuple[int, int, int, int, Any]] = []
    for number, piece in enumerate(timeline.slices):
        # At one time, ends come before begins, and longer slices begin before shorter slices.
        changes.append((piece.begun, 1, -piece.ended, number, piece))
        changes.append((piece.ended, 0, -piece.begun, -number, piece))
    for lane, time, value in timeline.points:
        changes.append((time, 2, lane, 0, value))
    changes.sort(key=lambda change: change[:4])
    for time, kind, lane, _, payload in changes:
        if kind == 1:
            writer.begin(time, payload)
        elif kind == 0:
            writer.event(time, write_int(9, _END) + write_int(11, payload.lane))
        else:
            writer.event(time, write_int(9, _COUNTER) + write_int(11, lane) + write_int(30, payload))
    return b"".join(writer.packets)


class _Writer:
    def __init__(self) -> None:
        self.packets: list[bytes] = []
        self._known: dict[tuple[int, str], int] = {}
        self._fresh: list[bytes] = []

    def _packet(self, body: bytes) -> None:
        self.packets.append(write_field(1, body + _SEQUENCE))

    def describe(self, timeline: TraceTimeline) -> None:
        """The tracks: processes in their order, and the lanes below them."""
        self._packet(write_int(13, _CLEARED))
        for rank, process in enumerate(timeline.processes):
            about = write_int(1, process.number) + write_field(6, process.name.encode())
            track = write_int(1, _FIRST_PROCESS + process.number) + write_field(2, process.name.encode())
            track += write_field(3, about) + write_int(11, 3) + write_int(12, rank)
            track += write_field(14, process.description.encode())
            self._packet(write_field(60, track))
        for rank, lane in enumerate(timeline.lanes):
            track = write_int(1, lane.number) + write_int(5, _FIRST_PROCESS + lane.process)
            track += write_field(2, lane.name.encode()) + write_int(12, rank)
            track += write_field(8, write_int(3, _COUNT)) if lane.kind == "counter" else b""
            self._packet(write_field(60, track))

    def begin(self, time: int, piece: Any) -> None:
        """The begin of a slice, with all that is known of it."""
        body = write_int(9, _BEGIN) + write_int(11, piece.lane)
        body += write_int(10, self._number(_NAMES, piece.name)) + write_int(
            3, self._number(_CATEGORIES, piece.category)
        )
        body += b"".join([write_field(4, self._argument(name, value)) for name, value in piece.args])
        body += _fixed(47, piece.begins) if piece.begins else b""
        body += _fixed(48, piece.ends) if piece.ends else b""
        self.event(time, body)

    def event(self, time: int, body: bytes) -> None:
        """An event, and before it the names that it is the first to use."""
        packet = write_int(8, time) + write_field(11, body) + write_int(13, _NEEDED)
        if self._fresh:
            packet += write_field(12, b"".join(self._fresh))
            self._fresh.clear()
        self._packet(packet)

    def _argument(self, name: str, value: Value) -> bytes:
        annotation = write_int(1, self._number(_ARGS, name))
        if isinstance(value, str):
            return annotation + write_field(6, value.encode())
        return annotation + write_int(2 if isinstance(value, bool) else 4, int(value))

    def _number(self, kind: int, name: str) -> int:
        """The number of a name, which is told with the next packet if the name is new."""
        number = self._known.get((kind, name))
        if number is None:
            number = self._known[kind, name] = len(self._known) + 1
            self._fresh.append(write_field(kind, write_int(1, number) + write_field(2, name.encode())))
        return number


def _fixed(field: int, value: int) -> bytes:
    return write_varint(field << 3 | FIXED64) + value.to_bytes(8, "little")
