"""A model that is awaited in FastAPI, behind uvicorn."""

from __future__ import annotations

from benchmarks.compare.server import Server, instances, raw
from benchmarks.compare.servers.fastapi_threads import uvicorn

SERVER = Server(
    name="actorflow_fastapi",
    title="actorflow awaited in FastAPI",
    packages=("fastapi", "uvicorn", "httptools", "uvloop"),
    about="`af.load_model` with micro-batching, in one process of uvicorn",
    command=lambda place: uvicorn("awaited_fastapi", place),
    bodies={"json": instances("/json"), "binary": raw("/bytes")},
    program="awaited_fastapi.py",
    has_actorflow=True,
    has_loop=True,
)
