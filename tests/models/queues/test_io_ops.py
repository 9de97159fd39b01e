"""Files and images as ops: what is read, written and found, where nodes may go, and what Pillow decodes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.records.reading import opening
from actorflow.graph.graph import Graph
from actorflow.kernels.io import files, images


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


async def run(fetch: Any, roots: Any = None) -> Any:
    async with af.Session() as session:
        for manager in session._engine.resources.values():
            manager.file_roots = roots
        return await session.run(fetch)


# ---- files


async def test_f82_files_are_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new/folder/file"
    threads: list[threading.Thread] = []
    read_all = files.read_all
    monkeypatch.setattr(files, "read_all", lambda *a: (threads.append(threading.current_thread()), read_all(*a))[1])
    content = bytes(range(256)) * 5000 + b"\0\0"
    await run(af.write_file(str(path), content))
    assert path.read_bytes() == content
    assert await run(af.read_file(str(path))) == content
    assert threads and threading.main_thread() not in threads
    await run(af.write_file(str(path), b"short"))
    assert await run(af.read_file(str(path))) == b"short"


async def test_what_can_not_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    cases = [
        (errors.NotFoundError, af.read_file(str(tmp_path / "none")), "none"),
        (errors.FailedPreconditionError, af.read_file(str(tmp_path)), "directory"),
        (errors.FailedPreconditionError, af.read_file(str(tmp_path / "file/x")), "file/x"),
        (errors.InvalidArgumentError, af.read_file(str(tmp_path / "pipe")), "regular"),
        (errors.InvalidArgumentError, af.read_file(b"a\0b"), "NUL"),
        (errors.FailedPreconditionError, af.write_file(str(tmp_path), b"x"), "directory"),
    ]
    for kind, fetch, match in cases:
        with pytest.raises(kind, match=match) as caught:
            await run(fetch)
        assert caught.value.node == getattr(fetch, "op", fetch).name
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        af.read_file(["a", "b"])


async def test_files_that_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.txt", "a.txt", ".hidden.txt", "c.bin"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "sub/deep/x.txt").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    cases: list[tuple[Any, list[bytes]]] = [  # TensorFlow's answers
        ("*.txt", [b"./.hidden.txt", b"./a.txt", b"./b.txt"]),
        (["b*", "a*", "b.t*"], [b"./a.txt", b"./b.txt", b"./b.txt"]),
        ("none*", []),
        ("none/*", []),
        ("sub/*/x.txt", [b"sub/deep/x.txt"]),
        ("b.txt", [b"b.txt"]),
        (f"{tmp_path}/[ab].txt", [os.fsencode(tmp_path / n) for n in ("a.txt", "b.txt")]),
    ]
    for pattern, expected in cases:
        assert list(await run(af.matching_files(pattern))) == expected, pattern
    with pytest.raises(ValueError, match="vector"):
        af.matching_files([["a"]])


async def test_nodes_stay_below_the_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub/in").write_bytes(b"in")
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "inner").symlink_to(root / "sub")
    roots = [str(root)]
    assert await run(af.read_file(str(root / "inner/in")), roots) == b"in"
    await run(af.write_file(str(root / "made/here"), b"x"), roots)
    assert (root / "made/here").read_bytes() == b"x"
    for name in ("../secret", "link", "folder/secret", "sub/../../secret"):
        with pytest.raises(errors.PermissionDeniedError, match="root"):
            await run(af.read_file(str(root / name)), roots)
        with pytest.raises(errors.PermissionDeniedError):
            await run(af.write_file(str(root / name), b"overwritten"), roots)
    with pytest.raises(errors.PermissionDeniedError):
        await run(af.matching_files(str(tmp_path / "*")), roots)
    assert list(await run(af.matching_files(str(root / "*/secret")), roots)) == []
    assert (tmp_path / "secret").read_bytes() == b"secret"
    with pytest.raises(errors.PermissionDeniedError):
        await run(af.read_file(str(root / "sub/in")), [])


def test_a_link_that_is_put_in_after_the_check_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(os.fsencode(folder.name))
    check = opening.check

    def swap(path: Any, roots: Any) -> str:
        real = check(path, roots)
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        return real

    monkeypatch.setattr(opening, "check", swap)
    with pytest.raises(errors.OpError):
        opening.read_all(str(root / "sub/file"), [str(root)])


async def test_readers_stay_below_the_roots(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    queue = af.FIFOQueue(9, af.string, shapes=[()])
    enqueue = queue.enqueue([str(tmp_path / "secret")])
    read = af.WholeFileReader().read(queue)
    async with af.Session() as session:
        for manager in session._engine.resources.values():
            manager.file_roots = [str(tmp_path / "root")]
        await session.run(enqueue)
        with pytest.raises(errors.PermissionDeniedError):
            await session.run(list(read))


async def test_a_cancelled_read_returns_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(files, "read_all", lambda *_: (inside.set(), go_on.wait(), b"")[2])
    fetch = af.read_file("x")
    async with af.Session() as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run, fetch)
            await anyio.to_thread.run_sync(inside.wait)
            tasks.cancel_scope.cancel()
        assert not go_on.is_set()
        go_on.set()


# ---- images

# One row of a red and a blue pixel.
PIXELS = np.array([[[255, 0, 0], [0, 128, 255]]], np.uint8)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
async def test_png(channels: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (5, 7, channels), np.uint8)
    content = af.io.encode_png(image)
    assert np.array_equal(await run(af.io.decode_png(content)), image)
    assert (await run(af.io.decode_png(content, channels=3))).shape == (5, 7, 3)
    wide = np.random.default_rng(seed).integers(0, 65536, (5, 7, 1), np.uint16)
    assert np.array_equal(await run(af.io.decode_png(af.io.encode_png(wide), dtype=af.uint16)), wide)


async def test_jpeg() -> None:
    slope = np.broadcast_to(np.arange(0, 256, 8, dtype=np.uint8)[:, None, None], (32, 32, 3))
    content = af.io.encode_jpeg(np.ascontiguousarray(slope), quality=100)
    found = await run(af.io.decode_jpeg(content))
    assert found.dtype == np.uint8 and np.abs(found.astype(int) - slope).max() <= 3
    assert (await run(af.io.decode_jpeg(content, channels=1))).shape == (32, 32, 1)
    assert (await run(af.io.decode_jpeg(content, ratio=2))).shape == (16, 16, 3)
    whole = await run(content)
    with pytest.raises(errors.InvalidArgumentError, match="JPEG"):
        await run(af.io.decode_jpeg(whole[: len(whole) // 2]))


async def test_images_by_their_first_bytes() -> None:
    png = await run(af.io.encode_png(PIXELS))
    jpeg = await run(af.io.encode_jpeg(np.zeros((8, 8, 1), np.uint8)))
    assert np.array_equal(await run(af.io.decode_image(png)), PIXELS)
    assert (await run(af.io.decode_image(jpeg))).shape == (8, 8, 1)
    for wrong in (
        af.io.decode_bmp(jpeg),
        af.io.decode_bmp(png),
        af.io.decode_image(b"junk"),
        af.io.decode_png(png[:45]),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=r"no .* image"):
            await run(wrong)
    with pytest.raises(ValueError, match="channels"):
        af.io.decode_jpeg(jpeg, channels=2)
    with pytest.raises(ValueError, match="channels"):
        af.io.encode_png(np.zeros((2, 2, 5), np.uint8))


def test_without_pillow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    images._pillow.cache_clear()
    with pytest.raises(errors.UnimplementedError, match=r"actorflow\[images\]"):
        images._pillow()


def test_f82_a_blocking_session_reads_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    fetch = af.read_file(str(tmp_path / "file"))
    with af.blocking.Session() as session:
        assert [session.run(fetch) for _ in range(3)] == [b"content"] * 3
