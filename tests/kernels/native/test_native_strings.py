"""Strings in C against Python: hash buckets, parts, and sums of picked rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import OpError
from actorflow.kernels.native import scatter
from actorflow.kernels.native.library import loaded
from actorflow.kernels.native.strings import numbers as spelled
from actorflow.kernels.native.strings import parts
from actorflow.kernels.sparse import segment
from actorflow.kernels.strings import elementwise, numbers, split
from actorflow.kernels.strings import hash as hashing

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
        texts = [
            bytes(rng.choice(list(b"ab ,\t\n\0\xff"), rng.integers(0, 9)).tolist()) for _ in range(rng.integers(0, 6))
        ]
        x = tensor(texts)
        for separators in (b" ", b" ,", b",", b"", b"a,", b"a,a,", b"\0"):
            for skips in (False, True):
                given = np, x, tensor([separators]).reshape(())
                wanted = split.string_split(*given, skip_empty=skips)
                assert equal(parts.string_split(*given, skip_empty=skips), wanted), (attempt, texts, separators)
            for most in (-1, 0, 1, 2):
                wanted = split.string_split_v2(*given, maxsplit=most)
                assert equal(parts.string_split_v2(*given, maxsplit=most), wanted), (attempt, texts, separators)


def test_parts_are_kept_by_their_tensor_alone() -> None:
    x = tensor([b"first-part second-part"])
    before = sys.getrefcount(x[0])
    values = loaded().call("split", 1, x, b" ", False, True, False, -1)[1]
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
        assert loaded().call("split", 1, wrong, b" ", False, True, False, -1) is NotImplemented
    assert loaded().call("buckets", 1, tensor([b"a", None]), 5) is NotImplemented
    assert loaded().call("buckets", 1, tensor([b"a"]), 0) is NotImplemented
    assert loaded().call("split", 1, tensor([b"a"]), b", ", True, True, False, -1) is NotImplemented


@pytest.mark.parametrize("name", ["sparse_segment_sum", "sparse_segment_mean", "sparse_segment_sqrt_n"])
def test_sums_of_picked_rows_are_pythons_and_so_are_their_errors(name: str, seed: int) -> None:
    python, in_c = getattr(segment, name), getattr(scatter, name)
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
            wanted = python(*given)
        except (ValueError, IndexError, OpError) as error:
            with pytest.raises(type(error)) as raised:
                in_c(*given)
            assert str(raised.value) == str(error)
            continue
        assert equal([in_c(*given)], [wanted])
        picked = loaded().call(name, 1, *given[1:4], *() if height is None else (height[()],))  # a scalar of numpy
        assert equal([picked], [wanted])


@pytest.mark.parametrize("key", [[7, 9], [0, 0], [2**64 - 1, 2**63]])
def test_buckets_by_a_key_are_pythons(key: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = tensor([rng.bytes(size) for size in (*range(140), 1000)])
    for count in (1, 997, 2**63 - 1):
        reference = hashing.string_to_hash_bucket_strong(np, x, num_buckets=count, key=key)
        assert equal([spelled.string_to_hash_bucket_strong(np, x, num_buckets=count, key=key)], [reference])


NUMBERS = [
    b"1",
    b" -2.5\t",
    b"1e10",
    b".5",
    b"5.",
    b"1e-400",
    b"1e400",
    b"0.1",
    b"-0",
    b"+7E+2",
    b"1e22",
    b"1e23",
    b"00012",
]
NUMBERS += [b"123456789012345678901234567890", b"3.14159265358979323846", b"179769313486231580793e289", b"4.9e-324"]
NO_NUMBERS = [
    b"",
    b" ",
    b"1x",
    b".",
    b"e5",
    b"1e",
    b"1e+",
    b"--1",
    b"1 2",
    b"1_0",
    b"1\x00",
    b"+",
    b"0x",
    b"1.2.3",
    b"\xb2",
]


@pytest.mark.parametrize("kind", [af.float32, af.float64, af.int32, af.int64], ids=str)
def test_numbers_are_pythons(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.integers(-30, 30, 300)
    reals = [b"inf", b"-nan", b"0x1p3", *NUMBERS, *(repr(float(x)).encode() for x in rng.normal(size=300) * scales)]
    wholes = [b"%d" % x for x in (*rng.integers(-(2**31), 2**31, 50), -(2**31), 2**31 - 1)]
    for texts in ([text] for text in [*reals, *wholes, *NO_NUMBERS, b"2147483648", b"9223372036854775807", b"1" * 19]):
        try:
            reference = numbers.string_to_number(np, tensor(texts), out_type=kind)
        except ValueError as error:
            with pytest.raises(ValueError) as raised:
                spelled.string_to_number(np, tensor(texts), out_type=kind)
            assert str(raised.value) == str(error)
            continue
        result = spelled.string_to_number(np, tensor(texts), out_type=kind)
        assert (result.dtype, result.tobytes()) == (reference.dtype, reference.tobytes()), texts
    whole = tensor(wholes).reshape(4, -1)
    assert equal(
        [spelled.string_to_number(np, whole, out_type=kind)], [numbers.string_to_number(np, whole, out_type=kind)]
    )


def test_letters_lengths_and_joints_are_pythons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = tensor([bytes(range(256)), b"", *(rng.bytes(int(n)) for n in rng.integers(0, 60, 62))]).reshape(8, 8)
    single = tensor([b"--"]).reshape(())
    assert equal([parts.lower(np, x, encoding="")], [elementwise.lower(np, x, encoding="")])
    assert equal([parts.upper(np, x, encoding="")], [elementwise.upper(np, x, encoding="")])
    assert equal([parts.length(np, x, unit="BYTE")], [elementwise.length(np, x, unit="BYTE")])
    for inputs in ([x], [x, x], [x, single, x], [single, x], [single, single], [], [x] * 20):
        for separator in ("", "_-"):
            result = parts.string_join(np, inputs, separator=separator)
            assert equal([result], [elementwise.string_join(np, inputs, separator=separator)])
    with pytest.raises(ValueError, match="can't be joined"):
        parts.string_join(np, [x, x[:2]], separator="")


def test_new_strings_are_kept_by_their_tensor_alone() -> None:
    x = tensor([b"Some-Text", b"Other"])
    of_new, before = sys.getrefcount(b"".join([b"a", b"b"])), [sys.getrefcount(x[0]), sys.getrefcount(x[1])]
    low, both = loaded().call("lowered", 1, x, False), loaded().call("glued", 1, b"/", x, x)
    assert [sys.getrefcount(low[0]), sys.getrefcount(both[1])] == [of_new + 1] * 2
    assert [sys.getrefcount(x[0]), sys.getrefcount(x[1])] == before
    wrong = tensor([b"good", None])
    for name, arguments in (("lowered", (False,)), ("lengths", ()), ("numbers_of", ("f",))):
        assert loaded().call(name, 1, wrong, *arguments) is NotImplemented
    assert loaded().call("glued", 1, b"", wrong, wrong) is NotImplemented
