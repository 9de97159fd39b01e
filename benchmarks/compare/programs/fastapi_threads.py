"""onnxruntime in FastAPI's pool of threads."""

import os
from typing import Annotated

import delays  # for the measure
import numpy as np
import onnxruntime
from fastapi import Body, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

session = onnxruntime.InferenceSession(os.environ["MODEL"], providers=["CPUExecutionProvider"])
shape = (-1, *session.get_inputs()[0].shape[1:])
app = FastAPI(lifespan=delays.lifespan)


@app.post("/json")
def answer(instances: Annotated[list[list[float]], Body(embed=True)]) -> list[list[float]]:
    return session.run(None, {"x": np.float32(instances).reshape(shape)})[0].tolist()


@app.post("/bytes")
async def answer_bytes(request: Request) -> Response:
    rows = np.frombuffer(await request.body(), np.float32).reshape(shape)
    (scores,) = await run_in_threadpool(session.run, None, {"x": rows})
    return Response(scores.tobytes(), media_type="application/octet-stream")
