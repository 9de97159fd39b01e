"""BentoML, with one worker."""

from __future__ import annotations

from benchmarks.compare.server import PROGRAMS, Server, instances, raw

SERVER = Server(
    name="bentoml",
    title="BentoML",
    packages=("bentoml", "onnxruntime"),
    about="one worker, batches of 32 for JSON; bytes are a file for it, which it does not batch",
    command=lambda place: [
        *(str(place.script / "bentoml"), "serve", "bentoml_program:Model", "--working-dir", str(PROGRAMS)),
        *("--host", "127.0.0.1", "--port", str(place.port)),
    ],
    bodies={"json": instances("/json"), "binary": raw("/bytes")},
    program="bentoml_program.py",
    environment={
        "BENTOML_DO_NOT_TRACK": "True",
        "BENTOML_CONFIG_OPTIONS": "services.logging.access.enabled=false",
    },
)
