"""A web service that trains and predicts on one event loop, with FastAPI.

uvicorn --app-dir packages/keras-actorflow/examples service:app
curl localhost:8000/train -H 'Content-Type: application/json' -d '{"x": [[0], [1], [2]], "y": [[1], [3], [5]], "epochs": 300}'
curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"x": [[10]]}'
curl -X DELETE localhost:8000/train

A training is a task of the loop: answers come while it runs, and a deletion stops it between two steps.
"""

from __future__ import annotations

import keras_actorflow  # isort: skip  (before Keras: it selects the backend)

import asyncio
from typing import Any

import keras
import numpy as np
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

app = FastAPI()
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.1), "mse")
training: asyncio.Task[Any] | None = None


class Examples(BaseModel):
    """Rows of inputs, with their targets for a training."""

    x: list[list[float]]
    y: list[list[float]] = []
    epochs: int = 1


@app.post("/train")
async def train(examples: Examples) -> dict[str, int]:
    """Begins a training; another one that runs is refused."""
    global training
    if training is not None and not training.done():
        raise HTTPException(409, "A training runs: wait for its end, or delete it.")
    x, y = np.array(examples.x, "float32"), np.array(examples.y, "float32")
    training = asyncio.create_task(keras_actorflow.fit(model, x, y, epochs=examples.epochs, verbose=0))
    return {"examples": len(x)}


@app.get("/train")
async def state() -> dict[str, Any]:
    """Whether a training runs, and how many steps were done in all."""
    return {"runs": training is not None and not training.done(), "steps": int(model.optimizer.iterations.numpy())}


@app.delete("/train")
async def stop() -> dict[str, Any]:
    """Stops the training between two steps."""
    if training is not None:
        training.cancel()
        await asyncio.wait([training])
    return await state()


@app.post("/predict")
async def predict(examples: Examples) -> dict[str, Any]:
    """The model's answers."""
    outputs = await keras_actorflow.predict(model, np.array(examples.x, "float32"), verbose=0)
    return {"y": outputs.tolist()}
