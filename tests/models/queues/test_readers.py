"""Readers: records of files whose names come from a queue, one or many at a time, on a thread of their own."""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.records.reading import reader as reader_state
from actorflow.graph.graph import Graph

Files = list[Any]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


class Reading:
    """A reader over a closed queue of files, in a session."""

    def __init__(self, reader: Any, files: Files, session: af.Session) -> None:
        self.reader, self.session = reader, session
        self.queue = af.FIFOQueue(99, af.string, shapes=[()])
        self.begin = self.queue.enqueue_many([[os.fspath(f) for f in files]]) if files else af.no_op()
        self.read = reader.read(self.queue)
        self.count = af.placeholder(af.int32, ())
        self.read_some = reader.read_up_to(self.queue, self.count)
        self.numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
        self.close = self.queue.close()

    async def start(self) -> Reading:
        await self.session.run(self.begin)
        await self.session.run(self.close)
        return self

    async def all(self, at_once: int | None = None) -> list[tuple[bytes, bytes]]:
        """All records until the queue has no more files."""
        found: list[tuple[bytes, bytes]] = []
        while True:
            try:
                if at_once is None:
                    found.append(tuple(await self.session.run(list(self.read))))
                else:
                    keys, values = await self.session.run(list(self.read_some), {self.count: at_once})
                    assert 1 <= len(keys) == len(values) <= at_once
                    found += zip(keys, values)
            except errors.OutOfRangeError:
                return found


def records(path: Path, count: int, packing: str = "") -> list[bytes]:
    """A TFRecord file of `count` records."""
    made = [b"%d " % i * (i % 7) for i in range(count)]
    with af.io.TFRecordWriter(path, packing) as writer:
        for record in made:
            writer.write(record)
    return made


@pytest.mark.parametrize("at_once", [None, 1, 3, 100])
async def test_f82_text_lines(tmp_path: Path, at_once: int | None) -> None:
    a, b, empty = tmp_path / "a", tmp_path / "b", tmp_path / "empty"
    a.write_bytes(b"one\r\ntw\ro\n\nlast")
    b.write_bytes(b"x\ny\n")
    empty.write_bytes(b"")
    reader = af.TextLineReader()
    async with af.Session() as session:
        reading = await Reading(reader, [a, b, empty], session).start()
        expected = [(a, 1, b"one"), (a, 2, b"tw\ro"), (a, 3, b""), (a, 4, b"last"), (b, 1, b"x"), (b, 2, b"y")]
        assert await reading.all(at_once) == [(os.fsencode(f"{p}:{n}"), line) for p, n, line in expected]
        assert await session.run(reading.numbers) == [6, 3]


async def test_f82_headers_fixed_lengths_whole_files_and_names(tmp_path: Path) -> None:
    text, fixed, packed = tmp_path / "t", tmp_path / "f", tmp_path / "z"
    text.write_bytes(b"head\nx\ny\n")
    fixed.write_bytes(b"HHABCDEFGHIJKFF")
    packed.write_bytes(zlib.compress(b"HHABCDEFGHIJKFF"))
    letters = [b"ABC", b"DEF", b"GHI"]
    cases = [
        (af.TextLineReader(skip_header_lines=1), text, [(":2", b"x"), (":3", b"y")]),
        (af.FixedLengthRecordReader(3, 2, 2), fixed, [(f":{i}", v) for i, v in enumerate(letters)]),
        (af.FixedLengthRecordReader(3, 2, 2, encoding="ZLIB"), packed, [(f":{i}", v) for i, v in enumerate(letters)]),
        (af.FixedLengthRecordReader(3, hop_bytes=5), fixed, [(":0", b"HHA"), (":1", b"DEF"), (":2", b"IJK")]),
        (af.WholeFileReader(), text, [("", b"head\nx\ny\n")]),
        (af.IdentityReader(), text, [("", os.fsencode(text))]),
    ]
    async with af.Session() as session:
        for reader, path, expected in cases:
            reading = await Reading(reader, [path], session).start()
            assert await reading.all() == [(os.fsencode(f"{path}{label}"), value) for label, value in expected]
            assert await session.run(reading.numbers) == [len(expected), 1]


@pytest.mark.parametrize("packing", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("chunk", [20, 4096])
async def test_f82_tfrecords_in_chunks(
    tmp_path: Path, packing: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_state, "CHUNK", chunk)
    made = records(tmp_path / "r", 30, packing)
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(options=packing), [tmp_path / "r"] * 2, session).start()
        found = await reading.all(8)
        offsets = np.cumsum([0] + [len(record) + 16 for record in made])[:-1]
        assert found == [(os.fsencode(f"{tmp_path / 'r'}:{o}"), v) for o, v in zip(offsets, made)] * 2


async def test_f82_reading_leaves_the_event_loop_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = records(tmp_path / "r", 500)
    threads: list[threading.Thread] = []
    load = reader_state._load
    monkeypatch.setattr(reader_state, "_load", lambda *a: (threads.append(threading.current_thread()), load(*a))[1])
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(), [tmp_path / "r"], session).start()
        assert [value for _, value in await reading.all()] == made
    # one hop for the chunk and all its records
    assert len(threads) == 1 and threads[0] is not threading.main_thread()


@pytest.mark.parametrize("packing", ["", "GZIP"])
async def test_a_damaged_record_is_named_after_those_before_it(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "damaged"
    made = records(path, 6)
    content = bytearray(path.read_bytes())
    offset = sum(len(record) + 16 for record in made[:4])
    content[offset + 13] ^= 1
    path.write_bytes(gzip.compress(content) if packing else content)
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(options=packing), [path, path], session).start()
        _, values = await session.run(list(reading.read_some), {reading.count: 100})
        assert list(values) == made[:4]
        for _ in range(2):
            with pytest.raises(errors.DataLossError, match=f"byte {offset} of '{path}'") as caught:
                await session.run(list(reading.read))
            assert caught.value.node == reading.read.key.op.name
        assert await session.run(reading.numbers) == [4, 0]
        await session.run(reading.reader.reset())
        assert [v for _, v in [await session.run(list(reading.read)) for _ in range(4)]] == made[:4]


