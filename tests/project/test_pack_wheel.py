"""A wheel that is packed again has the same files; it never grows."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS = ("filename", "date_time", "external_attr", "create_system", "CRC", "file_size", "flag_bits")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location("pack_wheel", ROOT / "tools" / "pack_wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archive_of(path: Path, seed: int) -> None:
    """An archive as builders of wheels write them: text, noise, an empty file, names beyond ASCII, a program."""
    noise = random.Random(seed)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for at in range(noise.randrange(1, 12)):
            kind = noise.randrange(4)
            data = [b"", noise.randbytes(noise.randrange(5000)), b"a line of text\n" * noise.randrange(900), b"x"][kind]
            name = zipfile.ZipInfo(f"folder/{noise.choice('aéλ')}{at}.py", (2026, 1 + at % 12, 1 + at, at, 59, 58))
            name.external_attr = (0o100755 if kind == 2 else 0o100644) << 16
            name.compress_type = noise.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
            archive.writestr(name, data)


@pytest.mark.parametrize("seed", range(20))
def test_the_files_are_the_same(tool: ModuleType, tmp_path: Path, seed: int) -> None:
    path, copy = tmp_path / "a.whl", tmp_path / "b.whl"
    archive_of(path, seed)
    copy.write_bytes(tool.packed(path, tool.strongest()))
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(copy) as after:
        assert after.testzip() is None, f"seed {seed}"
        for old, new in zip(before.infolist(), after.infolist(), strict=True):
            assert [getattr(old, fact) for fact in FACTS] == [getattr(new, fact) for fact in FACTS], f"seed {seed}"
            assert before.read(old) == after.read(new), f"seed {seed}"


def test_it_is_packed_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("a.py", "".join(f"a line {at * at % 97} of text\n" for at in range(2000)))
    command = [sys.executable, ROOT / "tools" / "pack_wheel.py", path]
    before = path.stat().st_size
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert path.stat().st_size < before
    assert f"{before / 1e6:.2f} MB" in shown
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_a_wheel_never_grows(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", "a line of text\n" * 100)
    before = path.read_bytes()
    assert tool.pack(path, lambda data: data + b"longer") == (len(before), len(before))
    assert path.read_bytes() == before


def test_an_archive_with_a_comment_is_refused(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    archive_of(path, 1)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"a comment"
    with pytest.raises(ValueError, match=f"{os.path.basename(path)} has a comment"):
        tool.packed(path, tool.strongest())
