"""CSV by a schema, folders of images, samples in tar files; and what does not fit, by its file, line or key, and field."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError


async def all_of(dataset: Any) -> list[Any]:
    return [element async for element in dataset]


def written(path: Path, data: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


# ---- CSV

ROWS = 'name,x,n,on\n"a, b",1.5,-3,true\n\nb,,9223372036854775807,0\nc,nan,7,False\n'
SCHEMA = {"n": af.int64, "name": af.string, "x": af.float32, "on": af.bool}


async def test_csv_has_the_types_of_its_schema(tmp_path: Path) -> None:
    file = written(tmp_path / "rows.csv", ROWS)
    (batch,) = await all_of(af.data.CsvDataset(file, SCHEMA, batch_size=8, fill={"x": 0.25}))
    assert list(batch) == list(SCHEMA)
    assert batch["n"].tolist() == [-3, 2**63 - 1, 7] and batch["n"].dtype == np.int64
    assert batch["name"].tolist() == [b"a, b", b"b", b"c"] and batch["on"].tolist() == [True, False, False]
    np.testing.assert_array_equal(batch["x"], np.array([1.5, 0.25, np.nan], np.float32))


async def test_csv_of_several_files_comes_in_batches_and_rows(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{n}.csv", f"x;y\n{n};1\n{n};2\n{n};3\n") for n in range(2)]
    batches = await all_of(af.data.CsvDataset(files, {"y": af.int32, "x": af.int32}, batch_size=4, delimiter=";"))
    assert [batch["y"].tolist() for batch in batches] == [[1, 2, 3, 1], [2, 3]]
    bare = written(tmp_path / "bare.csv", "\ufeff5,6\r\n7,8\r\n")
    rows = await all_of(af.data.CsvDataset(bare, {"b": af.uint8}, names=["a", "b"]))
    assert [int(row["b"]) for row in rows] == [6, 8]


CSV_FAULTS: list[tuple[str | bytes | None, dict[str, Any], type[Exception], str]] = [
    (None, {"x": af.float32}, NotFoundError, "There is no file"),
    ("a,b\n1,2\n", {"x": af.float32}, InvalidArgumentError, r"has no column 'x'; it has \['a', 'b'\]"),
    ("", {"x": af.float32}, InvalidArgumentError, r"has no column 'x'; it has \[\]"),
    ("x,y\n1,2\n3\n", {"x": af.int32}, InvalidArgumentError, "The line 3 of .* has 1 cells, but there are 2 columns"),
    (
        "x\n1\n\n2.5\n",
        {"x": af.int32},
        InvalidArgumentError,
        "The column 'x' in line 4 of .* has '2.5', which is no int32",
    ),
    ("x\n300\n", {"x": af.uint8}, InvalidArgumentError, "The column 'x' in line 2 of .* has '300', which is no uint8"),
    ("x\n1e300\n", {"x": af.float32}, InvalidArgumentError, "has '1e300', which is no float32"),
    ("x\none\n", {"x": af.float64}, InvalidArgumentError, "has 'one', which is no float64"),
    ("x\nmaybe\n", {"x": af.bool}, InvalidArgumentError, "has 'maybe', which is no bool"),
    ("x,y\n,1\n", {"x": af.int64}, InvalidArgumentError, "The column 'x' in line 2 of .* is empty"),
    ('x\n"1\n', {"x": af.int64}, InvalidArgumentError, "is no CSV"),
    (b"x\n\xff\n", {"x": af.string}, InvalidArgumentError, "The row at line 2 of .* is no CSV: it has the byte 0xff"),
    (b"x\n" + b"a\n" * 9000 + b"\xff", {"x": af.string}, InvalidArgumentError, "The row at line 9002 of .* is no CSV"),
    (b"\xff\n1\n", {"x": af.string}, InvalidArgumentError, "The row at line 1 of .* is no CSV"),
    ('x\na\n"1\n2\n', {"x": af.string}, InvalidArgumentError, "The row at line 3 of .* is no CSV"),
    ('x\n"a"b\n', {"x": af.string}, InvalidArgumentError, "The row at line 2 of .* is no CSV"),
    ("x\na\n\0\n", {"x": af.string}, InvalidArgumentError, "The row at line 3 of .* is no CSV: it has a NUL byte"),
    ("x,y\n1\0,2\n", {"y": af.int32}, InvalidArgumentError, "The row at line 2 of .* is no CSV: it has a NUL byte"),
    ("x,y,x\n1,2,3\n", {"x": af.int32}, InvalidArgumentError, "The first line of .* has the column 'x' 2 times"),
]

NUMBERS: dict[str, tuple[float | None, int | None]] = {
    "1": (1, 1), " 1 ": (1, 1), "+1": (1, 1), "-01": (-1, -1), "1e3": (1000, None), "1.": (1, None), ".5": (0.5, None),
    "1E-2": (0.01, None), "inf": (np.inf, None), "-Infinity": (-np.inf, None), "1e-400": (0, None), "1_000": (None, None),
    "1e400": (None, None), "-1e400": (None, None), "1_0.5": (None, None), "1e1_0": (None, None), "\u0661": (None, None),
    "\uff11": (None, None), "\u0661.5": (None, None), "\u00a01": (None, None), "1\u3000": (None, None),
    "0x10": (None, None), "1 2": (None, None), "": (None, None), " ": (None, None), ".": (None, None), "e5": (None, None),
    "infinit": (None, None), "nan(1)": (None, None), "1,0": (None, None), "--1": (None, None), "9" * 5000: (None, None),
}  # fmt: skip
"""Texts, and the float and the integer that each spells."""


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("kind", [af.float64, af.float32, af.int64, af.int8])
async def test_csv_has_numbers_of_ascii_alone(text: str, kind: Any, tmp_path: Path) -> None:
    number = NUMBERS[text][kind.is_integer]
    file = written(tmp_path / "rows.csv", f'x\n7\n"{text}"\n8\n')
    rows = af.data.CsvDataset(file, {"x": kind}, batch_size=8)
    if number is None:
        with pytest.raises(InvalidArgumentError, match=r"The column 'x' in line 3 of '.*rows\.csv' (has '|is empty)"):
            await all_of(rows)
    else:
        (batch,) = await all_of(rows)
        np.testing.assert_array_equal(batch["x"], np.array([7, number, 8], kind.numpy_dtype))


@pytest.mark.parametrize(("data", "schema", "kind", "words"), CSV_FAULTS)
async def test_csv_that_does_not_fit_is_named(
    data: str | bytes | None, schema: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "rows.csv") if data is None else written(tmp_path / "rows.csv", data)
    with pytest.raises(kind, match=words):
        await all_of(af.data.CsvDataset(file, schema))


# ---- tar files


def tar(path: Path, members: Sequence[tuple[str, bytes]], mode: str = "w") -> str:
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))
    return str(path)


MEMBERS = [
    ("cats/1.png", b"p1"), ("cats/1.cls", b"0"), ("cats/1.seg.png", b"s1"), ("cats/1.json", b"{}"),
    ("v1.0/1.png", b"p2"), ("v1.0/1.cls", b"1"), ("v1.0/1.seg.png", b"s2"), ("README.md", b"no sample"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
async def test_members_of_one_key_are_a_sample(mode: str, tmp_path: Path) -> None:
    files = [tar(tmp_path / f"{n}.tar", MEMBERS, mode) for n in range(2)]
    samples = await all_of(af.data.TarDataset(files, ["cls", "png", "seg.png"]))
    assert [tuple(sample.values()) for sample in samples] == [
        (b"cats/1", b"0", b"p1", b"s1"),
        (b"v1.0/1", b"1", b"p2", b"s2"),
    ] * 2
    batches = await all_of(af.data.TarDataset(files, ["cls"], batch_size=3))
    assert [batch["cls"].tolist() for batch in batches] == [[b"0", b"1", b"0"], [b"1"]]


def _cut(path: Path) -> str:
    file = tar(path, [("1.png", bytes(5000))])
    path.write_bytes(path.read_bytes()[:3000])
    return file


TAR_FAULTS: list[tuple[Callable[[Path], str], type[Exception], str]] = [
    (str, NotFoundError, "There is no file"),
    (lambda path: tar(path, MEMBERS[:1]), InvalidArgumentError, "The sample 'cats/1' of .* has no 'cls'; it has png"),
    (lambda path: tar(path, MEMBERS[:2] + MEMBERS[:1]), InvalidArgumentError, "has two members 'png'"),
    (
        lambda path: tar(path, [("1.png", bytes(2000))]),
        ResourceExhaustedError,
        "'1.png' of .* has 2000 bytes; 1000 are",
    ),
    (lambda path: written(path, b"no tar" * 200), DataLossError, "can't be read"),
    (lambda path: written(path, b""), DataLossError, "can't be read"),
]


@pytest.mark.parametrize(("make", "kind", "words"), TAR_FAULTS)
async def test_tar_files_that_do_not_fit_are_named(
    make: Callable[[Path], str], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=words):
        await all_of(af.data.TarDataset(make(tmp_path / "shard.tar"), ["png", "cls"], most_bytes=1000))


async def test_a_tar_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataLossError, match="can't be read"):
        await all_of(af.data.TarDataset(_cut(tmp_path / "shard.tar"), ["png"]))


# ---- folders of images


async def folder(path: Path) -> Path:
    async with af.Session() as session:
        for name, grey in (("dogs/2.PNG", 20), ("cats/1.png", 10), ("cats/3.png", 30)):
            pixels = np.full((2, 4, 3), grey, np.uint8)
            written(path / name, await session.run(af.image.encode_png(pixels)))
    written(path / "cats" / "notes.txt", "no image")
    written(path / "notes.txt", "no class")
    return path


@pytest.mark.parametrize("channels", [1, 3])
async def test_a_folder_of_images_has_a_class_for_each_folder(channels: int, tmp_path: Path) -> None:
    images = af.data.ImageFolder(await folder(tmp_path), channels)
    assert images.classes == ("cats", "dogs")
    elements = await all_of(images)
    assert [(image.shape, int(image[0, 0, 0]), int(label)) for image, label in elements] == [
        ((2, 4, channels), 10, 0),
        ((2, 4, channels), 30, 0),
        ((2, 4, channels), 20, 1),
    ]


@pytest.mark.parametrize("size", [0, 8, 40])
async def test_an_image_that_can_not_be_decoded_is_named(size: int, tmp_path: Path) -> None:
    cut = (await folder(tmp_path) / "cats" / "3.png").read_bytes()[:size]
    written(tmp_path / "cats" / "3.png", cut)
    with pytest.raises(InvalidArgumentError, match=r"The image '.*cats/3\.png' can't be decoded"):
        await all_of(af.data.ImageFolder(tmp_path))


async def test_what_is_asked_for_in_vain_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty" / "cats").mkdir(parents=True)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: af.data.ImageFolder(tmp_path / "nowhere"), NotFoundError, "can't be read: No such file"),
        (lambda: af.data.ImageFolder(tmp_path / "empty" / "cats"), InvalidArgumentError, "has no folder of a class"),
        (lambda: af.data.ImageFolder(tmp_path / "empty"), InvalidArgumentError, "The class 'cats' .* has no image"),
        (lambda: af.data.ImageFolder(tmp_path, 2), InvalidArgumentError, "1 or 3 channels"),
        (lambda: af.data.CsvDataset("a.csv", {}), InvalidArgumentError, "a column at least"),
        (lambda: af.data.CsvDataset("a.csv", {"x": af.int8}, batch_size=0), InvalidArgumentError, "a row at least"),
        *[
            (
                lambda sign=sign: af.data.CsvDataset("a", {"x": af.int8}, delimiter=sign),
                InvalidArgumentError,
                "delimiter",
            )
            for sign in ("", ";;", '"', "\n", "\r", "\0")
        ],
        (lambda: af.data.CsvDataset("a", {"x": af.int8}, names=["x", "x"]), InvalidArgumentError, "column 'x' 2 times"),
        (lambda: af.data.CsvDataset("a", {"x": af.int8}, names="xy"), InvalidArgumentError, "list of texts"),
        (lambda: af.data.CsvDataset("a.csv", {"x": af.int8}, fill={"x": 1000}), InvalidArgumentError, "no int8"),
        (lambda: af.data.TarDataset("a.tar", "png"), InvalidArgumentError, "list of different endings"),
        (lambda: af.data.TarDataset("a.tar", ["png"], batch_size=0), InvalidArgumentError, "a sample at least"),
    ]
    for make, kind, words in cases:
        with pytest.raises(kind, match=words):
            make()
