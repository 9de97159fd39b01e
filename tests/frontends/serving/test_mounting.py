"""The application within others: it is mounted in Starlette and in FastAPI, below a path and with their lifespans."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from frontends.serving.served import application, write_line
from starlette.applications import Starlette
from starlette.routing import Mount

import actorflow as af


async def check(outer: Any) -> None:
    """Asks a model below /models, and something that is not there."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://127.0.0.1") as client:
        answer = await client.post("/models/v1/models/line:predict", json={"instances": [[1, 2, 3]]})
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"predictions": [{"y": [2, 4, 6], "total": 12}]}
        assert (await client.get("/models/v2/models/line/ready")).json() == {"name": "line", "ready": True}
        assert (await client.get("/models/v2/models/nothing")).status_code == 404
        assert "actorflow_serving_requests_total" in (await client.get("/models/metrics")).text


async def test_starlette_mounts_it(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 2)
    models = application(tmp_path)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with models:
            yield

    outer = Starlette(routes=[Mount("/models", models)], lifespan=lifespan)
    async with outer.router.lifespan_context(outer):
        await check(outer)


@pytest.mark.extras("fastapi")
async def test_fastapi_mounts_it(tmp_path: Path) -> None:
    fastapi = pytest.importorskip("fastapi", reason="fastapi is not installed (make test-extras)")
    write_line(tmp_path / "line" / "1", 2)
    models = application(tmp_path)
    outer = fastapi.FastAPI()
    outer.mount("/models", models)

    @outer.get("/own")
    async def own() -> dict[str, bool]:
        return {"own": True}

    async with models:
        await check(outer)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://127.0.0.1") as client:
            assert (await client.get("/own")).json() == {"own": True}


async def test_an_onnx_file_is_served(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 3], name="x")
        y = x * np.float32(2)
        async with af.Session(graph=graph) as session:
            await af.onnx.save(tmp_path / "twice.onnx", session, {"y": y}, {"x": x})
    async with application(tmp_path) as app:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            answer = await client.post("/v1/models/twice:predict", json={"instances": [[1, 2, 3], [4, 5, 6]]})
            assert answer.json() == {"predictions": [[2, 4, 6], [8, 10, 12]]}
            found = (await client.get("/v2/models/twice")).json()
            assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
