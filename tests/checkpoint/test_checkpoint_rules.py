"""The rules of checkpoints one by one: the order of operations on files, and the instant of a save."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE

from actorflow.base.dtypes import float32
from actorflow.base.process import machine
from actorflow.checkpoint import writing
from actorflow.checkpoint.format import layout
from actorflow.checkpoint.format.manifest import (
    Manifest,
    ManifestVariable,
    Shard,
    TensorEntry,
    check_slices,
    decode,
    encode,
    merged,
)
from actorflow.checkpoint.reading import Reader
from actorflow.checkpoint.snapshot import at_one_instant
from actorflow.checkpoint.stores.files import SystemFiles
from actorflow.checkpoint.stores.store import LocalStore
from actorflow.engine.formats.compare import RestoreRequest, compare
from actorflow.engine.formats.regions import TensorRegion, covers
from actorflow.engine.runtime.threads import WriteInProgress
from actorflow.errors import DataLossError, InvalidArgumentError
from actorflow.frontends.cli.main import main


class Recorded(SystemFiles):
    """The system's files, and what was done to them."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

    def rename(self, old: str, new: str) -> None:
        self.done.append(("rename", Path(new).suffix))
        super().rename(old, new)

    def sync(self, fd: int) -> None:
        self.done.append(("sync", ""))
        super().sync(fd)

    def sync_folder(self, path: str) -> None:
        self.done.append(("sync folder", ""))
        super().sync_folder(path)

    def remove(self, path: str) -> None:
        self.done.append(("remove", Path(path).suffix))
        super().remove(path)


def save(store: LocalStore, name: str) -> None:
    groups = {f"/device:CPU:{number}": [layout.piece(f"v{number}", "variable", np.arange(3.0))] for number in range(2)}
    writing.commit(store, name, writing.write_shards(store, name, groups))


_MADE = [("sync", ""), ("rename", ".safetensors"), ("sync folder", "")]
_COMMITTED = [("sync", ""), ("rename", ".manifest"), ("sync folder", "")]


def test_f66_each_file_is_on_the_disk_before_its_name_and_all_shards_before_the_manifest(tmp_path: Path) -> None:
    files = Recorded()
    store = LocalStore(str(tmp_path), files)
    save(store, "model")
    assert files.done == [*_MADE, *_MADE, *_COMMITTED]
    files.done.clear()
    save(store, "model")
    assert files.done == [*_MADE, *_MADE, *_COMMITTED, *[("remove", ".safetensors")] * 2], "the former shards go last"


def test_f66_a_checkpoint_is_removed_manifest_first_and_that_is_flushed(tmp_path: Path) -> None:
    files = Recorded()
    store = LocalStore(str(tmp_path), files)
    save(store, "model")
    save(store, "model-2")
    files.done.clear()
    writing.remove(store, "model")
    assert files.done == [("remove", ".manifest"), ("sync folder", ""), *[("remove", ".safetensors")] * 2]
    assert all(name.startswith("model-2") for name in store.list()) and len(store.list()) == 3


