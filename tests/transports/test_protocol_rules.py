"""The rules of docs/reference/protocol.md at their edges: the last that is taken, and the first that is not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import PeerLimits, ProcessIdentity
from actorflow.engine.transport.errors import FrameTooLarge, PeerLost, ProtocolError
from actorflow.errors import AbortedError, ResourceExhaustedError
from actorflow.transports.protocol import frames
from actorflow.transports.protocol.clocks import ClockBeats, ClockEstimate
from actorflow.transports.protocol.connection import ProtocolConnection
from actorflow.transports.protocol.events import ConnectionEnded, ConnectionState, Event, MessageReceived
from actorflow.transports.protocol.frames import FRAME_LIMIT, HEADER, TAG_LIMIT, FrameRecord, RecordFlag, RecordKind
from actorflow.transports.protocol.handshake import CloseReason, make_hello
from actorflow.transports.protocol.inbox import Inbox
from actorflow.transports.protocol.receiver import CHUNK_LIMIT
from actorflow.transports.protocol.sender import INLINE, EnclosedTensor
from actorflow.transports.protocol.tensors import encode_token, read_form

WINDOW = 1 << 17
LIMITS = PeerLimits(data_window=WINDOW, control_window=WINDOW, message=1 << 18, queued_messages=1 << 19, tensor=1 << 20)


def connection(task: str, incarnation: int, epoch: int = 0, chunk: int = 8 << 10, **options: Any) -> ProtocolConnection:
    hello = make_hello(ProcessIdentity("cluster", task, incarnation), epoch, LIMITS)
    return ProtocolConnection(hello, LIMITS, lambda: (1, 1), chunk=chunk, **options)


def carry(source: ProtocolConnection, sink: ProtocolConnection) -> list[Event]:
    """Brings all that `source` has to send to `sink`."""
    events: list[Event] = []
    moved = True
    while moved:
        moved = False
        while (frame := source.outbox.next_control()) is not None:
            events += sink.receive(memoryview(frame))
            moved = True
        while (chunk := source.outbox.next_bulk()) is not None:
            view, found = sink.receive_chunk(memoryview(chunk[0]))
            events += found
            if len(view):
                view[:] = chunk[1]
                events += sink.chunk_received()
            moved = True
    return events


def pair(
    incarnations: tuple[int, int] = (5, 6), epoch: int = 0, chunk: int = 8 << 10, **options: Any
) -> tuple[ProtocolConnection, ProtocolConnection]:
    """Two connections after their handshake; the options are the server's."""
    client = connection("/job:a/task:0", incarnations[0], epoch, chunk)
    server = connection("/job:b/task:0", incarnations[1], epoch, chunk, **options)
    client.hello()
    carry(client, server)
    carry(server, client)
    assert client.state is server.state is ConnectionState.OPEN
    return client, server


def token_of(of: ProtocolConnection, edge: int, step: int, tag: bytes = b"", epoch: int = 0) -> list[Any]:
    """The token that has come, or comes, for a key."""
    found: list[Any] = []
    of.inbox.expect(epoch, step, (edge, tag), lambda token, error: found.append(token if error is None else error))
    return found


def tensor(size: int) -> Any:
    return encode_token(np.zeros(size, np.uint8), False)


def error_of(events: list[Event]) -> BaseException | None:
    (end,) = (event for event in events if isinstance(event, ConnectionEnded))
    return end.error


# ---- order


def test_f62_one_lost_record_ends_the_connection_with_the_next_one() -> None:
    client, server = pair()
    for number in range(3):
        client.post(number)
        frame = client.outbox.next_control()
        assert frame is not None
        if number != 1:
            events = server.receive(memoryview(frame))
    assert isinstance(error_of(events), ProtocolError) and "1 records of /job:a/task:0 were lost" in str(
        error_of(events)
    )
    assert server.state is ConnectionState.CLOSED


def test_f62_one_lost_chunk_ends_the_connection_with_the_next_one() -> None:
    client, server = pair()
    client.send(1, 1, b"", tensor(3 * (8 << 10)))
    for number in range(3):
        chunk = client.outbox.next_bulk()
        assert chunk is not None
        if number != 1:
            view, events = server.receive_chunk(memoryview(chunk[0]))
            if len(view):
                view[:] = chunk[1]
                events += server.chunk_received()
    assert "1 records of /job:a/task:0 were lost on the bulk lane" in str(error_of(events))


