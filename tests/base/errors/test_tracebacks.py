"""Errors are shown with the frames of the program, and with ours where somebody asks for them, or where the fault is ours."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import actorflow as af
from actorflow import errors

FOLDER = str(Path(af.__file__).parent) + os.sep
MOST_LINES = 15


def printed(tmp_path: Path, source: str, **environment: str) -> str:
    """The text that `python script.py` writes to stderr."""
    script = tmp_path / "script.py"
    script.write_text(dedent(source), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 1 and not done.stdout
    return done.stderr


MISTAKE = """
import asyncio
import anyio
import numpy as np
import actorflow as af

x = af.placeholder(af.float32, name="x")
y = af.matmul(x, af.ones([4, 2]))  # <-


async def main():
    async with af.Session() as session:
        await step(session)


async def step(session):
    return await session.run(y, {x: np.ones((5, 3))})


"""


@pytest.mark.parametrize("start", ["asyncio.run(main())", "anyio.run(main)"])
def test_a_script_that_fails_shows_its_own_lines(start: str, tmp_path: Path) -> None:
    text = printed(tmp_path, MISTAKE + start)
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES, text
    frames = [line.strip() for line in lines if line.startswith("  File ")]
    assert [frame.rpartition(" in ")[2] for frame in frames] == ["<module>", "main", "step"]
    assert all(str(tmp_path) in frame for frame in frames)
    assert "actorflow.errors.InvalidArgumentError: The inner sizes of the matrices differ" in text


def test_all_frames_are_shown_where_the_environment_asks_for_them(tmp_path: Path) -> None:
    text = printed(tmp_path, MISTAKE + "anyio.run(main)", ACTORFLOW_TRACEBACK="full")
    assert f"{FOLDER}engine{os.sep}session{os.sep}session.py" in text and "base_events.py" in text
    assert text.count("\n") > MOST_LINES


def test_a_fault_of_actorflows_keeps_its_frames(tmp_path: Path) -> None:
    text = printed(
        tmp_path,
        "import actorflow.engine.session.session as s\ns.Fetches = None\n" + MISTAKE.strip() + "\n\nanyio.run(main)",
    )
    assert "TypeError: 'NoneType' object is not callable" in text
    assert f"{FOLDER}engine{os.sep}session{os.sep}session.py" in text and "base_events.py" in text


def test_an_error_of_the_programs_own_is_printed_as_python_does(tmp_path: Path) -> None:
    source = "import asyncio\n{}\nasync def main():\n    raise ValueError('mine')\nasyncio.run(main())"
    assert printed(tmp_path, source.format("import actorflow")) == printed(tmp_path, source.format("pass"))


def test_what_a_program_has_put_in_the_hooks_place_prints(tmp_path: Path) -> None:
    hook = "import sys\nsys.excepthook = lambda kind, error, trace: print(kind.__name__, 'caught', file=sys.stderr)\n"
    text = printed(tmp_path, hook + "import actorflow as af\naf.ones([2, 3]) + af.ones([4])")
    assert text == "ValueError caught\n"


def test_a_thread_that_fails_shows_its_own_lines(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        dedent(
            """
            import threading
            import actorflow as af
            x = af.placeholder(af.float32)
            def work():
                with af.blocking.Session(graph=x.graph) as session:
                    session.run(x, {x: "text"})
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            """
        ),
        encoding="utf-8",
    )
    text = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stderr
    frames = [line.strip() for line in text.splitlines() if line.startswith("  File ")]
    assert len(frames) == 1 and frames[0].endswith("in work") and len(text.splitlines()) <= MOST_LINES, text


def test_the_errors_of_the_program_before_are_shown(tmp_path: Path) -> None:
    text = printed(
        tmp_path,
        """
        import actorflow as af
        x = af.placeholder(af.float32)
        with af.blocking.Session() as session:
            try:
                {}["key"]
            except KeyError:
                session.run(x, {x: "text"})
        """,
    )
    assert text.index("KeyError: 'key'") < text.index("During handling of the above exception") < text.index("is text")
    assert FOLDER not in text


def test_the_frames_of_a_function_of_the_program_are_shown(tmp_path: Path) -> None:
    """More than the last of them, which the message names itself."""
    text = printed(
        tmp_path,
        """
        import actorflow as af
        def inner():
            return {}["key"]
        def outer():
            return inner()
        y = af.py_func(outer, [], af.float32)
        with af.blocking.Session() as session:
            session.run(y)
        """,
    )
    assert "in outer" in text and "in inner" in text and text.index("KeyError") < text.index("UnknownError")
    assert FOLDER not in text and "kernels" not in text and len(text.splitlines()) <= 2 * MOST_LINES


async def test_a_run_that_fails_leaves_our_frames_out_for_those_who_log_it(graph: af.Graph) -> None:
    x = af.placeholder(af.float32)
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.FeedError) as caught:
            await session.run(x, {x: "text"})
    assert caught.value.__traceback__ is not None
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)] == [__file__]


def test_a_blocking_run_that_fails_leaves_our_frames_out(graph: af.Graph) -> None:
    x = af.placeholder(af.float32)
    with af.blocking.Session(graph=graph) as session, pytest.raises(errors.FeedError) as caught:
        session.run(x, {x: "text"})
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)[1:]] == ["run"]


def test_the_call_of_an_op_leaves_our_frames_out(graph: af.Graph) -> None:
    with pytest.raises(TypeError) as caught:
        af.tanh(None)
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)] == [__file__]


def test_the_full_frames_are_there_for_those_who_log_it(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_TRACEBACK", "full")
    x = af.placeholder(af.float32)
    with af.blocking.Session(graph=graph) as session, pytest.raises(errors.FeedError) as caught:
        session.run(x, {x: np.array("text")})
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[0] == __file__ and files[-1].startswith(FOLDER)
