"""A client written from docs/reference/protocol.md alone: struct, msgpack and a socket, without the library."""

from __future__ import annotations

import asyncio
import socket
import struct
import zlib
from typing import Any

import anyio
import msgpack
import numpy as np
import pytest
import zmq
from channels import SERVER, endpoint, start_zmq_collector, until
from clusters import make_spec
from patience import PATIENCE

from actorflow.cluster.server import Server
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import Channel

HEADER = struct.Struct("<4sBBHIIQQIHHQQII")
HELLO, CLOSE, MESSAGE, TENSOR, CREDIT, ABORT, BEAT = 1, 2, 3, 4, 6, 8, 9
DEAD_FLAG, LAST, NOTHING, FOLLOWS = 1, 2, 8, 16
MINE = 0xABC
GREETING = {
    "versions": [1, 1],
    "cluster": "cluster",
    "task": "/job:other/task:0",
    "data_window": 1 << 20,
    "control_window": 1 << 20,
    "order": "little",
    "build": "by hand",
    "expects": SERVER.incarnation,
}


def record(
    kind: int,
    sequence: int,
    *,
    flags: int = 0,
    step: int = 0,
    edge: int = 0,
    tag: bytes = b"",
    meta: Any = None,
    body: bytes = b"",
    offset: int = 0,
    total: int | None = None,
) -> bytes:
    packed = b"" if meta is None else msgpack.packb(meta)
    total = len(body) if total is None else total
    head = HEADER.pack(
        b"actf", 1, kind, flags, sequence, 0, MINE, step, edge, len(tag), 0, offset, total, len(packed), len(body)
    )  # fmt: skip
    return head + tag + packed + (b"" if flags & FOLLOWS else body)


def read(frame: bytes) -> list[dict[str, Any]]:
    found, place = [], 0
    while place < len(frame):
        magic, version, kind, flags, sequence, epoch, incarnation, step, edge, tag, zero, offset, total, meta, body = (
            HEADER.unpack_from(frame, place)
        )
        assert (magic, version, zero, incarnation) == (b"actf", 1, 0, SERVER.incarnation)
        place += 64
        tag_bytes, place = frame[place : place + tag], place + tag
        data, place = frame[place : place + meta], place + meta
        inside = 0 if flags & FOLLOWS else body
        content, place = frame[place : place + inside], place + inside
        found.append(
            dict(kind=kind, flags=flags, sequence=sequence, epoch=epoch, step=step, edge=edge, tag=tag_bytes,
                 meta=msgpack.unpackb(data) if data else None, body=content, size=body, offset=offset, total=total)
        )  # fmt: skip
    return found


@pytest.fixture(autouse=True, scope="module")
def _collector() -> None:
    start_zmq_collector()


