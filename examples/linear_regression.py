"""Fits a line to noisy points by gradient descent.

python examples/linear_regression.py
"""

from __future__ import annotations

import anyio
import numpy as np

import actorflow as af

SLOPE, INTERCEPT, NOISE = 3.0, -1.5, 0.1
STEPS = 200


async def main() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None], name="x")
        y = af.placeholder(af.float32, [None], name="y")
        w = af.Variable(0.0, name="w")
        b = af.Variable(0.0, name="b")
        loss = af.reduce_mean(af.square(w * x + b - y))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
        initialize = af.global_variables_initializer()

    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, 100).astype(np.float32)
    values = (SLOPE * points + INTERCEPT + rng.normal(0, NOISE, 100)).astype(np.float32)

    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        for step in range(1, STEPS + 1):
            error, _ = await session.run([loss, train], {x: points, y: values})
            if step == 1 or step % 20 == 0:
                print(f"step {step:3}  loss {error:.5f}")
        slope, intercept = await session.run([w, b])

    print(f"y = {slope:.3f} x {intercept:+.3f}, drawn from y = {SLOPE} x {INTERCEPT:+} with noise of {NOISE}")


if __name__ == "__main__":
    anyio.run(main)
