"""CONTRIBUTING.md's guide to adding an op shows code of the tree, and works to the letter in a copy without that op."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import pytest
from project_copies import copied, run

ROOT = Path(__file__).resolve().parents[2]
STEP = re.compile(r"^\d\. .*?here (?:in|to `CASES` of) `([\w/.]+)`.*?```python\n(.*?)```", re.MULTILINE | re.DOTALL)


def steps() -> list[tuple[str, str]]:
    """The files of the guide, each with what is to be added to it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guide = text.partition("## Adding an op")[2].partition("\n## ")[0]
    return [(file, textwrap.dedent(code)) for file, code in STEP.findall(guide)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project, with the page that a tool writes."""
    root = copied(tmp_path / "copy")
    (root / "docs" / "reference").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "reference" / "gpu_kernels.md", root / "docs" / "reference")
    return root


def cut(copy: Path, file: str, code: str) -> None:
    """Takes the guide's code out of a file of the copy, whether it stands by itself or is an element of a list."""
    text = (copy / file).read_text(encoding="utf-8")
    element = textwrap.indent(code.rstrip(), "    ") + ",\n"
    there = element if element in text else code
    assert text.count(there) == 1, f"{file} has other code than CONTRIBUTING.md:\n{code}"
    (copy / file).write_text(text.replace(there, ""), encoding="utf-8")


@pytest.mark.timeout(180)
def test_the_guide_makes_an_op_with_its_tests(copy: Path) -> None:
    made = steps()
    assert [file for file, _ in made] == [
        "actorflow/graph/ops/math/arithmetic.py",
        "kernels/math/arithmetic.py",
        "tests/graph/ops/math/rows_arithmetic.py",
    ]
    for file, code in made:
        cut(copy, file, code)
    (declared, op), (computed, kernel), (table, row) = made
    for file, code in ((declared, op), (computed, kernel)):
        with (copy / file).open("a", encoding="utf-8") as written:
            written.write(f"\n\n{code}")
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/graph/ops/test_table.py", "-k")
    with (copy / table).open("a", encoding="utf-8") as written:
        written.write(f"\nCASES.append(\n{row})\n")
    for stub in (copy / "actorflow" / "math.pyi", copy / "actorflow" / "__init__.pyi"):
        stub.unlink()
    run(copy, "tools/public_names.py")
    assert "squared_difference as squared_difference" in (copy / "actorflow" / "math.pyi").read_text(encoding="utf-8")
    where = run(copy, "-c", "import actorflow as af; print(af.squared_difference.__wrapped__.__code__.co_filename)")
    assert where.strip() == str(copy / declared)
    gpu = Path("docs", "reference", "gpu_kernels.md")
    (copy / gpu).write_text(
        (copy / gpu).read_text(encoding="utf-8").replace("SquaredDifference, ", ""), encoding="utf-8"
    )
    run(copy, "tests/devices/kernel_coverage.py")
    assert (copy / gpu).read_text(encoding="utf-8") == (ROOT / gpu).read_text(encoding="utf-8")
    printed = run(copy, *tests, "SquaredDifference or every_op")
    assert int(re.findall(r"(\d+) passed", printed)[0]) >= 6, printed
