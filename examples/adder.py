"""Adds what it is fed: two numbers, then two vectors.

python examples/adder.py
"""

from __future__ import annotations

import anyio

import actorflow as af


async def main() -> None:
    graph = af.Graph()
    with graph.as_default():
        a = af.placeholder(af.float32, name="a")
        b = af.placeholder(af.float32, name="b")
        adder = a + b

    async with af.Session(graph=graph) as session:
        print("3 + 4.5 =", await session.run(adder, {a: 3, b: 4.5}))
        print("[1, 3] + [2, 4] =", await session.run(adder, {a: [1, 3], b: [2, 4]}))


if __name__ == "__main__":
    anyio.run(main)
