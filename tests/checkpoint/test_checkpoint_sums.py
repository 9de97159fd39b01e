"""Checksums: CRC-32 as zlib has it, whichever library computes it, for what is written and for what is read."""

from __future__ import annotations

import random
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.checkpoint import reading
from actorflow.checkpoint.format import checksum
from actorflow.checkpoint.format.layout import CHUNK
from actorflow.errors import DataLossError

LIBRARIES = ["isal", "zlib"]
FASTEST = checksum.fastest


def take(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has `library` compute the checksums, with isal as where it is not installed for zlib."""
    if library == "isal":
        pytest.importorskip("isal")
    found = zlib.crc32 if library == "zlib" else FASTEST()
    assert (found is zlib.crc32) == (library == "zlib")
    monkeypatch.setattr(checksum, "fastest", lambda: found)
    monkeypatch.setattr(reading, "fastest", lambda: found)


def test_f66_checksums_of_the_library_are_those_of_zlib(seed: int) -> None:
    pytest.importorskip("isal")
    draw = random.Random(seed)
    crc32 = checksum.fastest()
    assert crc32 is not zlib.crc32
    content = memoryview(draw.randbytes(300_000))
    for _ in range(300):
        begin, value = draw.randrange(100), draw.choice([0, 1, 0xFFFFFFFF, draw.getrandbits(32)])
        part = content[begin : begin + draw.choice([draw.randrange(200), draw.randrange(300_000)])]
        assert crc32(part, value) == zlib.crc32(part, value), (begin, part.nbytes, value)


def test_f66_without_the_library_zlib_computes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    assert checksum.fastest.__wrapped__() is zlib.crc32


@pytest.mark.parametrize("writer", LIBRARIES)
def test_f66_f68_who_writes_and_who_reads_may_sum_in_different_ways(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[Any] = [
        np.random.default_rng(1).random(CHUNK // 4 + 1001, dtype=np.float32),  # a chunk, and some more
        np.arange(7, dtype=np.int8),
        np.zeros((0, 3), np.float64),
        np.array([b"", b"ab", b"c" * 5000], object),
    ]
    with af.Graph().as_default() as graph:
        variables = [af.Variable(value, name=f"v{i}") for i, value in enumerate(values)]
        saver, init = af.train.Saver(), af.global_variables_initializer()
    with af.blocking.Session(graph=graph) as session:
        session.run(init)
        take(writer, monkeypatch)
        path = saver.save(session, tmp_path / "model")
    with af.blocking.Session(graph=graph) as session:
        take(next(other for other in LIBRARIES if other != writer), monkeypatch)
        saver.restore(session, path)
        for value, found in zip(values, session.run(variables)):
            np.testing.assert_array_equal(found, value)
        (shard,) = tmp_path.glob("*.safetensors")
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 4
        shard.write_bytes(data)
        for library in LIBRARIES:
            take(library, monkeypatch)
            with pytest.raises(DataLossError, match=r"'v0' .*is damaged: its checksum is another"):
                saver.restore(session, path)
