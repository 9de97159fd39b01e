"""`train.py KIND [TASK]`: trains a small classifier on a device of that type, of this process or of a task of a cluster."""

from __future__ import annotations

import asyncio
import sys

import numpy as np

import actorflow as af


async def main(kind: str, task: str = "") -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(512, 32)).astype(np.float32)
    labels = np.eye(4, dtype=np.float32)[(points @ rng.normal(size=(32, 4))).argmax(1)]
    graph = af.Graph()
    with graph.as_default(), graph.device(f"{task}/device:{kind}:0"):
        x, y = af.placeholder(af.float32, [None, 32]), af.placeholder(af.float32, [None, 4])
        hidden = af.Variable((rng.normal(size=(32, 64)) * 0.2).astype(np.float32), name="hidden")
        out = af.Variable(np.zeros((64, 4), np.float32), name="out")
        logits = af.matmul(af.nn.relu(af.matmul(x, hidden)), out)
        loss = af.reduce_mean(af.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = af.train.AdamOptimizer(0.01).minimize(loss)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph, devices=None if task else {kind: 1, "CPU": 1}) as session:
        await session.run(init)
        losses = [float((await session.run([loss, train], {x: points, y: labels}))[0]) for _ in range(60)]
        print(f"{losses[0]:.4f} {losses[-1]:.4f}")
        print(session.placement(loss))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
