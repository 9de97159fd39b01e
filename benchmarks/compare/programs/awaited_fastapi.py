"""A model that is awaited in FastAPI: stopped for clients that leave, and refused when there are too many."""

import os
from typing import Annotated

import delays  # for the measure
import numpy as np
from fastapi import Body, FastAPI, Request, Response

import actorflow as af
from actorflow.ext import asgi

session = af.load_model(os.environ["MODEL"], batching=af.Batching(max_size=32))
shape = (-1, *session.get_inputs()[0].shape[1:])
app = FastAPI(lifespan=delays.lifespan)
app.add_middleware(asgi.ErrorResponses)


@app.post("/json")
async def answer(request: Request, instances: Annotated[list[list[float]], Body(embed=True)]) -> list[list[float]]:
    call = session.run_async(None, {"x": np.float32(instances).reshape(shape)})
    return (await asgi.until_disconnected(request, call))[0].tolist()


@app.post("/bytes")
async def answer_bytes(request: Request) -> Response:
    rows = np.frombuffer(await request.body(), np.float32).reshape(shape)
    (scores,) = await asgi.until_disconnected(request, session.run_async(None, {"x": rows}))
    return Response(scores.tobytes(), media_type="application/octet-stream")
