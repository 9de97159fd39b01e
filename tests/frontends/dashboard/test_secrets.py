"""Secrets are hidden from those who watch: values and keys are in no trace, file of a failure, metric, log or page."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import pytest
from channels import until
from clusters import servers
from patience import PATIENCE
from structlog.testing import capture_logs

import actorflow as af
from actorflow.cluster.processes.metrics import render
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.dashboard import top
from actorflow.frontends.dashboard.application import Dashboard

TEXT, NUMBER = "fed-8c1f", 123456.789
PATHS = ("/snapshot.json", "/steps.json", "/metrics", "/graph.json", "/search.json?q=x", "/curves.json")


async def test_no_value_and_no_key_is_where_others_look(tmp_path: Path) -> None:
    recording = af.Recording(every=1, folder=str(tmp_path / "failures"))
    shown: list[bytes] = []
    with capture_logs() as logs:
        async with servers({"worker": 2}, "zmq", keys=True, recording=recording) as tasks:
            with af.Graph().as_default() as graph:
                with af.device("/job:worker/task:0"):
                    text = af.identity(af.placeholder(af.string, [], name="text"))
                    secret = af.Variable(NUMBER, name="secret")
                    number = secret * af.placeholder(af.float32, [], name="number")
                with af.device("/job:worker/task:1"):
                    both = af.identity(text), af.check_numerics(number, "not finite", name="checked")
            trace = af.Trace()
            async with af.Session(tasks[0].target, graph) as session:
                await session.run(secret.initializer)
                found = await session.run(both, {"text:0": TEXT, "number:0": 1.0}, trace=trace)
                assert found[0] == TEXT.encode() and found[1] == np.float32(NUMBER)
                with pytest.raises(InvalidArgumentError):
                    await session.run(both, {"text:0": TEXT, "number:0": float("inf")})
                shown += [trace.to_perfetto(), trace.to_chrome().encode(), trace.summary().encode()]
                shown += [repr(trace).encode(), trace._repr_html_().encode(), session._repr_html_().encode()]
            credentials = tasks[0].target.credentials
            assert credentials is not None
            page = Dashboard(
                tasks[0].address, credentials=credentials, graph=graph, token="page-token", logdir=tmp_path
            )
            script = httpx.AsyncClient(
                transport=httpx.ASGITransport(app=page), base_url="http://localhost", timeout=PATIENCE,
                headers={"authorization": "Bearer page-token"},
            )  # fmt: skip
            async with script:
                rows = (await script.get("/steps.json")).json()["steps"]
                number_of = rows[0]["number"]
                for path in (*PATHS, f"/step.json?number={number_of}", f"/step.pftrace?number={number_of}"):
                    answer = await script.get(path)
                    assert answer.status_code == 200, path
                    shown.append(answer.content)
                told = await page.sampler.snapshot()
            await until(lambda: bool([*(tmp_path / "failures").glob("*.pftrace")]))
            shown += ["\n".join(top.screen(told)).encode(), render(told["tasks"]).encode()]
            shown += [repr(task.status()).encode() for task in tasks]
    files = list((tmp_path / "failures").glob("*.pftrace"))
    assert files and len(rows) >= 3
    shown += [path.read_bytes() for path in files] + [repr(logs).encode()]
    for hidden in (TEXT, "123456", "123457", credentials.secret, "page-token"):
        assert not [one for one in shown if hidden.encode() in one], hidden