@pytest.mark.parametrize("other", [4, 6], ids=["a former one", "a later one"])
def test_f62_records_of_any_other_incarnation_are_dropped(other: int) -> None:
    _, server = pair((5, 9))
    record = FrameRecord(RecordKind.MESSAGE, RecordFlag.LAST, 1, 0, other, body=b"\x01", body_size=1, total=1)
    assert server.receive(memoryview(frames.encode(record))) == []
    assert server.receiver.dropped_old == 1 and server.state is ConnectionState.OPEN


def test_f62_a_record_that_comes_again_is_dropped_and_counted() -> None:
    client, server = pair()
    client.post("once")
    frame = client.outbox.next_control()
    assert frame is not None
    assert [event for _ in range(3) for event in server.receive(memoryview(frame))] == [MessageReceived("once", 5)]
    assert server.dropped_twice == 2


# ---- sizes


def test_f51_tokens_of_16_kib_travel_with_the_records_and_larger_ones_in_chunks() -> None:
    client, _ = pair()
    client.send(1, 1, b"", tensor(INLINE))
    assert client.outbox.next_bulk() is None and client.outbox.next_control() is not None
    client.send(2, 1, b"", tensor(INLINE + 1))
    assert client.outbox.next_control() is None and client.outbox.next_bulk() is not None


def test_f62_edges_steps_and_tags_have_to_fit() -> None:
    client, server = pair()
    largest = ((1 << 32) - 1, (1 << 64) - 1, b"t" * TAG_LIMIT)
    client.send(*largest, encode_token(None, False))
    found = token_of(server, *largest)
    carry(client, server)
    assert found == [None]
    for edge, step, tag in (
        (1 << 32, 1, b""),
        (-1, 1, b""),
        (1, 1 << 64, b""),
        (1, -1, b""),
        (1, 1, b"t" * (TAG_LIMIT + 1)),
    ):
        with pytest.raises(ValueError, match="do not fit into a record"):
            client.send(edge, step, tag, encode_token(None, False))


def test_messages_have_a_longest_one_and_so_many_may_wait() -> None:
    client, _ = pair()
    most = LIMITS.message - 5  # msgpack says the length in five bytes
    client.post(bytes(most))
    with pytest.raises(FrameTooLarge):
        client.post(bytes(most + 1))
    client.post(bytes(most))
    assert client.outbox.message_bytes == LIMITS.queued_messages
    with pytest.raises(ResourceExhaustedError):
        client.post(0)


def test_a_message_that_is_announced_too_long_ends_the_connection() -> None:
    _, server = pair()
    record = FrameRecord(RecordKind.MESSAGE, 0, 1, 0, 5, body=b"\x01", body_size=1, total=LIMITS.message + 1)
    assert isinstance(error_of(server.receive(memoryview(frames.encode(record)))), FrameTooLarge)


def test_frames_are_filled_and_not_too_long() -> None:
    client, server = pair()
    for edge in range(200):
        client.send(edge, 1, b"", tensor(1000))
    sizes = []
    while (frame := client.outbox.next_control()) is not None:
        sizes.append(len(frame))
        server.receive(memoryview(frame))
    assert max(sizes) <= FRAME_LIMIT and sizes[0] > FRAME_LIMIT - HEADER.size - 1100


# ---- credit


def test_a_peer_sends_tokens_worth_its_window_and_no_more() -> None:
    client, server = pair()
    cost = HEADER.size + len(tensor(1000).meta) + 1000
    for edge in range(2 * WINDOW // cost):
        client.send(edge, 1, b"", tensor(1000))
    left = []
    while (frame := client.outbox.next_control()) is not None:
        left.append(frame)
    assert sum(map(len, left)) == WINDOW // cost * cost
    assert client.outbox.data_credit == WINDOW - WINDOW // cost * cost
    for frame in left:
        server.receive(memoryview(frame))
    carry(server, client)
    assert client.outbox.data_credit > 3 * WINDOW // 4, (
        "what has arrived whole is given back, but for less than a quarter"
    )


