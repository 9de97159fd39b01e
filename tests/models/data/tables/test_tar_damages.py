"""Damaged tar files: whatever byte is missing or another, all samples are there, or an error says the place."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import DataLossError
from actorflow.models.data.samples.members import members

CONTENTS = [("a.cls", b"0" * 700), ("a.txt", b"skipped" * 200), ("b.cls", b"1")]
BLOCK = 512
SECOND = BLOCK + 1024
"""The place of the header of the second member."""
END = SECOND + BLOCK + 1536 + 2 * BLOCK
"""The place of the empty blocks at the end."""
LONG = "folder/" * 30 + "a.cls"


def tar(contents: Any = CONTENTS, form: int = tarfile.USTAR_FORMAT) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=form) as opened:
        for name, data in contents:
            header = tarfile.TarInfo(name)
            header.size = len(data)
            opened.addfile(header, io.BytesIO(data))
    return written.getvalue()


TAR = tar()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
}


def read(path: Path, data: bytes) -> list[tuple[str, bytes]]:
    path.write_bytes(data)
    return list(members(str(path), lambda name: name.endswith("cls"), 1 << 20))


def changed(data: bytes, at: int, *values: int) -> bytes:
    return data[:at] + bytes(values) + data[at + len(values) :]


def summed(header: bytes) -> bytes:
    """A header with the sum that it ought to have."""
    blank = header[:148] + b" " * 8 + header[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def sized(size: bytes) -> bytes:
    """The tar file whose second member says to have this size."""
    header = TAR[SECOND : SECOND + BLOCK]
    return TAR[:SECOND] + summed(header[:124] + size.ljust(12, b"\0") + header[136:]) + TAR[SECOND + BLOCK :]


DAMAGES: dict[str, tuple[bytes, str]] = {
    "no byte": (b"", "at byte 0: it is cut off"),
    "no tar file": (b"no tar" * 200, "at byte 512: a header is damaged"),
    "cut in the first header": (TAR[:100], "at byte 100: it ends within a header"),
    "cut in the second header": (TAR[: SECOND + 100], f"at byte {SECOND + 100}: it ends within a header"),
    "cut in a body that is read": (TAR[: BLOCK + 300], "at byte 812: it ends within the member 'a.cls', which has 700"),
    "cut in a body that is skipped": (TAR[: SECOND + BLOCK + 700], "it is cut off within a member"),
    "cut in the last byte of a body": (TAR[: SECOND - 1], "it is cut off within a member"),
    "cut between two members": (TAR[:SECOND], f"at byte {SECOND}: it is cut off: the empty blocks"),
    "cut before the end": (TAR[:END], f"at byte {END}: it is cut off: the empty blocks"),
    "a byte of a name": (changed(TAR, SECOND, ord("z")), r"a header is damaged \(bad checksum\)"),
    "another sum": (changed(TAR, SECOND + 150, ord("0"), ord("0")), r"a header is damaged \(bad checksum\)"),
    "a sum that is no number": (changed(TAR, SECOND + 150, ord("z")), r"a header is damaged \(.*header\)"),
    "garbage in the place of a header": (changed(TAR, SECOND, *b"\xa5" * BLOCK), "a header is damaged"),
    "an empty block in the place of a header": (changed(TAR, SECOND, *bytes(BLOCK)), "there are bytes behind"),
    "garbage behind the end": (TAR + b"garbage", "there are bytes behind the empty block that ends"),
    "another tar file behind the end": (TAR + TAR, "there are bytes behind the empty block that ends"),
    "a size below 0": (sized(b"\xff" * 12), "a header"),
    "a size beyond the file": (sized(b"77777777777"), "it is cut off within a member"),
    "a long name that is cut": (tar([(LONG, b"")], tarfile.GNU_FORMAT)[: 2 * BLOCK], "it is cut off: the empty blocks"),
    "names of a terabyte": (
        summed(changed(changed(TAR, 156, ord("L")), 124, *b"77777777777")[:BLOCK]) + TAR[BLOCK:],
        "a header speaks of",
    ),
    **{f"{name} that is cut": (pack(TAR)[:-1], "of what it unpacks to") for name, pack in PACKERS.items()},
    **{
        f"garbage behind {name}": (pack(TAR) + b"garbage", f"its {name[:5].replace('lzma', 'xz')} stream is damaged")
        for name, pack in PACKERS.items()
    },
    **{
        f"a tar file that was cut before {name}": (pack(TAR[:END]), "it is cut off: the empty blocks")
        for name, pack in PACKERS.items()
    },
    "another sum of gzip": (changed(PACKERS["gzip"](TAR), len(PACKERS["gzip"](TAR)) - 8, 1, 2), "CRC check failed"),
    "another size of gzip": (changed(PACKERS["gzip"](TAR), len(PACKERS["gzip"](TAR)) - 4, 1, 2), "length"),
}


@pytest.mark.parametrize("name", DAMAGES)
async def test_a_damaged_file_is_named_with_the_place(name: str, tmp_path: Path) -> None:
    data, words = DAMAGES[name]
    path = tmp_path / "shard.tar"
    path.write_bytes(data)
    with pytest.raises(
        DataLossError, match=f"shard.tar' can't be read at byte .*{words}" if "at byte" not in words else words
    ):
        [sample async for sample in af.data.TarDataset(path, ["cls"])]


SOUND: dict[str, bytes] = {
    "plain": TAR,
    "a single empty block at the end": TAR[: END + BLOCK],
    "blocks of a tape": TAR + bytes(10240),
    "GNU": tar(form=tarfile.GNU_FORMAT),
    "pax": tar(form=tarfile.PAX_FORMAT),
    **{name: pack(TAR) for name, pack in PACKERS.items()},
    **{
        f"two streams of {name}": pack(TAR[:1000]) + pack(TAR[1000:])
        for name, pack in PACKERS.items()
        if name != "lzma"
    },
    **{f"zeros behind {name}": pack(TAR) + bytes(512) for name, pack in PACKERS.items()},
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_files_are_read(name: str, tmp_path: Path) -> None:
    assert read(tmp_path / "shard.tar", SOUND[name]) == [CONTENTS[0], CONTENTS[2]]


@pytest.mark.parametrize("name", ["plain", "pax", *PACKERS])
def test_no_sample_is_lost_in_silence_when_a_file_is_cut(name: str, tmp_path: Path) -> None:
    data = SOUND[name]
    for size in range(0, len(data), 1 if name in PACKERS else 37):
        try:
            samples = read(tmp_path / "shard.tar", data[:size])
        except DataLossError:
            continue
        assert samples == [CONTENTS[0], CONTENTS[2]], f"cut at byte {size}"


@pytest.mark.parametrize("name", ["plain", "GNU", "gzip", "bzip2", "xz"])  # lzma has no sum
def test_no_sample_is_lost_in_silence_when_a_byte_is_another(name: str, tmp_path: Path) -> None:
    data = SOUND[name]
    seed = time.time_ns() % 2**32
    random = np.random.default_rng(seed)
    headers = [*range(BLOCK), *range(SECOND, SECOND + BLOCK)]
    for at in range(len(data)) if name in PACKERS else headers:
        value = data[at] ^ (1 << int(random.integers(8)))
        try:
            samples = read(tmp_path / "shard.tar", changed(data, at, value))
        except DataLossError:
            continue
        assert samples == [CONTENTS[0], CONTENTS[2]], f"seed {seed}: byte {at} is {value}"


async def test_odd_names_are_keys(tmp_path: Path) -> None:
    names = ["straße/ü.cls", "\udcff\udc80.cls", LONG, "./c d.cls"]
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = tmp_path / f"{form}.tar"
        path.write_bytes(tar([(name, b"1") for name in names], form))
        keys = [sample["__key__"] async for sample in af.data.TarDataset(path, ["cls"])]
        assert keys == [name.removesuffix(".cls").encode("utf-8", "surrogateescape") for name in names]
