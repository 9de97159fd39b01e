"""Strings in C against Python: records of CSV, strings that spell numbers, ends, cuts and joints, distinct strings, tables."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from native_cases import agree, outcome

import actorflow as af
from actorflow.base import byte_strings
from actorflow.kernels.array import unique as distinct
from actorflow.kernels.io import decoding
from actorflow.kernels.lookup import content
from actorflow.kernels.native import scatter
from actorflow.kernels.native.library import loaded
from actorflow.kernels.native.strings import numbers as spelled
from actorflow.kernels.native.strings import parts
from actorflow.kernels.strings import elementwise, numbers, regex, split
from actorflow.kernels.strings import hash as hashing

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")


def tensor(values: list[bytes]) -> Any:
    strings = np.empty(len(values), object)
    strings[:] = values
    return strings


def random_strings(rng: Any, count: int, letters: bytes = bytes(range(256)), longest: int = 40) -> Any:
    return tensor([bytes(rng.choice(list(letters), rng.integers(0, longest)).tolist()) for _ in range(count)])


DEFAULTS = (
    np.array(["x"], object),
    np.array([b"none"], object),
    np.zeros(0, "f4"),
    np.ones(1, "f8"),
    np.full(1, 7, "i4"),
)
FIELDS = [
    b"1",
    b"-2.5",
    b"",
    b"NA",
    b'"a""b"',
    b'"1"',
    b"x",
    b' "q"',
    b'"',
    b"1e5",
    b"inf",
    b"a\0b",
    b"\n",
    b'"a\r\n,b"',
]
FIELDS += [b" 7 ", b"2147483648", b"1_0", b"0x1p3", b"\xff\xfe", b'"un', b'"a"b', b"9" * 40]


@pytest.mark.parametrize("between", [",", ";", "e", "\t", '"'])
def test_records_are_pythons(between: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(300):
        count = int(rng.integers(1, 4))
        defaults = [DEFAULTS[i] if i else np.array([b"x"], object) for i in rng.integers(0, len(DEFAULTS), count)]
        few = FIELDS if rng.random() < 0.3 else FIELDS[:4]
        rows = [between.encode().join(few[i] for i in rng.integers(0, len(few), count)) for _ in range(3)]
        select = tuple(range(0, 2 * count, 2)) if rng.random() < 0.2 else ()
        if select:
            rows = [between.encode().join([row, b"4", row]) for row in rows]
        options = {
            "field_delim": between,
            "use_quote_delim": rng.random() < 0.7,
            "na_value": "NA",
            "select_cols": select,
        }
        records = tensor(rows)
        agree(spelled.decode_csv, decoding.decode_csv, np, records, defaults, **options)


def test_records_of_one_field_and_none() -> None:
    options = {"field_delim": ",", "use_quote_delim": True, "na_value": "", "select_cols": ()}
    for row in (
        b"",
        b",",
        b"\n",
        b"a\n",
        b"\r\na",
        b'""',
        b'"",',
        b"a,\n",
        b'"a" ',
        b"a" * 100_000,
        b'"' + b'""' * 9 + b'"',
    ):
        for count in (1, 2):
            defaults, records = [np.array([b"-"], object)] * count, tensor([b"p,q"[: 2 * count - 1], row])
            agree(spelled.decode_csv, decoding.decode_csv, np, records, defaults, **options)


FLOATS = [0.0, -0.0, 0.5, 1.5, 2.5, -0.125, 1e-7, 9.9999995, 123456.789, 2.0**53, 2.0**60, 1e22, 1e300, 5e-324, 4e-45]
FLOATS += [float("inf"), -float("inf"), float("nan"), 0.1, 1 / 3, 999999.95, 0.0005, 5e-7, 4503599627370497.5]


@pytest.mark.parametrize(
    "form", list(itertools.product((-1, 0, 1, 3, 10, 22, 30), (-1, 3, 12), ("", "0", "-", "+"))), ids=str
)
def test_spelled_floats_are_pythons(form: tuple[int, int, str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    precision, width, fill = form
    scaled = rng.normal(size=200) * 10.0 ** rng.integers(-20, 20, 200)
    for kind in ("f4", "f8"):
        with np.errstate(over="ignore"):
            x = np.array([*FLOATS, *scaled, *np.round(scaled, 2)], "f8").astype(kind)
        for scientific, shortest in ((False, False), (True, False), (False, True)):
            options = {
                "precision": precision,
                "scientific": scientific,
                "shortest": shortest,
                "width": width,
                "fill": fill,
            }
            agree(spelled.as_string, numbers.as_string, np, x, **options)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_spelled_whole_numbers_are_pythons(kind: str) -> None:
    x = np.array([0, 1] if kind == "?" else [0, 1, 9, 10, 99, np.iinfo(kind).min, np.iinfo(kind).max], kind)
    for precision, width, fill in itertools.product((-1, 2), (-1, 5), ("", "0", "-", " ")):
        options = {"precision": precision, "scientific": False, "shortest": False, "width": width, "fill": fill}
        agree(spelled.as_string, numbers.as_string, np, x, **options)


def test_ends_cuts_lengths_and_old_hashes_are_pythons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = random_strings(rng, 60).reshape(6, 10)
    spaced = random_strings(rng, 60, b" \t\n\v\f\ra\0")
    agree(parts.strip, elementwise.strip, np, spaced)
    agree(parts.length, elementwise.length, np, x, unit="UTF8_CHAR")
    agree(spelled.string_to_hash_bucket, hashing.string_to_hash_bucket, np, x, num_buckets=997)
    for _ in range(60):
        shape = x.shape if rng.random() < 0.5 else ()
        begins, sizes = (np.asarray(rng.integers(-3, 5, shape), "i4") for _ in range(2))
        strings = tensor([b"abc" + value for value in x.reshape(-1).tolist()]).reshape(x.shape)
        for source in (x, strings):
            agree(parts.substr, elementwise.substr, np, source, begins, sizes, unit="BYTE")


CLASSES = (
    b"[0-9]+",
    b"[0-9]",
    rb"\s+",
    rb"\W",
    b"[^a-c]+",
    b"[[:punct:]]+",
    b",",
    b"a+",
    rb"\.",
    rb"[\x61-b]+",
    b"[]a]",
    b"[a",
    b".",
)


@pytest.mark.parametrize("pattern", CLASSES, ids=str)
def test_characters_of_a_class_are_replaced_as_by_python(pattern: bytes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for letters in (b"ab1 ,.\0", b"a12\xff", "aé1".encode()):
        x = random_strings(rng, 40, letters, 12).reshape(5, 8)
        for rewrite, whole in itertools.product((b"", b"-", b"<a1>", rb"\0\0", rb"\1", b"\0"), (True, False)):
            given = np, x, *(tensor([text]).reshape(()) for text in (pattern, rewrite))
            agree(parts.regex_replace, elementwise.regex_replace, *given, replace_global=whole)


def test_classes_are_found_in_patterns() -> None:
    classes = {pattern: regex.class_of(pattern) for pattern in CLASSES}
    assert [pattern for pattern, members in classes.items() if members is None] == [rb"[\x61-b]+", b"[]a]", b"[a", b"."]
    assert regex.class_of(b"[0-9]+") == regex.CharacterClass(bytes(chr(c).isdigit() for c in range(128)), True)
    for other in (b"", b"ab", b"a*", b"(a)", b"^", b"[0-9]{2}", rb"\b", "é".encode(), b"[a]|b", rb"\pL"):
        assert regex.class_of(other) is None


def test_strings_and_text_become_strings_as_in_python(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Text(str):
        pass

    class Strings(bytes):
        pass

    rng = np.random.default_rng(seed)
    items = [b"a", b"", b"\0", "\0é", "", Text("b"), Strings(b"c"), np.str_("d"), np.bytes_(b"e")]
    arrays = [rng.choice(np.array([*items, None], object)[:-1], sizes) for sizes in ((), (0,), (7,), (3, 4), (2, 0))]
    arrays += [np.array([["a", "bé"]]), np.array([b"a", b"bc"]), arrays[3].T, arrays[3][:, ::2]]
    for wrong in (1, None, 2.5, ["a"], "\ud800"):
        arrays.append(np.array([b"a", None], object))
        arrays[-1][1] = wrong
    in_c = [outcome(byte_strings.byte_strings, (array,)) for array in arrays]
    monkeypatch.setattr(byte_strings, "_provided", [])
    for array, strings in zip(arrays, in_c, strict=True):
        reference = outcome(byte_strings.byte_strings, (array,))
        if isinstance(reference, str):
            assert strings == reference
        else:
            assert (strings.shape, strings.tolist()) == (reference.shape, reference.tolist())
            assert strings is not array and all(isinstance(item, bytes) for item in strings.flat)


def test_joints_along_axes_and_of_segments_are_pythons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for shape in ((4, 3, 2), (0, 3), (3, 0), (5,), (1, 1)):
        x = random_strings(rng, int(np.prod(shape)), longest=9).reshape(shape)
        for axes in (
            np.int32(0),
            np.int32(-1),
            np.array([0], "i4"),
            np.array([-1, 0], "i4"),
            np.int32(5),
            np.int32(-4),
        ):
            for keep in (False, True):
                agree(parts.reduce_join, split.reduce_join, np, x, axes, keep_dims=keep, separator="--")
    for _ in range(40):
        x = random_strings(rng, 12, b"ab", 3)
        ids, count = rng.integers(-1 if rng.random() < 0.1 else 0, 6, 12).astype("i4"), np.int32(rng.integers(5, 8))
        agree(parts.unsorted_segment_join, split.unsorted_segment_join, np, x, ids, count, separator="/")


@pytest.mark.parametrize("kind", [af.int32, af.int64], ids=str)
def test_distinct_strings_are_pythons(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count in (0, 1, 7, 100, 3000):
        x = random_strings(rng, count, b"a\0\xff", 6)
        agree(scatter.unique_with_counts, distinct.unique_with_counts, np, x, out_idx=kind)


@pytest.mark.parametrize("key", [af.string, af.int64, af.int32], ids=str)
@pytest.mark.parametrize("value", [af.string, af.int64, af.float32, af.bool], ids=str)
def test_a_table_that_does_not_change_finds_what_one_that_changes_finds(key: Any, value: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some(kind: Any, count: int) -> Any:
        return (
            random_strings(rng, count, b"ab\0", 7)
            if kind is af.string
            else rng.integers(0, 300, count).astype(kind.numpy_dtype)
        )

    fixed, changing = (content.ContentTable("t", key, value, once=once) for once in (True, False))
    entries = dict(zip(some(key, 200).tolist(), some(value, 200).tolist()))
    fixed.fill(list(entries), list(entries.values()))
    changing.insert(list(entries), list(entries.values()))
    for shape in ((50,), (5, 10), (0,), ()):
        keys = some(key, int(np.prod(shape))).reshape(shape)
        for default in (some(value, 1).reshape(()), some(value, keys.size).reshape(shape)):
            agree(fixed.find, changing.find, keys, default)


def test_a_fallback_that_is_a_scalar_of_numpy_is_looked_up_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    table = content.ContentTable("t", af.string, af.int64)
    table.fill([b"a", b"b"], [5, 6])
    monkeypatch.setattr(table, "_items", {})  # what Python would look in
    for fallback in (np.int64(-1), np.array(-1)):
        assert table.find(tensor([b"b", b"c", b"a"]), fallback).tolist() == [6, -1, 5]


def test_what_are_no_strings_is_left_to_python() -> None:
    wrong = tensor([b"good", None])  # type: ignore[list-item]
    calls = {
        "old_buckets": (5,),
        "csv": (b",", True, b"", (np.array([b""], object),), None),
        "letter_counts": (),
        "stripped": (),
        "cut": (np.int32(0).reshape(()), np.int32(1).reshape(())),
        "joined_along": (0, b""),
        "segments_joined": (np.zeros(2, "i4"), 1, b""),
        "unique": (False,),
        "indexed": (),
        "as_strings": (),
        "classes_replaced": (bytes(128), False, b"", False),
    }
    for name, arguments in calls.items():
        assert loaded().call(name, 1, wrong, *arguments) is NotImplemented, name
