"""A machine that can't build or load the library in C: one line says why, and numpy computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from actorflow.kernels.native import library

ROOT = Path(__file__).resolve().parents[3]


def head(processor: int) -> bytes:
    """The head of a library for a processor, by its number in ELF."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + processor.to_bytes(2, "little") + b"\x01" + bytes(43)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reasons that the log gives."""
    monkeypatch.delenv("ACTORFLOW_NATIVE", raising=False)
    monkeypatch.delenv("ACTORFLOW_NATIVE_BUILD", raising=False)
    found: list[str] = []
    monkeypatch.setattr(library, "_without", found.append)
    return found


@pytest.mark.parametrize("level", library.LEVELS)
def test_a_processor_without_the_instructions_that_were_asked_for(
    level: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = SimpleNamespace(sources=library._digest("installed"), use_level=lambda level: False)
    monkeypatch.setattr(library, "_imported", lambda build: built)
    monkeypatch.setenv("ACTORFLOW_NATIVE", level)
    assert library.loaded.__wrapped__() is None
    assert said == [f"this processor has no {level}"]


@pytest.mark.parametrize("content", [None, b"", b"no library"], ids=["missing", "empty", "text"])
def test_a_library_for_another_platform(
    content: bytes | None, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "_native.abi3.so"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("ACTORFLOW_NATIVE_BUILD", str(path))
    assert library.loaded.__wrapped__() is None
    assert len(said) == 1 and str(path) in said[0]


@pytest.mark.parametrize(
    ("processor", "here", "name"),
    [
        (243, "x86_64", "riscv64"),
        (183, "x86_64", "aarch64"),
        (62, "aarch64", "x86_64"),
        (3, "x86_64", "x86"),
        (8, "x86_64", "the processor 8"),
    ],
)
def test_a_library_for_another_processor_names_both_and_those_that_are_supported(
    processor: int, here: str, name: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "_native.abi3.so"
    path.write_bytes(head(processor))

    def failing(build: str) -> None:
        raise ImportError(f"{build}: cannot open shared object file: No such file or directory", path=build)

    monkeypatch.setattr(library, "_imported", failing)
    monkeypatch.setattr(library.platform, "machine", lambda: here)
    monkeypatch.setenv("ACTORFLOW_NATIVE_BUILD", str(path))
    assert library.loaded.__wrapped__() is None
    assert said == [
        f"{path} was compiled for {name}, and this machine is {here}; install actorflow again here: the library is made for "
        "x86_64 and aarch64"
    ]


def test_a_path_that_names_no_library(said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_NATIVE_BUILD", str(tmp_path / "native.txt"))
    assert library.loaded.__wrapped__() is None
    assert said == [f"{tmp_path / 'native.txt'} is no extension module"]


def test_a_compiler_that_fails_ends_no_installation(tmp_path: Path) -> None:
    folders = ["--build-lib", str(tmp_path / "lib"), "--build-temp", str(tmp_path / "temp")]
    built = subprocess.run(
        [sys.executable, "setup.py", "build_ext", *folders],
        cwd=ROOT,
        env={**os.environ, "CC": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    assert not list(tmp_path.rglob("*.so"))
    assert built.stdout.count('building extension "actorflow.kernels.native._native" failed') == 1
