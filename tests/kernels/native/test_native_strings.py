"""Strings in C against Python: hash buckets, parts, and sums of picked rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from actorflow.errors import OpError
from actorflow.kernels.native import scatter, strings
from actorflow.kernels.native.library import loaded
from actorflow.kernels.sparse import segment
from actorflow.kernels.strings import hash as hashing
from actorflow.kernels.strings import split

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")


def tensor(values: list[bytes]) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return made


def equal(found: Any, wanted: Any) -> bool:
    return all(a.dtype == b.dtype and a.shape == b.shape and (a == b).all() for a, b in zip(found, wanted, strict=True))


def test_buckets_are_those_of_fingerprints_of_every_length(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = tensor([rng.bytes(size) for size in (*range(140), 191, 192, 193, 1000)])
    for count in (1, 7, 1 << 40, 2**63 - 1):
        wanted = [hashing.fingerprint64(one) % count for one in x.tolist()]
        found = loaded().call("buckets", 1, x, count)
        assert (found.dtype, found.tolist()) == (np.int64, wanted)
    assert loaded().call("buckets", 1, x.reshape(8, -1), 10).shape == (8, 18)


def test_strings_are_divided_as_by_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for attempt in range(60):
        texts = [bytes(rng.choice(list(b"ab ,\t\n"), rng.integers(0, 9)).tolist()) for _ in range(rng.integers(0, 6))]
        x = tensor(texts)
        for separators in (b" ", b" ,", b",", b""):
            for skips in (False, True):
                given = np, x, tensor([separators]).reshape(())
                wanted = split.string_split(*given, skip_empty=skips)
                assert equal(strings.string_split(*given, skip_empty=skips), wanted), (attempt, texts, separators)
            for most in (-1, 1):
                wanted = split.string_split_v2(*given, maxsplit=most)
                assert equal(strings.string_split_v2(*given, maxsplit=most), wanted), (attempt, texts, separators)


def test_parts_are_kept_by_their_tensor_alone() -> None:
    x = tensor([b"first-part second-part"])
    before = sys.getrefcount(x[0])
    values = loaded().call("split", 1, x, b" ", True, False)[1]
    assert values.tolist() == [b"first-part", b"second-part"]
    of_part, of_whole, of_new = (
        sys.getrefcount(values[0]),
        sys.getrefcount(x[0]),
        sys.getrefcount(b"".join([b"a", b"b"])),
    )
    assert (of_part, of_whole) == (of_new + 1, before)


def test_what_are_no_strings_is_left_to_python() -> None:
    for wrong in (tensor([b"a", None]), tensor([b"a", "b"]), np.zeros(3), np.array(b"a", object), [b"a"]):
        if not (isinstance(wrong, np.ndarray) and wrong.dtype == object and wrong.ndim):
            assert loaded().call("buckets", 1, wrong, 5) is NotImplemented
        assert loaded().call("split", 1, wrong, b" ", True, False) is NotImplemented
    assert loaded().call("buckets", 1, tensor([b"a", None]), 5) is NotImplemented
    assert loaded().call("buckets", 1, tensor([b"a"]), 0) is NotImplemented
    assert loaded().call("split", 1, tensor([b"a"]), b"", True, False) is NotImplemented


def test_sums_of_picked_rows_are_pythons_and_so_are_their_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        count = int(rng.integers(0, 12))
        data = rng.integers(-9, 9, (7, *rng.integers(1, 4, rng.integers(0, 3)))).astype(rng.choice(["f4", "f8"]))
        indices = rng.integers(-1 if rng.random() < 0.1 else 0, 7, count).astype(rng.choice(["i4", "i8"]))
        ids = np.sort(rng.integers(0, 6, count)).astype(rng.choice(["i4", "i8"]))
        if rng.random() < 0.1:
            ids = ids[::-1].copy()
        height = None if rng.random() < 0.5 else np.array(rng.integers(3, 9), "i4")
        given = np, data, indices, ids, height
        try:
            wanted = segment.sparse_segment_sum(*given)
        except (ValueError, IndexError, OpError) as error:
            with pytest.raises(type(error)) as raised:
                scatter.sparse_segment_sum(*given)
            assert str(raised.value) == str(error)
            continue
        assert equal([scatter.sparse_segment_sum(*given)], [wanted])
