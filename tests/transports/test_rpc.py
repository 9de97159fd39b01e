"""Requests over a channel without sockets: whatever a peer sends, a Server answers with a typed error or a result, goes on, and
keeps nothing of it.

`ACTORFLOW_RPC_FUZZ` sets how many messages a run takes (20,000), `ACTORFLOW_TEST_SEED` the seed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import msgpack
import numpy as np
import pytest
from channels import until
from clusters import servers
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.remote_step import FEED
from actorflow.cluster.server import Server
from actorflow.cluster.wire.decoding import REQUESTS, decode
from actorflow.cluster.wire.failures import decode_error, encode_error
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import (
    Extend,
    Hello,
    LinkTraffic,
    OpenSession,
    Pending,
    Request,
    RunPlan,
    Status,
)
from actorflow.cluster.wire.rpc import MOST_CALLS, Rpc
from actorflow.cluster.worker.task_partition import check_partition, decode_partition
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost
from actorflow.errors import CancelledError, InvalidArgumentError, OpError, UnavailableError, Where
from actorflow.transports.local_endpoint import LocalEndpoint
from actorflow.transports.protocol.frames import pack

MESSAGES = int(os.environ.get("ACTORFLOW_RPC_FUZZ", "20000"))
PARTS = MESSAGES // 10
CLIENT = ProcessIdentity("", "/client:by-hand", 0x77)


@pytest.fixture
async def pair() -> AsyncIterator[list[Server]]:
    async with servers({"ps": 1, "worker": 1}) as found:
        yield found


@asynccontextmanager
async def channel_to(server: Server) -> AsyncIterator[Channel]:
    """A channel of no one's in particular."""
    endpoint = LocalEndpoint(CLIENT)
    try:
        yield await endpoint.connect(server.address)
    finally:
        endpoint.close()


# ---- the calls


@asynccontextmanager
async def calls(handlers: dict[str, Callable[[Any], Any]]) -> AsyncIterator[tuple[Rpc, Rpc]]:
    """Two ends of a channel: the first asks, the second answers by `handlers`."""
    accepted: list[Channel] = []
    there = LocalEndpoint(ProcessIdentity("", "/job:a/task:0", 1), accept=accepted.append)
    here = LocalEndpoint(CLIENT)
    root = BackgroundTasks()
    try:
        asking = Rpc(await here.connect(there.address))
        await until(lambda: accepted)
        answering = Rpc(accepted[0])
        asking.start()
        answering.start(handlers, root)
        yield asking, answering
    finally:
        here.close()
        there.close()
        await root.close()


async def test_f61_a_request_that_is_taken_back_before_it_began_is_answered_at_once() -> None:
    begun = []

    async def pending(request: Pending) -> str:
        begun.append(request)
        await anyio.sleep_forever()
        return ""

    async with calls({"pending": pending}) as (asking, answering):
        replies: list[Any] = []
        asking.channel.listen(replies.append)
        answering._take([1, 7, "pending", []], answering.channel)
        answering._take([4, 7], answering.channel)  # in the same turn of the loop
        await until(lambda: replies)
        assert replies[0][:2] == [3, 7] and isinstance(decode_error(replies[0][2], "it"), CancelledError)
        assert not answering._serving and not answering._unwanted
        assert not begun, "what is done in spite of it, nobody undoes"
        asking.channel.post([4, 7])  # no one knows it any more
        asking.channel.post([1, 7, "pending", []])
        await until(lambda: begun)
        asking.channel.post([4, 7])
        await until(lambda: len(replies) == 2)


async def test_f61_what_cannot_be_sent_is_told_at_once() -> None:
    async def status(request: Status) -> Any:
        return {"a": object()}

    async def carried(request: LinkTraffic) -> Any:
        return ["\udcff"]

    async def pending(request: Pending) -> Any:
        return list(range(5000))

    async with calls({"status": status, "carried": carried, "pending": pending}) as (asking, _):
        with anyio.fail_after(PATIENCE):
            for request in (Status(), LinkTraffic(), Pending()):
                with pytest.raises(errors.InternalError, match="reply can't be sent"):
                    await asking.call(request)
            with pytest.raises(ValueError, match="5,000 entries"):
                await asking.call(Extend(1, list(range(5000)), b""))  # type: ignore[arg-type]
        assert not asking._waiting


