"""`members`: the regular files in a tar file, in their order. A file that is damaged or cut off raises an error.

`tarfile` takes a header that it can't read for the end of the file, so what is behind it would be lost without a word.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from actorflow.errors import DataLossError, NotFoundError, ResourceExhaustedError
from actorflow.models.data.samples.unpacking import DAMAGES, unpacked

_TARFILE: Any = tarfile
"""`tarfile`, whose types do not name its errors of headers."""
_PART = 64 << 10
_MOST_HEADER = 1 << 20
"""Bytes of a header with the long names that belong to it."""


def members(file: str, takes: Callable[[str], bool], most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """The names and bytes of the regular files in a tar file. Bytes of a name that are no UTF-8 are surrogates.

    Args:
        file: the path of the tar file; it may be packed.
        takes: whether a member of this name is read; others are passed over.
        most_bytes: the most bytes of a member.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged or cut off, or can't be read; the message has the place.
        ResourceExhaustedError: a member is larger than allowed.
    """
    try:
        opened = open(file, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {file!r}.") from None
    except OSError as error:
        raise DataLossError(f"The tar file {file!r} can't be read: {error.strerror}.") from None
    with opened:
        source = _Source(*unpacked(opened))
        try:
            yield from _read(file, source, takes, most_bytes)
        except _Damage as error:
            place = f"byte {source.at}{' of what it unpacks to' if source.form else ''}"
            raise DataLossError(
                f"The tar file {file!r} can't be read at {place}: {error}.", hint="Copy or write the file again."
            ) from None


class _Damage(Exception):
    """The reason why a tar file can't be read."""


def _read(file: str, source: _Source, takes: Callable[[str], bool], most_bytes: int) -> Iterator[tuple[str, bytes]]:
    tar: Any = None
    while True:
        source.most = _MOST_HEADER
        try:
            if tar is None:
                tar = tarfile.TarFile(
                    fileobj=cast("IO[bytes]", source), tarinfo=_Header, encoding="utf-8", errors="surrogateescape"
                )
            member = tar.next()
        except _Damage:
            raise
        except tarfile.ReadError:
            raise _Damage("it is cut off within a member") from None
        except Exception as error:  # whatever the library meets in a header that is no header
            raise _Damage(f"a header is damaged ({error})") from None
        if member is None:
            break
        tar.members.clear()  # it would keep all of them
        if not member.isfile() or not takes(member.name):
            continue
        if member.size > most_bytes:
            raise ResourceExhaustedError(
                f"The member {member.name!r} of {file!r} has {member.size} bytes; {most_bytes} are the most.",
                hint="most_bytes= allows more.",
            )
        source.most = most_bytes
        content = tar.extractfile(member)
        assert content is not None
        try:
            data = content.read()
        except tarfile.TarError:
            data = b""
        if len(data) != member.size:
            raise _Damage(f"it ends within the member {member.name!r}, which has {member.size} bytes")
        yield member.name, data
    while part := source.read(_PART):  # the packed file's sums are checked at its end
        if part.strip(b"\0"):
            raise _Damage("there are bytes behind the empty block that ends a tar file")


class _Header(tarfile.TarInfo):
    """A header of a tar file. A header that can't be read is an error, not the end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Header:
        """Reads the next header."""
        try:
            return super().fromtarfile(tarfile_)
        except _TARFILE.EOFHeaderError:  # an empty block: the end
            raise
        except _TARFILE.EmptyHeaderError:
            raise _Damage("it is cut off: the empty blocks that end a tar file are not there") from None
        except _TARFILE.TruncatedHeaderError:
            raise _Damage("it ends within a header") from None
        except tarfile.HeaderError as error:
            raise _Damage(f"a header is damaged ({error})") from None


class _Source:
    """The bytes of a tar file from its beginning to its end, for `tarfile`, which may skip but not go back.

    Args:
        file: the bytes.
        form: by what the file is packed, which errors name.
    """

    def __init__(self, file: IO[bytes], form: str) -> None:
        self._file, self.form = file, form
        self.at = 0
        """How many bytes were read."""
        self.most = 0
        """The most bytes that may be asked for at a time."""

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        if not 0 <= size <= max(self.most, _PART):
            raise _Damage(f"a header speaks of {size} bytes")
        try:
            data = self._file.read(size)
        except DAMAGES as error:
            raise _Damage(f"its {self.form} stream is damaged ({error})" if self.form else str(error)) from None
        self.at += len(data)
        return data

    def tell(self) -> int:
        """The place of the next byte."""
        return self.at

    def seek(self, at: int) -> None:
        """Skips bytes."""
        if at < self.at:
            raise _Damage("a header speaks of a size below 0")
        while self.at < at:
            if not self.read(min(_PART, at - self.at)):
                raise _Damage("it is cut off within a member")
