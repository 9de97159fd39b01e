"""The programs of the page on datasets run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import actorflow as af

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "data.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PRINTED = [
    "]\n[",
    "[0, 10, 20, 30, 40, 50]",
    "[1. 2.] [b'a' b'b']",
    "[b'seven' b'eight'] [7 8]",
    "(2, 2) (1, 2)",
    "<- slowest",
]


@pytest.mark.parametrize(("program", "printed"), list(zip(PROGRAMS, PRINTED, strict=True)))
def test_a_program_of_the_page_runs(
    program: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with af.Graph().as_default():
        exec(compile(program, "data.md", "exec"), {})
    assert printed in capsys.readouterr().out
