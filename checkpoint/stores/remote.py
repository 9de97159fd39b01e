"""Stores behind URLs (`s3://`, `gs://`, `memory://` ...), through `fsspec`, an extra.

On an object store a file appears when its last byte is there, and so does the manifest, whose PUT is the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from actorflow.errors import (
    DataLossError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnavailableError,
    UnimplementedError,
    with_topic,
)

from ..format.layout import Buffer

_SMALL = 1 << 20


class RemoteStore:
    """A folder of a file system of `fsspec`."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
            from fsspec.spec import AbstractBufferedFile
        except ImportError:
            raise UnimplementedError(
                f"Checkpoints at {url!r} need the package fsspec, which is not installed.",
                hint=with_topic("Install it with: pip install 'actorflow[remote]'", "extra-missing"),
            ) from None
        with _named("Opening", url):
            self._system, self._root = fsspec.core.url_to_fs(url)
        self._url = url.rstrip("/")
        self._buffered = AbstractBufferedFile

    def where(self, name: str) -> str:
        return f"{self._url}/{name}"

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        path = self._path(name)
        with _named("Writing", self.where(name)):
            self._system.makedirs(self._root, exist_ok=True)
            if isinstance(parts, list):  # a small file, in one request
                self._system.pipe_file(path, b"".join(parts))
                return
            file = self._system.open(path, "wb")
            try:
                for part in parts:
                    file.write(part)
                file.close()
            except BaseException:
                self._give_up(file, path)
                raise

    def _give_up(self, file: Any, path: str) -> None:
        """Takes back what was begun. Such a file is nothing that a manifest names, so it does no harm if it stays."""
        try:
            if isinstance(file, self._buffered):
                file.discard()
                file.closed = True  # or it would be completed when it is collected
            self._system.rm_file(path)
        except (OSError, NotImplementedError):
            pass  # the error that led here says more

    @contextmanager
    def open(self, name: str) -> Iterator[Any]:
        with _named("Opening", self.where(name)):
            self._system.invalidate_cache()
            size = self._system.size(self._path(name))
            if size is None:
                raise DataLossError(f"The store does not say how large {self.where(name)!r} is.")
            file = self._system.open(self._path(name), "rb", cache_type="readahead" if size > _SMALL else "all")
        with file:
            yield _RemoteSource(self.where(name), file, int(size))

    def list(self) -> list[str]:
        with _named("Listing", self._url):
            try:
                self._system.invalidate_cache()
                paths = self._system.ls(self._root, detail=False)
            except FileNotFoundError:
                return []
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def remove(self, name: str, *, flush: bool = False) -> None:
        with _named("Removing", self.where(name)):
            try:
                self._system.rm_file(self._path(name))
            except FileNotFoundError:
                pass


class _RemoteSource:
    def __init__(self, where: str, file: Any, size: int) -> None:
        self._where, self._file, self.size = where, file, size

    def read_into(self, buffer: memoryview, offset: int) -> int:
        with _named("Reading", self._where):
            self._file.seek(offset)
            done = 0
            while done < buffer.nbytes:
                data = self._file.read(buffer.nbytes - done)
                if not data:
                    break
                buffer[done : done + len(data)] = data
                done += len(data)
            return done


@contextmanager
def _named(doing: str, where: str) -> Iterator[None]:
    """Gives an error of the remote file system its name here."""
    try:
        yield
    except OpError:
        raise
    except FileNotFoundError as error:
        raise NotFoundError(f"{doing} {where!r} failed: there is no such file.") from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{doing} {where!r} failed: {error}.") from error
    except (ImportError, ValueError) as error:
        raise UnimplementedError(f"{doing} {where!r} failed: {error}.") from error
    except OSError as error:
        raise UnavailableError(f"{doing} {where!r} failed: {error}.") from error
