"""`TarDataset`: members of tar files that have one key, as a sample (the form of WebDataset)."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.samples.members import members
from actorflow.models.data.sources import from_batches
from actorflow.models.data.tables.threads import on_one_thread
from actorflow.public import public

KEY = "__key__"
"""The field of a sample that has its key."""


@public("af.data")
class TarDataset(Dataset):
    """The samples of tar files: neighbours whose names differ in their endings only, such as `cat/7.png` and `cat/7.cls`.

    An element has a text for each field, and the key under `__key__`. The files are read from their beginning to their end, and
    nothing is unpacked to the disk. `map` decodes: `af.image.decode_png(sample["png"])`, `af.string_to_number(sample["cls"])`.

    Example:
        >>> import io, tarfile
        >>> with tarfile.open("shard.tar", "w") as tar:
        ...     for name, data in (("7.png", b"pixels"), ("7.cls", b"3")):
        ...         member = tarfile.TarInfo(name)
        ...         member.size = len(data)
        ...         tar.addfile(member, io.BytesIO(data))
        >>> [sample["cls"] async for sample in af.data.TarDataset("shard.tar", ["png", "cls"])]
        [b'3']

    Args:
        filenames: a name, or several, of tar files; the files may be packed with gzip, bzip2 or xz.
        fields: the endings that a sample has, without their first dot; other members are passed over.
        batch_size: the samples of an element; the last element may have fewer. None gives single samples.
        most_bytes: the most bytes of a member.

    Raises:
        InvalidArgumentError: no fields or no samples are asked for.

    In a run it raises NotFoundError for an absent file, DataLossError for a damaged file, InvalidArgumentError for a sample that
    lacks a field, and ResourceExhaustedError for a member that is too large. The message has the file, and the key or the
    offset.
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        fields: Sequence[str],
        *,
        batch_size: int | None = None,
        most_bytes: int = 256 << 20,
    ) -> None:
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise InvalidArgumentError(f"A batch has a sample at least, not {batch_size}.")
        endings = list(fields)
        if isinstance(fields, str) or not endings or KEY in endings or len(set(endings)) < len(endings):
            raise InvalidArgumentError(f"The fields of a sample are a list of different endings, not {fields!r}.")
        files = [os.fspath(name) for name in ([filenames] if isinstance(filenames, (str, os.PathLike)) else filenames)]

        def arrays() -> Generator[dict[str, Any], None, None]:
            batch: list[dict[str, bytes]] = []
            for file in files:
                for sample in _samples(file, endings, most_bytes):
                    batch.append(sample)
                    if len(batch) == (batch_size or 1):
                        yield _joined(batch)
                        batch = []
            if batch:
                yield _joined(batch)

        whole = from_batches(
            lambda: on_one_thread(arrays), {name: TensorSpec((None,), string) for name in (KEY, *endings)}
        )
        super().__init__((whole if batch_size is not None else whole.unbatch()).node)


def _joined(samples: Sequence[dict[str, bytes]]) -> dict[str, Any]:
    """Samples as a text of each for each field."""
    batch = {}
    for field in samples[0]:
        batch[field] = np.empty(len(samples), object)
        batch[field][:] = [sample[field] for sample in samples]
    return batch


def _samples(file: str, fields: Sequence[str], most_bytes: int) -> Iterator[dict[str, bytes]]:
    """The samples of a file in their order."""
    key, sample, endings = "", dict[str, bytes](), set(fields)
    for name, data in members(file, lambda name: _parts(name)[1] in endings, most_bytes):
        whole, ending = _parts(name)
        if whole != key:
            if sample:
                yield _whole(file, key, sample, fields)
            key, sample = whole, {}
        if ending in sample:
            raise InvalidArgumentError(f"The sample {key!r} of {file!r} has two members {ending!r}.")
        sample[ending] = data
    if sample:
        yield _whole(file, key, sample, fields)


def _parts(name: str) -> tuple[str, str]:
    """The key and the ending in the name of a member."""
    folder = posixpath.dirname(name)
    stem, _, ending = name[len(folder) :].partition(".")
    return folder + stem, ending


def _whole(file: str, key: str, sample: dict[str, bytes], fields: Sequence[str]) -> dict[str, bytes]:
    for field in fields:
        if field not in sample:
            raise InvalidArgumentError(
                f"The sample {key!r} of {file!r} has no {field!r}; it has {', '.join(sorted(sample))}."
            )
    return {KEY: key.encode("utf-8", "surrogateescape"), **{field: sample[field] for field in fields}}
