"""Formats without I/O: checksums, TFRecord framing, Example messages, CSV, roots; and TFRecord files in plain Python."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorflow as af
from actorflow import errors, train
from actorflow.base.records import crc32c as checksums
from actorflow.base.records import csv, tfrecord, wire
from actorflow.base.records.crc32c import crc32c, crc32c_each, joined, masked_crc32c
from actorflow.base.records.features import read_feature, write_feature
from actorflow.base.records.formats import FixedLength, Lines, Position, RecordFormat, TFRecords, WholeFile
from actorflow.base.records.roots import check

# Written by TensorFlow 2.21: the records b"", b"abc" and b"0123456789" * 3.
THREE = [b"", b"abc", b"0123456789" * 3]
PLAIN = (
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99I\x0eabcnW\xf1!"
    b"\x1e\x00\x00\x00\x00\x00\x00\x00\xd9\xdc\x122012345678901234567890123456789B\x95\xab("
)
GZIP = (
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03c`\x80\x00M\xe6\x19\xec7^5-b\x86\xf27\xcc\xf4\xe4KLJ\xce\x0b\xff\xa8(\x07\x15\xbayG"
    b"\xc8\xc8\xc0\xd0\xc8\xd8\xc4\xd4\xcc\xdc\xc2\x12\x1b\xcbi\xeaj\r\x00\xca\xe8[\xd9Q\x00\x00\x00"
)
ZLIB = (
    b"x\x9cc`\x80\x00M\xe6\x19\xec7^5-b\x86\xf27\xcc\xf4\xe4KLJ\xce\x0b\xff\xa8(\x07\x15\xbayG\xc8\xc8\xc0\xd0\xc8\xd8\xc4\xd4\xcc"
    b"\xdc\xc2\x12\x1b\xcbi\xeaj\r\x00\xb8d\x12:"
)
# Example(a=[1, 2.5], b=[-3, 300], c=[b"x", b"yz"]), written by TensorFlow 2.21.
EXAMPLE = (
    b"\n:\n\x11\n\x01a\x12\x0c\x12\n\n\x08\x00\x00\x80?\x00\x00 @\n\x15\n\x01b\x12\x10\x1a\x0e\n\x0c\xfd\xff\xff\xff\xff\xff\xff"
    b"\xff\xff\x01\xac\x02\n\x0e\n\x01c\x12\t\n\x07\n\x01x\n\x02yz"
)
SEQUENCE = (
    b"\n\x0c\n\n\n\x01n\x12\x05\x1a\x03\n\x01\x04\x12?\n!\n\x01t\x12\x1c\n\x0c\x12\n\n\x08\x00\x00\x80?\x00\x00\x00@\n\x0c\x12\n\n"
    b"\x08\x00\x00@@\x00\x00\x80@\n\x1a\n\x01w\x12\x15\n\x05\n\x03\n\x01a\n\x02\n\x00\n\x08\n\x06\n\x01b\n\x01c"
)

# ---- checksums


@pytest.fixture(params=["google-crc32c", "numpy"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the library for checksums, and as where it is not installed."""
    if request.param == "numpy":
        monkeypatch.setattr(checksums, "_library", lambda: None)
    elif checksums._library() is None:
        pytest.skip("google-crc32c is not installed")


def _by_bits(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.usefixtures("library")
def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the catalogues of CRCs
    assert crc32c(b"\0" * 32) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert masked_crc32c(b"") == 0xA282EAD8


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 95, 96, 97, 100, 127, 128, 255, 1023, 1024, 1025, 4099, 8193])
def test_checksums_of_all_lengths(size: int, seed: int) -> None:
    data = random.Random(seed).randbytes(size)
    assert crc32c(data) == _by_bits(data)
    assert crc32c(memoryview(data)) == crc32c(bytearray(data)) == _by_bits(data)


