"""The counts of sessions: `SessionStatistics`, how they come about, and `EdgeReport`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actorflow.base.data_frame import data_frame
from actorflow.engine.device.base import Device, DeviceStatistics
from actorflow.engine.session.waiting.admission import Admission
from actorflow.public import public

if TYPE_CHECKING:
    from pandas import DataFrame


@public("af")
@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """Counters since the session was made, and its state now.

    A session on a cluster does not know the counts that only the tasks have: `nodes`, `frozen` and `abandoned` are None there,
    and `devices` is empty.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> y = x * 2.0
        >>> for value in [1.0, 2.0]:
        ...     _ = await session.run(y, {x: value})
        >>> session.statistics().steps
        2

    Args:
        steps: the number of steps that were started.
        failed: the number of steps that failed.
        cancelled: the number of steps that were cancelled.
        abandoned: the number of steps that left a kernel behind that would not stop.
        inflight: the number of steps that run now.
        queued: the number of steps that wait for their turn now.
        waiting: the number of steps that only wait in asynchronous kernels now.
        plans: the number of plans that were made.
        frozen: the number of signatures whose variables are constants now, because nothing writes them; see `PlanOptions.freeze`.
        nodes: the number of executed nodes of the user's graph, members of regions included. A frozen signature counts as before.
        devices: the statistics of each device, by its name.
    """

    steps: int
    failed: int
    cancelled: int
    abandoned: int | None
    inflight: int
    queued: int
    waiting: int
    plans: int
    frozen: int | None
    nodes: int | None
    devices: dict[str, DeviceStatistics]

    def to_pandas(self) -> DataFrame:
        """The devices as a table of pandas: a row for each, with its kernels and its memory in bytes.

        Raises:
            UnimplementedError: pandas is not installed.
        """
        device_rows = list(self.devices.values())
        columns: dict[str, list[Any]] = {"device": list(self.devices)}
        columns |= {
            name: [getattr(each, name) for each in device_rows]
            for name in ("launches", "inline", "threaded", "swapped_out", "swapped_in", "shared_out", "shared_in")
        }
        columns |= {name: [getattr(each.memory, name) for each in device_rows] for name in ("live_bytes", "peak_bytes")}
        return data_frame(columns)


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """The traffic of an edge between two tasks so far; `bytes` are those on the wire, none for a handle. `waits` are tokens
    that the destination wanted before they came, and `wait_seconds` how long it waited for them in all."""

    tensor: str
    source: str
    destination: str
    transport: str
    tokens: int
    bytes: int
    waits: int
    wait_seconds: float


class StepCounts:
    """The counters of what runs steps, or has them run. `count` steps were started, `failed`, `cancelled` and `abandoned` of them
    ended so, and they executed `nodes` nodes."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.count = self.failed = self.cancelled = self.abandoned = self.nodes = 0

    def counted(self, plans: int, devices: Iterable[Device] = (), frozen: int = 0) -> SessionStatistics:
        """The statistics of a session that has made `plans`, in the place of which some are `frozen`."""
        return SessionStatistics(
            steps=self.count,
            failed=self.failed,
            cancelled=self.cancelled,
            abandoned=self.abandoned,
            inflight=self.admission.inflight,
            queued=self.admission.queued,
            waiting=self.admission.waiting,
            plans=plans,
            frozen=frozen,
            nodes=self.nodes,
            devices={device.name: device.statistics() for device in devices},
        )
