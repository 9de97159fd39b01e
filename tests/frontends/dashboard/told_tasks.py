"""The status of a task, made up, for tests of the live page."""

from __future__ import annotations

import json
from typing import Any

from actorflow.engine.runtime.diagnostics.trace import Trace

TASK: dict[str, Any] = {
    "task": "/job:worker/task:0", "state": "live", "version": "1", "python": "3.11.7", "address": "tcp://h:1", "incarnation": "a",
    "epoch": 0, "uptime": 2.5, "resident_bytes": 1000, "sessions": 1, "steps": 7, "steps_failed": 1, "steps_cancelled": 0,
    "steps_abandoned": 0, "steps_in_flight": 2, "nodes": 70, "kernels": [],
    "devices": [{"name": "CPU:0", "type": "CPU", "live_bytes": 96, "peak_bytes": 200, "budget_bytes": 100, "kernels_inline": 5,
                 "kernels_threaded": 6, "swapped_out_bytes": 0, "swapped_in_bytes": 0}],
    "queues": [{"name": 'a "queue"\n', "kind": "SharedQueue", "container": "", "device": "CPU:0", "capacity": 3, "size": 0,
                "waiting_to_put": 0, "waiting_to_take": 1, "closed": False}],
    "links": [{"peer": "/job:worker/task:1", "direction": "to", "transport": "shm", "bytes_sent": 1, "bytes_received": 2,
               "queued": 0, "credit_bytes": 5, "waits": 3, "wait_seconds": 0.5, "dropped": 0, "round_trip": None}],
    "waiting": [{"step": 2**60 + 1, "idle": 3.0, "lines": ["take waits for an element of queue"]}],
}  # fmt: skip


class Told:
    """A source that says what it was given."""

    def __init__(self) -> None:
        self.tasks: dict[str, Any] = {"/job:worker/task:0": TASK}
        self.asked = 0
        self.trace = Trace()

    async def recent(self, seconds: float, step: int | None = None) -> Trace:
        return self.trace

    async def ask(self) -> dict[str, Any]:
        self.asked += 1
        return json.loads(json.dumps(self.tasks))  # type: ignore[no-any-return]
