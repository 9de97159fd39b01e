"""Runs `Polynomial` on each device of a session, and prints what came out as one line of JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import polynomials

import actorflow as af


async def main() -> dict[str, Any]:
    graph = af.Graph()
    found: dict[str, Any] = {}
    with graph.as_default():
        x = af.placeholder(af.float32, [None], name="x")
        for kind in ("CPU", "SIM"):
            with af.device(f"/device:{kind}:0"):
                y = polynomials.polynomial(x, coefficients=[1.0, 0.0, 2.0], name=f"y_{kind}")
            (dx,) = af.gradients(y, [x])
            found[kind] = (y, dx)
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        try:
            values = await session.run(found, {x: [1.0, 2.0, 3.0]})
        except af.errors.UnimplementedError as error:
            return {"error": str(error)}
        return {
            "values": {kind: [value.tolist() for value in pair] for kind, pair in values.items()},
            "placed": {kind: session.placement(y) for kind, (y, _) in found.items()},
            "launched": launched(),
        }


def launched() -> dict[str, int]:
    """How often each kernel ran; the session has imported their module."""
    import sys

    return dict(sys.modules["polynomials.kernels"].launched)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