@pytest.mark.parametrize("packing", ["", "GZIP", "ZLIB"])
async def test_a_truncated_file_gives_what_is_whole(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "cut"
    made = records(path, 6, packing)
    path.write_bytes(path.read_bytes()[:-10])
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(options=packing), [path], session).start()
        _, values = await session.run(list(reading.read_some), {reading.count: 100})
        assert list(values) == made[: len(values)] and len(values) >= 4
        with pytest.raises(errors.DataLossError, match="cut off"):
            await session.run(list(reading.read))


async def test_a_missing_file_is_left_out_after_its_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\n")
    async with af.Session() as session:
        reading = await Reading(af.TextLineReader(), [tmp_path / "none", tmp_path / "a"], session).start()
        with pytest.raises(errors.NotFoundError, match="none") as caught:
            await session.run(list(reading.read))
        assert caught.value.node == reading.read.key.op.name
        assert [v for _, v in await reading.all()] == [b"x"]
        assert await session.run(reading.numbers) == [1, 1]


@pytest.mark.parametrize("packing", ["", "GZIP"])
async def test_a_reader_goes_on_where_its_state_says(tmp_path: Path, packing: str) -> None:
    made = records(tmp_path / "r", 20, packing)
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(options=packing), [tmp_path / "r"], session).start()
        await session.run(list(reading.read_some), {reading.count: 7})
        state = await session.run(reading.reader.serialize_state())
        rest = [v for _, v in await reading.all(4)]
        assert rest == made[7:]
        value = af.placeholder(af.string, ())
        await session.run(reading.reader.restore_state(value), {value: state})
        assert await session.run(reading.numbers) == [7, 0]
        assert [v for _, v in await reading.all(4)] == rest
        assert await session.run(reading.numbers) == [20, 1]
        for junk in (b"junk", b"\x08\x05"):
            with pytest.raises(errors.InvalidArgumentError):
                await session.run(reading.reader.restore_state(value), {value: junk})


async def test_states_of_tensorflow_are_read() -> None:
    async with af.Session() as session:
        reader = af.IdentityReader()
        await session.run(reader.restore_state(b"\x08\x01\x10\x01\x18\x01"))
        assert await session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [1, 1]


async def test_a_cancelled_read_takes_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = records(tmp_path / "r", 5)
    inside, go_on = threading.Event(), threading.Event()
    load = reader_state._load

    def slow(*arguments: Any) -> Any:
        inside.set()
        go_on.wait()
        return load(*arguments)

    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(), [tmp_path / "r"], session).start()
        monkeypatch.setattr(reader_state, "_load", slow)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run, list(reading.read))
            await anyio.to_thread.run_sync(inside.wait)
            tasks.cancel_scope.cancel()
        go_on.set()
        monkeypatch.setattr(reader_state, "_load", load)
        assert [v for _, v in await reading.all()] == made


async def test_a_read_waits_for_the_queue_and_reads_take_turns(tmp_path: Path) -> None:
    made = records(tmp_path / "r", 10)
    queue = af.FIFOQueue(9, af.string, shapes=[()])
    _, value = af.TFRecordReader().read(queue)
    enqueue = queue.enqueue([os.fspath(tmp_path / "r")])
    found: list[bytes] = []

    async def read() -> None:
        found.append(await session.run(value))

    async with af.Session() as session:
        async with anyio.create_task_group() as tasks:
            for _ in made:
                tasks.start_soon(read)
            await session.run(enqueue)
    assert sorted(found) == sorted(made)


async def test_a_queue_of_other_things_is_refused() -> None:
    async with af.Session() as session:
        for queue in (af.FIFOQueue(9, af.int32, shapes=[()]), af.FIFOQueue(9, [af.string] * 2, shapes=[(), ()])):
            with pytest.raises(errors.InvalidArgumentError, match="one string"):
                await session.run(list(af.IdentityReader().read(queue)))
        queue = af.FIFOQueue(9, af.string, shapes=[()])
        with pytest.raises(errors.InvalidArgumentError, match="num_records"):
            await session.run(list(af.IdentityReader().read_up_to(queue, 0)))


def test_arguments_are_checked_at_once() -> None:
    with pytest.raises(ValueError, match="record_bytes"):
        af.FixedLengthRecordReader(0)
    with pytest.raises(ValueError, match="hop_bytes"):
        af.FixedLengthRecordReader(3, hop_bytes=-1)
    with pytest.raises(ValueError, match="skip_header_lines"):
        af.TextLineReader(-1)
    with pytest.raises(ValueError, match="LZ4"):
        af.TFRecordReader(options="LZ4")


async def test_a_replaced_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_state, "CHUNK", 64)
    records(tmp_path / "r", 20)
    records(tmp_path / "other", 20)
    async with af.Session() as session:
        reading = await Reading(af.TFRecordReader(), [tmp_path / "r"], session).start()
        await session.run(list(reading.read))
        os.replace(tmp_path / "other", tmp_path / "r")
        with pytest.raises(errors.DataLossError, match="replaced"):
            await session.run(list(reading.read_some), {reading.count: 20})


def test_f82_a_graph_of_readers_survives_its_bytes(graph: Graph) -> None:
    af.TFRecordReader(options="GZIP").read_up_to(af.FIFOQueue(9, af.string, shapes=[()]), 5)
    assert str(Graph.from_bytes(graph.to_bytes())) == str(graph)
