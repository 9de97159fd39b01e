"""`make test-pythons`: which interpreters it chooses; and the lowest dependencies, which are those of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith("Programming Language :: Python :: 3.")]


def pins() -> dict[str, list[Requirement]]:
    """The requirements of tests/lowest.txt by their packages."""
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    packages = defaultdict[str, list[Requirement]](list)
    for line in lines:
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            packages[requirement.name].append(requirement)
    return packages


DECLARED = {requirement.name: requirement for requirement in map(Requirement, PROJECT["dependencies"])}


def version_of(requirement: Requirement, operator: str) -> Version:
    (specifier,) = requirement.specifier
    assert specifier.operator == operator, f"{requirement}: {operator} is expected"
    return Version(specifier.version)


def test_every_dependency_has_a_lowest_version() -> None:
    assert sorted(pins()) == sorted(DECLARED)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_the_lowest_version_is_the_declared_bound(name: str) -> None:
    lowest = [version_of(pin, "==") for pin in pins()[name]]
    assert min(lowest) == version_of(DECLARED[name], ">=")
    assert lowest == sorted(lowest), "a later Python needs a later release"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", sorted(DECLARED))
def test_every_python_has_the_lowest_version_of_each_dependency_once(name: str, python: str) -> None:
    environment = {"python_version": python}
    assert len([pin for pin in pins()[name] if pin.marker is None or pin.marker.evaluate(environment)]) == 1


# ---- the interpreters


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import pythons

    yield pythons
    sys.modules.pop("pythons")


def program(path: Path, answer: str) -> Path:
    """A program that answers each question with these words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_candidates_are_those_of_path_and_of_pyenv(tools: Any, tmp_path: Path) -> None:
    for name in ("a/python3.12", "a/python3", "a/python3.12-config", "pyenv/versions/3.13.0/bin/python3.13"):
        program(tmp_path / name, "")
    environment = {"PATH": f"{tmp_path / 'a'}:{tmp_path / 'absent'}:", "PYENV_ROOT": str(tmp_path / "pyenv")}
    assert list(tools.candidates(environment, tmp_path)) == [
        tmp_path / "a" / "python3.12",
        tmp_path / "pyenv" / "versions" / "3.13.0" / "bin" / "python3.13",
        Path(sys.executable),
    ]
    assert list(tools.candidates({}, tmp_path / "pyenv")) == [Path(sys.executable)]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ('["cpython", 3, 12, 1, false]', "3.12"),
        ('["cpython", 3, 14, 0, true]', "3.14t"),
        ('["pypy", 3, 11, 9, false]', None),
        ("pyenv: python3.12: command not found", None),
        ("", None),
    ],
)
def test_a_candidate_is_asked(tools: Any, tmp_path: Path, answer: str, name: str | None) -> None:
    interpreter = tools.asked_of(program(tmp_path / "python", answer))
    assert (interpreter and interpreter.name) == name


def test_a_candidate_that_is_no_program_is_left_out(tools: Any, tmp_path: Path) -> None:
    assert tools.asked_of(tmp_path / "absent") is None


def test_an_interpreter_of_each_version_is_chosen(tools: Any) -> None:
    versions = [(3, 13, 0), (3, 10, 13), (3, 11, 7), (3, 13, 4)]
    interpreters = [tools.Interpreter(version, False, Path(str(at))) for at, version in enumerate(versions)]
    chosen = tools.supported([*interpreters, tools.Interpreter((3, 13, 0), True, Path("t"))], ">=3.11")
    assert {name: interpreter.path.name for name, interpreter in chosen.items()} == {
        "3.11": "2",
        "3.13": "0",
        "3.13t": "t",
    }


def test_this_python_is_listed() -> None:
    command = [sys.executable, ROOT / "tools" / "pythons.py", "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"Python 3.{sys.version_info.minor}." in listed


def test_a_python_that_is_not_here_is_an_error(tools: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert tools.main(["--pythons", "2.7"]) == 2
    assert "Python 2.7 is not on this machine, which has 3." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "pytest_arguments"),
    [([], None), (["--", "tests/graph", "-k", "queue"], ["tests/graph", "-k", "queue"])],
)
@pytest.mark.parametrize("status", [0, 1])
def test_the_status_and_the_arguments_are_those_of_the_tests(
    tools: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    pytest_arguments: list[str] | None,
    status: int,
) -> None:
    calls: list[list[str]] = []

    def run(command: list[Any], **_: Any) -> Any:
        calls.append([*map(str, command)])
        return subprocess.CompletedProcess(command, status)

    interpreter = tools.Interpreter((3, 12, 1), False, Path("python3.12"))
    monkeypatch.setattr(tools, "here", lambda: {interpreter.name: interpreter})
    monkeypatch.setattr(tools, "environment_of", lambda *_: Path("python"))
    monkeypatch.setattr(tools.subprocess, "run", run)
    assert tools.main(["--lowest", *arguments]) == status
    (command,) = calls
    assert command[0] == "python" and command[-1] == (
        pytest_arguments[-1] if pytest_arguments else "tools/run_tests.py"
    )
    shown = capsys.readouterr().out
    assert (
        "Python 3.12.1, lowest dependencies" in shown and f"Python 3.12.1: {'failed' if status else 'passed'}" in shown
    )
