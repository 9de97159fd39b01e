"""onnxruntime behind Ray Serve, in batches."""

import os
import signal
import sys
from pathlib import Path  # for the measure

import delays  # for the measure
import numpy as np
import onnxruntime
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response


@serve.deployment(max_ongoing_requests=100, logging_config={"enable_access_log": False})
class Model:
    async def __init__(self, path: str) -> None:
        delays.watch()  # for the measure
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.shape = self.session.get_inputs()[0].shape[1:]

    @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.002)
    async def run(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        return list(self.session.run(None, {"x": np.stack(rows)})[0])

    async def __call__(self, request: Request):
        if request.url.path == "/json":
            rows = np.float32((await request.json())["instances"]).reshape(self.shape)
            return {"predictions": (await self.run(rows)).tolist()}
        scores = await self.run(np.frombuffer(await request.body(), np.float32).reshape(self.shape))
        return Response(scores.tobytes(), media_type="application/octet-stream")


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    ray.init(num_cpus=2, include_dashboard=False)
    serve.start(http_options={"port": int(sys.argv[1])})
    serve.run(Model.bind(os.environ["MODEL"]))
    while signal.sigwait([signal.SIGUSR1]):
        serve.run(Model.bind(os.environ["MODEL"]))
        Path("reloaded").touch()  # for the measure
