"""Writers of event files: what they write, when, and what they do where the disk fails."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.base.records.summaries import FILE_VERSION
from actorflow.base.records.tfrecord import split
from actorflow.models.summary.protos import Event, SessionLog, Summary
from actorflow.summary import FileWriter, Writer, read_events


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    return [
        (event.step, value.tag, value.simple_value) for event in read_events(folder) for value in event.summary.value
    ]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*tfevents*"))


def test_f94_a_file_begins_with_its_version_and_holds_what_was_added(tmp_path: Path) -> None:
    with FileWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_summary(Summary(value=[Summary.Value(tag="loss", simple_value=0.5)]), 3)
        writer.add_session_log(SessionLog(status=SessionLog.START), global_step=4)
        writer.add_event(Event(step=5, wall_time=1.5))
    (file,) = files(tmp_path)
    assert (
        file.name.startswith("events.out.tfevents.") and file.name.endswith(".mine") and str(os.getpid()) in file.name
    )
    first, summary, log, last = read_events(tmp_path)
    assert first.file_version == FILE_VERSION and first.source_metadata.writer == "actorflow"
    assert (summary.step, summary.summary.value[0].tag) == (3, "loss") and summary.wall_time >= first.wall_time
    assert (log.step, log.session_log.status) == (4, SessionLog.START)
    assert (last.step, last.wall_time) == (5, 1.5)
    assert split(file.read_bytes(), at_end=True).damage is None


def test_the_file_is_there_as_soon_as_the_writer_is(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a" / "b") as writer:
        assert [event.file_version for event in read_events(writer.get_logdir())] == [FILE_VERSION]


def test_metadata_is_written_once_for_each_tag(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        for step in range(3):
            writer.histogram("h", [1.0, 2.0], step)
    values = [value for event in read_events(tmp_path) for value in event.summary.value]
    assert [value.metadata.plugin_data.plugin_name for value in values] == ["histograms", "", ""]


def test_a_full_queue_is_written_at_once(tmp_path: Path) -> None:
    with Writer(tmp_path, max_queue=3, flush_secs=10_000) as writer:
        written = threading.Event()
        append = writer._queue._file.append
        writer._queue._file.append = lambda batch: (append(batch), written.set())[0]  # type: ignore[method-assign]
        for step in range(3):
            writer.scalar("loss", step, step)
        assert written.wait(PATIENCE)
        assert scalars(tmp_path) == [(0, "loss", 0.0), (1, "loss", 1.0), (2, "loss", 2.0)]


def test_flush_writes_what_waits(tmp_path: Path) -> None:
    with Writer(tmp_path, max_queue=1000, flush_secs=10_000) as writer:
        writer.scalar("loss", 0.5, 1)
        assert writer.statistics().pending == 1 and not scalars(tmp_path)
        writer.flush()
        assert scalars(tmp_path) == [(1, "loss", 0.5)]
        told = writer.statistics()
        assert (told.written, told.pending, told.lost, told.failures) == (1, 0, 0, 0)
        assert told.path == str(files(tmp_path)[0])


def test_a_large_file_is_followed_by_another(tmp_path: Path) -> None:
    with Writer(tmp_path, max_bytes=200) as writer:
        for step in range(9):
            writer.scalar("loss", step, step)
            writer.flush()
    assert len(files(tmp_path)) > 2
    assert all(next(read_events(file)).file_version == FILE_VERSION for file in files(tmp_path))
    assert [step for step, _, _ in scalars(tmp_path)] == list(range(9))


def _write_elsewhere(folder: Path) -> None:
    with Writer(folder) as writer:
        for step in range(20):
            writer.scalar("loss", os.getpid(), step)


def test_several_processes_write_in_one_folder(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with Writer(tmp_path) as writer:
        children = [spawn.Process(target=_write_elsewhere, args=(tmp_path,)) for _ in range(2)]
        for child in children:
            child.start()
        for step in range(20):
            writer.scalar("loss", os.getpid(), step)
        for child in children:
            child.join()
            assert child.exitcode == 0
            child.close()
    assert len(files(tmp_path)) == 3
    assert sorted(step for step, _, _ in scalars(tmp_path)) == sorted(list(range(20)) * 3)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_writes_a_file_of_its_own(tmp_path: Path) -> None:
    with Writer(tmp_path, flush_secs=10_000, max_queue=1000) as writer:
        writer.scalar("parent", 1.0, 1)
        child = os.fork()
        if not child:
            try:
                writer.scalar("child", 2.0, 2)
                writer.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        writer.scalar("parent", 3.0, 3)
    assert sorted(scalars(tmp_path)) == [(1, "parent", 1.0), (2, "child", 2.0), (3, "parent", 3.0)]
    assert len(files(tmp_path)) == 2


# ---- disks that fail


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A disk with room for a number of bytes: `full_disk.room`."""

    class Disk:
        room = 1 << 30

    write = os.write

    def limited(fd: int, data: Any) -> int:
        part = data[: Disk.room]
        if len(data) and not len(part):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        Disk.room -= len(part)
        return write(fd, part)

    monkeypatch.setattr("actorflow.models.summary.event_file.os.write", limited)
    yield Disk


