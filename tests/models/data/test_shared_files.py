"""Files that several workers share: each is read once in an epoch, those of a lost worker by others."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from clusters import servers

import actorflow as af
from actorflow.errors import FailedPreconditionError, InvalidArgumentError
from actorflow.models.data.sharing.file_pool import FilePool
from actorflow.models.data.stage import EndOfSequence

ONE, OTHER = b"one", b"other"


def pool(count: int = 3, epochs: int = 1, seed: int = -1) -> FilePool:
    made = FilePool("files")
    made.begin([b"%d" % number for number in range(count)], epochs, 10.0, seed)
    return made


def taken(files: FilePool, reader: bytes, now: float = 0.0) -> Any:
    try:
        return files.take(reader, now)
    except EndOfSequence:
        return "end"


def test_each_file_is_given_once_and_the_end_comes_when_all_are_read() -> None:
    files = pool()
    assert [taken(files, r) for r in (ONE, OTHER, ONE)] == [b"0", b"1", b"2"]
    assert taken(files, OTHER) is None, "the last one is not read yet"
    assert taken(files, ONE) == "end" and taken(files, OTHER) == "end"


def test_a_file_of_a_lost_reader_is_read_by_another_after_all_others() -> None:
    files = pool()
    assert [taken(files, ONE), taken(files, OTHER, 11.0)] == [b"0", b"1"], "it is not taken while others are left"
    assert taken(files, OTHER, 11.0) == b"2"
    assert taken(files, OTHER, 11.0) == b"0" and not files.renew(ONE, 11.0)
    assert taken(files, ONE, 12.0) is None and taken(files, OTHER, 12.0) == "end"


def test_a_reader_that_renews_keeps_its_file() -> None:
    files = pool(1)
    assert taken(files, ONE) == b"0" and files.renew(ONE, 9.0)
    assert taken(files, OTHER, 18.0) is None and taken(files, OTHER, 19.0) == b"0"


def test_an_epoch_begins_when_the_one_before_it_is_read() -> None:
    files = pool(2, epochs=2)
    assert [taken(files, r) for r in (ONE, OTHER, ONE)] == [b"0", b"1", None]
    assert taken(files, OTHER) == b"0", "the first of the second epoch"


def test_a_seed_shuffles_each_epoch_anew() -> None:
    files = pool(20, epochs=3, seed=5)
    rounds = [[taken(files, ONE) for _ in range(20)] for _ in range(3)]
    assert len({tuple(found) for found in rounds}) == 3 and len({frozenset(found) for found in rounds}) == 1


def test_a_state_has_what_is_not_read() -> None:
    files, later = pool(4), FilePool("files")
    assert [taken(files, r) for r in (ONE, OTHER, ONE)] == [b"0", b"1", b"2"]
    later.restore(files.state())
    assert [taken(later, ONE) for _ in range(4)] == [b"1", b"2", b"3", "end"]


@pytest.mark.parametrize("act", [FilePool.state, lambda files: files.restore(b"")], ids=["state", "restore"])
def test_a_checkpoint_waits_for_a_reader_that_takes(act: Any) -> None:
    files = pool()
    with ThreadPoolExecutor(1) as thread:
        with files._lock:
            acting = thread.submit(act, files)
            with pytest.raises(TimeoutError):
                acting.result(0.05)
        acting.result()


def test_what_is_refused() -> None:
    with pytest.raises(FailedPreconditionError, match="initializer"):
        FilePool("files").take(ONE, 0.0)
    with pytest.raises(InvalidArgumentError, match="each once"):
        FilePool("files").begin([b"a", b"a"], 1, 1.0, -1)
    with af.Graph().as_default(), pytest.raises(ValueError, match="positive"):
        af.data.SharedFiles(["a"], lease=0)
    with pytest.raises(ValueError, match="need a shared_name"):
        program(["a"], shared_name=None)


@pytest.mark.parametrize("given", [(b"ac", 2, 10.0, 5), (b"ab", 1, 10.0, 5), (b"ab", 2, 9.0, 5), (b"ab", 2, 10.0, 6)])
def test_a_pool_does_not_begin_with_other_files(given: Any) -> None:
    letters, *options = given
    files = FilePool("files")
    files.begin([b"a", b"b"], 2, 10.0, 5)
    files.begin([b"b", b"a"], 2, 10.0, 5)
    with pytest.raises(InvalidArgumentError, match="has begun with other"):
        files.begin([bytes([letter]) for letter in letters], *options)


async def test_objects_without_a_shared_name_have_files_of_their_own(tmp_path: Path) -> None:
    names = written(tmp_path, 2, 1)
    with af.Graph().as_default() as graph:
        each = [af.data.SharedFiles([name]) for name in names]
    async with af.Session(graph=graph) as session:
        for files in each:
            await session.run(files.initializer)
        found = [[line async for line in files.read(session, af.data.TextLineDataset)] for files in each]
    assert found == [[b"0/0"], [b"1/0"]]


def written(folder: Path, count: int, lines: int) -> list[str]:
    for number in range(count):
        (folder / str(number)).write_text("".join(f"{number}/{line}\n" for line in range(lines)))
    return [str(folder / str(number)) for number in range(count)]


def program(names: list[str], **options: Any) -> tuple[af.Graph, af.data.SharedFiles]:
    """The program of a worker."""
    graph = af.Graph()
    with graph.as_default(), af.device("/job:ps/task:0"):
        return graph, af.data.SharedFiles(names, **{"shared_name": "train", **options})


@pytest.mark.allow_leaks("threads")
async def test_workers_of_a_cluster_read_each_file_once(tmp_path: Path) -> None:
    names = written(tmp_path, 7, 5)
    found: list[list[bytes]] = [[], []]

    async def work(target: str, mine: list[bytes]) -> None:
        graph, files = program(names, epochs=2)
        async with af.Session(target, graph) as session:
            await session.run(files.initializer)
            async with files.read(session, af.data.TextLineDataset).iterate() as lines:
                async for line in lines:
                    mine.append(line)

    async with servers({"ps": 1, "worker": 2}) as started, anyio.create_task_group() as workers:
        for server, mine in zip(started[1:], found):
            workers.start_soon(work, server.target, mine)
    expected = sorted(b"%d/%d" % (file, line) for file in range(7) for line in range(5))
    assert sorted(found[0] + found[1]) == sorted(expected * 2)
    assert all(len(mine) % 5 == 0 for mine in found)


@pytest.mark.allow_leaks("threads")
async def test_others_read_the_files_of_a_worker_that_is_lost(tmp_path: Path) -> None:
    """One worker's program ends in the middle of a file, without a word; the other one reads that file from its beginning."""
    names = written(tmp_path, 4, 3)
    async with servers({"ps": 1, "worker": 2}) as started:
        graph, files = program(names, lease=0.2)
        async with af.Session(started[1].target, graph) as session:
            await session.run(files.initializer)
            lines = files.read(session, af.data.TextLineDataset).iterate()
            first = [await lines.__anext__() for _ in range(2)]
            await lines.aclose()
        other, shared = program(names, lease=0.2)
        async with af.Session(started[2].target, other) as session:
            await session.run(shared.initializer)
            rest = [line async for line in shared.read(session, af.data.TextLineDataset)]
    assert first == [b"0/0", b"0/1"]
    assert rest == [b"%d/%d" % (file, line) for file in (1, 2, 3, 0) for line in range(3)]


