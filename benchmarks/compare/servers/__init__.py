"""The servers of the comparison, each in a file of its own; `SERVERS` has all of them, ours first.

actorflow_serve.py   the command `actorflow serve`
actorflow_fastapi.py a model that is awaited in FastAPI
fastapi_threads.py   onnxruntime in FastAPI's pool of threads
litserve_server.py   LitServe
bentoml_server.py    BentoML
mlserver_server.py   MLServer
ray_server.py        Ray Serve
"""

from __future__ import annotations

from benchmarks.compare.server import Server
from benchmarks.compare.servers import (
    actorflow_fastapi,
    actorflow_serve,
    bentoml_server,
    fastapi_threads,
    litserve_server,
    mlserver_server,
    ray_server,
)

SERVERS: tuple[Server, ...] = tuple(
    module.SERVER
    for module in (
        actorflow_serve,
        actorflow_fastapi,
        fastapi_threads,
        litserve_server,
        bentoml_server,
        mlserver_server,
        ray_server,
    )
)
OURS = ("actorflow", "actorflow_fastapi")
