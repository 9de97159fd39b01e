"""A partial run, a trace and measurements, by a client written from docs/reference/protocol.md, without the library."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
from clusters import make_spec
from test_raw_protocol import MESSAGE, SERVER, TENSOR, ByZmq, SessionByHand, dtype, graph_by_hand, node, sizes

from actorflow.cluster.server import Server


class PartsByHand(SessionByHand):
    """A client that feeds and fetches a step while its request is open."""

    async def begin(self, *fields: Any) -> int:
        """Sends `run_plan` and gives its number; the reply comes when the step has ended."""
        self.number += 1
        await self.send(MESSAGE, body=msgpack.packb([1, self.number, "run_plan", list(fields)]))
        return self.number

    async def feed(self, step: int, index: int, value: float) -> None:
        body = np.float32(value).tobytes()
        await self.send(TENSOR, step=step, edge=self.FEED + index, meta=["float32", []], body=body)

    async def fetch(self, step: int, index: int) -> float:
        while (step, self.FETCH + index) not in self.tokens:
            await self.take()
        found = self.tokens.pop((step, self.FETCH + index))
        return float(np.frombuffer(found["body"], found["meta"][0])[0])


async def test_f26_f61_a_partial_run_written_from_the_document() -> None:
    async with Server(make_spec({"ps": 1}, "zmq"), "ps", 0, transport="zmq", incarnation=SERVER.incarnation) as server:
        wire = ByZmq(server.address)
        try:
            client = PartsByHand(wire)
            await client.open()
            await client.ask("hello", "1", 0)
            session, _ = await client.ask("open_session", {}, 5.0)
            fed = {"dtype": dtype("float32"), "shape": sizes()}
            nodes = [
                *(node(name, "Placeholder", [], fed, ["float32"], [[]]) for name in "xyz"),
                node("sum", "Add", [["x", 0], ["y", 0]], {}, ["float32"], [[]]),
                node("product", "Mul", [["sum", 0], ["z", 0]], {}, ["float32"], [[]]),
            ]
            await client.ask("extend", session, 0, graph_by_hand(nodes))
            feeds = [[name, 0, "float32", []] for name in "xyz"]
            wanted = [feeds, [["sum", 0], ["product", 0]], ["product"], True]
            plan, _ = await client.ask("prepare", session, msgpack.packb(wanted), True)

            call = await client.begin(session, plan, 1, None, False, 0, [])
            await client.feed(1, 0, 3.0)
            await client.feed(1, 1, 4.0)
            assert await client.fetch(1, 0) == 7.0
            assert call not in client.replies, "the step goes on"
            await client.feed(1, 2, 10.0)
            assert await client.fetch(1, 1) == 70.0
            while (1, client.FETCH + 2) not in client.tokens or call not in client.replies:
                await client.take()
            assert client.tokens.pop((1, client.FETCH + 2))["body"] == b"\1", "the target has run"
            assert client.replies.pop(call) == [2, call, None]

            # one that is taken back
            call = await client.begin(session, plan, 2, None, False, 0, [])
            await client.feed(2, 0, 3.0)
            await client.send(MESSAGE, body=msgpack.packb([4, call]))
            while call not in client.replies:
                await client.take()
            assert client.replies.pop(call)[2]["class"] == "CancelledError"
            assert not server.worker.steps.running

            # what has been measured, and a plan again
            rows = msgpack.unpackb(await client.ask("measured", session))
            assert {name for names, *_ in rows for name in names} <= set("xyz") | {"sum", "product", "product/_done"}
            for _, device, nanoseconds, runs, measured, idle, hop in rows:
                assert device.endswith("/device:CPU:0") and nanoseconds > 0 and runs > 0 and measured == []
                assert 0 <= idle <= nanoseconds and hop >= 0
            assert await client.ask("replan", session) is None
            again, _ = await client.ask("prepare", session, msgpack.packb(wanted), True)
            assert again != plan
            await client.ask("close_session", session)
        finally:
            wire.close()
