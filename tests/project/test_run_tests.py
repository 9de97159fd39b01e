"""`make check`, `make test` and `make test-all`: which tests they choose, how they share them out, and what they show."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import run_tests

    yield run_tests
    for name in ("run_tests", "affected_tests"):
        sys.modules.pop(name)


def test_every_test_file_is_run_by_one_process(tools: Any) -> None:
    files = tools.test_files()
    assert {"tests/project/test_run_tests.py", "tests/graph/ops/test_table.py"} <= set(files)
    assert not any(file.startswith(("tests/gpu", "tests/soak", "tests/chaos")) for file in files)
    lists = tools.shared_out(files, 2, slow_too=False)
    assert sorted(lists[0] + lists[1]) == files and all(lists)


def test_files_are_shared_out_by_the_seconds_that_they_took(tools: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tools, "SECONDS", tmp_path / "seconds.txt")
    monkeypatch.setattr(tools, "SLOW", 2.0)
    tools.write({"long.py::a": 1.9, "long.py::b": 1.9, "two.py::a": 1.5, "three.py::a": 1.5, "two.py::slow[x y]": 30.0})
    assert tools.measured() == {"long.py": 3.8, "two.py": 1.5, "three.py": 1.5, "two.py::slow[x y]": 30.0}
    files = ["long.py", "three.py", "two.py", "unknown.py"]
    assert tools.shared_out(files, 2, slow_too=False) == [["long.py"], ["three.py", "two.py", "unknown.py"]]
    assert tools.shared_out(files, 2, slow_too=True) == [["two.py"], ["long.py", "three.py", "unknown.py"]]


def test_the_nearest_tests_that_fit_in_are_chosen(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "measured", lambda: {"a": 30.0, "b": 30.0, "c": 10.0, "d": 99.0})
    assert tools.within(["a", "b", "c"], 50.0) == ["a", "c"]
    assert tools.within(["d", "c"], 50.0) == ["d"], "one at least"


@pytest.mark.parametrize(
    "changed, nearest",
    [
        ("tests/graph/test_nest.py", ["tests/graph/test_nest.py"]),
        ("kernels/math/matmul.py", ["tests/kernels/test_onednn.py"]),  # imported there
        ("transports/zmq/endpoint.py", ["tests/transports/test_transport_contract.py"]),
        ("actorflow/models/queues/kinds.py", ["tests/models/queues/test_queues.py"]),  # af.FIFOQueue
        ("tests/support/clusters.py", ["tests/cluster/test_cluster.py"]),
        ("tools/run_tests.py", []),
    ],
)
def test_what_imports_a_changed_file_or_uses_its_names_is_chosen(tools: Any, changed: str, nearest: list[str]) -> None:
    found = tools.affected(ROOT, [changed])
    assert set(nearest) <= set(found) and "tests/project/test_public_names.py" not in found[:1]


def test_tests_of_the_project_follow_each_change_and_those_of_kernels_one_in_c(tools: Any) -> None:
    import affected_tests

    project = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "project").glob("test_*.py"))
    assert affected_tests.due(ROOT, []) == []
    assert affected_tests.due(ROOT, ["README.md"]) == project
    found = set(affected_tests.due(ROOT, ["kernels/native/src/panels.c"])) - set(project)
    assert {
        "tests/kernels/native/test_native.py",
        "tests/kernels/test_prepared.py",
        "tests/graph/ops/test_table.py",
    } <= found


def test_what_has_changed_is_what_is_not_in_the_branch_that_this_one_left(tools: Any, tmp_path: Path) -> None:
    import affected_tests

    def git(*arguments: str) -> None:
        options = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *options, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("kept", "committed", "edited"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "mine")
    (tmp_path / "committed").write_text("2")
    git("commit", "-am", "second")
    (tmp_path / "edited").write_text("2")
    (tmp_path / "new").write_text("1")
    assert affected_tests.changed(tmp_path) == ["committed", "edited", "new"]


def test_a_run_shows_how_far_it_is_and_what_failed(
    tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_good.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    (tmp_path / "test_bad.py").write_text("def test_c(): assert 1 + 1 == 3\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests' / 'support')!r})\n"
        "from progress import register as pytest_configure\n"
    )
    run = tools.Run([["test_good.py"], ["test_bad.py"]], [])
    assert run.wait() == 1
    said = capsys.readouterr().out
    assert "FAILED test_bad.py::test_c" in said and "3 of 3 tests, 1 failed" in said and "1 + 1 == 3" in said
    assert run.done == 3 and len(run.seconds) == 3
    assert tools.Run([["test_good.py"]], []).wait() == 0
    assert "2 passed" in capsys.readouterr().out


def test_ci_runs_all_tests() -> None:
    assert "make test-all" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("spent", "done", "tests", "words"),
    [
        (60.0, 0, 100, ""),
        (60.0, 1, 100, ""),  # too few to tell
        (60.0, 50, 100, ", about 1 min left"),
        (300.0, 100, 400, ", about 15 min left"),
        (300.0, 400, 400, ""),
    ],
)
def test_the_line_of_progress_says_how_long_the_rest_takes(
    tools: Any, spent: float, done: int, tests: int, words: str
) -> None:
    assert tools.time_left(spent, done, tests) == words