@pytest.mark.usefixtures("library")
def test_checksums_side_by_side(seed: int) -> None:
    rng = random.Random(seed)
    strings = [rng.randbytes(rng.choice([0, 1, 3, 4, 20, 97, 300, 1000, 9000])) for _ in range(40)]
    assert crc32c_each(strings) == [_by_bits(s) for s in strings]
    assert crc32c_each([]) == []


@pytest.mark.parametrize("cut", [0, 1, 4, 99, 100])
def test_checksums_of_parts_are_joined(cut: int, seed: int) -> None:
    data = random.Random(seed).randbytes(100)
    assert joined(crc32c(data[:cut]), crc32c(data[cut:]), 100 - cut) == crc32c(data)


# ---- TFRecord


def test_frames_are_tensorflows() -> None:
    assert b"".join(map(tfrecord.frame, THREE)) == PLAIN
    frames = tfrecord.split(PLAIN, at_end=True)
    assert (frames.records, frames.starts, frames.end, frames.damage) == (THREE, [0, 16, 35], len(PLAIN), None)


@pytest.mark.parametrize("size", range(len(PLAIN)))
def test_a_cut_file_gives_what_is_whole(size: int) -> None:
    whole = [end for end in (0, 16, 35) if end <= size]
    more = tfrecord.split(PLAIN[:size], at_end=False)
    assert (more.end, more.damage, len(more.records)) == (whole[-1], None, len(whole) - 1)
    assert more.end + more.wanted > size
    last = tfrecord.split(PLAIN[:size], at_end=True)
    assert last.records == more.records
    assert (last.damage is None) == (size in (0, 16, 35))


@pytest.mark.parametrize("place", range(len(PLAIN)))
def test_any_wrong_byte_is_found(place: int) -> None:
    damaged = bytearray(PLAIN)
    damaged[place] ^= 0x40
    frames = tfrecord.split(bytes(damaged), at_end=True)
    start = max(s for s in (0, 16, 35) if s <= place)
    assert frames.damage is not None
    assert (frames.end, frames.records) == (start, THREE[: (0, 16, 35).index(start)])


@pytest.mark.parametrize(("packing", "content"), [("", PLAIN), ("GZIP", GZIP), ("ZLIB", ZLIB)])
def test_files_of_tensorflow_are_read_and_ours_are_the_same(tmp_path: Path, packing: str, content: bytes) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.write_bytes(content)
    assert list(af.io.tf_record_iterator(theirs, packing)) == THREE
    with af.io.TFRecordWriter(ours, af.io.TFRecordOptions(packing)) as writer:
        for record in THREE:
            writer.write(record)
    assert list(af.io.tf_record_iterator(str(ours), af.io.TFRecordOptions(packing))) == THREE
    if not packing:
        assert ours.read_bytes() == content


@pytest.mark.parametrize(("packing", "content"), [("", PLAIN), ("GZIP", GZIP), ("ZLIB", ZLIB)])
def test_the_iterator_gives_what_is_whole_then_names_the_offset(tmp_path: Path, packing: str, content: bytes) -> None:
    path = tmp_path / "cut"
    path.write_bytes(content[:-13] if packing else content[:-1])
    found = []
    with pytest.raises(errors.DataLossError, match=f"byte (16|35) of '{path}'"):
        for record in af.io.tf_record_iterator(path, packing):
            found.append(record)
    assert found == THREE[: len(found)] and found


def test_writers_and_their_options(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="no/such"):
        af.io.TFRecordWriter(tmp_path / "no/such/file")
    with pytest.raises(errors.NotFoundError, match="missing"):
        af.io.tf_record_iterator(tmp_path / "missing")
    with pytest.raises(ValueError, match="LZ4"):
        af.io.TFRecordOptions("LZ4")
    assert af.io.TFRecordOptions(af.io.TFRecordCompressionType.GZIP).compression_type == "GZIP"
    writer = af.io.TFRecordWriter(tmp_path / "a", "ZLIB")
    writer.write("text")
    writer.flush()
    writer.close()
    writer.close()
    assert list(af.io.tf_record_iterator(tmp_path / "a", "ZLIB")) == [b"text"]
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        writer.write(b"more")