async def test_an_iteration_that_goes_on_leaves_no_file_out(tmp_path: Path) -> None:
    """It reads on in the file where the state was taken; the names that others have not taken still come."""
    with af.Graph().as_default() as graph:
        files = af.data.SharedFiles(written(tmp_path, 4, 3), lease=1000.0)
    async with af.Session(graph=graph) as session:
        await session.run(files.initializer)
        dataset = files.read(session, af.data.TextLineDataset)
        lines = dataset.iterate()
        first = [await lines.__anext__() for _ in range(4)]
        state = lines.state()
        assert first == [b"0/0", b"0/1", b"0/2", b"1/0"]
        await lines.aclose()
        async with dataset.iterate(state) as again:
            rest = [await again.__anext__() for _ in range(5)]
    assert rest == [b"1/1", b"1/2", b"2/0", b"2/1", b"2/2"]


async def test_a_reader_that_waits_for_others_tells_so_and_is_stopped(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        files = af.data.SharedFiles(written(tmp_path, 1, 1))
    async with af.Session(graph=graph) as session:
        await session.run(files.initializer)
        assert await session.run(files._next, {files._reader: "one"})
        waiting = asyncio.create_task(session.run(files._next, {files._reader: "other"}))
        while "the pool of files 'FilePool'" not in session.pending():
            await anyio.lowlevel.checkpoint()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(af.errors.OutOfRangeError):
            await session.run(files._next, {files._reader: "one"})
