"""A web service that trains a model and answers with it, all in one event loop.

python examples/service.py --port 8000

    curl localhost:8000/predict --json '{"pixels": [0, 0, 5, 13, ...]}'    # the 64 pixels of a digit, from 0 to 16
    curl localhost:8000/health

A prediction has a deadline (504); it is refused where it would wait for too long (429); its step is stopped when the client
leaves. It reads the variables that are being trained meanwhile.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

import anyio
import numpy as np
import uvicorn
from sklearn.datasets import load_digits
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import actorflow as af
from actorflow.frontends.ext import asgi

PIXELS, HIDDEN, CLASSES, BATCH = 64, 128, 10, 32


def make_app(epochs: int = 50, **options: Any) -> Starlette:
    """The application. `options` are those of its session."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(0)
        pixels = af.placeholder(af.float32, [None, PIXELS], name="pixels")
        labels = af.placeholder(af.int64, [None], name="labels")
        w1 = af.get_variable("w1", [PIXELS, HIDDEN], initializer=af.glorot_uniform_initializer())
        w2 = af.get_variable("w2", [HIDDEN, CLASSES], initializer=af.glorot_uniform_initializer())
        finite = af.check_numerics(pixels, "the pixels have to be numbers from 0 to 16")  # JSON may hold NaN
        logits = af.matmul(af.nn.relu(af.matmul(finite / 16, w1)), w2)
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        probabilities = af.nn.softmax(logits)
        step = af.train.get_or_create_global_step()
        train = af.train.AdamOptimizer(0.001).minimize(loss, global_step=step)
        initialize = af.global_variables_initializer()

    async def start(session: af.Session) -> None:
        await session.run(initialize)
        await session.warmup(probabilities, [pixels])

    async def keep_training(session: af.Session) -> None:
        images, digits = load_digits(return_X_y=True)
        rng = np.random.default_rng(0)
        for _ in range(epochs):
            for batch in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
                try:
                    await session.run(train, {pixels: images[batch], labels: digits[batch]})
                except af.errors.Overloaded as error:  # requests come first
                    await anyio.sleep(error.retry_after)

    async def predict(request: Request) -> Response:
        try:
            image = (await request.json())["pixels"]
        except (ValueError, TypeError, KeyError):
            raise HTTPException(400, 'The body has to be {"pixels": [64 numbers from 0 to 16]}.') from None
        run = request.state.session.run([probabilities, step], {pixels: [image]}, timeout=1.0)
        (found,), trained = await asgi.until_disconnected(request, run)
        return JSONResponse({"digit": int(np.argmax(found)), "probability": float(max(found)), "steps": int(trained)})

    async def health(request: Request) -> Response:
        return JSONResponse(asdict(request.state.session.statistics()))

    return Starlette(
        routes=[Route("/predict", predict, methods=["POST"]), Route("/health", health)],
        lifespan=asgi.lifespan(graph, start=start, background=keep_training, **options),
        middleware=[Middleware(asgi.ErrorResponses)],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--epochs", type=int, default=50, help="rounds through the images")
    arguments = parser.parse_args()
    limits = af.SessionLimits(max_inflight_steps=8, max_queued_steps=64)
    uvicorn.run(make_app(arguments.epochs, limits=limits), port=arguments.port)