# ---- Examples


def test_examples_have_tensorflows_bytes() -> None:
    example = train.Example(
        features=train.Features(
            feature={
                "c": train.Feature(bytes_list=train.BytesList(value=[b"x", b"yz"])),
                "a": train.Feature(float_list=train.FloatList(value=[1, 2.5])),
                "b": train.Feature(int64_list=train.Int64List(value=[-3, 300])),
            }
        )
    )
    assert example.SerializeToString() == EXAMPLE
    assert train.Example.FromString(EXAMPLE) == example
    found = train.Example.FromString(EXAMPLE).features.feature
    assert found["a"].float_list.value == [1.0, 2.5]
    assert found["b"].int64_list.value == [-3, 300]
    assert [found[k].WhichOneof("kind") for k in "abc"] == ["float_list", "int64_list", "bytes_list"]


def test_sequence_examples_have_tensorflows_bytes() -> None:
    found = train.SequenceExample.FromString(SEQUENCE)
    assert found.SerializeToString() == SEQUENCE
    assert found.context.feature["n"].int64_list.value == [4]
    lists = found.feature_lists.feature_list
    assert [f.float_list.value for f in lists["t"].feature] == [[1.0, 2.0], [3.0, 4.0]]
    assert [f.bytes_list.value for f in lists["w"].feature] == [[b"a"], [], [b"b", b"c"]]


def test_messages_are_filled_in_place() -> None:
    example = train.Example()
    example.features.feature["b"].int64_list.value.extend([-3, 300])
    example.features.feature["a"].float_list.value.append(1)
    example.features.feature["a"].float_list.value.append(2.5)
    example.features.feature["c"].bytes_list.value.extend([b"x", b"yz"])
    assert example.SerializeToString() == EXAMPLE
    assert train.Example().SerializeToString() == b""
    assert train.Feature().WhichOneof("kind") is None
    with pytest.raises(ValueError, match="not both"):
        train.Feature(float_list=train.FloatList(value=[1]), int64_list=train.Int64List(value=[1]))


def test_unpacked_lists_repeated_fields_and_unknown_ones() -> None:
    int64s = b"\x1a\x04\x08\x01\x08\x02"  # as JSON converters write: one field a number
    assert read_feature(int64s)[1].tolist() == [1, 2]  # type: ignore[index]
    floats = b"\x12\x0a\r\x00\x00\xc0?\r\x00\x00\xc0?"
    assert read_feature(floats)[1].tolist() == [1.5, 1.5]  # type: ignore[index]
    assert read_feature(int64s + int64s)[1].tolist() == [1, 2, 1, 2]  # type: ignore[index]
    assert read_feature(floats + int64s)[1].tolist() == [1, 2]  # type: ignore[index]
    assert read_feature(b"") is None
    assert train.Example.FromString(EXAMPLE + b"\x78\x05").SerializeToString() == EXAMPLE + b"\x78\x05"


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_survive(values: list[int]) -> None:
    dtype, found = read_feature(write_feature(af.int64, values))  # type: ignore[misc]
    assert dtype is af.int64 and found.tolist() == values


@given(st.binary(max_size=40))
def test_junk_is_refused_or_read_and_nothing_else_happens(junk: bytes) -> None:
    for data in (junk, EXAMPLE[:20] + junk, SEQUENCE[:30] + junk):
        for kind in (train.Example, train.SequenceExample):
            try:
                kind.FromString(data)
            except (errors.InvalidArgumentError, UnicodeDecodeError):
                pass


@pytest.mark.parametrize("message", [b"\x0a\x05ab", b"\x0a", b"\x0b\x01", b"\xff" * 11, b"\x00\x01"])
def test_broken_messages(message: bytes) -> None:
    with pytest.raises(errors.InvalidArgumentError):
        list(wire.fields(message))