def test_messages_that_nobody_takes_hold_up_their_sender() -> None:
    client, server = pair()
    for _ in range(4):
        client.post(bytes((1 << 17) - 16))
    events: list[Event] = []
    for _ in range(20):
        events += carry(client, server)
        carry(server, client)
    waiting = [event for event in events if isinstance(event, MessageReceived)]
    assert 1 <= len(waiting) <= 3 and client.outbox.messages, "at most two windows wait"
    for event in waiting:
        server.taken(event.size)
    for _ in range(20):
        for event in carry(client, server):
            if isinstance(event, MessageReceived):
                waiting.append(event)
                server.taken(event.size)
        carry(server, client)
    assert len(waiting) == 4 and client.outbox.empty


def test_a_chunk_is_at_most_half_of_the_window() -> None:
    client, server = pair(chunk=WINDOW)
    client.send(1, 1, b"", tensor(3 * WINDOW))
    chunk = client.outbox.next_bulk()
    assert chunk is not None and len(chunk[1]) == WINDOW // 2
    assert server.outbox.chunk == WINDOW // 2


def test_a_tensor_of_some_size_is_one_chunk_and_a_larger_one_several() -> None:
    client, _ = pair(chunk=WINDOW)
    client.outbox.chunk, client.outbox.whole = WINDOW // 8, WINDOW // 2
    for edge, size in ((1, WINDOW // 2), (2, WINDOW // 2 + 8)):
        client.send(edge, 1, b"", tensor(size))
    sizes = []
    while (chunk := client.outbox.next_bulk()) is not None:
        sizes.append(len(chunk[1]))
    assert sizes[0] == WINDOW // 2 and set(sizes[1:]) == {WINDOW // 8}
    assert client.outbox.tensors == 1, "the window is used up"


def test_small_tokens_count_against_the_window_of_chunks() -> None:
    client, server = pair()
    for edge in range(3 * WINDOW // 1000):
        client.send(edge, 1, b"", tensor(1000))
        carry(client, server)
        carry(server, client)
    server._grant = lambda: None  # type: ignore[method-assign]
    client.outbox.data_credit = 1 << 40
    client.send(1, 2, b"", tensor(2 * WINDOW))
    error = error_of(carry(client, server))
    assert isinstance(error, ProtocolError) and "more tensors than it had credit for" in str(error)


@pytest.mark.parametrize("size", [0, CHUNK_LIMIT + 1])
def test_a_chunk_has_from_one_byte_to_a_mebibyte(size: int) -> None:
    _, server = pair()
    meta = frames.pack(["uint8", [1 << 19]])
    record = FrameRecord(RecordKind.TENSOR, RecordFlag.FOLLOWS, 0, 0, 5, 1, 1, meta=meta, body_size=size, total=1 << 19)
    _, events = server.receive_chunk(memoryview(frames.head(record)))
    assert isinstance(error_of(events), FrameTooLarge)


def test_texts_travel_as_bytes() -> None:
    client, server = pair()
    client.send(1, 1, b"", encode_token(np.array(["ä", b"b", np.bytes_(b"c"), ""], object), False))
    found = token_of(server, 1, 1)
    carry(client, server)
    assert found[0].tolist() == ["ä".encode(), b"b", b"c", b""]


# ---- steps and epochs


def test_f65_a_second_token_of_a_key_ends_its_step() -> None:
    client, server = pair()
    client.send(1, 1, b"", encode_token(np.float32(1), False))
    client.send(1, 1, b"", encode_token(np.float32(2), False))
    first = token_of(server, 1, 1)
    other = token_of(server, 2, 1)
    carry(client, server)
    assert first == [np.float32(1)] and isinstance(other[0], AbortedError)
    carry(server, client)
    assert client.inbox.ended(0, 1), "the sender hears of it"


@pytest.mark.parametrize("asked_before", [True, False])
def test_f62_tokens_of_a_former_epoch_are_dropped_and_those_of_a_later_one_kept(asked_before: bool) -> None:
    inbox = Inbox()
    inbox.set_epoch(2)
    found: dict[int, list[Any]] = {1: [], 2: [], 3: []}

    def ask(epoch: int) -> None:
        inbox.expect(epoch, 7, (1, b""), lambda token, error: found[epoch].append(token))

    if asked_before:
        ask(2)
    for epoch in (1, 2, 3):
        assert inbox.deliver(epoch, 7, (1, b""), f"of {epoch}") is None
    if not asked_before:
        ask(2)
    assert found[2] == ["of 2"] and inbox.held == 1
    ask(3)
    ask(1)
    assert found[3] == ["of 3"] and found[1] == []


def test_f62_a_new_epoch_ends_the_steps_of_former_ones_alone() -> None:
    client, server = pair()
    now, later = token_of(server, 1, 1), token_of(server, 1, 1, epoch=1)
    server.set_epoch(1)
    assert isinstance(now[0], AbortedError) and later == []
    client.set_epoch(1)
    client.send(1, 1, b"", encode_token(DEAD, False))
    carry(client, server)
    assert later == [DEAD]
    with pytest.raises(ValueError, match="cannot follow epoch 1"):
        server.set_epoch(0)
    server.set_epoch(1)


def test_f62_an_abort_of_a_former_epoch_is_dropped() -> None:
    client, server = pair()
    server.set_epoch(1)
    found = token_of(server, 1, 7, epoch=1)
    client.abort(7, AbortedError("of epoch 0"))
    carry(client, server)
    assert found == [] and server.receiver.dropped_old == 1
    client.set_epoch(1)
    client.abort(7, AbortedError("of epoch 1"))
    carry(client, server)
    assert "of epoch 1" in str(found[0])


def test_f65_what_is_queued_of_an_aborted_step_does_not_leave() -> None:
    client, server = pair()
    for step in (1, 2):
        client.send(1, step, b"", tensor(10))
        client.send(2, step, b"", tensor(INLINE + 1))
    client.abort(1, AbortedError("enough"))
    assert client.outbox.tensors == 2
    client.send(3, 1, b"", tensor(10))
    assert client.outbox.tensors == 2, "nor what is sent later"
    whole = token_of(server, 2, 2)
    carry(client, server)
    assert len(whole[0]) == INLINE + 1 and server.inbox.ended(0, 1) and not server.inbox.ended(0, 2)


def test_f65_the_first_error_of_a_step_stays() -> None:
    inbox = Inbox()
    inbox.abort(1, AbortedError("the first"))
    inbox.abort(1, AbortedError("the second"))
    found: list[Any] = []
    inbox.expect(0, 1, (1, b""), lambda token, error: found.append(str(error)))
    assert found == ["the first"]


@pytest.mark.parametrize("keep", [True, False])
def test_f63_what_came_before_the_end_can_be_taken_where_it_is_kept(keep: bool) -> None:
    inbox = Inbox()
    found: list[Any] = []
    inbox.deliver(0, 1, (1, b""), "token")
    inbox.expect(0, 1, (2, b""), lambda token, error: found.append(error))
    lost = PeerLost("it is gone")
    inbox.close(lost, keep=keep)
    inbox.close(AbortedError("a second end"), keep=keep)
    assert found == [lost] and inbox.held == keep
    for edge in (1, 3):
        inbox.expect(0, 1, (edge, b""), lambda token, error: found.append(token or error))
    assert found[1:] == ["token" if keep else lost, lost]
    assert inbox.deliver(0, 1, (4, b""), "late") is None and inbox.held == 0
    inbox.clear()


# ---- leases


def test_f51_a_lent_array_is_held_until_its_lease_is_released() -> None:
    client, server = pair()
    for step in range(3):
        client.sender.send_handle(0, 1, step, b"", tensor(64), f"array {step}", 1, 64)
    assert client.sender.leases == {1: "array 0", 2: "array 1", 3: "array 2"} and client.sender.handles == 3
    server.release([2])
    carry(server, client)
    assert client.sender.leases == {1: "array 0", 3: "array 2"}


def test_f51_many_leases_go_back_in_several_records() -> None:
    client, server = pair()
    client.sender.leases = {lease: None for lease in range(1, 2501)}
    server.release(list(range(1, 2501)))
    assert carry(server, client) == [] and client.sender.leases == {}


@pytest.mark.parametrize("leases", [[7], ["1"], [1, 1]])
def test_f51_a_release_of_what_is_not_held_ends_the_connection(leases: list[Any]) -> None:
    client, server = pair()
    client.sender.leases = {1: None}
    server.release(leases)
    assert isinstance(error_of(carry(server, client)), ProtocolError)


def test_f51_what_comes_too_late_takes_no_memory_and_its_lease_goes_back() -> None:
    asked: list[Any] = []

    def allocate(edge: int, shape: tuple[int, ...], dtype: Any) -> Any:
        asked.append(edge)
        return np.empty(shape, dtype)

    client, server = pair(allocate=allocate, map_handle=lambda *place: asked.append(place))
    client.send(1, 1, b"", tensor(10))
    client.send(2, 1, b"", tensor(INLINE + 1))
    client.sender.send_handle(0, 3, 1, b"", tensor(64), "kept", 1, 64)
    server.inbox.abort(1, AbortedError("over"))
    carry(client, server)
    carry(server, client)
    assert asked == [] and client.sender.leases == {} and server.inbox.held == 0
    assert server.receiver.dropped_old >= 3 and server.state is ConnectionState.OPEN
    client.send(1, 2, b"", tensor(10))
    client.sender.send_handle(0, 3, 2, b"", tensor(64), "kept", 1, 64)
    carry(client, server)
    assert asked[0] == 1 and asked[1][1:] == (1, 64, 2)


HANDLE = msgpack.ExtType(1, msgpack.packb(["float32", [1], 1, 64, 1]))


def enclosing() -> tuple[ProtocolConnection, ProtocolConnection, list[Any]]:
    """Two connections that take handles within messages; and the forms, arenas, offsets and leases that came to the server."""
    mapped: list[Any] = []

    def map_handle(*place: Any) -> Any:
        mapped.append(place)
        return np.zeros(place[0].shape)

    ends = []
    for task, incarnation in (("/job:a/task:0", 5), ("/job:b/task:0", 6)):
        hello = make_hello(ProcessIdentity("cluster", task, incarnation), 0, LIMITS, takes_enclosed=True)
        ends.append(ProtocolConnection(hello, LIMITS, lambda: (1, 1), chunk=8 << 10, map_handle=map_handle))
    client, server = ends
    client.hello()
    carry(client, server)
    carry(server, client)
    return client, server, mapped


def test_f51_an_enclosed_tensor_arrives_within_its_message() -> None:
    client, server, mapped = enclosing()
    assert server.peer is not None and server.peer.takes_enclosed
    value = np.zeros((3, 4), np.int16)
    client.post(["before", [EnclosedTensor(value, 7, 64)], b"behind"])
    (event,) = carry(client, server)
    before, (arrived,), behind = event.message  # type: ignore[union-attr]
    assert (before, arrived.shape, behind) == ("before", (3, 4), b"behind")
    assert [(form.dtype.name, form.total, *place) for form, *place in mapped] == [("int16", 24, 7, 64, 1)]
    assert client.sender.leases[1] is value
    server.release([1])
    carry(server, client)
    assert client.sender.leases == {} and client.state is ConnectionState.OPEN


def test_f51_leases_go_back_within_a_message_that_leaves_at_once() -> None:
    client, server, _ = enclosing()
    for leases, message, records in ([[1, 2], "short", 1], [[3], "." * 40_000, 3], [list(range(4, 1100)), "short", 3]):
        client.sender.leases = dict.fromkeys(leases, "kept")
        server.release(leases)
        server.post(message)
        credit, before = server.outbox.control_credit, server.outbox._control_sent
        (event,) = carry(server, client)
        assert event.message == message and client.sender.leases == {}  # type: ignore[union-attr]
        assert server.outbox._control_sent - before == records and server.outbox.control_credit < credit
    client.taken(50_000)
    carry(client, server)
    server.release([1])
    server.outbox.control_credit = 0
    server.post("it has to wait, and no lease with it")
    client.sender.leases = {1: "kept"}
    assert carry(server, client) == [] and client.sender.leases == {}


def test_f51_one_who_takes_no_handles_in_messages_gets_leases_in_records_of_their_own() -> None:
    client, server = pair()
    client.sender.leases = {1: "kept"}
    server.release([1])
    server.post("behind")
    (event,) = carry(server, client)
    assert event.message == "behind" and client.sender.leases == {}  # type: ignore[union-attr]
    assert server.outbox._control_sent == 3


def test_f62_leases_in_a_message_to_one_who_takes_none_end_the_connection() -> None:
    client, server = pair()
    client.sender.leases = {1: "kept"}
    server.outbox.takes_leases = True
    server.release([1])
    server.post("with a lease")
    assert isinstance(error_of(carry(server, client)), ProtocolError) and client.sender.leases


@pytest.mark.parametrize("leases", [[7], ["1"], [1, 1], [[]]])
def test_f51_leases_in_a_message_that_are_not_held_end_the_connection(leases: Any) -> None:
    client, server, _ = enclosing()
    client.sender.leases = {1: "kept"}
    server.outbox.put_leases(leases)
    server.post("with leases")
    assert isinstance(error_of(carry(server, client)), ProtocolError)


def test_f51_a_message_that_does_not_leave_keeps_none_of_its_tensors() -> None:
    client, _, _ = enclosing()
    held = EnclosedTensor(np.zeros(9), 1, 64)
    with pytest.raises(TypeError, match="object"):
        client.post([held, object()])
    with pytest.raises(FrameTooLarge):
        client.post([held, b"." * LIMITS.message])
    for _ in range(2):
        client.post(b"." * (LIMITS.message - 100))
    with pytest.raises(ResourceExhaustedError):
        client.post([held, b"." * 400])
    with pytest.raises(ValueError, match="more than 4,096 tensors"):
        client.post([[held] * 4096, held])
    assert client.sender.leases == {} and client.sender.handles == 0
    client.post([held, held])
    assert len(client.sender.leases) == client.sender.handles == 2


def test_f51_a_message_may_have_4096_tensors() -> None:
    client, server, mapped = enclosing()
    held = EnclosedTensor(np.zeros(9), 1, 64)
    for _ in range(2):
        client.post([held] * 4096)
        (event,) = carry(client, server)
        assert len(event.message) == 4096  # type: ignore[union-attr]
        server.taken(event.size)  # type: ignore[union-attr]
        carry(server, client)
    assert len(mapped) == 2 * 4096


def test_f62_a_message_with_more_handles_than_any_may_have_ends_the_connection() -> None:
    client, server, mapped = enclosing()
    client.outbox.put_message(msgpack.packb([[HANDLE] * 4096, HANDLE]))
    assert "more than 4,096 handles" in str(error_of(carry(client, server)))
    assert len(mapped) == 4096


@pytest.mark.parametrize("data", [b"\xd6\xff" + bytes(3) + b"\x05", b"\xd7\xff" + bytes(7) + b"\x05"])
def test_f62_a_timestamp_within_a_message_is_a_float(data: bytes) -> None:
    client, server, _ = enclosing()
    client.outbox.put_message(b"\x91" + data)
    (event,) = carry(client, server)
    (arrived,) = event.message  # type: ignore[union-attr]
    assert type(arrived) is float and arrived == 5.0
    client, server = pair()
    client.outbox.put_message(b"\x91" + data)
    assert isinstance(error_of(carry(client, server)), ProtocolError), "where no handles are taken there is none"


@pytest.mark.parametrize(
    ("code", "content"),
    [
        (2, ["float32", [1], 1, 64, 1]),
        (-1, ["float32", [1], 1, 64, 1]),
        (-2, ["float32", [1], 1, 64, 1]),
        (1, ["float32", [1], 1, 64]),
        (1, ["float32", [-1], 1, 64, 1]),
        (1, ["float32", [1 << 40], 1, 64, 1]),
        (1, ["float32", [0, 1 << 61, 1 << 61], 1, 64, 1]),
        (1, ["string", [1], 1, 64, 1]),
        (1, ["thing", [1], 1, 64, 1]),
        (1, ["float32", [1], b"device", 64, 1]),
        (1, "no list"),
        (1, ["float32", [1] * 1100, 1, 64, 1]),
    ],
)
def test_f62_an_extension_that_is_no_handle_ends_the_connection(code: int, content: Any) -> None:
    client, server, mapped = enclosing()
    packed = msgpack.packb(content)
    client.outbox.put_message(b"\x92\x01\xc8" + struct.pack(">Hb", len(packed), code) + packed)
    assert isinstance(error_of(carry(client, server)), ProtocolError) and mapped == []


def test_f62_a_handle_to_one_who_takes_none_ends_the_connection() -> None:
    client, server = pair()
    client.outbox.put_message(msgpack.packb([HANDLE]))
    assert isinstance(error_of(carry(client, server)), ProtocolError)


def test_f51_no_handle_leaves_to_one_who_takes_none() -> None:
    client, server = pair()
    with pytest.raises(TypeError, match="a peer that takes none"):
        client.post([EnclosedTensor(np.zeros(9), 1, 64)])
    client.post("next")
    (event,) = carry(client, server)
    assert event.message == "next" and client.sender.leases == {}  # type: ignore[union-attr]


def lend(
    client: ProtocolConnection, server: ProtocolConnection, shift: int = 0
) -> tuple[list[bool], list[Event], list[Any]]:
    """Brings all chunks, where they may be in memory of their own, which begins `shift` bytes behind an aligned place. Which
    were taken as they were, what came of them, and the bodies."""
    taken, events, bodies = [], [], []
    while (chunk := client.outbox.next_bulk()) is not None:
        body = np.frombuffer(bytearray(len(chunk[1]) + shift), np.uint8)[shift:]
        body[:] = np.frombuffer(chunk[1], np.uint8)
        view, found = server.receive_chunk(memoryview(chunk[0]), lends=True)
        taken.append(server.receiver.borrows)
        if server.receiver.borrows:
            found += server.chunk_received(memoryview(body))
        elif len(view):
            view[:] = chunk[1]
            found += server.chunk_received()
        events += found
        bodies.append(body)
    return taken, events, bodies


@pytest.mark.parametrize("shift", [0, 8, 3])
def test_f51_a_tensor_in_one_chunk_stays_in_the_memory_that_it_came_in(shift: int) -> None:
    client, server = pair(chunk=CHUNK_LIMIT)
    value = np.arange(5000, dtype=np.float64).reshape(50, 100)
    (found,) = [token_of(server, 1, 1)]
    client.send(1, 1, b"", encode_token(value, False))
    taken, events, (body,) = lend(client, server, shift)
    assert (taken, events) == ([True], []) and np.array_equal(found[0], value)
    assert found[0].flags.aligned and not found[0].flags.writeable
    assert np.shares_memory(found[0], body) is (shift % 8 == 0)
    assert server.receiver.received[1].tokens == 1 and server.receiver.received[1].bytes == value.nbytes


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.bool_, object])
def test_f90_only_float32_may_be_marked_as_lossy(dtype: Any) -> None:
    token = encode_token(np.array([b"text"] * 4 if dtype is object else [1] * 4, dtype), False)
    assert read_form(FrameRecord(RecordKind.TENSOR, meta=token.meta, total=len(token.body)), 1 << 20).shape == (4,)
    with pytest.raises(ProtocolError, match="marked as lossy; only float32 can be"):
        read_form(FrameRecord(RecordKind.TENSOR, RecordFlag.LOSSY, meta=token.meta, total=8), 1 << 20)


def test_f51_other_tensors_are_put_where_there_is_room_for_them() -> None:
    strings = np.array([b"x" * 9000] * 2, object)
    for chunk, token in (
        (16 << 10, encode_token(np.zeros(5000), False)),
        (CHUNK_LIMIT, encode_token(strings, False)),
        (CHUNK_LIMIT, encode_token(np.full(20_000, 1.5, np.float32), True)),
    ):
        client, server = pair(chunk=chunk)
        found = token_of(server, 1, 1)
        client.send(1, 1, b"", token)
        taken, events, _ = lend(client, server)
        assert taken and not any(taken) and events == [] and found
    client, server = pair(chunk=CHUNK_LIMIT, allocate=lambda edge, shape, dtype: np.empty(shape, dtype))
    client.send(1, 1, b"", encode_token(np.zeros(5000), False))
    assert lend(client, server)[0] == [False], "the device says where its tensors lie"


def test_f62_a_body_that_is_lent_has_the_size_that_its_head_says_and_a_late_one_is_dropped() -> None:
    client, server = pair(chunk=CHUNK_LIMIT)
    server.inbox.abort(1, AbortedError("over"))
    for step in (1, 2):
        client.send(1, step, b"", encode_token(np.zeros(5000), False))
    assert lend(client, server)[0] == [False, True] and server.receiver.dropped_old == 1 and server.inbox.held == 1
    client.send(1, 3, b"", encode_token(np.zeros(5000), False))
    chunk = client.outbox.next_bulk()
    assert chunk is not None
    server.receive_chunk(memoryview(chunk[0]), lends=True)
    assert "A chunk has 39,992 bytes" in str(error_of(server.chunk_received(chunk[1][8:])))


# ---- ends


@pytest.mark.parametrize(
    "act",
    [
        lambda c: c.release([1]),
        lambda c: c.beat(),
        lambda c: c.abort(1, AbortedError("x")),
        lambda c: c.close(CloseReason.NORMAL, "again"),
        lambda c: c.broken(OSError()),
    ],
    ids=["release", "beat", "abort", "close", "broken"],
)
def test_f63_after_its_end_a_connection_says_no_more(act: Callable[[ProtocolConnection], Any]) -> None:
    client, server = pair()
    client.close(CloseReason.GONE, "bye")
    carry(client, server)
    assert client.state is ConnectionState.CLOSED and server.state is ConnectionState.CLOSED
    assert not act(client)
    assert client.outbox.empty


def test_f63_a_close_for_another_reason_than_good_order_is_a_loss() -> None:
    client, server = pair()
    client.close(CloseReason.GONE, "it was told to")
    error = error_of(carry(client, server))
    assert isinstance(error, PeerLost) and "it was told to" in str(error)


def test_f63_both_sides_may_close_in_good_order_at_once() -> None:
    client, server = pair()
    client.close(CloseReason.NORMAL, "")
    server.close(CloseReason.NORMAL, "")
    assert client.state is server.state is ConnectionState.CLOSING
    assert error_of(carry(client, server)) is None and error_of(carry(server, client)) is None
    assert client.state is server.state is ConnectionState.CLOSED


# ---- beats


def test_f96_the_clocks_difference_is_that_of_the_beat_that_was_fastest() -> None:
    now = [10_000]
    here, there = ClockBeats(lambda: (now[0], now[0])), ClockBeats(lambda: (now[0] + 5000, now[0] + 7000))
    assert here.estimate() == ClockEstimate()

    def exchange(there_ns: int, back_ns: int) -> None:
        beat = here.make()
        now[0] += there_ns
        there.take(beat)
        now[0] += 1000  # it is held for a while, which does not count
        beat = there.make()
        now[0] += back_ns
        here.take(beat)

    def told() -> tuple[float | None, float | None, float | None]:
        found = here.estimate()
        return found.round_trip, found.clock_offset, found.wall_offset

    exchange(900, 100)
    assert told() == (1000 / 1e9, (5000 + 500 - 100) / 1e9, (7000 + 500 - 100) / 1e9)
    exchange(10, 10)
    assert told() == (20 / 1e9, 5000 / 1e9, 7000 / 1e9)
    exchange(100, 900)
    assert told() == (20 / 1e9, 5000 / 1e9, 7000 / 1e9)
    for _ in range(8):  # of the last eight
        exchange(100, 900)
    assert told()[0] == 1000 / 1e9


def test_f63_steps_for_which_tokens_wait_and_nobody_else() -> None:
    inbox = Inbox()
    inbox.deliver(0, 1, (5, b""), "token")
    inbox.expect(0, 2, (5, b""), lambda token, error: None)
    inbox.deliver(0, 3, (5, b""), "token")
    inbox.expect(0, 3, (5, b""), lambda token, error: None)
    assert inbox.waiting_tokens() == [1]
    inbox.abort(1, AbortedError("over"))
    assert inbox.waiting_tokens() == []
