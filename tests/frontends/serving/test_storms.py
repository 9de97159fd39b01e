"""Thousands of requests at once through the whole application: each one has its own answer, whoever leaves."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.lowlevel
import numpy as np
import pytest
from frontends.serving.served import Client, application, write_line

import actorflow as af

pytestmark = pytest.mark.timeout(240)


@pytest.mark.extras()
async def test_ten_thousand_shuffled_requests_of_mixed_sizes_are_answered_to_whom_they_belong(
    tmp_path: Path, seed: int
) -> None:
    write_line(tmp_path / "line" / "1", 2)
    rng = np.random.default_rng(seed)
    rows, kinds = rng.integers(1, 40, 10_000).tolist(), rng.integers(0, 3, 10_000).tolist()
    statuses: list[int] = []
    batching = af.serving.Batching(max_size=32, max_queued=10_000)
    async with application(tmp_path, batching=batching, timeout=None) as app:
        client = Client(app)

        async def ask(number: int) -> None:
            x = np.full((rows[number], 3), number, np.float32)
            x[:, 0] = np.arange(rows[number])
            wanted = (2 * x.sum(1)).tolist()
            if kinds[number] == 0:
                status, answer = await client.post("/v1/models/line:predict", {"instances": x.tolist()})
                assert [row["total"] for row in answer["predictions"]] == wanted
            elif kinds[number] == 1:
                tensor = {"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}
                content = {"id": str(number), "inputs": [tensor], "outputs": [{"name": "total"}]}
                status, answer = await client.post("/v2/models/line/infer", content)
                assert answer["id"] == str(number) and answer["outputs"][0]["data"] == wanted
            else:
                raw = x.tobytes()
                tensor = {
                    "name": "x",
                    "shape": list(x.shape),
                    "datatype": "FP32",
                    "parameters": {"binary_data_size": len(raw)},
                }
                wants = [{"name": "total", "parameters": {"binary_data": True}}]
                head = json.dumps({"inputs": [tensor], "outputs": wants}).encode()
                length = {"inference-header-content-length": str(len(head))}
                status, headers, body = await client.call("POST", "/v2/models/line/infer", head + raw, length)
                at = int(headers["inference-header-content-length"])
                assert np.frombuffer(body[at:], np.float32).tolist() == wanted
            statuses.append(status)

        async with anyio.create_task_group() as group:
            for number in rng.permutation(10_000).tolist():
                group.start_soon(ask, number)
    assert statuses == [200] * 10_000


async def test_clients_that_leave_at_any_time_disturb_no_other(tmp_path: Path, seed: int) -> None:
    write_line(tmp_path / "line" / "1", 2)
    rng = np.random.default_rng(seed)
    answered = left = 0
    async with application(tmp_path) as app:
        client = Client(app)

        async def ask(number: int, leaves: int) -> None:
            nonlocal answered, left
            gone = anyio.Event()
            body = {"instances": [[number, 0, 0]]}

            async def leave() -> None:
                for _ in range(leaves):
                    await anyio.lowlevel.checkpoint()
                gone.set()

            async with anyio.create_task_group() as group:
                if leaves:
                    group.start_soon(leave)
                try:
                    status, _, data = await client.call(
                        "POST", "/v1/models/line:predict", body, gone=gone if leaves else None
                    )
                except IndexError:  # nothing was sent
                    left += 1
                    return
                if status == 200:
                    assert json.loads(data)["predictions"][0]["total"] == 2 * number
                    answered += 1
                else:
                    left += 1

        for _ in range(20):
            async with anyio.create_task_group() as group:
                for number, leaves in enumerate((rng.integers(0, 12, 50) * rng.integers(0, 2, 50)).tolist()):
                    group.start_soon(ask, number, leaves)
        _, model = app.served["line"].find()
        assert model.queued == 0 and answered + left == 1000 and answered >= 400
