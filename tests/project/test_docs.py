"""All that the documents name is there: each path exists, each dotted name resolves, and each piece of Python in the README
runs.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import actorflow as af

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = (
    "actorflow",
    "kernels",
    "devices",
    "transports",
    "checkpoint",
    "tests",
    "tools",
    "docs",
    "examples",
    "benchmarks",
    "deploy",
)

# Paths with a folder anywhere in the text; folders and files without one in backticks.
PATH = re.compile(
    r"(?<![\w/.:~<-])(?:[\w.-]+/)+[\w.-]*\w\.(?:py|pyi|md|toml|ipynb|yaml|sh|c)\b"
    r"|(?<=`)(?:[\w.-]+/)*[\w.-]+/(?=`)"
    r"|(?<=`)[\w-]+\.(?:py|pyi|md)(?=`)"
)
LINK = re.compile(r"\]\([^)]*\)")  # tests/project/test_design_pictures.py follows links
NAME = re.compile(r"(?<![\w./-])(?:af|actorflow|tf)(?:\.[A-Za-z_]\w*)+")
FORMER = {"af": "actorflow", "tf": "actorflow.compat.v1"}

# Names of TensorFlow's that are not here: their documents say so.
ABSENT = {
    "README.md": "keras",
    "tensorflow1_programs.md": "keras",
    "differences.md": "function",
}
# In CONTRIBUTING.md, `x` and `y` are any module and name; the others are names of spans.
ANY = {"actorflow.x", "actorflow.session.run", "actorflow.step", "actorflow.run_part"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS = set(PROJECT["entry-points"])


def missing_paths(text: str) -> list[str]:
    """The paths in a text that are neither in the tree nor in the core, and file names that no folder has."""
    found = []
    for path in dict.fromkeys(PATH.findall(text)):
        if "/" not in path:
            there = any(next((ROOT / folder).rglob(path), None) for folder in FOLDERS) or (ROOT / path).exists()
        else:
            there = (ROOT / path).exists() or (ROOT / "actorflow" / path).exists()
        if not there:
            found.append(path)
    return found


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    first, _, rest = name.partition(".")
    path = FORMER.get(first, first)
    found: Any = importlib.import_module(path)
    for part in rest.split("."):
        path = f"{path}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        found = getattr(found, part)
    return True


def missing_names(text: str, absent: str = "") -> list[str]:
    """The dotted names in a text that don't resolve, and those in `absent` that do."""
    gone = {f"tf.{name}" for name in absent.split()}
    names = set(NAME.findall(text)) - ANY - ENTRY_POINTS
    return sorted(name for name in names if resolves(name) == (name in gone))


def test_what_is_missing_is_found() -> None:
    text = "`kernels/nn/activation.py` `engine/session/` (runtime/gone.py) `gone.py` `conftest.py` `kernels/` `gone/` a/b and/or"
    assert missing_paths(text) == ["runtime/gone.py", "gone.py", "gone/"]
    text = "af.Session.run `af.nn.relu` actorflow.graph.lint.races, af.gone, actorflow.graph.gone, tf.Session; tf.keras"
    assert missing_names(text, "keras") == ["actorflow.graph.gone", "af.gone"]
    assert missing_names("tf.Session", "Session") == ["tf.Session"], "it is said to be missing, and is there"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_path_in_the_documents_exists(document: Path) -> None:
    assert not missing_paths(LINK.sub("]", document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_dotted_name_in_the_documents_resolves(document: Path) -> None:
    assert not missing_names(document.read_text(encoding="utf-8"), ABSENT.get(document.name, ""))


README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


async def run_piece(source: str) -> None:
    """Runs a text that may `await` at its top level."""
    code = compile(source, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, {"__name__": "readme"})
    if inspect.isawaitable(made):
        await made


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.split("def main")[0].count("\n"))
def test_each_program_of_the_readme_runs(program: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_the_readme_begins_with_the_service_of_the_start_page_which_is_run() -> None:
    (service,) = re.findall(r"^```py\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"```python\n{service}```" in start
    assert README.count("\n") <= 196, "the README is for a first look: tables and details belong to the site"


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is not None, reason="test_deploy.py starts tasks on Ray where it is installed"
)
async def test_the_piece_with_ray_says_what_to_install() -> None:
    page = (ROOT / "docs" / "guides" / "from_ray.md").read_text(encoding="utf-8")
    (piece,) = re.findall(r"^```python\n(from actorflow.launch.ray.*?)^```", page, re.MULTILINE | re.DOTALL)
    with pytest.raises(af.errors.UnimplementedError, match="ray"):
        await run_piece(piece)


def rows(page: str) -> set[str]:
    """The first cells of a table."""
    return set(re.findall(r"^\| `([\w.]+)` \|", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))


def test_a_page_has_each_extra_and_another_page_each_example() -> None:
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb")}
    assert rows("docs/reference/extras.md") == set(PROJECT["optional-dependencies"])
    assert rows("docs/guides/examples.md") == examples
