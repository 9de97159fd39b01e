"""Checksums: zlib's CRC-32, whoever computes it, for what is written and for what is read."""

from __future__ import annotations

import importlib.util
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.checkpoint.format import checksum, folding
from actorflow.checkpoint.format.layout import CHUNK
from actorflow.errors import DataLossError
from actorflow.runtime.codegen import llvm

needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None or folding.folding() is None,
    reason="the extra `jit` is not installed, or the processor lacks the instruction",
)


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_f66_checksums_by_folding_are_those_of_zlib(seed: int) -> None:
    draw = random.Random(seed)
    crc32 = folding.folding()
    assert crc32 is not None
    content = memoryview(draw.randbytes(300_000))
    sizes: list[Callable[[], int]] = [
        lambda: draw.randrange(200),
        lambda: draw.randrange(4000, 4300),
        lambda: draw.randrange(300_000),
    ]
    for _ in range(300):
        begin, value = draw.randrange(100), draw.choice([0, 1, 0xFFFFFFFF, draw.getrandbits(32)])
        part = content[begin : begin + draw.choice(sizes)()]
        assert crc32(part, value) == zlib.crc32(part, value), (seed, begin, part.nbytes, value)


@needs_compiler
def test_f66_pieces_one_after_another_give_the_checksum_of_all() -> None:
    draw = random.Random(5)
    crc32 = folding.folding()
    assert crc32 is not None
    content, value, at = memoryview(draw.randbytes(1 << 20)), 0, 0
    while at < content.nbytes:
        size = draw.randrange(1, 100_000)
        value = crc32(content[at : at + size], value)
        at += size
    assert value == zlib.crc32(content)


def test_f66_without_a_compiler_zlib_computes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> llvm.Code:
        raise ImportError("its library can't be loaded")

    monkeypatch.setattr(llvm, "compiled", fail)
    monkeypatch.setattr(checksum, "folding", folding.folding.__wrapped__)
    assert checksum.fastest(checksum.MUCH) is zlib.crc32
    monkeypatch.setattr(llvm, "available", lambda: False)
    assert checksum.fastest(checksum.MUCH) is zlib.crc32


def test_f66_little_is_summed_without_loading_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> None:
        raise AssertionError("a compiler is loaded")

    monkeypatch.setattr(checksum, "folding", load)
    assert checksum.fastest(checksum.MUCH - 1) is zlib.crc32


@needs_compiler
@pytest.mark.parametrize("writer", ["folding", "zlib"])
def test_f66_f68_who_writes_and_who_reads_may_sum_in_different_ways(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def much(who: str) -> None:
        monkeypatch.setattr(checksum, "MUCH", 0 if who == writer else 1 << 62)

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
        much("folding")
        path = saver.save(session, tmp_path / "model")
    with af.blocking.Session(graph=graph) as session:
        much("zlib")
        saver.restore(session, path)
        for value, found in zip(values, session.run(variables)):
            np.testing.assert_array_equal(found, value)
        (shard,) = tmp_path.glob("*.safetensors")
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 4
        shard.write_bytes(data)
        for who in ("folding", "zlib"):
            much(who)
            with pytest.raises(DataLossError, match=r"'v0' .*is damaged: its checksum is another"):
                saver.restore(session, path)
