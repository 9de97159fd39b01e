"""Trains a network on handwritten digits, saves it, and serves it with a page: draw a digit, and see the probabilities live.

python examples/serve_digits.py --port 8501       then open http://127.0.0.1:8501

The page asks the same interface as any client: `POST /v1/models/digits:predict`. While the server runs, call this with `--train`
in another terminal: it writes the next version, and the server takes it up.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import uvicorn
from sklearn.datasets import load_digits

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "serve_digits"
PAGE = Path(__file__).parent / "serve_digits.html"


async def train(folder: Path, steps: int) -> None:
    """Trains a network, and saves it to `folder`."""
    pixels, digits = load_digits(return_X_y=True)
    images = (pixels / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 64], name="images")
        labels = af.placeholder(af.int64, [None])
        hidden = af.layers.conv2d(af.reshape(x, [-1, 8, 8, 1]), 32, 3, padding="same", activation=af.nn.relu)
        hidden = af.layers.dense(af.layers.flatten(af.layers.max_pooling2d(hidden, 2, 2)), 64, activation=af.nn.relu)
        logits = af.layers.dense(hidden, 10)
        loss = af.losses.sparse_softmax_cross_entropy(labels, logits)
        step = af.train.AdamOptimizer(0.003).minimize(loss)
        probabilities = af.nn.softmax(logits)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        rng = np.random.default_rng()
        for _ in range(steps):
            rows = rng.integers(0, len(images), 64)
            moved = np.roll(images[rows], int(rng.integers(-1, 2)), axis=2)  # drawings are not always in the middle
            await session.run(step, {x: moved.reshape(-1, 64), labels: digits[rows]})
        outputs = {"probabilities": probabilities}
        await af.saved_model.simple_save(session, folder, {"images": x}, outputs, format="standard")


def with_page(models: Any) -> Any:
    """An ASGI application: the page at `/`, and the models at all other paths."""
    page = PAGE.read_bytes()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/":
            await models(scope, receive, send)
            return
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(page))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": page})

    return application


async def main() -> None:
    parser = argparse.ArgumentParser(description="Serves a network for handwritten digits, with a page.")
    parser.add_argument("--port", type=int, default=8501, help="the port (8501)")
    parser.add_argument("--steps", type=int, default=600, help="how many steps to train (600)")
    parser.add_argument("--train", action="store_true", help="only write the next version")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the model (examples/out/serve_digits)")
    options = parser.parse_args()

    model = options.output / "digits"
    versions = [int(path.name) for path in model.glob("*") if path.name.isdigit()]
    if options.train or not versions:
        number = max(versions, default=0) + 1
        await train(model / str(number), options.steps)
        print(f"version {number} is written")
    if options.train:
        return
    models = af.serving.app(options.output, hosts=("127.0.0.1", "localhost"))
    config = uvicorn.Config(with_page(models), port=options.port, log_level="warning")
    print(f"http://127.0.0.1:{options.port}", flush=True)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main)