@pytest.mark.parametrize("good", [True, False])
def test_f66_large_shards_of_a_removed_checkpoint_go_in_the_background(
    good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Held(Recorded):
        """Files whose shards can't be removed for a while, or not at all."""

        def remove(self, path: str) -> None:
            if path.endswith(".safetensors"):
                assert may_go.wait(PATIENCE)
                if not good:
                    raise PermissionError(13, "it is somebody else's", path)
            super().remove(path)

    may_go = threading.Event()
    monkeypatch.setattr(writing, "_LARGE", 1)
    store = LocalStore(str(tmp_path), Held())
    for name in ("a", "b"):
        save(store, name)
    writing.remove(store, "a")
    assert "a.manifest" not in store.list() and len(store.list()) == 5, (
        "it is no checkpoint any more, and that is known"
    )
    may_go.set()
    writing.remove(store, "b")  # the next one waits for it
    for thread in machine._behind:
        thread.join()
    left = store.list()
    assert left == [] if good else len(left) == 4 and "a file of a former checkpoint stays" in caplog.text


async def test_f69_a_save_waits_for_kernels_on_threads_and_holds_their_variables() -> None:
    states: list[Any] = [SimpleNamespace(writer=None) for _ in range(3)]
    kernel = WriteInProgress(states[1:2])
    seen: list[list[bool]] = []

    async def take() -> None:
        await at_one_instant(states, lambda: seen.append([state.writer is not None for state in states]))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        for _ in range(5):
            await checkpoint()
        assert seen == [], "the kernel has not ended"
        kernel.end()
    assert seen == [[True, True, True]]
    assert all(state.writer is None for state in states), "afterwards nobody holds them"


# ---- parts of tensors


@st.composite
def regions(draw: st.DrawFn, whole: tuple[int, ...] = (3, 4)) -> TensorRegion:
    """A part of a tensor, which may be empty."""
    spans = [sorted((draw(st.integers(0, most)), draw(st.integers(0, most)))) for most in whole]
    return TensorRegion(whole, tuple(a for a, _ in spans), tuple(b - a for a, b in spans))


def elements(region: TensorRegion) -> set[tuple[int, ...]]:
    return set(itertools.product(*(range(b, b + s) for b, s in zip(region.begin, region.shape))))


@given(regions(), regions())
def test_f68_two_parts_meet_where_they_have_an_element_in_common_and_only_that_is_copied(
    one: TensorRegion, two: TensorRegion
) -> None:
    common = elements(one) & elements(two)
    assert one.meets(two) == two.meets(one) == bool(common)
    values = np.arange(12).reshape(3, 4)
    source = values[tuple(slice(b, b + s) for b, s in zip(one.begin, one.shape))]
    target = np.full(two.shape, -1)
    one.copy(source, two, target)
    for place, value in np.ndenumerate(target):
        at = tuple(b + p for b, p in zip(two.begin, place))
        assert value == (values[at] if at in common else -1)


@given(st.integers(0, 5), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 1), st.randoms())
def test_f68_slices_cover_a_tensor_where_each_element_is_in_one(
    missing: int, sizes: list[int], axis: int, random: Any
) -> None:
    most = sum(sizes)
    whole = (most, 2) if axis == 0 else (2, most)
    parts, begin = [], 0
    for size in sizes:
        at, shape = [0, 0], list(whole)
        at[axis], shape[axis] = begin, size
        parts.append(TensorRegion(whole, tuple(at), tuple(shape)))
        begin += size
    random.shuffle(parts)
    assert covers(parts)
    some = parts[:missing] + parts[missing + 1 :]
    if some and any(elements(part) for part in parts[missing : missing + 1]):
        assert not covers(some) and not covers([*parts, parts[missing]])


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("10 3 0,5", "sticks out"),
        ("10 3 6,5:0,3", "sticks out"),
        ("10 3 0,5:1,3", "sticks out"),
        ("10 3", "no part of a tensor"),
        ("10 3 0,5:0,3 ", "no part of a tensor"),
        ("10 -3 0,5:0,3", "no part of a tensor"),
    ],
)
def test_f68_a_part_is_written_as_tensorflow_writes_it(spec: str, why: str) -> None:
    assert TensorRegion.parse("10 3 5,5:0,3") == TensorRegion((10, 3), (5, 0), (5, 3))
    assert str(TensorRegion((10, 3), (5, 0), (5, 3))) == "[5:10, 0:3]" and TensorRegion.parse("") is None
    with pytest.raises(InvalidArgumentError, match=why):
        TensorRegion.parse(spec)


# ---- manifests


def entry(
    name: str = "v",
    dtype: str = "float32",
    shard: int = 0,
    whole: tuple[int, ...] | None = (4,),
    begin: tuple[int, ...] | None = (0,),
) -> TensorEntry:
    """Two elements of a vector of four."""
    return TensorEntry(name, "variable", dtype, (2,), shard, 16, 8, 0, whole, begin)


def checked(*entries: TensorEntry) -> None:
    check_slices(Manifest((Shard("file", 100, 16, 0),), entries))


def test_f68_slices_are_of_one_type_and_all_of_their_variable() -> None:
    checked(entry(), entry(begin=(2,)))
    checked(entry(whole=None, begin=None))
    for wrong in (
        [entry()],
        [entry(), entry(begin=(1,))],
        [entry(), entry(begin=(2,), dtype="int32")],
        [entry(), entry(begin=(2,)), entry(whole=None, begin=None)],
        [entry(whole=None, begin=None), entry(whole=None, begin=None)],
    ):
        with pytest.raises(ValueError, match="are not all of it"):
            checked(*wrong)