class ByHand:
    """Sends and receives packets: `bulk` ones in two parts, head and body."""

    async def send(self, head: bytes, body: bytes | None = None) -> None:
        raise NotImplementedError

    async def next(self) -> list[dict[str, Any]]:
        """The records of the next packet; a chunk has its body put in."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class ByZmq(ByHand):
    def __init__(self, address: str) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.lanes = [self.context.socket(zmq.DEALER), self.context.socket(zmq.DEALER)]
        name = b"\x01" + b"0123456789abcdef"
        for number, lane in enumerate(self.lanes):
            lane.setsockopt(zmq.ROUTING_ID, name + bytes([number]))
            lane.connect(address)

    async def greet(self, **other: Any) -> None:
        for lane in self.lanes:
            lane.send(record(HELLO, 0, meta=GREETING | other))

    async def send(self, head: bytes, body: bytes | None = None) -> None:
        if body is None:
            self.lanes[0].send(head)
        else:
            self.lanes[1].send_multipart([head, body])

    async def next(self) -> list[dict[str, Any]]:
        with anyio.fail_after(PATIENCE):
            while True:
                for lane in self.lanes:
                    if lane.poll(0):
                        parts = lane.recv_multipart()
                        found = read(parts[0])
                        if len(parts) > 1:
                            found[0]["body"] = parts[1]
                        return found
                await anyio.sleep(0.001)

    def close(self) -> None:
        self.context.destroy(0)


class BySocket(ByHand):
    def __init__(self, address: str) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.wire.connect("\0" + address.removeprefix("shm://"))

    async def greet(self) -> None:
        await self.send(record(HELLO, 0, meta=GREETING))

    async def send(self, head: bytes, body: bytes | None = None) -> None:
        await asyncio.get_running_loop().sock_sendall(self.wire, head + (body or b""))

    async def next(self) -> list[dict[str, Any]]:
        with anyio.fail_after(PATIENCE):
            packet = await asyncio.get_running_loop().sock_recv(self.wire, 1 << 18)
        if packet[6] & FOLLOWS:
            size = 64 + struct.unpack_from("<H", packet, 36)[0] + struct.unpack_from("<I", packet, 56)[0]
            (found,) = read(packet[:size])
            return [{**found, "body": packet[size:]}]
        return read(packet)

    def close(self) -> None:
        self.wire.close()


@pytest.mark.parametrize("kind", ["zmq", "shm-without-arena"])
async def test_f62_a_client_written_from_the_document_can_take_part(kind: str) -> None:
    accepted: list[Channel] = []
    there = endpoint(kind, SERVER, listen=True, accept=accepted.append)
    mine: Any = ByZmq(there.address) if kind == "zmq" else BySocket(there.address)
    inbox: list[dict[str, Any]] = []

    async def await_kind(number: int) -> dict[str, Any]:
        while True:
            for found in inbox:
                if found["kind"] == number:
                    inbox.remove(found)
                    return found
            inbox.extend(await mine.next())

    try:
        await mine.greet()
        hello = await await_kind(HELLO)
        assert hello["meta"]["task"] == SERVER.task and hello["sequence"] == 0
        (channel,) = accepted
        assert channel.peer.identity.task == "/job:other/task:0" and channel.peer.identity.incarnation == MINE

        # messages, one of them in two pieces
        long = msgpack.packb({"long": b"x" * 100})
        packet = record(MESSAGE, 1, flags=LAST, body=msgpack.packb(["run", 7]))
        packet += record(MESSAGE, 2, body=long[:50], total=len(long))
        await mine.send(packet)
        await mine.send(record(MESSAGE, 3, flags=LAST, body=long[50:], offset=50, total=len(long)))
        with anyio.fail_after(PATIENCE):
            assert await channel.receive() == ["run", 7]
            assert await channel.receive() == {"long": b"x" * 100}
        channel.post({"answer": 42})
        assert msgpack.unpackb((await await_kind(MESSAGE))["body"]) == {"answer": 42}

        # tokens: small, dead, nothing, strings, in chunks
        small = np.arange(6, dtype="<f4").tobytes()
        strings = struct.pack("<2Q", 2, 0) + b"\x00\xff"
        await mine.send(
            record(TENSOR, 4, flags=LAST, step=5, edge=1, tag=b"loop:2", meta=["float32", [2, 3]], body=small)
            + record(TENSOR, 5, flags=LAST | DEAD_FLAG, step=5, edge=2)
            + record(TENSOR, 6, flags=LAST | NOTHING, step=5, edge=3)
            + record(TENSOR, 7, flags=LAST, step=5, edge=4, meta=["string", [2]], body=strings)
        )
        big = np.arange(30_000, dtype="<i4").tobytes()
        one, two = big[:60_000], big[60_000:]
        head = record(TENSOR, 0, flags=FOLLOWS, step=5, edge=5, meta=["int32", [300, 100]], body=one, total=len(big))
        await mine.send(head, one)
        head = record(TENSOR, 1, flags=FOLLOWS | LAST, step=5, edge=5, body=two, offset=60_000, total=len(big))
        await mine.send(head, two)
        with anyio.fail_after(PATIENCE):
            assert (await channel.recv(1, 5, b"loop:2")).tolist() == [[0, 1, 2], [3, 4, 5]]
            assert await channel.recv(2, 5) is DEAD
            assert await channel.recv(3, 5) is None
            assert (await channel.recv(4, 5)).tolist() == [b"\x00\xff", b""]
            assert (await channel.recv(5, 5)).tobytes() == big

        # and back
        channel.send(8, 6, b"", np.arange(3, dtype=np.int64))
        found = await await_kind(TENSOR)
        assert (found["edge"], found["step"], found["meta"], found["total"]) == (8, 6, ["int64", [3]], 24)
        assert np.frombuffer(found["body"], "<i8").tolist() == [0, 1, 2]
        channel.send(9, 6, b"", np.frombuffer(big, np.int32))
        came = bytearray()
        while len(came) < len(big):
            chunk = await await_kind(TENSOR)
            assert chunk["flags"] & FOLLOWS and chunk["offset"] == len(came) and chunk["edge"] == 9
            came += chunk["body"]
        assert bytes(came) == big

        # beats, aborts, and the end
        await mine.send(record(BEAT, 8, meta=[1, 2, 0, 0]) + record(ABORT, 9, step=77, meta=[3, "A value is bad."]))
        there.beat()
        beat = (await await_kind(BEAT))["meta"]
        assert len(beat) == 4 and all(type(value) is int for value in beat)
        with pytest.raises(ValueError, match="A value is bad"):
            with anyio.fail_after(PATIENCE):
                await channel.recv(1, 77)
        await mine.send(record(CLOSE, 10, meta=[1, "done"], offset=2))
        assert (await await_kind(CLOSE))["meta"][0] == 1
        await until(lambda: not there.channels)
        with pytest.raises(anyio.EndOfStream):
            await channel.receive()
    finally:
        mine.close()
        there.close()


# ---- the control plane: a session on a server, by a client that has nothing of the library


class SessionByHand:
    """Asks a master, and sends and takes the tokens of steps."""

    FEED, FETCH = 1 << 31, (1 << 31) + (1 << 30)

    def __init__(self, wire: ByZmq) -> None:
        self.wire = wire
        self.sequence = self.number = 0
        self.replies: dict[int, list[Any]] = {}
        self.tokens: dict[tuple[int, int], dict[str, Any]] = {}
        self.messages = bytearray()

    async def open(self) -> None:
        await self.wire.greet(cluster="", task="/client:by-hand")
        while (await self.wire.next())[0]["kind"] != HELLO:
            pass

    async def send(self, kind: int, **fields: Any) -> None:
        self.sequence += 1
        await self.wire.send(record(kind, self.sequence, flags=LAST, **fields))

    async def take(self) -> None:
        """One packet: replies, whose pieces are put together, and tokens."""
        for found in await self.wire.next():
            if found["kind"] == MESSAGE:
                self.messages += found["body"]
                if found["flags"] & LAST:
                    reply = msgpack.unpackb(bytes(self.messages))
                    self.messages.clear()
                    self.replies[reply[1]] = reply
            elif found["kind"] == TENSOR:
                self.tokens[found["step"], found["edge"]] = found

    async def ask(self, method: str, *fields: Any) -> Any:
        """The result; an error is raised as what it says."""
        self.number += 1
        await self.send(MESSAGE, body=msgpack.packb([1, self.number, method, list(fields)]))
        while self.number not in self.replies:
            await self.take()
        kind, _, result = self.replies.pop(self.number)
        if kind == 3:
            raise RuntimeError(f"{result['class']}: {result['message']}")
        return result

    async def run(
        self, session: int, plan: int, step: int, feeds: list[Any], fetches: int, enclosed: bool = True
    ) -> list[Any]:
        """A step. Feeds are float32, in the request or as tokens; the fetches are what comes."""
        values: list[Any] = []
        for index, value in enumerate(feeds):
            array = np.asarray(value, "<f4")
            meta = ["float32", list(array.shape)]
            if enclosed:
                values.append([*meta, array.tobytes()])
            else:
                values.append(None)
                await self.send(TENSOR, step=step, edge=self.FEED + index, meta=meta, body=array.tobytes())
        forms, trace = await self.ask("run_plan", session, plan, step, 5.0, False, 0, values)
        assert trace is None and len(forms) <= fetches
        results = []
        for index in range(fetches):
            if index < len(forms) and forms[index] is not None:
                name, shape, body = forms[index]
            else:
                while (step, self.FETCH + index) not in self.tokens:
                    await self.take()
                found = self.tokens.pop((step, self.FETCH + index))
                (name, shape), body = found["meta"], found["body"]
            results.append(np.frombuffer(body, np.dtype(name)).reshape(shape))
        return results


def graph_by_hand(nodes: list[list[Any]]) -> bytes:
    content = msgpack.packb(nodes)
    return msgpack.packb([2, zlib.crc32(content), content])


def dtype(name: str) -> Any:
    return msgpack.ExtType(1, name.encode())


def array(values: Any) -> Any:
    found = np.asarray(values, "<f4")
    return msgpack.ExtType(2, msgpack.packb(["float32", list(found.shape), found.tobytes()]))


def sizes(*found: int | None) -> Any:
    return msgpack.ExtType(4, msgpack.packb(list(found)))


def node(
    name: str, op: str, inputs: list[Any], attrs: dict[str, Any], types: list[str], shapes: list[Any]
) -> list[Any]:
    return [name, op, inputs, [], attrs, types, shapes, "", None, None, []]


async def test_f53_f61_f123_a_session_written_from_the_document() -> None:
    spec = make_spec({"ps": 1}, "zmq")
    async with Server(spec, "ps", 0, transport="zmq", incarnation=SERVER.incarnation) as server:
        wire = ByZmq(server.address)
        try:
            client = SessionByHand(wire)
            await client.open()
            about = await client.ask("hello", "1", 0)
            assert (about["task"], about["version"], about["epoch"]) == ("/job:ps/task:0", "1", 0)
            name = "/job:ps/replica:0/task:0/device:CPU:0"
            assert [device[:2] for device in about["devices"]] == [[name, "CPU"]]

            session, devices = await client.ask("open_session", {"coalesce": True}, 5.0)
            assert devices == [[name, "CPU"]]
            first = [
                node("x", "Placeholder", [], {"dtype": dtype("float32"), "shape": sizes(None)}, ["float32"], [[None]]),
                node("two", "Const", [], {"value": array(2.0), "dtype": dtype("float32")}, ["float32"], [[]]),
                node("y", "Mul", [["x", 0], ["two", 0]], {}, ["float32"], [[None]]),
            ]
            assert await client.ask("extend", session, 0, graph_by_hand(first)) == 3
            wanted = msgpack.packb([[["x", 0, "float32", [None]]], [["y", 0], ["two", 0]], []])
            plan, placed = await client.ask("prepare", session, wanted, True)
            assert msgpack.unpackb(placed) == dict.fromkeys(("x", "two", "y"), name)
            y, two = await client.run(session, plan, 1, [[1.0, 2.5]], 2)
            assert y.tolist() == [2.0, 5.0] and two.tolist() == 2.0

            # feeds as tokens; a fetch that is too large for the reply
            (y, _) = await client.run(session, plan, 4, [np.arange(3000)], 2, enclosed=False)
            assert y.tobytes() == (2 * np.arange(3000, dtype="<f4")).tobytes()
            (y, _) = await client.run(session, plan, 5, [np.arange(5000)], 2)
            assert y.tobytes() == (2 * np.arange(5000, dtype="<f4")).tobytes()

            # a variable, in an extension
            kept = {"shape": sizes(2), "dtype": dtype("float32"), "container": "", "shared_name": ""}
            more = [
                node("v", "VariableV2", [], kept, ["float32_ref"], [[2]]),
                node("set", "AssignVariableOp", [["v", 0], ["y", 0]], {}, [], []),
                node("get", "ReadVariableOp", [["v", 0]], {}, ["float32"], [[2]]),
            ]
            assert await client.ask("extend", session, 3, graph_by_hand(more)) == 6
            fed = [["x", 0, "float32", [None]]]
            store, _ = await client.ask("prepare", session, msgpack.packb([fed, [], ["set"]]), True)
            read, _ = await client.ask("prepare", session, msgpack.packb([[], [["get", 0]], []]), True)
            assert await client.run(session, store, 2, [[3.0, 4.0]], 0) == []
            (value,) = await client.run(session, read, 3, [], 1)
            assert value.tolist() == [6.0, 8.0]

            # what goes wrong is told, and all goes on
            for asked, said in [
                (
                    ("extend", session, 2, graph_by_hand(more)),
                    "InvalidArgumentError: The graph here has 6 nodes, not 2",
                ),
                (("extend", session, 6, b"junk"), "no serialised graph"),
                (("prepare", session, msgpack.packb([[], [["nowhere", 0]], []]), True), "no tensor nowhere:0"),
                (("run_plan", session, 77, 9, 5.0, False, 0, []), "NotFoundError: The session has no plan 77"),
                (("run_plan", session, plan, 10, 5.0, False, 0, [["float32", [2], b"1234"]]), "small tensor is none"),
                (("run_plan", session, plan, 11, 5.0, False, 0, [None, None]), "has 1 feeds, but 2 came"),
                (("run_plan", session, plan, 12, 5.0, False, 0, [["int32", [1], b"1234"]]), "x:0 was fed with int32"),
                (("close_session", session + 1), "FailedPreconditionError"),
                (("hello", "2", 0), "answers requests of version 1, and /client:by-hand asks in version 2"),
                (("dance",), "UnimplementedError: This task does not answer 'dance'"),
            ]:
                with pytest.raises(RuntimeError, match=said):
                    await client.ask(*asked)
            assert await client.ask("explain", session, "y") != ""
            assert await client.ask("close_session", session) is None
            assert not server.status()["sessions"]
        finally:
            wire.close()
