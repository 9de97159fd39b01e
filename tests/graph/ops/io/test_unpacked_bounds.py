"""Packed strings that unpack to more than there may be are refused before they fill the memory."""

from __future__ import annotations

import gzip
import zlib

import pytest

import actorflow as af


@pytest.mark.parametrize(("packing", "pack"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
async def test_decode_compressed_is_bounded(monkeypatch: pytest.MonkeyPatch, packing: str, pack: object) -> None:
    packed = pack(bytes(1 << 20))  # type: ignore[operator]
    with af.Graph().as_default():
        strings = af.placeholder(af.string, [])
        unpacked = af.decode_compressed(strings, packing)
        async with af.Session() as session:
            assert await session.run(unpacked, {strings: packed}) == bytes(1 << 20)
            monkeypatch.setenv("ACTORFLOW_MAX_UNPACKED_BYTES", "1000000")
            with pytest.raises(af.errors.ResourceExhaustedError, match="more than 1000000"):
                await session.run(unpacked, {strings: packed})
            monkeypatch.setenv("ACTORFLOW_MAX_UNPACKED_BYTES", "many")
            with pytest.raises(af.errors.InvalidArgumentError, match="number of bytes"):
                await session.run(unpacked, {strings: packed})
