"""TensorFlow's checkpoints: what TensorFlow 2.15 wrote is read, and what is written keeps every rule of a format.

`bundle_tf215.zip` is a checkpoint of TensorFlow's in two shards (`tests/checkpoint/dump_bundle.py`).
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.checkpoint.bundle import bundle
from actorflow.checkpoint.bundle.entries import slice_key
from actorflow.checkpoint.bundle.table import read_table, write_table
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import ReadRequest
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError
from actorflow.testing import format_contract
from actorflow.testing.format_contract import Subject

BUNDLE = Subject("tensor_bundle", installed.find("tensor_bundle"))


@format_contract.parametrize(BUNDLE)
def test_the_contract(subject: Subject, rule: Any) -> None:
    format_contract.run(subject, rule)


@pytest.fixture
def theirs(tmp_path: Path) -> tuple[str, dict[str, Any]]:
    with zipfile.ZipFile(Path(__file__).parent / "bundle_tf215.zip") as archive:
        archive.extractall(tmp_path)
    return str(tmp_path / "model"), json.loads((tmp_path / "values.json").read_text())


def test_a_checkpoint_of_tensorflow_is_read(theirs: Any) -> None:
    prefix, values = theirs
    reader = af.train.load_checkpoint(prefix)
    assert set(reader.get_variable_to_shape_map()) == {*values, "complex", "s"}
    for name, value in values.items():
        np.testing.assert_array_equal(reader.get_tensor(name), np.array(value, reader.get_tensor(name).dtype))
    assert reader.get_tensor("complex") == 1 + 2j and reader.get_tensor("s").tolist()[1] == [b"x" * 300, b"d"]
    assert not reader.damage()


async def test_a_saver_restores_what_tensorflow_saved_into_other_slices(theirs: Any) -> None:
    prefix, values = theirs
    graph = af.Graph()
    with graph.as_default():
        p = af.get_variable("p", [300, 2], partitioner=af.fixed_size_partitioner(2))
        many = af.get_variable("many/v003", [4])
        saver = af.train.Saver()
    async with af.Session(graph=graph) as session:
        await saver.restore(session, prefix)
        np.testing.assert_array_equal(np.concatenate(await session.run(list(p))), np.array(values["p"], np.float32))
        np.testing.assert_array_equal(await session.run(many), np.array(values["many/v003"], np.float32))


async def test_a_save_over_one_of_the_same_name_leaves_one(tmp_path: Path) -> None:
    graph = af.Graph()
    with graph.as_default():
        v = af.get_variable("v", initializer=np.zeros(3, np.float32))
        words = af.get_variable("words", initializer=np.array([b"a", b"bc"], object))
        saver = af.train.Saver(format="tensor_bundle")
    async with af.Session(graph=graph) as session:
        await session.run([v.initializer, words.initializer])
        for number in range(3):
            with graph.as_default():
                await session.run(v.assign(np.full(3, number, np.float32)))
            await saver.save(session, tmp_path / "m", write_meta_graph=False)
            files = sorted(os.listdir(tmp_path))
            assert len(files) == 3 and files[:1] == ["checkpoint"]
            reader = af.train.load_checkpoint(tmp_path / "m")
            assert reader.get_tensor("v").tolist() == [number] * 3
            assert reader.get_tensor("words").tolist() == [b"a", b"bc"]


def test_values_are_read_in_pieces_between_which_the_reader_may_give_up(
    theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, values = theirs
    monkeypatch.setattr(bundle, "_PIECE", 1000)
    pieces = 0

    def check() -> None:
        nonlocal pieces
        pieces += 1
        if pieces > 3:
            raise InterruptedError

    reader = af.train.load_checkpoint(prefix)
    np.testing.assert_array_equal(reader.get_tensor("p"), np.array(values["p"], np.float32))
    with pytest.raises(InterruptedError):
        reader.load([ReadRequest("p", None)], check)
    (found,) = reader.load([ReadRequest("p", None)])
    assert found.nbytes > 2000 and found.flags.writeable


def test_damage_is_named(theirs: Any) -> None:
    prefix, _ = theirs
    data = Path(f"{prefix}.data-00000-of-00003")
    content = bytearray(data.read_bytes())
    content[5] ^= 1
    data.write_bytes(content)
    (found,) = af.train.load_checkpoint(prefix).damage()
    assert "data-00000-of-00003" in found and "its checksum is another" in found
    data.unlink()
    with pytest.raises(DataLossError, match="data-00000-of-00003' of the checkpoint is missing"):
        af.train.load_checkpoint(prefix).get_tensor("p")
    index = Path(f"{prefix}.index")
    for cut in (0, 40, len(index.read_bytes()) // 2):
        index.write_bytes(index.read_bytes()[: cut or None][:-3])
        with pytest.raises(DataLossError, match=r"index' is damaged"):
            af.train.load_checkpoint(prefix)


def test_a_table_comes_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = {rng.bytes(int(rng.integers(0, 40))): rng.bytes(int(rng.integers(0, 900))) for _ in range(300)}
    data = write_table(entries)
    assert read_table(data) == entries and list(read_table(data)) == sorted(entries)
    assert read_table(write_table({})) == {}
    for _ in range(50):
        broken = bytearray(data)
        broken[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        try:
            assert read_table(bytes(broken)) == entries  # what lies between blocks counts for nothing
        except DataLossError:
            continue


@pytest.mark.parametrize("value", [0, 1, 63, 64, -1, -64, -65, 8191, 8192, 1 << 40, -(1 << 50), (1 << 62) + 5])
def test_keys_of_slices_have_the_order_of_their_numbers(value: int) -> None:
    def key(begin: int) -> bytes:
        return slice_key("v", TensorRegion((1 << 63,), (begin,), (7,)))

    assert key(value - 1) < key(value) < key(value + 1)
    assert slice_key("a", TensorRegion((300, 2), (100, 0), (100, 2))) == (
        b"\0" + b"a\0\1" + b"\1\2" + bytes([0xC0, 100]) + bytes([0xC0, 100]) + bytes([0x80, 0x82])
    )