async def test_f61_errors_arrive_as_what_they_are() -> None:
    raised: list[Exception] = []

    async def status(request: Status) -> Any:
        raise raised.pop()

    file = os.fsdecode(b"/tmp/\xff.py")  # a path that is no UTF-8
    expected = {
        PeerLost("gone"): UnavailableError,
        HandshakeRejected("no"): errors.FailedPreconditionError,
        anyio.EndOfStream(): UnavailableError,
        anyio.BrokenResourceError(): UnavailableError,
        InvalidArgumentError("x" * 100_000, node="n", where=Where(file, 3)): InvalidArgumentError,
        AssertionError("odd"): errors.UnknownError,
        ValueError("plain \udcff"): ValueError,
    }
    async with calls({"status": status}) as (asking, _):
        for error, kind in expected.items():
            raised.append(error)
            with pytest.raises(kind) as caught:
                await asking.call(Status())
            assert type(caught.value) is kind and len(str(caught.value)) < 40_000


async def test_f61_a_peer_has_so_many_requests_at_a_time_and_no_number_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorflow.cluster.wire.rpc.MOST_CALLS", 3)
    assert MOST_CALLS > 1000

    async def pending(request: Pending) -> str:
        await anyio.sleep_forever()
        return ""

    async with calls({"pending": pending}) as (asking, answering):
        replies: dict[int, Any] = {}
        asking.channel.listen(lambda message: replies.__setitem__(message[1], message[2]["message"]))
        for number in (1, 2, 3, 4):
            asking.channel.post([1, number, "pending", []])
        await until(lambda: replies)
        assert set(replies) == {4} and "3 requests of /client:by-hand" in replies[4]
        asking.channel.post([1, 2, "pending", []])
        await until(lambda: 2 in replies)
        assert "another number" in replies[2] and len(answering._serving) == 3


