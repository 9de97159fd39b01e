"""onnxruntime in FastAPI's pool of threads, behind uvicorn."""

from __future__ import annotations

from benchmarks.compare.server import PROGRAMS, Place, Server, instances, raw


def uvicorn(program: str, place: Place) -> list[str]:
    """The command that serves a program's application with the quickest parts of uvicorn."""
    return [
        *(str(place.python), "-m", "uvicorn", f"{program}:app", "--app-dir", str(PROGRAMS)),
        *("--port", str(place.port), "--log-level", "warning", "--no-access-log"),
    ]


SERVER = Server(
    name="fastapi",
    title="onnxruntime in FastAPI's threads",
    packages=("fastapi", "uvicorn", "httptools", "uvloop", "onnxruntime"),
    about="an endpoint that is a plain function, one process of uvicorn with uvloop and httptools",
    command=lambda place: uvicorn("fastapi_threads", place),
    bodies={"json": instances("/json"), "binary": raw("/bytes")},
    program="fastapi_threads.py",
    has_loop=True,
)
