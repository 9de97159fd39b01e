"""The live line of a training: what it says, and where it is drawn."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from estimator_lines import batches, line, quiet

import actorflow as af
from actorflow.estimator import Evaluated, Saved, StepMade, TrainingBegun, TrainingEnded
from actorflow.estimator.progress import Progress, notebook, progress, terminal
from actorflow.supervisor import Restored


def drawn(*events: Any) -> list[str]:
    lines: list[str] = []
    view = Progress(lambda text, is_last: lines.append(text + ("." if is_last else "")))
    for event in events:
        view(event)
    return lines


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
    assert lines[-1].endswith("restored 200 after a loss.")
    assert len(lines) == 8, "two steps within a tenth of a second are drawn once"


def test_a_terminal_shows_one_line() -> None:
    file = io.StringIO()
    draw = terminal(file, lambda: 30)
    draw("a" * 40, False)
    draw("done", True)
    assert file.getvalue() == "\r\x1b[K" + "a" * 28 + "…" + "\r\x1b[Kdone\n"


def test_a_notebook_shows_one_table() -> None:
    shown: list[str] = []

    class Handle:
        def update(self, text: str) -> None:
            shown.append(text)

    def display(text: str, display_id: bool) -> Handle:
        shown.append(text)
        return Handle()

    draw = notebook(display, str)
    draw("step 1  loss <1", False)
    draw("step 2", True)
    assert "<td style='text-align:left'>loss &lt;1</td>" in shown[0] and "step 2" in shown[1]


async def test_a_training_shows_it_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, lines in ((True, 1), (False, 0), (None, 0)):
        made = af.estimator.Estimator(line, str(tmp_path), quiet(progress=wanted), {"rate": 0.1})
        await made.train(batches, steps=2)
        assert capsys.readouterr().err.count("\n") == lines
    assert progress(None) is None
