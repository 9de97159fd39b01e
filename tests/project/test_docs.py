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
    "README.md": "keras contrib",
    "differences.md": "function",
}
# In CONTRIBUTING.md, `x` and `y` are any module and name.
ANY = {"actorflow.x"}
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
    text = "`kernels/nn/activation.py` `runtime/plan.py` (runtime/gone.py) `gone.py` `conftest.py` `kernels/` `gone/` a/b and/or"
    assert missing_paths(text) == ["runtime/gone.py", "gone.py", "gone/"]
    text = "af.Session.run `af.nn.relu` actorflow.lint.races, af.gone, actorflow.graph.gone, tf.Session; tf.keras"
    assert missing_names(text, "keras") == ["actorflow.graph.gone", "af.gone"]
    assert missing_names("tf.Session", "Session") == ["tf.Session"], "it is said to be missing, and is there"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_path_in_the_documents_exists(document: Path) -> None:
    assert not missing_paths(LINK.sub("]", document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_dotted_name_in_the_documents_resolves(document: Path) -> None:
    assert not missing_names(document.read_text(encoding="utf-8"), ABSENT.get(document.name, ""))


README = (ROOT / "README.md").read_text(encoding="utf-8")
PIECES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
WHOLE = [piece for piece in PIECES if piece.startswith("import ")]

MODEL = """
import anyio
import numpy as np
import actorflow as af
graph = af.Graph()
with graph.as_default():
    pixels = x = af.placeholder(af.float32, [None, 2])
    y = af.placeholder(af.float32, [None])
    w = af.Variable([0.5, 0.5])
    probabilities = af.nn.softmax(x * w)
    loss = af.reduce_mean(af.square(af.reduce_sum(x * w, 1) - y))
    train = af.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=af.train.get_or_create_global_step())
    init = af.global_variables_initializer()
batch, target, step = np.ones((4, 2)), np.ones(4), 7
def feeds(step):
    return {x: batch, y: target}
"""
IN_A_SESSION = "session = await af.Session(graph=graph).__aenter__()\nawait session.run(init)\n"
IN_A_GRAPH = "scope = graph.as_default()\nscope.__enter__()\n"
STARLETTE = """
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route
import httpx
"""
# The lines before and after a piece that is no program of its own, by words of it.
AROUND = {
    "af.onnx.load": (
        "from onnx_models import model as made, node\n"
        "proto = made([node('Relu', 'x', 'y')], {'x': ('float32', (None, 3, 224, 224))}, 'y')\n"
        "import pathlib\n"
        "pathlib.Path('model.onnx').write_bytes(proto.SerializeToString())\n"
        "image = np.zeros((1, 3, 224, 224), np.float32)\n",
        "",
    ),
    "squares = af.data": ("", ""),
    "af.Supervisor(": ("", "assert step == 49"),
    "train_and_evaluate(": (
        "def model_fn(features, labels, mode):\n"
        "    loss = af.reduce_mean(features['x'] * af.get_variable('w', [2]))\n"
        "    train = af.train.AdamOptimizer().minimize(loss, global_step=af.train.get_global_step())\n"
        "    return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)\n"
        "batch = batch.astype(np.float32)",
        "assert metrics['global_step'] == 100",
    ),
    "with af.estimator.Estimator(": (
        "batch, target = batch.astype(np.float32), target.astype(np.float32)",
        "assert estimator.get_variable_value('global_step') == 100",
    ),
    "MonitoredTrainingSession(": (
        IN_A_GRAPH,
        "scope.__exit__(None, None, None)\naf.summary.FileWriterCache.clear()\n"
        "assert af.train.latest_checkpoint('models').endswith('-1000')",
    ),
    "Saver(": (IN_A_GRAPH, "scope.__exit__(None, None, None)\nassert af.train.latest_checkpoint('models')"),
    "warmup(": (IN_A_SESSION, "assert len(copy) == len(graph) and trace.events\nawait session.close()"),
    "graph.lint(": ("", ""),
    "af.metrics.accuracy": (
        f"{IN_A_GRAPH}labels = predictions = af.placeholder(af.int32, [None])\nbatches = [[1, 2], [3]]\n",
        "scope.__exit__(None, None, None)",
    ),
    "af.feature_column.": (IN_A_GRAPH.replace("graph", "af.Graph()"), "scope.__exit__(None, None, None)"),
    "af.layers.conv2d": (IN_A_GRAPH.replace("graph", "af.Graph()"), "scope.__exit__(None, None, None)"),
    "asgi.lifespan(": (
        STARLETTE,
        """
async with app.router.lifespan_context(app) as state:
    async def with_state(scope, receive, send):
        await app({**scope, "state": dict(state)}, receive, send)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(with_state), base_url="http://test") as client:
        assert sum((await client.post("/predict", json={"pixels": [1, 2]})).json()[0]) > 0.99
""",
    ),
}


def around(piece: str) -> tuple[str, str]:
    """The lines before and after a piece of the README."""
    (found,) = [both for words, both in AROUND.items() if words in piece]
    return found


async def run_piece(source: str) -> None:
    """Runs a text that may `await` at its top level."""
    code = compile(source, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, {"__name__": "readme"})
    if inspect.isawaitable(made):
        await made


@pytest.mark.parametrize("piece", WHOLE, ids=lambda piece: piece.split("def main")[0].count("\n"))
def test_each_program_of_the_readme_runs(piece: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(piece, encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("piece", [piece for piece in PIECES if piece not in WHOLE and "ray" not in piece])
async def test_each_piece_of_the_readme_runs(piece: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = around(piece)
    fewer = piece.replace("until=1000", "until=50")
    await run_piece(f"{MODEL}\n{before}\n{fewer}\n{after}\n")


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is not None, reason="test_deploy.py starts tasks on Ray where it is installed"
)
async def test_the_piece_with_ray_says_what_to_install() -> None:
    (piece,) = [piece for piece in PIECES if "start_on_ray" in piece]
    with pytest.raises(af.errors.UnimplementedError, match="ray"):
        await run_piece(MODEL + piece)


def test_the_readme_has_each_extra_and_each_example() -> None:
    rows = set(re.findall(r"^\| `([\w.]+)` \|", README, re.MULTILINE))
    extras = set(PROJECT["optional-dependencies"])
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb")}
    assert extras | examples == rows