# ---- CSV


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_quoted_fields_survive(texts: list[str]) -> None:
    fields = [text.encode() for text in texts]
    record = b",".join(b'"' + field.replace(b'"', b'""') + b'"' for field in fields)
    assert csv.split(record, b",", True) == fields


# ---- how files fall into records


def _read(form: RecordFormat, data: bytes, sizes: list[int]) -> list[tuple[str, bytes]]:
    """The records of `data`, read in chunks of these sizes by turns."""
    found, at, wanted, turn = [], Position(0, 0), 0, 0
    while True:
        want = max(wanted, sizes[turn % len(sizes)])
        chunk = data[at.offset : at.offset + want]
        piece = form.split(chunk, at, at_end=len(chunk) < want)
        labels = [""] * len(piece.values) if piece.labels is None else [f":{label}" for label in piece.labels]
        found += zip(labels, piece.values)
        assert piece.damage is None
        if piece.finished:
            return found
        at, wanted, turn = piece.next, piece.wanted, turn + 1


LETTERS = b"HHABCDEFGHIJKFF"


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        (Lines(), b"one\r\ntw\ro\n\nlast", [(":1", b"one"), (":2", b"tw\ro"), (":3", b""), (":4", b"last")]),
        (Lines(1), b"x\ny\n", [(":2", b"y")]),
        (Lines(5), b"x\ny\n", []),
        (WholeFile(), b"x\ny\n", [("", b"x\ny\n")]),
        (WholeFile(), b"", [("", b"")]),
        (FixedLength(3, 2, 2), LETTERS, [(":0", b"ABC"), (":1", b"DEF"), (":2", b"GHI")]),
        (FixedLength(3, 2, 2, 2), LETTERS, [(f":{i}", b"ABCDEFGHIJK"[2 * i : 2 * i + 3]) for i in range(5)]),
        (FixedLength(3, 0, 0, 5), LETTERS, [(":0", b"HHA"), (":1", b"DEF"), (":2", b"IJK")]),
        (FixedLength(30), LETTERS, []),
        (FixedLength(3, 30), LETTERS, []),
        (TFRecords(), PLAIN, [(":0", THREE[0]), (":16", THREE[1]), (":35", THREE[2])]),
    ],
)
@pytest.mark.parametrize("sizes", [[1000], [1], [3, 1], [7]])
def test_f82_formats_give_tensorflows_keys_and_records(
    form: RecordFormat, data: bytes, expected: list[tuple[str, bytes]], sizes: list[int]
) -> None:
    assert _read(form, data, sizes) == expected


# ---- roots


def test_paths_outside_of_the_roots_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "database").mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "sub")
    roots = [str(root)]
    assert check(str(root / "sub/../x"), roots) == os.path.realpath(root / "x")
    assert check(os.fsencode(root / "in/x"), roots) == os.path.realpath(root / "sub/x")
    for path in ("../database/x", "out/x", "sub/../../x", "../database"):
        with pytest.raises(errors.PermissionDeniedError, match="data"):
            check(str(root / path), roots)
    with pytest.raises(errors.PermissionDeniedError, match="none"):
        check(str(root), [])
    assert check("../anything", None) == "../anything"


def test_a_large_varint_list_is_read_at_once(seed: int) -> None:
    values = np.random.default_rng(seed).integers(-(2**63), 2**63, 5000)
    found = read_feature(write_feature(af.int64, values.tolist()))
    assert found is not None and np.array_equal(found[1], values)


def test_a_root_may_be_the_beginning_of_paths(tmp_path: Path) -> None:
    root = f"{tmp_path}/model.ckpt*"
    for name in ("model.ckpt", "model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001"):
        assert check(str(tmp_path / name), [root]) == os.path.realpath(tmp_path / name)
    for name in ("model.ckp", "other", ".", "model.ckpt/../other"):
        with pytest.raises(errors.PermissionDeniedError):
            check(str(tmp_path / name), [root])
