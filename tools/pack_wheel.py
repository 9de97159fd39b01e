"""Packs wheels again with a stronger compressor: the same files in the same order, in fewer bytes.

    python tools/pack_wheel.py dist/*.whl    in their places; says what they took and take

Each file stays a stream of deflate, which every installer reads. libdeflate (PyPI: `deflate`) tries more ways to write such a
stream than zlib does, which builds wheels. Zlib's best level packs them if libdeflate is not installed.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

LOCAL = struct.Struct("<4s5H3I2H")
"""The header before a file: mark, version, flags, method, time, date, CRC, two sizes, lengths of the name and of more."""
CENTRAL = struct.Struct("<4s6H3I5H2I")
"""The file's line in the list at the end: as above, with its attributes and its place."""
END = struct.Struct("<4s4H2IH")
"""The end of the list: how many lines, their bytes, their place."""
MOST = 0xFFFF, 0xFFFFFFFF
"""The most files and the most bytes of an archive without the extensions for large archives."""


def deflated_by_zlib(data: bytes) -> bytes:
    """A raw stream of deflate, at zlib's best level."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    return packer.compress(data) + packer.flush()


def strongest() -> Callable[[bytes], bytes]:
    """The strongest compressor that is installed."""
    try:
        import deflate
    except ImportError:
        return deflated_by_zlib
    return lambda data: bytes(deflate.deflate_compress(data, 12))


def packed(wheel: Path, deflated: Callable[[bytes], bytes]) -> bytes:
    """A wheel's files in an archive of their own, with their names, days and rights.

    Args:
        wheel: the archive.
        deflated: compresses a file's bytes to a raw stream of deflate.

    Raises:
        ValueError: the archive is too large for the plain format, or its comment would be lost.
    """
    body, listed = bytearray(), bytearray()
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
        if archive.comment or len(members) > MOST[0] or sum(each.file_size for each in members) > MOST[1]:
            raise ValueError(f"{wheel} has a comment, more than {MOST[0]} files or 4 GiB: it can't be packed again.")
        for each in members:
            data = archive.read(each)
            stream = deflated(data)
            method = zipfile.ZIP_DEFLATED if len(stream) < len(data) else zipfile.ZIP_STORED
            stream = stream if method else data
            name = each.filename.encode()
            flags = 0 if each.filename.isascii() else 0x800  # the name is UTF-8
            year, month, day, hour, minute, second = each.date_time
            shared = (
                flags,
                method,
                hour << 11 | minute << 5 | second // 2,
                (year - 1980) << 9 | month << 5 | day,
                zlib.crc32(data),
                len(stream),
                len(data),
                len(name),
                0,
            )
            made_by = each.create_system << 8 | 20
            rights = (0, 0, 0, each.external_attr, len(body))
            listed += CENTRAL.pack(b"PK\1\2", made_by, 20, *shared, *rights) + name
            body += LOCAL.pack(b"PK\3\4", 20, *shared) + name + stream
    count = len(members)
    return bytes(body + listed + END.pack(b"PK\5\6", 0, 0, count, count, len(listed), len(body), 0))


def pack(wheel: Path, deflated: Callable[[bytes], bytes] | None = None) -> tuple[int, int]:
    """Packs a wheel in its place, if that saves bytes.

    Args:
        wheel: the archive.
        deflated: the compressor; the strongest that is installed unless given.

    Returns:
        The bytes that it took and takes.
    """
    before = wheel.stat().st_size
    data = packed(wheel, deflated or strongest())
    if len(data) < before:
        wheel.write_bytes(data)
    return before, min(before, len(data))


def main(command: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheels", nargs="+", type=Path, help="the archives")
    for wheel in parser.parse_args(command).wheels:
        before, after = pack(wheel)
        print(f"{wheel}: {before / 1e6:.2f} MB, {after / 1e6:.2f} MB now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
