"""The simulated file system: what a crash takes and what it leaves, and the faults of disks, as a store meets them."""

from __future__ import annotations

import errno
import random
from typing import Any

import numpy as np
import pytest

from actorflow import errors
from actorflow.checkpoint import reading, writing
from actorflow.checkpoint.format import layout
from actorflow.checkpoint.stores.store import LocalStore, read_all, register_store
from actorflow.testing import Crash, FileFaults, SimulatedFiles
from actorflow.testing.files import SECTOR

OLD, NEW = b"old" * 700, b"new!" * 900


def files(seed: int = 0, **faults: Any) -> SimulatedFiles:
    return SimulatedFiles(faults=FileFaults(**faults), chance=random.Random(seed))


def whole(found: SimulatedFiles, path: str) -> bytes:
    """The content of a file."""
    fd = found.open(path)
    buffer = memoryview(bytearray(found.size(fd)))
    found.read_into(fd, buffer, 0)
    found.close(fd)
    return bytes(buffer)


def written(found: SimulatedFiles, path: str, content: bytes, *, sync: bool = False) -> None:
    fd = found.create(path)
    assert found.write(fd, content) == len(content)
    if sync:
        found.sync(fd)
        found.sync_folder("d")
    found.close(fd)


# ---- crashes


def test_what_was_flushed_survives_and_the_rest_may_be_anything() -> None:
    kept: set[str] = set()
    for seed in range(200):
        found = files(seed)
        written(found, "d/flushed", OLD, sync=True)
        fd = found.create("d/appended")
        found.write(fd, OLD)
        found.sync(fd)
        found.sync_folder("d")
        found.write(fd, NEW)
        written(found, "d/unflushed", NEW)
        found.stop()
        with pytest.raises(Crash):
            found.list("d")
        found.reboot()
        assert whole(found, "d/flushed") == OLD
        appended = whole(found, "d/appended")
        assert appended.startswith(OLD) and len(appended) <= len(OLD + NEW)
        kept.add(_how(appended, OLD + NEW, len(OLD)))
        kept.add("no name" if "unflushed" not in found.list("d") else _how(whole(found, "d/unflushed"), NEW, 0))
    assert kept == {"none", "all", "a part", "holes", "no name"}


def _how(content: bytes, all_of_it: bytes, flushed: int) -> str:
    if len(content) == flushed:
        return "none"
    if content == all_of_it[: len(content)]:
        return "all" if content == all_of_it else "a part"
    for start in range(0, len(content), SECTOR):
        part = slice(max(start, flushed), start + SECTOR)
        assert content[part] == all_of_it[: len(content)][part] or not any(content[part])
    return "holes"


def test_a_crash_of_the_process_alone_loses_nothing_that_was_written() -> None:
    found = files()
    fd = found.create("d/file")
    found.write(fd, NEW)
    found.stop()
    found.reboot(lose=False)
    assert whole(found, "d/file") == NEW
    with pytest.raises(OSError, match="Bad file descriptor"):
        found.write(fd, NEW)


def test_f66_a_crash_amid_a_store_s_write_leaves_the_old_file_or_the_new(seed: int) -> None:
    chance, outcomes = random.Random(seed), set()
    for case in range(300):
        found = files(chance.getrandbits(32), short_write=0.3)
        store = LocalStore("d", found)
        store.write("file", [OLD])
        found.stop_after(chance.randrange(1, 14))
        finished = False
        try:
            store.write("file", [NEW[:1000], NEW[1000:]])
            finished = True
        except Crash:
            pass
        found.stop()
        found.reboot()
        content = read_all(store, "file", 1 << 20)
        assert content == NEW or (content == OLD and not finished), f"case {case}"
        outcomes.add((finished, content == NEW))
    assert outcomes == {(True, True), (False, True), (False, False)}


def test_equal_seeds_lose_the_same() -> None:
    def after(seed: int) -> bytes:
        found = files(seed)
        for number in range(5):
            written(found, f"d/{number}", bytes([number]) * 5000)
        found.reboot()
        return b"".join(whole(found, f"d/{name}") for name in sorted(found.list("d")))

    assert [after(seed) for seed in range(10)] == [after(seed) for seed in range(10)]
    assert len({after(seed) for seed in range(10)}) > 5


# ---- faults


def test_short_writes_are_completed_by_the_store() -> None:
    store = LocalStore("d", files(short_write=0.9))
    store.write("file", [OLD, NEW])
    assert read_all(store, "file", 1 << 20) == OLD + NEW


def test_a_full_disk_is_reported_and_leaves_what_was_there() -> None:
    found = files(capacity=len(OLD) + 2000)
    store = LocalStore("d", found)
    store.write("file", [OLD])
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        store.write("file", [NEW])
    assert read_all(store, "file", 1 << 20) == OLD and store.list() == ["file"]
    assert found.used == len(OLD)
    store.write("file", [NEW[:2000]])
    assert read_all(store, "file", 1 << 20) == NEW[:2000]


@pytest.mark.parametrize("fault", ["failed_write", "failed_sync"])
def test_a_disk_that_fails_is_reported_and_leaves_what_was_there(fault: str) -> None:
    found = files()
    store = LocalStore("d", found)
    store.write("file", [OLD])
    found.faults = FileFaults(**{fault: 1.0})
    with pytest.raises(errors.DataLossError, match="Input/output error"):
        store.write("file", [NEW])
    found.faults = FileFaults()
    assert read_all(store, "file", 1 << 20) == OLD and store.list() == ["file"]


def test_a_bit_that_flips_is_seen_by_the_checkpoint(seed: int) -> None:
    found = files(seed)
    register_store("flipping", lambda folder: LocalStore(folder, found))
    store = LocalStore("flipping://models", found)
    pieces = [layout.piece("w", "variable", np.arange(1000.0))]
    writing.commit(store, "model", writing.write_shards(store, "model", {"/device:CPU:0": pieces}))
    assert not reading.Reader("flipping://models/model").verify()
    (shard,) = (name for name in store.list() if name.endswith(".safetensors"))
    bit = found.flip(store.where(shard))
    with pytest.raises(errors.DataLossError, match="model"):
        reader = reading.Reader("flipping://models/model")
        reader.read(reader.manifest.entries)
    found.flip(store.where(shard), bit)
    reader = reading.Reader("flipping://models/model")
    assert not reader.verify()
    found.faults = FileFaults(bit_flip=1.0)
    with pytest.raises(errors.DataLossError):
        reader.read(reader.manifest.entries)


def test_errors_are_those_of_the_operating_system() -> None:
    found = files()
    written(found, "d/file", OLD)
    with pytest.raises(FileExistsError):
        found.create("d/file")
    with pytest.raises(FileNotFoundError):
        found.open("d/other")
    with pytest.raises(OSError) as caught:
        found.close(7)
    assert caught.value.errno == errno.EBADF
