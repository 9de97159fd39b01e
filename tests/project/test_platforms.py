"""Linux is supported; elsewhere the import says so, and a session in one process does not need Linux."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from actorflow.base.process import platforms

ROOT = Path(__file__).parents[2]

ELSEWHERE = """
import asyncio, anyio._backends._asyncio, numpy, os, shutil, signal, sys, warnings  # which read sys.platform as they are imported
system = sys.argv[1]
if system != "linux":
    for name in ("fcntl", "resource"):
        sys.modules[name] = None
    for module, names in (
        (os, ["memfd_create", "sched_getaffinity", "sched_setaffinity", "sched_yield", "pidfd_open", "eventfd"]),
        (signal, ["pidfd_send_signal"]),
    ):
        for name in names:
            vars(module).pop(name, None)
sys.platform = system
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import actorflow as af
    import actorflow.train
x = af.placeholder(af.float32, [None, 2])
w = af.Variable(numpy.ones((2, 1), numpy.float32))
loss = af.reduce_mean(af.square(af.matmul(x, w)))
train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
with af.blocking.Session() as session:
    session.run(af.global_variables_initializer())
    before, _ = session.run([loss, train], {x: numpy.ones((8, 2))})
    assert session.run(loss, {x: numpy.ones((8, 2))}) < before
for warning in told:
    print(warning.filename, warning.category.__name__, warning.message)
"""


def elsewhere(system: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, system],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.skipif(platform.machine() not in platforms.MACHINES, reason="is not supported itself")
def test_on_linux_nothing_is_said() -> None:
    assert elsewhere("linux") == []


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_the_import_says_so_and_a_local_session_works(system: str) -> None:
    (line,) = elsewhere(system)
    assert line.startswith(
        "<string> RuntimeWarning actorflow is made for Linux on x86-64 and aarch64 and not tested here"
    )
    assert (
        f"({system} on {platform.machine()})" in line and "clusters of processes and shared memory need Linux" in line
    )


@pytest.mark.parametrize(
    ("system", "machine", "told"),
    [
        ("linux", "x86_64", None),
        ("linux", "aarch64", None),
        ("linux", "ppc64le", "linux on ppc64le"),
        ("win32", "", "(win32)"),
        ("darwin", "arm64", "darwin on arm64"),
    ],
)
def test_what_is_told(system: str, machine: str, told: str | None) -> None:
    sentence = platforms.untested(system, machine)
    assert sentence is None if told is None else sentence is not None and told in sentence


def test_the_supported_platforms_are_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    systems = [c for c in project["classifiers"] if c.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert "Linux on x86-64 or aarch64" in (ROOT / "README.md").read_text("utf-8")


# ---- Pythons and numpys that are too old


@pytest.mark.parametrize(
    ("python", "numpy", "words"),
    [
        ((3, 11), "2.0.0", None),
        ((3, 15), "10.0.0rc1", None),
        ((3, 11), "", None),
        ((3, 10), "", "Python 3.10"),
        ((3, 7), "", "Python 3.7"),
        ((2, 7), "", "Python 2.7"),
        ((3, 11), "1.26.4", "numpy 1.26.4"),
        ((3, 11), "1.9", "numpy 1.9"),
    ],
)
def test_what_is_too_old_is_named_with_what_is_supported(
    python: tuple[int, int], numpy: str, words: str | None
) -> None:
    sentence = platforms.too_old(python, numpy)
    if words is None:
        assert sentence is None
    else:
        assert sentence is not None and sentence.startswith(
            f"actorflow can't run {'with' if numpy else 'on'} {words}: "
        )
        assert "CPython 3.11 or later and numpy 2 or later are supported" in sentence


def test_what_is_supported_is_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">={}.{}".format(*platforms.PYTHON)
    assert f"numpy>={platforms.NUMPY}" in project["dependencies"]


@pytest.mark.parametrize("file", ["actorflow/__init__.py", "actorflow/base/process/platforms.py"])
def test_an_old_python_can_read_the_file_that_refuses_it(file: str) -> None:
    ast.parse((ROOT / file).read_text("utf-8"), feature_version=(3, 7))


def imported(folder: Path, program: str = "import actorflow") -> str:
    """The last line of an import that fails, with modules of a folder in the place of others."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])},
    )
    return ended.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("numpy", "says"),
    [
        (
            "__version__ = '1.26.4'",
            "ImportError: actorflow can't run with numpy 1.26.4: CPython 3.11 or later and numpy 2",
        ),
        (
            "raise ImportError('module numpy._core._multiarray_umath does not support loading in subinterpreters')",
            "ImportError: actorflow can't run in an isolated subinterpreter, because numpy can't: use threads",
        ),
        ("raise ImportError('libopenblas: no such file')", "ImportError: libopenblas: no such file"),
    ],
)
def test_an_import_over_another_numpy_ends_with_a_sentence(tmp_path: Path, numpy: str, says: str) -> None:
    (tmp_path / "numpy.py").write_text(numpy, "utf-8")
    assert imported(tmp_path).startswith(says)


SUBINTERPRETER = """
import sys
interpreters = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
program = '''
import sys
sys.path[:] = %r
try:
    import actorflow
except ImportError as error:
    print(error, file=sys.stderr)
''' % sys.path
run = getattr(interpreters, "exec", None) or interpreters.run_string
created = interpreters.create()
run(created, program)
interpreters.destroy(created)  # CPython 3.14 warns of one that is left
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="subinterpreters have a lock of their own from Python 3.12 on")
def test_a_subinterpreter_is_refused(tmp_path: Path) -> None:
    assert imported(tmp_path, SUBINTERPRETER).startswith("actorflow can't run in an isolated subinterpreter")


@pytest.mark.parametrize("setting", ["", "1"])
def test_the_lock_of_the_interpreter_may_be_asked_for(setting: str) -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "import actorflow as af\nwith af.blocking.Session() as session: print(session.run(af.constant(2) + 1))",
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHON_GIL": setting, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert (ended.stdout, ended.stderr) == ("3\n", "")
