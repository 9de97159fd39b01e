"""A program that knows nothing of the transport: it runs on the cluster that its environment names."""

from __future__ import annotations

import asyncio

import actorflow as af


async def main() -> None:
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:ps/task:0"):
            total = af.Variable([0.0] * 100_000, name="total")
        with af.device("/job:worker/task:0"):
            more = af.Variable([0.5] * 100_000, name="more")
        add = total.assign_add(more)
    async with af.Session(graph=graph) as session:
        await session.run([total.initializer, more.initializer])
        for _ in range(5):
            await session.run(add)
        print(float((await session.run(total)).sum()))
        print(sorted({edge.transport for edge in await session.channels()}))


if __name__ == "__main__":
    asyncio.run(main())