def test_f93_a_full_disk_ends_no_training(tmp_path: Path, full_disk: Any, caplog: pytest.LogCaptureFixture) -> None:
    with Writer(tmp_path, max_queue=1000, flush_secs=10_000) as writer, caplog.at_level(logging.INFO):
        writer.scalar("loss", 1.0, 1)
        writer.flush()
        full_disk.room = 30  # a part of the next record
        for step in (2, 3):
            writer.scalar("loss", step, step)
            writer.flush()
        told = writer.statistics()
        assert (told.written, told.pending, told.lost, told.failures) == (1, 2, 0, 2)
        assert split(files(tmp_path)[0].read_bytes(), at_end=True).damage is None, "the part was taken back"
        full_disk.room = 1 << 30
        writer.flush()
    assert [step for step, _, _ in scalars(tmp_path)] == [1, 2, 3]
    said = [record.getMessage() for record in caplog.records if record.name == "actorflow.summary"]
    assert len(said) == 2, said
    assert "can't be written" in said[0] and "No space left" in said[0] and "written again" in said[1]


def test_what_a_full_disk_keeps_out_for_too_long_is_given_up_and_counted(
    tmp_path: Path, full_disk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Writer(tmp_path, max_queue=1000, flush_secs=10_000, max_pending=300) as writer:
        full_disk.room = 0
        for step in range(1, 101):
            writer.scalar("loss", step, step)
            writer.flush()
        told = writer.statistics()
        assert told.lost + told.pending == 100 and 0 < told.pending < 20
        full_disk.room = 1 << 30
    assert [step for step, _, _ in scalars(tmp_path)] == list(range(told.lost + 1, 101)), "the last ones stay"


def test_a_writer_that_is_closed_on_a_full_disk_says_what_is_lost(
    tmp_path: Path, full_disk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(tmp_path)
    full_disk.room = 0
    writer.scalar("loss", 1.0, 1)
    writer.close()
    assert "summaries were lost" in caplog.text and "events=1" in caplog.text
    assert writer.statistics().lost == 1


def test_a_writer_may_begin_on_a_full_disk(tmp_path: Path, full_disk: Any) -> None:
    full_disk.room = 0
    with Writer(tmp_path) as writer:
        writer.scalar("loss", 1.0, 1)
        full_disk.room = 1 << 30
    assert scalars(tmp_path) == [(1, "loss", 1.0)]


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Writer(folder) as writer:
        writer.scalar("loss", 1.0, 1)
        writer.flush()
        shutil.rmtree(folder)
        writer.scalar("loss", 2.0, 2)
        writer.flush()
        assert scalars(folder) == [(2, "loss", 2.0)]
    assert next(read_events(folder)).file_version == FILE_VERSION


def test_a_folder_that_can_not_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InvalidArgumentError, match="No summaries can be written in"):
        FileWriter(tmp_path / "file" / "run")


# ---- a writer's life


def test_a_closed_writer_warns_and_can_be_opened_again(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
        writer.scalar("loss", 1.0, 1)
    writer.reopen()
    writer.scalar("loss", 2.0, 2)
    writer.close()
    assert scalars(tmp_path) == [(2, "loss", 2.0)] and len(files(tmp_path)) == 2


def test_a_forgotten_writer_writes_what_it_has(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.scalar("loss", 1.0, 1)
    del writer
    assert scalars(tmp_path) == [(1, "loss", 1.0)]


async def test_in_an_event_loop_a_block_closes_on_a_thread(tmp_path: Path) -> None:
    async with Writer(tmp_path) as writer:
        writer.scalar("loss", 1.0, 1)
        await writer.aflush()
        assert len(scalars(tmp_path)) == 1
        writer.scalar("loss", 2.0, 2)
    assert len(scalars(tmp_path)) == 2


def test_one_writer_for_each_folder_in_the_cache(tmp_path: Path) -> None:
    with af.Graph().as_default():
        first = af.summary.FileWriterCache.get(str(tmp_path / "a"))
        assert af.summary.FileWriterCache.get(str(tmp_path / "a")) is first
        assert af.summary.FileWriterCache.get(str(tmp_path / "b")) is not first
    af.summary.FileWriterCache.clear()
    assert len(files(tmp_path / "a")) == 1


def test_a_graph_is_written_with_its_shapes(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        af.placeholder(af.float32, [None, 3], name="x")
    with FileWriter(tmp_path, graph) as writer:
        writer.add_graph(graph, 1)
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            writer.add_graph("graph")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="only graph, or graph_def"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
    found = [event.graph_def for event in read_events(tmp_path) if event.graph_def]
    wanted = graph.as_graph_def(add_shapes=True)
    assert [tf.GraphDef.FromString(data) for data in found] == [wanted, wanted]


def test_the_runs_of_a_trace_are_written_as_run_metadata(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        y = af.square(af.placeholder(af.float32, [], name="x"), name="y")
    trace = af.Trace()
    with af.blocking.Session(graph=graph) as session:
        session.run(y, {"x:0": 3.0}, trace=trace)
    with FileWriter(tmp_path) as writer:
        writer.add_run_metadata(trace, "step 1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(trace, "step 1", 2)
    (tagged,) = [e.tagged_run_metadata for e in read_events(tmp_path) if e.tagged_run_metadata.tag]
    stats = tf.RunMetadata.FromString(tagged.run_metadata).step_stats
    nodes = [node for device in stats.dev_stats for node in device.node_stats]
    assert tagged.tag == "step 1" and "y" in [node.node_name for node in nodes]
    assert all(node.all_end_rel_micros >= 1 for node in nodes), "TensorBoard takes 0 for a node that did not run"
    assert [device.device[-12:] for device in stats.dev_stats] == ["device:CPU:0"]


def test_steps_of_numpy_and_plain_numbers_are_steps(tmp_path: Path) -> None:
    import numpy as np

    with Writer(tmp_path) as writer:
        for step in (np.int64(2**40), np.array(7), 8.0):
            writer.scalar("loss", np.float32(0.5), step)  # type: ignore[arg-type]
    assert [step for step, _, _ in scalars(tmp_path)] == [2**40, 7, 8]


def test_sessions_accept_no_writer_of_a_graph(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="takes no session"):
        FileWriter(tmp_path, session=object())  # type: ignore[arg-type]


# ---- reading


def test_f94_damaged_files_are_read_up_to_the_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Writer(tmp_path) as writer:
        for step in range(4):
            writer.scalar("loss", step, step)
    (file,) = files(tmp_path)
    data = file.read_bytes()
    sizes = set()
    for end in range(0, len(data), 7):
        file.write_bytes(data[:end])
        sizes.add(len(list(read_events(file))))
    assert sizes == {0, 1, 2, 3, 4}
    file.write_bytes(data[:-9] + b"!" + data[-8:])
    with caplog.at_level(logging.INFO):
        assert [step for step, _, _ in scalars(tmp_path)] == [0, 1, 2]
    assert "read up to its damage" in caplog.text


def test_foreign_files_hold_nothing(tmp_path: Path) -> None:
    from actorflow.base.records.tfrecord import frame

    (tmp_path / "a.tfevents").write_bytes(b"PK\x03\x04 this is something else altogether")
    (tmp_path / "b.tfevents").write_bytes(frame(b"\xff\xff\xff no event"))
    (tmp_path / "c.tfevents").write_bytes(b"")
    assert list(read_events(tmp_path)) == []
    with pytest.raises(errors.DataLossError, match=r"of '.*a.tfevents' is damaged"):
        list(af.train.summary_iterator(tmp_path / "a.tfevents"))
    with pytest.raises(errors.DataLossError, match="is no event"):
        list(af.train.summary_iterator(tmp_path / "b.tfevents"))
    with pytest.raises(errors.NotFoundError, match="There is no file or folder"):
        read_events(tmp_path / "gone")


def test_a_file_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        for step in range(5):
            writer.scalar("loss", step, step)
            writer.flush()
            assert len(scalars(tmp_path)) == step + 1
