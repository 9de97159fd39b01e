"""The progress of a training: what it says, and where it is drawn."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from training.estimator.estimator_lines import batches, line, quiet

import actorflow as af
from actorflow.estimator import Evaluated, Saved, StepMade, TrainingBegun, TrainingEnded
from actorflow.supervisor import Restored
from actorflow.training.estimator.progress import views
from actorflow.training.estimator.progress.state import Progress
from actorflow.training.estimator.progress.views import Notebook, Plain, TerminalLine, TerminalTable, find_view


class Noted:
    """A view that keeps the lines it was given."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def draw(self, state: Progress, is_last: bool) -> None:
        self.lines.append(state.line() + ("." if is_last else ""))

    def clear(self) -> None:
        self.lines.append("")


def drawn(*events: Any) -> list[str]:
    view = Noted()
    progress = Progress(view=view)
    for event in events:
        progress(event)
    return view.lines


def test_the_line_says_how_fast_and_how_long() -> None:
    lines = drawn(
        TrainingBegun(0.0, 0, 1000),
        Saved(0.0, "m-0", 0),
        StepMade(1.0, 100, 0.5, 3200, 1),
        StepMade(1.05, 105, 0.4, 3360, 1),
        StepMade(2.0, 200, 0.25, 6400, 2),
        Evaluated(2.5, 200, "", {"accuracy": 0.9, "global_step": 200, "loss": 0.3}, "m-200"),
        Restored(2.6, "m-200", 200, 2),
        StepMade(3.0, 201, 0.25, 6400, 2),
        TrainingEnded(4.0, 201, "a hook ended it"),
    )
    assert lines[0] == "training begins"
    assert lines[2] == "step 100/1,000  loss 0.5  saved 0"
    assert lines[3] == "step 200/1,000  epoch 2  loss 0.25  100 steps/s  3,200 examples/s  0:08 left  saved 0"
    assert lines[4].endswith("evaluated 200: accuracy 0.9, loss 0.3")
    assert lines[-1].endswith("restored 200 after a loss  evaluated 200: accuracy 0.9, loss 0.3.")
    assert len(lines) == 8, "two steps within a tenth of a second are drawn once"


EVENTS = [
    TrainingBegun(0.0, 0, 1000),
    Saved(0.0, "m-0", 0),
    StepMade(1.0, 100, 0.5, 3200, 1),
    Evaluated(2.5, 100, "", {"accuracy": 0.9, "loss": 0.3}, "m-100"),
    Evaluated(2.6, 200, "<other>", {"accuracy": 0.8}, "m-200"),
    StepMade(3.0, 300, 0.25, 9600, 1),
]


def shown(view: Any, *more: Any) -> None:
    progress = Progress(view=view)
    for event in (*EVENTS, *more):
        progress(event)


def test_a_terminal_shows_one_line() -> None:
    file = io.StringIO()
    shown(TerminalLine(file, lambda: 30), TrainingEnded(4.0, 300, "a hook ended it"))
    parts = file.getvalue().split("\r\x1b[K")
    assert parts[-2] == "step 300/1,000  loss 0.25  1…" and parts[-1].endswith("evaluated <other> 200: accuracy 0.8\n")
    assert file.getvalue().count("\n") == 1


def test_a_file_has_plain_lines() -> None:
    file = io.StringIO()
    shown(Plain(file), TrainingEnded(4.0, 300, "a hook ended it"))
    (line,) = file.getvalue().splitlines()
    assert line.startswith("step 300/1,000") and "\x1b" not in line and "\r" not in line


def test_a_table_has_the_last_evaluations() -> None:
    """`rich` writes the screen; the last state stays."""
    file = io.StringIO()
    shown(TerminalTable(file, 100), TrainingEnded(4.0, 300, "a hook ended it"))
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue()).split("step ")[-1]
    lines = [line.split() for line in last.splitlines()]
    assert lines[0] == ["loss", "steps/s", "examples/s", "left", "saved"]
    assert lines[1] == ["300/1,000", "0.25", "100", "3,200", "0:07", "0"]
    assert lines[lines.index(["evaluated", "accuracy", "loss"]) :][:3] == [
        ["evaluated", "accuracy", "loss"],
        ["100", "0.9", "0.3"],
        ["200", "<other>", "0.8"],
    ]


def test_a_notebook_shows_tables() -> None:
    found: list[str] = []
    lines: list[str] = []

    class Handle:
        def update(self, forms: dict[str, str], raw: bool) -> None:
            assert raw
            found.append(forms["text/html"])
            lines.append(forms["text/plain"])

    def display(forms: dict[str, str], raw: bool, display_id: bool) -> Handle:
        Handle().update(forms, raw)
        return Handle()

    shown(Notebook(display))
    assert lines[0] == "training begins" and lines[-1].startswith("step 300/1,000  loss 0.25")
    assert "training begins" in found[0]
    assert found[-1].startswith("<progress value='0.300'") and ">300/1,000</td>" in found[-1]
    assert ">200 &lt;other&gt;</td>" in found[-1] and "script" not in found[-1]


def test_a_program_prints_above_it(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.StringIO()
    with Progress(view=TerminalLine(file, lambda: 80)) as progress:
        progress(TrainingBegun(0.0, 0, 2))
        progress.print("epoch", 1)
        assert capsys.readouterr().out == "epoch 1\n"
        assert file.getvalue() == "\r\x1b[Ktraining begins\r\x1b[K\r\x1b[Ktraining begins"
    assert file.getvalue().endswith("training begins\n"), "the end of the block ends the line"


async def test_a_training_shows_it_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, lines in ((True, 1), (False, 0), (None, 0), ("table", 1)):
        made = af.estimator.Estimator(line, str(tmp_path), quiet(progress=wanted), {"rate": 0.1})
        await made.train(batches, steps=2)
        found = capsys.readouterr().err
        assert found.count("\n") == lines and "\x1b" not in found, "this is no terminal"
    assert not Progress().is_shown


def test_a_terminal_gets_a_table_where_rich_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(find_view(None), TerminalTable) and isinstance(find_view("line"), TerminalLine)
    monkeypatch.setattr(views, "find_spec", lambda name: None)
    assert isinstance(find_view(None), TerminalLine)
    with pytest.raises(af.errors.UnimplementedError, match=r"(?s)needs rich.*pip install 'actorflow\[progress\]'"):
        find_view("table")
    with pytest.raises(ValueError, match="progress='bar': it is None, True, False"):
        find_view("bar")
    monkeypatch.setenv("TERM", "dumb")
    assert find_view(None) is None


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_pseudo_terminal_shows_a_training(tmp_path: Path) -> None:
    """A process whose stderr is a terminal draws there, and writes nothing of it to stdout."""
    import pty

    mine, its = pty.openpty()
    found: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(mine, 4096):
                found.append(part)
        except OSError:
            pass  # so a pseudo-terminal ends

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("shown_training.py"), tmp_path],
            stdout=subprocess.PIPE,
            stderr=its,
            timeout=PATIENCE,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        )
    finally:
        os.close(its)
        reader.join()
        os.close(mine)
    text = b"".join(found).decode()
    assert done.returncode == 0 and done.stdout == b"done\n"
    assert "20/20" in text and "saved" in text and "\x1b[" in text
