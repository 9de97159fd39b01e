"""Checkpoints and what may happen to them: crashes at any moment, damage, foreign files, and stores elsewhere."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from volatile_files import VolatileFiles

import actorflow as af
from actorflow import errors
from actorflow.base import dtypes
from actorflow.checkpoint import reading, writing
from actorflow.checkpoint.format import layout
from actorflow.checkpoint.stores.store import LocalStore, locate, register_store
from actorflow.frontends.cli.main import main

CONTENT = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "text": np.array([b"a", b"", b"b\0c"], object),
    "wide": np.array([1 + 2j, 3 - 4j]),
    "flag": np.array(True),
    "none": np.zeros((0, 4), np.int8),
}


def saved(store: Any, name: str, content: dict[str, Any] = CONTENT, **options: Any) -> None:
    pieces = [layout.piece(key, "variable", value) for key, value in content.items()]
    writing.commit(store, name, writing.write_shards(store, name, {"/device:CPU:0": pieces}, **options))


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """A small checkpoint of several types."""
    made = f"{tmp_path}/model"
    saved(*locate(made))
    return made


# ---- crashes


class Program:
    """A graph of two variables that always hold the same number, and its saver; it uses the files that it is given."""

    def __init__(self) -> None:
        self.files = VolatileFiles()
        register_store("volatile", lambda folder: LocalStore(folder, self.files))
        self.graph = af.Graph()
        with self.graph.as_default():
            self.variables = [af.Variable(np.full(3, 0.0), name=name) for name in "ab"]
            self.number = af.placeholder(af.float64, [])
            self.change = af.group(*[v.assign(af.fill([3], self.number)) for v in self.variables])
            self.saver = af.train.Saver(max_to_keep=1)
        self.session = af.blocking.Session(graph=self.graph)

    def save(self, number: int) -> None:
        self.session.run(self.change, {self.number: number})
        self.saver.save(self.session, "volatile://models/model", global_step=number)

    def restored(self) -> int:
        """The number in the latest checkpoint."""
        latest = af.train.latest_checkpoint("volatile://models")
        assert latest is not None
        self.session.run(self.change, {self.number: -1})
        self.saver.restore(self.session, latest)
        values = np.concatenate(self.session.run(self.variables))
        assert len(set(values.tolist())) == 1
        assert latest.endswith(f"-{values[0]:.0f}")
        return int(values[0])

    def begin(self, **fault: Any) -> None:
        """A folder with the checkpoint 1, and files that fail from now on."""
        self.saver.set_last_checkpoints([])
        self.files = VolatileFiles()
        self.save(1)
        self.files.operations.clear()
        for name, value in fault.items():
            setattr(self.files, name, value)


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.session.close()


def operations_of_a_save() -> int:
    made = Program()
    made.begin()
    made.save(2)
    made.session.close()
    return len(made.files.operations)


OPERATIONS = operations_of_a_save()


@pytest.mark.parametrize("contents", ["all", "half", "none"])
@pytest.mark.parametrize("names", ["all", "none", "last"])
def test_f66_a_crash_at_any_operation_leaves_the_old_or_the_new_checkpoint(
    program: Program, names: str, contents: str
) -> None:
    found = []
    for number in range(1, OPERATIONS + 2):
        program.begin(fail_at=number)
        finished = number > OPERATIONS
        try:
            program.save(2)
            assert finished
        except errors.UnknownError:
            assert not finished
        except Exception as crash:
            assert type(crash).__name__ == "Crash"
        program.files = program.files.rebooted(names, contents)
        found.append(program.restored())
        assert found[-1] == 2 or not finished
    assert found == sorted(found) and set(found) == {1, 2}  # old up to the commit, new from then on


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_f66_a_failing_operation_raises_and_leaves_what_was_there(program: Program, code: int) -> None:
    program.begin()
    program.save(2)
    kinds = list(program.files.operations)
    for number, kind in enumerate(kinds, 1):
        program.begin(fail_at=number, error=code)
        expected = errors.ResourceExhaustedError if code == errno.ENOSPC else errors.DataLossError
        try:
            program.save(2)
            assert kind in ("remove", "open", "size", "read_into", "list", "close")  # done without it
        except expected:
            pass
        program.files.fail_at = 0
        assert program.restored() in (1, 2)
        program.save(3)  # the disk is well again
        assert program.restored() == 3
        assert not [name for name in program.files.list("volatile://models") if name.endswith(".tmp")]


@pytest.mark.real_memory
def test_f66_saves_killed_at_random_instants_leave_the_old_or_the_new_checkpoint(tmp_path: Path, seed: int) -> None:
    """A few of the two hundred of `make chaos`."""
    program = Path(__file__).with_name("killed_saves.py")
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, program, tmp_path, "4", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-4000:]}"
    assert json.loads(done.stdout)["kills"] == 4


def test_what_a_killed_save_left_goes_with_its_checkpoint(prefix: str, tmp_path: Path) -> None:
    for left in ("model-0123456789ab-000-x.safetensors", ".model.manifest.0123456789ab.tmp", "model.meta"):
        (tmp_path / left).write_bytes(b"left")
    (tmp_path / "model-2.manifest").write_bytes(b"another's")
    af.train.remove_checkpoint(prefix)
    assert os.listdir(tmp_path) == ["model-2.manifest"]


def test_what_killed_saves_left_is_cleaned(prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = set(os.listdir(tmp_path)) | {"checkpoint", "mine.safetensors", ".hidden"}
    left = {f"model-0123456789ab-000-a.0.CPU.0.safetensors{end}" for end in ("", ".0123456789ab.tmp")}
    left |= {".model.manifest.0123456789ab.tmp"}
    for name in left | {"checkpoint", "mine.safetensors", ".hidden"}:
        (tmp_path / name).write_bytes(b"x")
    assert main(["checkpoint", "clean", str(tmp_path)]) == 0
    assert set(os.listdir(tmp_path)) == good
    assert {line.removeprefix("removed ") for line in capsys.readouterr().out.splitlines()} == left
    file_of(prefix, ".manifest").write_bytes(b"damaged")
    assert main(["checkpoint", "clean", str(tmp_path)]) == 0
    assert set(os.listdir(tmp_path)) == good  # somebody may want to save what can be saved


def test_a_checkpoint_saved_anew_replaces_its_files(prefix: str, tmp_path: Path) -> None:
    saved(*locate(prefix), {"other": np.ones(2)})
    assert af.train.list_variables(prefix) == [("other", [2])]
    assert len(os.listdir(tmp_path)) == 2


def test_a_save_that_is_given_up_removes_its_shards(tmp_path: Path) -> None:
    checks = iter([None, None, None])

    def check() -> None:
        if next(checks, "stop") == "stop":
            raise errors.CancelledError("enough")

    groups = {f"/device:CPU:{i}": [layout.piece(f"v{i}", "variable", np.ones(4))] for i in range(5)}
    with pytest.raises(errors.CancelledError, match="enough"):
        writing.write_shards(LocalStore(str(tmp_path)), "model", groups, check=check)
    assert os.listdir(tmp_path) == []


# ---- damage


def file_of(prefix: str, ending: str) -> Path:
    folder = Path(prefix).parent
    (found,) = (path for path in folder.iterdir() if path.name.endswith(ending))
    return found


def is_seen(prefix: str) -> bool:
    """Whether both reading and verifying find a damage, with an error of ours that names the file."""
    try:
        reader = reading.Reader(prefix)
        found = bool(reader.verify())
        reader.read(reader.manifest.entries)
    except errors.DataLossError as error:
        return Path(prefix).name in str(error)
    assert not found
    return False


@pytest.mark.parametrize("ending", [".manifest", ".safetensors"])
def test_each_flipped_byte_is_seen(prefix: str, ending: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    file = file_of(prefix, ending)
    content = file.read_bytes()
    assert not is_seen(prefix)
    for index in range(len(content)):
        flipped = bytearray(content)
        flipped[index] ^= int(rng.integers(1, 256))
        file.write_bytes(flipped)
        assert is_seen(prefix), index
    file.write_bytes(content)
    assert not is_seen(prefix)


@pytest.mark.parametrize("ending", [".manifest", ".safetensors"])
def test_each_cut_is_seen_and_so_is_a_byte_too_many(prefix: str, ending: str) -> None:
    file = file_of(prefix, ending)
    content = file.read_bytes()
    for changed in (*(content[:size] for size in range(0, len(content), 7)), content[:-1], content + b"\0"):
        file.write_bytes(changed)
        assert is_seen(prefix)


def test_damage_names_the_tensor_and_the_file(prefix: str) -> None:
    file = file_of(prefix, ".safetensors")
    entry = reading.Reader(prefix).manifest.variables()["w"].parts[0]
    content = bytearray(file.read_bytes())
    content[entry.offset + 5] ^= 1
    file.write_bytes(content)
    with pytest.raises(errors.DataLossError, match=rf"The tensor 'w' in the file '{file}' is damaged"):
        af.train.load_variable(prefix, "w")
    assert af.train.load_variable(prefix, "flag")  # others are as they were
    (damage,) = reading.Reader(prefix).verify()
    assert damage.where == f"{file}: w"
    file.unlink()
    with pytest.raises(errors.DataLossError, match=f"{file.name}' of the checkpoint is missing"):
        af.train.load_variable(prefix, "w")


def test_variables_are_unchanged_by_a_damaged_checkpoint(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        variables = [af.Variable(np.full(4, i), name=f"v{i}") for i in range(3)]
        saver, zero = af.train.Saver(), af.group(*[v.assign(np.zeros(4, np.int64)) for v in variables])
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            path = saver.save(session, tmp_path / "model")
            file = file_of(path, ".safetensors")
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)
            session.run(zero)
            with pytest.raises(errors.DataLossError, match="'v2'"):
                saver.restore(session, path)
            assert not np.any(session.run(variables))


# ---- foreign and hostile files


def with_checksum(body: bytes, length: int | None = None) -> bytes:
    return f"actorflow-checkpoint 1 {zlib.crc32(body):08x} {len(body) if length is None else length}\n".encode() + body


def changed(prefix: str, change: Any) -> bytes:
    """The manifest, changed and with a good checksum."""
    tree = json.loads(file_of(prefix, ".manifest").read_bytes().partition(b"\n")[2])
    change(tree)
    return with_checksum(json.dumps(tree).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree["shards"][0].update(file="../model.safetensors"),
        lambda tree: tree["shards"][0].update(file="/etc/passwd"),
        lambda tree: tree["shards"][0].update(file=".."),
        lambda tree: tree["shards"][0].update(size=-1),
        lambda tree: tree["shards"][0].update(header=2**60),
        lambda tree: tree["shards"][0].update(more=1),
        lambda tree: tree.pop("entries"),
        lambda tree: tree.update(global_step="5"),
        lambda tree: tree["entries"][0].update(shape=[2**60, 2**60]),
        lambda tree: tree["entries"][0].update(shape=[-1]),
        lambda tree: tree["entries"][0].update(shape=[True]),
        lambda tree: tree["entries"][0].update(dtype="float33"),
        lambda tree: tree["entries"][0].update(dtype="resource"),
        lambda tree: tree["entries"][0].update(kind="secret"),
        lambda tree: tree["entries"][0].update(shard=1),
        lambda tree: tree["entries"][0].update(offset=2**61),
        lambda tree: tree["entries"][0].update(offset=0),
        lambda tree: tree["entries"][0].update(name=7),
        lambda tree: tree["entries"].append(tree["entries"][0]),
    ],
)
def test_a_manifest_that_can_not_be_is_refused(prefix: str, change: Any) -> None:
    file_of(prefix, ".manifest").write_bytes(changed(prefix, change))
    with pytest.raises(errors.DataLossError, match="can't be what a save has written"):
        reading.Reader(prefix)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"{}",
        with_checksum(b"[" * 100_000),
        with_checksum(b"7"),
        with_checksum(b"\xff"),
        with_checksum(b"{}", 2**60),
    ],
)
def test_a_foreign_file_is_no_manifest(prefix: str, content: bytes) -> None:
    file_of(prefix, ".manifest").write_bytes(content)
    with pytest.raises(errors.DataLossError, match="manifest"):
        reading.Reader(prefix)


def test_a_huge_file_is_refused_before_it_is_read(prefix: str) -> None:
    with open(file_of(prefix, ".manifest"), "r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(errors.DataLossError, match="1099511627776 bytes"):
        reading.Reader(prefix)


@pytest.mark.parametrize("ending", [".manifest", ".safetensors"])
def test_links_pipes_and_folders_are_refused(prefix: str, ending: str, tmp_path: Path) -> None:
    file = file_of(prefix, ending)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    for make in (lambda: None, lambda: os.mkfifo(file), file.mkdir):
        make()
        with pytest.raises((errors.PermissionDeniedError, errors.InvalidArgumentError, errors.DataLossError)):
            reading.Reader(prefix).get_tensor("w")
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


def test_a_name_that_can_be_none(tmp_path: Path) -> None:
    for bad in (f"{tmp_path}/..", "", f"{tmp_path}/a\0b"):
        with pytest.raises(errors.InvalidArgumentError):
            reading.Reader(bad)
        assert not af.train.checkpoint_exists(bad)
    with pytest.raises(errors.InvalidArgumentError, match="under one name: w"):
        piece = layout.piece("w", "variable", np.ones(1))
        writing.write_shards(LocalStore(str(tmp_path)), "model", {"a": [piece], "b": [piece]})


# ---- the layout


def test_shards_are_those_of_the_safetensors_library(prefix: str) -> None:
    loaded = safetensors.numpy.load_file(file_of(prefix, ".safetensors"))
    assert np.array_equal(loaded["w"], CONTENT["w"]) and loaded["w"].dtype == np.float32
    assert loaded["flag"].item() is True and loaded["none"].shape == (0, 4)
    assert np.array_equal(loaded["wide"].view(np.complex128), CONTENT["wide"])  # of bytes: the format has no such type
    lengths, text = loaded["text"][:24].view(np.uint64), loaded["text"][24:].tobytes()
    assert lengths.tolist() == [1, 0, 3] and text == b"ab\0c"


def test_types_of_the_library_are_ours(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [d for d in dtypes.ALL if d not in (af.string, af.complex128)]
    values = {d.name: rng.integers(0, 2, (3, 5)).astype(d.numpy_dtype) for d in kinds if d is not af.bfloat16}
    saved(LocalStore(str(tmp_path)), "model", values)
    loaded = safetensors.numpy.load_file(file_of(f"{tmp_path}/model", ".safetensors"))
    for name, value in values.items():
        assert loaded[name].dtype == value.dtype and np.array_equal(loaded[name], value)
    narrow = np.ones(3, af.bfloat16.numpy_dtype)
    head = layout.header([layout.piece("b", "variable", narrow)], {})
    assert json.loads(head[8:])["b"] == {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}


# ---- elsewhere


def test_checkpoints_at_a_url(seed: int) -> None:
    folder = f"memory://models-{seed}"
    with af.Graph().as_default() as graph:
        v = af.Variable([1.0, 2.0], name="v")
        saver, zero = af.train.Saver(max_to_keep=2), v.assign([0.0, 0.0])
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            assert af.train.latest_checkpoint(folder) is None
            paths = [saver.save(session, f"{folder}/model", global_step=step) for step in range(3)]
            session.run(zero)
            latest = af.train.latest_checkpoint(folder)
            assert latest == paths[2] == f"{folder}/model-2"
            saver.restore(session, latest)
            assert session.run(v).tolist() == [1.0, 2.0]
            with pytest.raises(ValueError, match="not a valid checkpoint"):
                saver.restore(session, paths[0])
    assert main(["checkpoint", "verify", *paths[1:]]) == 0
    store, _ = locate(paths[1])
    assert len(store.list()) == 7  # two checkpoints of three files, and the file that names the latest

    def broken() -> Iterator[bytes]:
        yield b"half of it"
        raise errors.CancelledError("enough")

    with pytest.raises(errors.CancelledError):
        store.write("torn", broken())
    assert "torn" not in store.list()
    af.train.remove_checkpoint(paths[1])
    store.remove("nothing of that name")
    assert not af.train.checkpoint_exists(paths[1])


def test_a_url_that_nobody_knows() -> None:
    with pytest.raises(errors.UnimplementedError, match="nowhere"):
        reading.Reader("nowhere://folder/model")


# ---- the command


def test_the_command_lists_shows_and_verifies(prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkpoint", "ls", str(tmp_path)]) == 0
    assert "model  2" in (text := capsys.readouterr().out) and "5 variables" in text
    assert main(["checkpoint", "inspect", prefix]) == 0
    assert "  w  float32  [2, 3]  24 bytes  model-" in capsys.readouterr().out
    assert main(["checkpoint", "verify", prefix]) == 0
    assert capsys.readouterr().out == f"{prefix}: good\n"
    file = file_of(prefix, ".safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    content[reading.Reader(prefix).manifest.variables()["w"].parts[0].offset] ^= 1
    file.write_bytes(content)
    assert main(["checkpoint", "verify", prefix]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{prefix}: damaged" and len(lines) == 3
    file_of(prefix, ".manifest").write_bytes(b"no")
    assert main(["checkpoint", "ls", str(tmp_path)]) == 1
    assert "damaged" in capsys.readouterr().out
    assert main(["checkpoint", "inspect", f"{prefix}-9"]) == 1
    assert "There is no checkpoint" in capsys.readouterr().err
    assert main(["checkpoint", "ls", f"{tmp_path}/nothing"]) == 0


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("actorflow")
    done = subprocess.run([command, "checkpoint", "--help"], capture_output=True, text=True, check=True)
    assert all(word in done.stdout for word in ("ls", "inspect", "verify"))


@pytest.mark.real_memory
def test_large_checkpoints_are_read_by_two_threads(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    large = {f"v{i}": rng.integers(0, 255, (5, 1 << 20), np.uint8) for i in range(8)}
    store = LocalStore(str(tmp_path))
    saved(store, "model", large)
    reader = reading.Reader(f"{tmp_path}/model")
    assert len(reading._jobs(reader.manifest.entries)) == 2
    for entry, value in zip(reader.manifest.entries, reader.read(reader.manifest.entries)):
        assert np.array_equal(value, large[entry.name])
    file = file_of(f"{tmp_path}/model", ".safetensors")
    with open(file, "r+b") as shard:
        shard.seek(reader.manifest.variables()["v5"].parts[0].offset + 1_500_000)
        (byte,) = shard.read(1)
        shard.seek(-1, os.SEEK_CUR)
        shard.write(bytes([byte ^ 1]))
    with pytest.raises(errors.DataLossError, match="'v5'"):
        reader.read(reader.manifest.entries)


def test_checkpoints_on_an_s3_server() -> None:
    pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    program = Path(__file__).with_name("s3_checkpoints.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "7 files"