@pytest.mark.parametrize("step", [2**62 - 1, -(2**62), 0, None])
def test_f68_a_manifest_has_a_global_step_of_62_bits(step: int | None) -> None:
    assert decode(encode(Manifest((), (), step)), "it").global_step == step
    for beyond in (2**62, -(2**62) - 1, True, 1.0):
        with pytest.raises(DataLossError, match="its step or time is no number"):
            decode(encode(Manifest((), (), beyond)), "it")  # type: ignore[arg-type]


def test_f68_a_tensor_ends_at_the_end_of_its_shard_at_the_latest(tmp_path: Path) -> None:
    whole = TensorEntry("v", "variable", "float32", (2,), 0, 16, 8, 0)
    decode(encode(Manifest((Shard("file", 24, 16, 0),), (whole,))), "it")
    for shard in (Shard("file", 23, 16, 0), Shard("file", 24, 17, 0)):
        with pytest.raises(DataLossError, match="lies outside of its shard"):
            decode(encode(Manifest((shard,), (whole,))), "it")


def test_f68_parts_of_several_tasks_are_one_manifest() -> None:
    first = Manifest((Shard("a", 24, 16, 0),), (entry(name="a"),), None, 5.0, False)
    second = Manifest((Shard("b", 24, 16, 0), Shard("c", 24, 16, 0)), (entry(name="b", shard=1),), 7, 3.0, True)
    found = merged([first, second])
    assert [shard.file for shard in found.shards] == ["a", "b", "c"]
    assert [(e.name, e.shard) for e in found.entries] == [("a", 0), ("b", 2)]
    assert (found.global_step, found.saved_at, found.state) == (7, 5.0, True)
    with pytest.raises(InvalidArgumentError, match="under one name: a"):
        merged([first, first])


@pytest.mark.parametrize("dtype", ["<i4", ">i4", ">f8", ">c8", ">u2"])
def test_f66_values_are_the_same_in_whatever_order_of_bytes_they_were(dtype: str, tmp_path: Path) -> None:
    values = np.array([1, 2, 770], dtype)
    store = LocalStore(str(tmp_path))
    groups = {"/device:CPU:0": [layout.piece("v", "variable", values)]}
    writing.commit(store, "model", writing.write_shards(store, "model", groups))
    found = Reader(f"{tmp_path}/model").get_tensor("v")
    assert found.tolist() == [1, 2, 770] and found.dtype.isnative


def test_f68_another_shape_is_a_difference_unless_it_is_asked_for() -> None:
    found = {"v": ManifestVariable("v", (entry(whole=None, begin=None),))}
    wanted = [RestoreRequest("v", float32, (2, 1))]
    assert len(compare("model", found, wanted).mismatched) == 1
    assert compare("model", found, wanted, reshape=True).mismatched == ()


# ---- the command


def test_f66_the_command_tells_by_its_status_whether_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = LocalStore(str(tmp_path))
    groups = {"/device:CPU:0": [layout.piece("v", "variable", np.arange(3.0))]}
    writing.commit(store, "numbered", writing.write_shards(store, "numbered", groups, global_step=12))
    writing.commit(store, "plain", writing.write_shards(store, "plain", groups))
    (tmp_path / "plain-0123456789ab-000-x.safetensors").write_bytes(b"left over")
    prefixes = [str(tmp_path / name) for name in ("numbered", "plain")]

    def said(*arguments: str) -> tuple[int, list[str]]:
        status = main(["checkpoint", *arguments])
        return status, capsys.readouterr().out.splitlines()

    status, lines = said("ls", str(tmp_path))
    assert status == 0 and "step 12  1 variables" in lines[0] and "no global step  1 variables" in lines[1]
    assert said("verify", *prefixes) == (0, [f"{prefix}: good" for prefix in prefixes])
    assert said("clean", str(tmp_path)) == (0, ["removed plain-0123456789ab-000-x.safetensors"])
    assert said("inspect", *prefixes)[0] == 0
    (tmp_path / "plain.manifest").write_bytes(b"damaged")
    status, lines = said("ls", str(tmp_path))
    assert status == 1 and any("plain  damaged:" in line for line in lines)
    assert said("verify", *prefixes)[0] == 1
