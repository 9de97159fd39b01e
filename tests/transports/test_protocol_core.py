"""The protocol without a socket: two connections over a fake wire, which keeps the order but may lose, repeat and break."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conserved import disagreements
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import PeerLimits, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, ProtocolError
from actorflow.errors import AbortedError
from actorflow.transports.protocol import frames
from actorflow.transports.protocol.connection import ProtocolConnection
from actorflow.transports.protocol.events import ConnectionEnded, ConnectionState, Event, MessageReceived
from actorflow.transports.protocol.frames import FrameRecord, RecordFlag, RecordKind
from actorflow.transports.protocol.handshake import CloseReason, make_hello
from actorflow.transports.protocol.tensors import encode_token

LIMITS = PeerLimits(
    data_window=64 << 10, control_window=64 << 10, message=1 << 20, queued_messages=1 << 20, tensor=1 << 20
)
CHUNK = 8 << 10


def connection(task: str, incarnation: int, **options: Any) -> ProtocolConnection:
    hello = make_hello(ProcessIdentity("cluster", task, incarnation), 0, LIMITS)
    return ProtocolConnection(hello, LIMITS, lambda: (1, 1), chunk=CHUNK, **options)


class Wire:
    """The bytes that one side has sent and the other has not got: a lane of frames and a lane of chunks."""

    def __init__(self, source: ProtocolConnection, sink: ProtocolConnection) -> None:
        self.source, self.sink = source, sink
        self.control: deque[bytes] = deque()
        self.bulk: deque[tuple[bytes, bytes]] = deque()
        self.events: list[Event] = []

    def collect(self) -> None:
        while (frame := self.source.outbox.next_control()) is not None:
            self.control.append(frame)
        while (chunk := self.source.outbox.next_bulk()) is not None:
            self.bulk.append((chunk[0], bytes(chunk[1])))

    def carry_control(self) -> None:
        self.events += self.sink.receive(memoryview(self.control.popleft()))

    def carry_bulk(self) -> None:
        head, body = self.bulk.popleft()
        view, events = self.sink.receive_chunk(memoryview(head))
        self.events += events
        if len(view):
            view[:] = body
            self.events += self.sink.chunk_received()

    @property
    def messages(self) -> list[Any]:
        return [event.message for event in self.events if isinstance(event, MessageReceived)]

    @property
    def ends(self) -> list[ConnectionEnded]:
        return [event for event in self.events if isinstance(event, ConnectionEnded)]


def connected(**options: Any) -> tuple[Wire, Wire]:
    """Wires from a client to a server and back, the handshake done."""
    client, server = connection("/job:a/task:0", 1), connection("/job:b/task:0", 2, **options)
    there, back = Wire(client, server), Wire(server, client)
    client.hello()
    settle(there, back)
    assert client.state is server.state is ConnectionState.OPEN
    return there, back


def settle(*wires: Wire) -> None:
    """Carries all that there is."""
    for _ in range(10_000):
        for wire in wires:
            wire.collect()
        moved = False
        for wire in wires:
            if wire.control:
                wire.carry_control()
                moved = True
            if wire.bulk:
                wire.carry_bulk()
                moved = True
        if not moved:
            return
    raise AssertionError("the wires never come to rest")


class TwoConnections(RuleBasedStateMachine):
    """Any records are sent, and the lanes interleave in any way: what arrives is what was sent, once, in order, within bounds."""

    @initialize()
    def start(self) -> None:
        self.wires = connected()
        self.posted: tuple[list[Any], list[Any]] = ([], [])
        self.taken = [0, 0]
        self.sent: tuple[dict[tuple[int, int], Any], dict[tuple[int, int], Any]] = ({}, {})
        self.found: tuple[dict[tuple[int, int], Any], dict[tuple[int, int], Any]] = ({}, {})
        self.aborted: set[int] = set()
        self.step = 0
        self.harmed = False
        self.copies: list[Any] = []

    sides = st.integers(0, 1)

    @rule(side=sides, size=st.integers(0, 60_000))
    def post(self, side: int, size: int) -> None:
        if self.wires[side].source.state is ConnectionState.OPEN:
            message = [len(self.posted[side]), b"m" * size]
            self.wires[side].source.post(message)
            self.posted[side].append(message)

    @rule(side=sides, size=st.sampled_from([None, 0, 1, 100, 4096, 4097, 20_000, 30_000]), early=st.booleans())
    def send(self, side: int, size: int | None, early: bool) -> None:
        wire = self.wires[side]
        if wire.source.state is not ConnectionState.OPEN or wire.sink.state is ConnectionState.CLOSED:
            return
        self.step += 1
        token = DEAD if size is None else np.full(size, self.step, np.float32)
        key = (self.step, size or 0)
        self.sent[side][key] = token
        found = self.found[side]

        def come(value: Any, error: BaseException | None) -> None:
            assert key not in found, "a token came twice"
            found[key] = value if error is None else error

        wire.sink.inbox.expect(0, self.step, (key[1], b"t"), come)
        wire.source.send(key[1], self.step, b"t", encode_token(token, False))

    @rule(side=sides, back=st.integers(0, 5))
    def abort(self, side: int, back: int) -> None:
        step = self.step - back
        if step > 0:
            self.aborted.add(step)
            self.wires[side].source.abort(step, AbortedError("stopped"))

    @rule(side=sides)
    def take_messages(self, side: int) -> None:
        received = [event for event in self.wires[side].events if isinstance(event, MessageReceived)]
        for event in received[self.taken[side] :]:
            self.wires[side].sink.taken(event.size)
        self.taken[side] = len(received)

    @rule(side=sides, count=st.integers(1, 8))
    def carry_control(self, side: int, count: int) -> None:
        self.wires[side].collect()
        for _ in range(min(count, len(self.wires[side].control))):
            self.wires[side].carry_control()

    @rule(side=sides, count=st.integers(1, 8))
    def carry_bulk(self, side: int, count: int) -> None:
        self.wires[side].collect()
        for _ in range(min(count, len(self.wires[side].bulk))):
            self.wires[side].carry_bulk()

    @rule(side=sides, bulk=st.booleans())
    def repeat_a_frame(self, side: int, bulk: bool) -> None:
        self.wires[side].collect()
        lane: Any = self.wires[side].bulk if bulk else self.wires[side].control
        if lane:
            first = lane[0]
            again: Any = (bytes(bytearray(first[0])), first[1]) if bulk else bytes(bytearray(first))
            self.copies.append(again)
            lane.insert(1, again)

    @precondition(lambda self: not self.harmed)
    @rule(side=sides, bulk=st.booleans())
    def lose_a_frame(self, side: int, bulk: bool) -> None:
        self.wires[side].collect()
        lane: Any = self.wires[side].bulk if bulk else self.wires[side].control
        # Of the last frame only the end of the connection would tell, and of one that comes twice nothing is lost.
        if len(lane) > 1 and not any(one is copy for one in (lane[0], lane[1]) for copy in self.copies):
            lane.popleft()
            self.harmed = True

    @rule()
    def beat(self) -> None:
        for wire in self.wires:
            wire.source.beat()

    @invariant()
    def messages_are_a_beginning_of_what_was_posted(self) -> None:
        for wire, posted in zip(self.wires, self.posted):
            assert wire.messages == posted[: len(wire.messages)]

    @invariant()
    def windows_hold(self) -> None:
        for wire in self.wires:
            assert wire.source.outbox.data_credit >= 0 and wire.source.outbox.control_credit >= 0
            assert sum(len(head) + len(body) for head, body in wire.bulk) <= 3 * LIMITS.data_window  # repeated ones too
            assert len(wire.sink.credit.partial or b"") <= LIMITS.message

    @invariant()
    def tokens_are_what_was_sent(self) -> None:
        for sent, found in zip(self.sent, self.found):
            for key, value in found.items():
                if isinstance(value, BaseException):
                    assert key[0] in self.aborted or self.harmed
                elif sent[key] is DEAD:
                    assert value is DEAD
                else:
                    assert np.array_equal(value, sent[key])

    @invariant()
    def only_harm_ends_it(self) -> None:
        for wire in self.wires:
            assert not wire.ends or self.harmed
            assert len(wire.ends) <= 1
            assert all(isinstance(end.error, ProtocolError) for end in wire.ends)

    def teardown(self) -> None:
        if not hasattr(self, "wires"):
            return
        for _ in range(200):
            settle(*self.wires)
            for side in (0, 1):
                self.take_messages(side)
        self.messages_are_a_beginning_of_what_was_posted()
        self.tokens_are_what_was_sent()
        if self.harmed:
            assert any(wire.ends for wire in self.wires), "a gap was not seen"
            return
        for wire, posted, sent, found in zip(self.wires, self.posted, self.sent, self.found):
            assert wire.messages == posted, "all messages arrive"
            assert sent.keys() == found.keys(), "all tokens arrive, or their steps have ended"
            assert wire.source.outbox.empty and not wire.sink.inbox.held
        assert disagreements(self.wires[0].source, self.wires[0].sink) == []


TestTwoConnections = TwoConnections.TestCase
TestTwoConnections.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# ---- bytes


@given(data=st.binary(max_size=300))
def test_f62_any_bytes_are_a_frame_or_a_typed_error(data: bytes) -> None:
    there, _ = connected()
    for event in there.sink.receive(memoryview(data)):
        assert isinstance(event, ConnectionEnded) and isinstance(event.error, ProtocolError)
    there, _ = connected()
    _, events = there.sink.receive_chunk(memoryview(data))
    assert all(isinstance(event, ConnectionEnded) and isinstance(event.error, ProtocolError) for event in events)


def _samples() -> list[bytes]:
    client, server = connected()[0].source, connected()[1].source
    client.hello()
    for token in (DEAD, None, np.arange(6.0).reshape(2, 3), np.array([b"ab", b""], object), np.float32(1)):
        client.send(1, 2, b"tag", encode_token(token, False))
    client.send(1, 2, b"", encode_token(np.ones(9, np.float32), True))
    client.post({"a": [1, "b", None, 1.5]})
    client.abort(3, AbortedError("x"))
    client.beat()
    client.release([1])
    client.announce_arena(1, 4096)
    client.sender.send_handle(0, 1, 3, b"", encode_token(np.ones(9), False), None, 1, 0)
    server.close(CloseReason.NORMAL, "bye")
    found = []
    for one in (client, server):
        while (frame := one.outbox.next_control()) is not None:
            found += [frames.encode(record) for record in frames.records(memoryview(frame))]
    return found


SAMPLES = _samples()


@given(
    sample=st.sampled_from(SAMPLES),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(0, 400),
)
@settings(max_examples=400)
def test_f62_a_mutated_record_is_taken_or_a_typed_error(
    sample: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(sample)
    data[8:12] = (1).to_bytes(4, "little")  # the next sequence number, so that it is looked at
    for place, value in changes:
        data[place % len(data)] = value
    there, _ = connected(allocate=_small, map_handle=lambda form, arena, offset, lease: np.zeros(1))
    for event in there.sink.receive(memoryview(bytes(data[: len(data) - cut % len(data)]))):
        assert not isinstance(event, ConnectionEnded) or event.error is None or isinstance(event.error, ProtocolError)


def _small(edge: int, shape: tuple[int, ...], dtype: Any) -> Any:
    array = np.empty(shape, dtype)
    assert array.nbytes <= LIMITS.tensor
    return array


def test_f62_a_list_of_lists_that_claim_to_be_long_takes_no_memory() -> None:
    bomb = b"\xdd\x00\xff\xff\xff" * 500
    with pytest.raises(ProtocolError):
        frames.unpack(bomb)
    with pytest.raises(ProtocolError):
        frames.unpack(b"\x91" * 100_000)


@pytest.mark.parametrize(
    ("meta", "total", "message"),
    [
        (["float32", [3]], 13, "announced with 13 bytes instead of 12"),
        (["float32", [-1]], 0, "a shape that none can have"),
        (["float32", [True]], 4, "a shape that none can have"),
        (["float32", [1 << 61, 1 << 61]], 4, "are the most"),
        (["float32", [0, 1 << 61, 1 << 61]], 0, "a shape that none can have"),
        (["float32", [1 << 61, 0]], 0, "a shape that none can have"),
        (["string", [1 << 61, 0]], 0, "a shape that none can have"),
        (["float32", [1] * 65], 4, "a shape that none can have"),
        (["object", [1]], 8, "there is no such type"),
        (["resource", []], 0, "there is no such type"),
        (["string", [100]], 4, "announced with 4 bytes instead of 800"),
        (["float32"], 4, "no list of 2"),
        ([["float32"], []], 4, "out of place"),
    ],
)
def test_f62_a_tensor_that_is_not_what_it_says_is_refused(meta: Any, total: int, message: str) -> None:
    there, _ = connected()
    body = bytes(total)
    record = FrameRecord(
        RecordKind.TENSOR,
        RecordFlag.LAST,
        sequence=1,
        incarnation=1,
        meta=frames.pack(meta),
        body=body,
        body_size=total,
        total=total,
    )
    (end,) = there.sink.receive(memoryview(frames.encode(record)))
    assert isinstance(end, ConnectionEnded) and message in str(end.error)


def test_f62_strings_whose_lengths_do_not_add_up_are_refused() -> None:
    there, _ = connected()
    body = (2**63).to_bytes(8, "little") + b"abc"
    meta = frames.pack(["string", [1]])
    record = FrameRecord(
        RecordKind.TENSOR, RecordFlag.LAST, 1, 0, 1, meta=meta, body=body, body_size=len(body), total=len(body)
    )
    (end,) = there.sink.receive(memoryview(frames.encode(record)))
    assert isinstance(end, ConnectionEnded) and "by their lengths" in str(end.error)


def test_f62_a_sender_that_ignores_its_credit_is_shut_out() -> None:
    there, _ = connected()
    there.source.outbox.data_credit = there.source.outbox.control_credit = 1 << 40
    for edge in range(100):
        there.source.send(edge, 1, b"", encode_token(np.zeros(30_000, np.uint8), False))
    there.collect()
    there.sink._grant = lambda: None  # type: ignore[method-assign]
    while there.bulk:
        there.carry_bulk()
    assert "than it had credit for" in str(there.ends[0].error)


def test_f62_who_gives_back_more_credit_than_was_used_ends_the_connection() -> None:
    for tokens, messages in ((1, 0), (0, 1)):
        there, back = connected()
        back.source.outbox.put_urgent(FrameRecord(RecordKind.CREDIT, incarnation=2, offset=tokens, total=messages))
        settle(there, back)
        assert "more credit" in str(back.ends[0].error)


def test_f62_records_of_another_incarnation_are_dropped_and_counted() -> None:
    there, _ = connected()
    stale = FrameRecord(RecordKind.MESSAGE, RecordFlag.LAST, 1, 0, 99, body=b"\x01", body_size=1, total=1)
    assert there.sink.receive(memoryview(frames.encode(stale))) == []
    there.source.post("fresh")
    settle(there)
    assert there.messages == ["fresh"] and there.sink.receiver.dropped_old == 1


def test_f62_the_first_record_must_be_a_hello() -> None:
    server = connection("/job:b/task:0", 2)
    (end,) = server.receive(memoryview(frames.encode(FrameRecord(RecordKind.BEAT, incarnation=1))))
    assert isinstance(end, ConnectionEnded) and "no HELLO" in str(end.error)


def test_f62_a_later_version_may_add_to_its_hello() -> None:
    from actorflow.transports.protocol.handshake import hello_record

    server = connection("/job:b/task:0", 2)
    theirs = make_hello(ProcessIdentity("cluster", "/job:a/task:0", 1), 0, LIMITS)
    record = hello_record(replace(theirs, versions=(1, 9)))
    record.meta = frames.pack({**frames.unpack(record.meta), "new": [1, 2]})
    record.version = 9
    server.receive(memoryview(frames.encode(record)))
    assert server.state is ConnectionState.OPEN and server.outbox.version == 1


def test_f62_the_end_waits_for_chunks_that_left_before_it() -> None:
    there, back = connected()
    there.source.send(1, 1, b"", encode_token(np.zeros(20_000, np.uint8), False))
    there.collect()
    there.source.close(CloseReason.NORMAL, "")
    there.collect()
    found: list[Any] = []
    there.sink.inbox.expect(0, 1, (1, b""), lambda token, error: found.append((token, error)))
    while there.control:
        there.carry_control()
    assert not there.ends and not found
    settle(there, back)
    assert found[0][1] is None and found[0][0].nbytes == 20_000
    assert there.ends[0].error is None and back.ends[0].error is None


def test_f62_a_rejection_reaches_the_other_side() -> None:
    client, server = connection("/job:a/task:0", 1), connection("/job:b/task:0", 2)
    client.mine = replace(client.mine, versions=(2, 3))
    there, back = Wire(client, server), Wire(server, client)
    client.hello()
    settle(there, back)
    for wire in (there, back):
        assert isinstance(wire.ends[0].error, HandshakeRejected)
        assert "versions 2 to 3" in str(wire.ends[0].error) and "versions 1 to 1" in str(wire.ends[0].error)