async def test_f61_a_connection_has_so_many_sessions(pair: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorflow.cluster.master.service.MOST_SESSIONS", 2)
    async with channel_to(pair[0]) as channel:
        replies: list[Any] = []
        channel.listen(replies.append)
        for number in range(4):
            channel.post([1, number, "open_session", [{}, 5.0]])
            await until(lambda number=number: len(replies) > number)
        assert [reply[0] for reply in replies] == [2, 2, 3, 3]
        assert "/client:by-hand has 2 sessions here" in replies[2][2]["message"]
        channel.post([1, 9, "close_session", [replies[0][2][0]]])
        channel.post([1, 10, "open_session", [{}, 5.0]])
        await until(lambda: len(replies) == 6)
        assert replies[5][0] == 2
    await until(lambda: not pair[0].master.sessions)


async def test_f61_a_step_that_is_refused_lets_its_feeds_go(pair: list[Server]) -> None:
    """They are there before the request."""
    async with channel_to(pair[0]) as channel:
        replies: list[Any] = []
        channel.listen(replies.append)
        wrong = [
            ("run_plan", [99, 0, 5, None, False, 0, []]),
            ("run_part", [99, 6, None, False, 0, []]),
        ]
        for number, (method, fields) in enumerate(wrong):
            step = fields[2 if method == "run_plan" else 1]
            channel.send(FEED, step, b"", np.zeros(3))
            channel.post([1, number, method, fields])
        await until(lambda: len(replies) == 2)
        assert [reply[2]["class"] for reply in replies] == ["FailedPreconditionError", "NotFoundError"]
        (inbound,) = pair[0].links.inbound.values()
        assert inbound.control.core.inbox.held == 0  # type: ignore[attr-defined]


async def test_f61_a_step_of_5000_fetches(pair: list[Server]) -> None:
    """A list on the wire has 4,096 entries at most; a signature may be longer."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        values = [x + float(k) for k in range(20)]
        with af.device("/job:worker/task:0"):
            ops = [af.no_op() for _ in range(4200)]
    async with af.Session(pair[0].target, graph) as session:
        assert len(await session.run(values * 250, {x: 1.0})) == 5000
        assert await session.run(ops) == [None] * 4200


async def test_f61_feeds_are_checked_where_the_plan_is(pair: list[Server]) -> None:
    """A client of another language may send anything; generated code relies on types and shapes."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [2], name="x")
        y = x * 2.0
    async with af.Session(pair[0].target, graph) as session:
        assert (await session.run(y, {x: [1, 2]})).tolist() == [2, 4]
        engine: Any = session._engine
        assert isinstance(engine, RemoteEngine)
        (plan,) = engine.remote._known.values()
        for value, said in (
            (np.zeros(3, np.float32), "fed with shape"),
            (np.zeros(2, np.float64), "fed with float64"),
            (None, "fed with no tensor"),
            (np.array([b"", b""], object), "fed with object"),
        ):
            with pytest.raises(InvalidArgumentError, match=said):
                await engine.run(plan, {x.tensor_id: value})
        assert (await session.run(y, {x: [1, 2]})).tolist() == [2, 4]


async def test_f62_an_op_that_a_worker_does_not_know_is_named(
    pair: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a registration arrives as it is."""
    from actorflow.cluster.worker import task_partition

    graph = af.Graph()
    with graph.as_default(), af.device("/job:worker/task:0"):
        y = af.identity(af.placeholder_with_default(1.0, []))

    def refuse(*arguments: Any) -> None:
        raise errors.UnknownNameError("No op 'Mine' is registered")

    async with af.Session(pair[0].target, graph) as session:
        with monkeypatch.context() as patched:
            patched.setattr(task_partition, "check_nodes", refuse)
            with pytest.raises(errors.NotFoundError, match=r"No op 'Mine' is registered in /job:worker(.|\n)*--import"):
                await session.run(y)
        assert await session.run(y) == 1.0


async def test_f63_a_task_that_ends_in_good_order_amid_a_step_is_unavailable() -> None:
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:worker/task:1"):
            queue = af.FIFOQueue(1, [af.float32], [[]])
            waits = queue.dequeue() + 1.0
        with af.device("/job:worker/task:0"):
            result = waits * 2.0
    async with servers({"ps": 1, "worker": 2}) as found:
        async with af.Session(found[0].target, graph) as session:
            async with anyio.create_task_group() as group:

                async def wait() -> None:
                    with pytest.raises(UnavailableError):
                        await session.run(result)

                group.start_soon(wait)
                await until(lambda: found[2].worker.steps.running and found[1].worker.steps.running)
                await found[2].links.aclose()
            assert not found[1].worker.steps.running and not found[0].worker._rendezvous


# ---- what else may come


class Mutator:
    """Changes a message of msgpack's types in random places."""

    ODD: Sequence[Any] = (
        None, True, False, 0, 1, -1, 7, 255, 2**31, 2**32, 2**63, 2**64 - 1, -(2**63), 0.0, -1.0, 1e308, float("inf"),
        float("nan"), "", "a", "x:0", "/job:ps/task:0", "/job:ps/replica:0/task:0/device:CPU:0", "é\U0001f600", "a" * 5000,
        b"", b"\0", b"\xc1", b"\x81" * 50, [], [[]], [None], [["x", 0]], {}, {"a": 1}, {1: 2}, list(range(40)),
    )  # fmt: skip

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def change(self, value: Any, times: int = 1) -> Any:
        for _ in range(times):
            value = self._once(value)
        return value

    def _once(self, value: Any) -> Any:
        rng = self.rng
        if isinstance(value, (list, dict)) and value and rng.random() < 0.85:
            made = value.copy()
            key = rng.choice(list(made)) if isinstance(made, dict) else rng.randrange(len(made))
            match rng.randrange(12):
                case 0:
                    del made[key]
                case 1 if isinstance(made, list):
                    made.insert(key, rng.choice(self.ODD))
                case 2 if isinstance(made, list):
                    made += made
                case 3 if isinstance(made, dict):
                    made[rng.choice(("", "a", "nodes", 3))] = rng.choice(self.ODD)
                case _:
                    made[key] = self._once(made[key])
            return made
        if isinstance(value, bytes) and value and rng.random() < 0.9:
            return self._bytes(value)
        if type(value) is int and rng.random() < 0.5:
            return value + rng.choice((-1, 1, 2, 256))
        return rng.choice(self.ODD)

    def _bytes(self, value: bytes) -> bytes:
        """Changed as what it packs, graphs with a good checksum; or as bytes."""
        rng = self.rng
        if rng.random() < 0.75:
            try:
                inner = msgpack.unpackb(value, raw=False, strict_map_key=False, ext_hook=msgpack.ExtType)
                if isinstance(inner, list) and len(inner) == 3 and inner[0] == 2 and isinstance(inner[2], bytes):
                    content = self._bytes(inner[2])
                    return msgpack.packb([2, zlib.crc32(content), content])
                return msgpack.packb(self.change(inner, rng.choice((1, 1, 2))))
            except (ValueError, TypeError, OverflowError, msgpack.UnpackException):
                pass
        made = bytearray(value)
        match rng.randrange(4):
            case 0:
                made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
            case 1:
                del made[rng.randrange(len(made)) :]
            case 2:
                place = rng.randrange(len(made))
                made[place:place] = rng.randbytes(rng.randrange(1, 9))
            case _:
                place = rng.randrange(len(made))
                made[place : place + 4] = rng.choice(
                    (b"\xdd\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff", b"\xdf\xff\xff\xff\xff")
                )
        return bytes(made)


def sendable(message: Any) -> bool:
    """Whether a peer's own protocol would let it through."""
    try:
        pack(message)
        return True
    except (ValueError, TypeError, OverflowError):
        return False


def make_graph() -> tuple[af.Graph, list[af.Tensor], af.Tensor]:
    """A graph with a bit of all: a variable, strings, functions of constants, a loop, a branch."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None], name="x")
        v = af.Variable(np.ones(3, np.float32), name="v")
        with af.device("/job:worker/task:0"):
            more = af.reduce_sum(af.tile(x, [2])) + af.reduce_sum(v)
            text = af.string_join([af.constant(["a", "b"]), af.as_string(af.constant([1, 2]))])
        looped = af.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0), [af.constant(0), more])[1]
        chosen = af.cond(more > 0.0, lambda: looped + 1.0, lambda: af.identity(looped))
        init = v.initializer
        with af.control_dependencies([v.assign_add(np.ones(3, np.float32)).op]):
            last = af.split(af.concat([v, x], 0), 1)[0]
    return graph, [more, text, looped, chosen, last, init.outputs[0] if init.outputs else more], x


async def genuine(pair: Sequence[Server]) -> tuple[list[list[Any]], list[bytes]]:
    """The requests of a session from its start to its end, and the parts that its master registers."""
    heard: list[list[Any]] = []
    parts: list[bytes] = []
    listening = True
    graph, fetches, x = make_graph()
    kept = {id(server): server.worker_service.handlers for server in pair}

    def listen(server: Server) -> Callable[[TaskLink], Any]:
        def handlers(link: TaskLink) -> Any:
            inner = link.rpc._take

            def take(message: Any, channel: Any) -> None:
                if listening and isinstance(message, list) and message[:1] == [1]:
                    heard.append(message)
                    if message[2] == "register":
                        parts.append(message[3][2])
                inner(message, channel)

            link.rpc._take = take  # type: ignore[method-assign]
            return kept[id(server)](link)

        return handlers

    for server in pair:
        server.worker_service.handlers = listen(server)  # type: ignore[method-assign]
    try:
        async with af.Session(pair[0].target, graph) as session:
            await session.run(graph.get_operation_by_name("v/Assign"))
            for fetch in fetches:
                await session.run(fetch, {x: [1.0, 2.0]})
            await session.run(fetches[:3], {x: [1.0]}, timeout=PATIENCE, trace=af.Trace())
            await session.explain_placement("v")
            await session.channels()
            with graph.as_default():
                await session.run(af.constant(1.0))
    finally:
        for server in pair:
            del server.worker_service.handlers  # type: ignore[method-assign]
    listening = False  # a link between these servers stays
    made = list(heard)
    known = {message[2] for message in made}
    made += [[1, 1, kind.method, [0] * len(kind.__slots__)] for kind in REQUESTS.values() if kind.method not in known]
    made += [[1, 1, "abort_step", [3, {"class": "AbortedError", "message": "x", "where": ["f", 1], "details": ["a"]}]]]
    made += [
        [1, 1, "reset", [["a", "b"]]],
        [1, 1, "reset_all", [["c"]]],
        [4, 1],
        [2, 1, None],
        [3, 1, {"message": "x"}],
    ]
    return made, list(parts)


class Fuzz:
    """Sends what is nearly right to a server, over channel after channel, and looks at the answers."""

    MOST_OPEN = 64

    def __init__(self, server: Server, heard: list[list[Any]], seed: int) -> None:
        self.server = server
        self.heard = heard
        self.kinds: dict[Any, list[Any]] = {}
        for message in heard:
            self.kinds.setdefault(message[2] if message[0] == 1 else message[0], []).append(message)
        self.mutator = Mutator(seed)
        self.rng = self.mutator.rng
        self.count = 0
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    async def run(self, messages: int) -> None:
        while self.count < messages:
            async with channel_to(self.server) as channel:
                await self._talk(channel, min(300, messages - self.count))
            await until(lambda: CLIENT not in self.server.links.inbound)
            assert not self.faults, self.faults[:3]

    async def _talk(self, channel: Channel, messages: int) -> None:
        """A genuine session, in the middle of whose requests changed ones come."""
        replies: dict[Any, Any] = {}

        def take(message: Any) -> None:
            if isinstance(message, list) and len(message) == 3 and message[0] in (2, 3):
                replies[message[1]] = message
                if message[0] == 3:
                    self._judge(message[2])
                else:
                    self.outcomes["result"] += 1

        channel.listen(take)
        number = 1000
        waiting: set[int] = set()

        def post(method: str, fields: Any) -> int:
            nonlocal number
            number += 1
            waiting.add(number)
            channel.post([1, number, method, fields])
            return number

        opened = post("open_session", [{}, 5.0])
        await until(lambda: opened in replies)
        session = replies[opened][2][0]
        for method, fields in [(m[2], m[3]) for m in self.heard if m[0] == 1]:
            if method in ("extend", "prepare", "register"):
                done = post(method, fields if method == "register" else [session, *fields[1:]])
                await until(lambda done=done: done in replies)
        for _ in range(messages):
            if channel.ended is not None:  # type: ignore[attr-defined]
                self.outcomes["closed"] += 1
                return
            self.count += 1
            kind = self.rng.choice([k for k in self.kinds if isinstance(k, str) or self.rng.random() < 0.1])
            message = self.rng.choice(self.kinds[kind])
            if message[0] == 1:
                fields = list(message[3])
                if fields and self.rng.random() < 0.7 and message[2] not in ("register", "run_part", "hello"):
                    fields[0] = session
                fields = self.mutator.change(fields, self.rng.choice((0, 1, 1, 2)))
                method = message[2] if self.rng.random() < 0.98 else self.mutator.change(message[2])
                if not sendable([method, fields]) or self._moves_the_cluster(method, fields):
                    continue
                if method == "run_plan" and isinstance(fields, list) and self.rng.random() < 0.5 and len(fields) > 2:
                    if type(fields[2]) is int and 0 <= fields[2] < 2**64:
                        channel.send(FEED, fields[2], b"", self.rng.choice((np.ones(2, np.float32), np.zeros(3), None)))
                post(method, fields)
            else:
                changed = self.mutator.change(message)
                if sendable(changed):
                    channel.post(changed)
            waiting = {one for one in waiting if one not in replies}
            if len(waiting) > self.MOST_OPEN:
                await self._settle(channel, waiting, replies)
        await self._settle(channel, waiting, replies)

    def _moves_the_cluster(self, method: Any, fields: Any) -> bool:
        """A new epoch is the chief's to begin, and it ends all sessions: that is no fault. One that no record can carry is."""
        if method not in ("hello", "set_epoch"):
            return False
        try:
            request = decode(method, fields)
        except InvalidArgumentError:
            return False
        return method == "set_epoch" or request.epoch > 0  # type: ignore[attr-defined]

    async def _settle(self, channel: Channel, waiting: set[int], replies: dict[Any, Any]) -> None:
        """All is answered: at once, or, as it waits for feeds, when it is taken back."""
        for _ in range(20):
            await asyncio.sleep(0)
        for one in [one for one in waiting if one not in replies]:
            if channel.ended is None:  # type: ignore[attr-defined]
                channel.post([4, one])
        with anyio.fail_after(PATIENCE):
            while any(one not in replies for one in waiting) and channel.ended is None:  # type: ignore[attr-defined]  # noqa: ASYNC110
                await anyio.sleep(0.001)

    def _judge(self, error: Any) -> None:
        kind = getattr(errors, error["class"], None)
        typed = isinstance(kind, type) and issubclass(kind, (OpError, errors.UnknownNameError))
        if not typed or kind in (errors.UnknownError, errors.InternalError):
            self.faults.append(f"message {self.count}: {error['class']}: {error['message']}\n{error.get('traceback')}")
        self.outcomes[error["class"]] += 1


def kept_by(server: Server) -> dict[str, int]:
    """The sizes of what a server keeps."""
    worker = server.worker
    return {
        "sessions": len(server.master.sessions),
        "sessions of the worker": len(worker._sessions),
        "parts": len(worker._parts),
        "meetings": len(worker._rendezvous),
        "steps": len(worker.steps.running),
        "resources": sum(len(manager._containers) for manager in worker.resources.values()),
        "tasks": len(server._root._tasks),
        "unattached": len(server.links._unattached),
        "edges": sum(
            len(counts)
            for link in (*server.links.outbound.values(), *server.links.inbound.values())
            for counts in (link.tokens.statistics().sent, link.tokens.statistics().received)
        ),
    }


@pytest.mark.timeout(600)
async def test_f62_changed_messages_are_answered_with_typed_errors(pair: list[Server], seed: int) -> None:
    heard, _ = await genuine(pair)
    assert {message[2] for message in heard if message[0] == 1} == set(REQUESTS)
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    found: list[Fuzz] = []
    for number, server in enumerate(pair):
        fuzz = Fuzz(server, heard, seed + number)
        found.append(fuzz)
        await fuzz.run(20)
        await until(lambda server=server: not server._root._tasks)
        before = kept_by(server)
        await fuzz.run(MESSAGES // 2)
        gc.collect()
        await until(lambda server=server: not server._root._tasks)
        after = kept_by(server)
        assert after == before | {"resources": after["resources"]} and after["resources"] <= 12, (before, after)
        assert len(server.worker._aborted) <= 1024
    assert not reported, reported[:3]
    outcomes = sum((fuzz.outcomes for fuzz in found), Counter[str]())
    assert outcomes["result"] > MESSAGES // 50 and outcomes["InvalidArgumentError"] > MESSAGES // 50, outcomes
    graph, (more, *_), x = make_graph()
    async with af.Session(pair[0].target, graph) as session:  # and all goes on
        await session.run(graph.get_operation_by_name("v/Assign"))
        assert await session.run(more, {x: [1.0, 2.0]}) == 9.0


class _Master:
    alive = True


async def test_f62_a_number_of_a_part_is_given_once(pair: list[Server]) -> None:
    """Also in another session: else the end of one would take the other's part."""
    _, parts = await genuine(pair)
    worker, master = pair[1].worker, _Master()
    part = decode_partition(parts[0])
    await worker.register(part, master)
    with pytest.raises(errors.AlreadyExistsError, match=f"Part {part.number} of a plan is registered here already"):
        await worker.register(replace(part, session=part.session + 1), master)
    await worker.register(part, _Master())
    assert worker.observed(part.session, master) == [] and worker.observed(part.session + 1, master) == []
    worker.forget(master)
    assert (id(master), part.number) not in worker._parts


async def test_f62_changed_parts_and_graphs_are_refused_or_taken(pair: list[Server], seed: int) -> None:
    heard, parts = await genuine(pair)
    graphs = [message[3][2] for message in heard if message[2:3] == ["extend"]]
    devices = [device.name for device in pair[1].worker.devices]
    mutator = Mutator(seed)
    taken = 0
    for content in parts:
        check_partition(decode_partition(content), devices)
    for _ in range(PARTS):
        content = mutator._bytes(mutator.rng.choice(parts))
        try:
            check_partition(decode_partition(content), devices)
            taken += 1
        except (
            errors.DataLossError,
            errors.NotFoundError,
            InvalidArgumentError,
        ):  # a name of an op may be what changed
            pass
        graph = af.Graph()
        try:
            graph.extend_from_bytes(mutator._bytes(graphs[0]))
        except (ValueError, errors.UnknownNameError):
            assert len(graph) == 0
    assert taken < PARTS // 2


def test_f62_fields_are_checked_with_what_is_in_them() -> None:
    good = {"open_session": [{"fold": True}, None], "reset": [["a"]], "status": []}
    for method, fields in good.items():
        assert isinstance(decode(method, fields), Request)
    assert decode("open_session", [{}, 3]) == OpenSession({}, 3)
    assert decode("run_plan", [1, 2, 3, 0.5, True, 0, [None]]) == RunPlan(1, 2, 3, 0.5, True, 0, [None])
    assert decode("hello", ["1", 4]) == Hello("1", 4)
    for method, fields in [
        ("open_session", [{"fold": 1}, None]),
        ("open_session", [{3: True}, None]),
        ("open_session", [{}, float("nan")]),
        ("open_session", [[], None]),
        ("reset", [["a", b"b"]]),
        ("reset", ["a"]),
        ("status", [1]),
        ("status", None),
        ("run_plan", [1, 2, True, None, False, 0, []]),
        ("run_plan", [1, 2, 3, float("nan"), False, 0, []]),
        ("nothing", []),
        (None, []),
    ]:
        with pytest.raises(InvalidArgumentError):
            decode(method, fields)


def test_f62_any_error_is_read() -> None:
    mutator = Mutator(0)
    error = encode_error(InvalidArgumentError("m", node="n", details=["d"], where=Where("f", 1), hint="h"))
    for _ in range(500):
        assert isinstance(decode_error(mutator.change(error, 2), "task"), Exception)
