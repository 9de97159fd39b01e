"""`ChannelStatistics`: a channel's life so far."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class EdgeCount:
    """The traffic of one edge over a channel so far; `bytes` are those of its tensors on the wire, none for a handle.
    At the end of the edge, `waits` are tokens that were wanted before they came, and `wait_seconds` how long, in
    all."""

    tokens: int = 0
    bytes: int = 0
    waits: int = 0
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """A channel's life so far. `clock_offset` is the peer's monotonic clock less ours, in seconds, and `clock_error` by how
    much that may be wrong. Both are 0 if the two processes read one clock, and None before the beats have told."""

    transport: str
    bytes_sent: int
    bytes_received: int
    queued_tensors: int
    queued_messages: int
    credit: int
    handles_sent: int
    handles_out: int
    copies: int
    dropped_old: int
    dropped_twice: int
    waits: int
    wait_seconds: float
    last_heard: float
    round_trip: float | None
    clock_offset: float | None
    clock_error: float | None
    wall_offset: float | None
    sent: dict[int, EdgeCount] = field(default_factory=dict)
    received: dict[int, EdgeCount] = field(default_factory=dict)
