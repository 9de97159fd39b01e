"""Ray Serve, with one replica."""

from __future__ import annotations

import os
import signal

from benchmarks.compare.server import PROGRAMS, Place, Server, await_reload, instances, raw


def _reload(place: Place, process: int) -> None:
    os.kill(process, signal.SIGUSR1)
    await_reload((place.folder / "reloaded").exists)


SERVER = Server(
    name="ray",
    title="Ray Serve",
    packages=("ray[serve]", "onnxruntime"),
    about="one replica, batches of 32 and 2 ms",
    command=lambda place: [str(place.python), str(PROGRAMS / "ray_program.py"), str(place.port)],
    bodies={"json": instances("/json"), "binary": raw("/bytes")},
    program="ray_program.py",
    reload=_reload,
    has_loop=True,
    environment={"RAY_USAGE_STATS_ENABLED": "0"},
)
