"""A web service that trains a model and answers with it, all in one event loop.

python examples/service.py --port 8000

    curl localhost:8000/health
    curl localhost:8000/predict --json '{"pixels": [0, 0, 5, 13, ...]}'

/predict takes the 64 pixels of a digit, from 0 to 16, and reads the variables that are being trained meanwhile. It has a
deadline, refuses a request that would wait for too long with 429, and stops a step whose client has gone away. /health
runs nothing, so it answers at once.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

import anyio
import numpy as np
import uvicorn
from sklearn.datasets import load_digits
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import actorflow as af

logger = logging.getLogger("service")

PIXELS, HIDDEN, CLASSES = 64, 128, 10
BATCH = 32

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Model:
    """The graph, and the parts of it that are run."""

    graph: af.Graph
    pixels: af.Tensor
    labels: af.Tensor
    probabilities: af.Tensor
    loss: af.Tensor
    train: af.Operation
    initialize: af.Operation


def build() -> Model:
    """A perceptron with one hidden layer."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(0)
        pixels = af.placeholder(af.float32, [None, PIXELS], name="pixels")
        labels = af.placeholder(af.int64, [None], name="labels")
        w1 = af.get_variable("w1", [PIXELS, HIDDEN], initializer=af.glorot_uniform_initializer())
        b1 = af.get_variable("b1", [HIDDEN], initializer=af.zeros_initializer())
        w2 = af.get_variable("w2", [HIDDEN, CLASSES], initializer=af.glorot_uniform_initializer())
        b2 = af.get_variable("b2", [CLASSES], initializer=af.zeros_initializer())
        finite = af.check_numerics(pixels, "the pixels have to be numbers from 0 to 16")  # JSON may hold NaN
        logits = af.matmul(af.nn.relu(af.matmul(finite / 16, w1) + b1), w2) + b2
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return Model(
            graph=graph,
            pixels=pixels,
            labels=labels,
            probabilities=af.nn.softmax(logits),
            loss=loss,
            train=af.train.AdamOptimizer(0.001).minimize(loss),
            initialize=af.global_variables_initializer(),
        )


@dataclass
class Training:
    """How far the training is; `state` is training, trained or failed."""

    state: str = "training"
    epoch: int = 0
    steps: int = 0
    loss: float | None = None


class Service:
    """The session, the task that trains in it, and the requests.

    Args:
        model: what is trained and asked.
        pixels, digits: what it is trained with, [count, 64] and [count].
        epochs: how long to train.
        deadline: seconds that a prediction may take.
        max_inflight_steps, max_queued_steps: the session's limits. What is beyond them is answered with 429.
    """

    session: af.Session
    training: Training
    ended: anyio.Event
    """Set when the training is over."""

    def __init__(
        self,
        model: Model,
        pixels: Array,
        digits: Array,
        *,
        epochs: int = 50,
        deadline: float = 1.0,
        max_inflight_steps: int = 8,
        max_queued_steps: int = 64,
    ) -> None:
        self.model = model
        self.pixels = pixels
        self.digits = digits
        self.epochs = epochs
        self.deadline = deadline
        self.max_inflight_steps = max_inflight_steps
        self.max_queued_steps = max_queued_steps
        self.app = Starlette(
            routes=[
                Route("/health", self.health, methods=["GET"]),
                Route("/predict", self.predict, methods=["POST"]),
            ],
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Opens the session and starts the training; at the end stops the one and closes the other.

        A task group may be open across this `yield`, since one task enters and leaves a lifespan. An error in the group
        would cancel that task, so `train` lets none out.
        """
        self.training = Training()
        self.ended = anyio.Event()
        async with af.Session(
            graph=self.model.graph,
            max_inflight_steps=self.max_inflight_steps,
            max_queued_steps=self.max_queued_steps,
        ) as self.session:
            await self.session.run(self.model.initialize)
            await self.session.warmup(self.model.probabilities, [self.model.pixels])
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.train)
                yield
                tasks.cancel_scope.cancel()

    async def train(self) -> None:
        """Trains for some epochs. When it fails, predictions go on with the variables as they are."""
        training = self.training
        try:
            rng = np.random.default_rng(0)
            for training.epoch in range(1, self.epochs + 1):
                order = rng.permutation(len(self.digits))
                for start in range(0, len(order), BATCH):
                    batch = order[start : start + BATCH]
                    await self.step(self.pixels[batch], self.digits[batch])
            training.state = "trained"
        except Exception:
            training.state = "failed"
            logger.exception("the training failed in epoch %s", training.epoch)
        finally:
            self.ended.set()

    async def step(self, pixels: Array, digits: Array) -> None:
        """One training step. It gives way where the session is overloaded, for requests are worth more."""
        model, training = self.model, self.training
        feeds = {model.pixels: pixels, model.labels: digits}
        while True:
            try:
                loss, _ = await self.session.run([model.loss, model.train], feeds)
            except af.errors.Overloaded as error:
                await anyio.sleep(error.retry_after)
            else:
                training.loss = float(loss)
                training.steps += 1
                return

    async def health(self, request: Request) -> Response:
        """How the training goes, and the session's counters."""
        return JSONResponse({"training": asdict(self.training), "session": asdict(self.session.statistics())})

    async def predict(self, request: Request) -> Response:
        """The digit in an image. When the client leaves first, the step is stopped, and nobody reads the answer."""
        response = Response(status_code=499)
        try:
            pixels = (await request.json())["pixels"]
        except ClientDisconnect:
            return response
        except (ValueError, TypeError, KeyError):
            return JSONResponse({"error": 'the body has to be {"pixels": [64 numbers from 0 to 16]}'}, 400)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_when_disconnected, request, tasks.cancel_scope)
            response = await self.answer(pixels)
            tasks.cancel_scope.cancel()
        return response

    async def answer(self, pixels: Any) -> Response:
        """The response with the digit, or with what went wrong."""
        try:
            feeds = {self.model.pixels: [pixels]}
            probabilities = await self.session.run(self.model.probabilities, feeds, timeout=self.deadline)
        except af.errors.Overloaded as error:
            headers = {"Retry-After": str(math.ceil(error.retry_after))}
            return JSONResponse({"error": "too many requests at once"}, 429, headers)
        except af.errors.DeadlineExceededError:
            return JSONResponse({"error": f"no answer within {self.deadline} s"}, 504)
        except af.errors.InvalidArgumentError as error:
            return JSONResponse({"error": error.message}, 400)
        digit = int(np.argmax(probabilities))
        return JSONResponse(
            {"digit": digit, "probability": float(probabilities[0, digit]), "training_steps": self.training.steps}
        )


async def cancel_when_disconnected(request: Request, scope: anyio.CancelScope) -> None:
    """Cancels `scope` when the client has gone away. The body has to have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a model and answers with it.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen at; 0 takes a free one (8000)")
    parser.add_argument("--epochs", type=int, default=50, help="rounds through the images (50)")
    options = parser.parse_args()
    pixels, digits = load_digits(return_X_y=True)
    service = Service(build(), pixels, digits, epochs=options.epochs)
    uvicorn.run(service.app, host=options.host, port=options.port)


if __name__ == "__main__":
    main()
