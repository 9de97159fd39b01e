"""The packages of the core lie in an order, and each imports only what lies below it.

All imports count: those within functions, and those for type checkers. An import against the order is listed with its
    reason, here and in docs/explanation/design.md; no other one is allowed, and each listed one has to be there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "actorflow"

ORDER = (
    ("registry",),
    ("graph", "records"),
    ("device", "formats"),
    ("transport",),
    ("analysis", "ops"),
    ("control_flow",),
    ("variables",),
    ("autodiff", "losses", "linear_operators"),
    ("placement",),
    ("passes",),
    ("runtime",),
    ("session",),
    ("lint", "cluster", "eager"),
    ("queues", "lookup", "rnn", "layers", "metrics", "launch", "data"),
    ("train",),
    ("feature_column",),
    ("graphdef",),
    ("export", "saved_model"),
    ("summary", "onnx"),
    ("supervisor", "ext", "testing", "cli"),
    ("monitored",),
    ("estimator",),
    ("dashboard", "serving"),
    ("compat",),
)
"""From the bottom to the top; packages in one row do not import each other. Modules beside the packages, such as `errors`
and `dtypes`, are below all of them, and the faces that have no code of their own (`nn`, `math`) above."""

AGAINST = {
    ("graph", "lint"): "Graph.lint is a method that programs look for there",
    ("graph", "graphdef"): "Graph.as_graph_def and Operation.node_def are methods that programs look for there",
    ("variables", "graphdef"): "Variable.to_proto is a method that programs look for there",
    ("train", "graphdef"): "a Saver writes the graph beside its checkpoint; Saver and QueueRunner have messages",
    ("cluster", "graphdef"): "ClusterSpec.as_cluster_def is a method that programs look for there",
    ("session", "cluster"): "Session is one class for both: a target is where it leaves this process",
    (
        "ops",
        "autodiff",
    ): "four gradient rules differentiate: of functions, of custom gradients, of the gradients of batch norm and of LSTM",
}

LEVEL = {package: level for level, row in enumerate(ORDER) for package in row}


def imports(path: Path) -> Iterator[str]:
    """The modules of the core that a source file names in imports, wherever they stand."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    package = inside[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *(node.module or "").split("."))).strip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def package_of(module: str) -> str | None:
    """The package of the core that a module lies in: None for what lies beside the packages, or outside."""
    parts = module.split(".")
    if parts[0] != "actorflow" or len(parts) < 2 or not (CORE / parts[1]).is_dir():
        return None
    return parts[1]


def edges() -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(CORE.rglob("*.py")):
        ours = package_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for module in imports(path):
            theirs = package_of(module)
            if ours and theirs and theirs != ours:
                found.setdefault((ours, theirs), []).append(str(path.relative_to(ROOT)))
    return found


EDGES = edges()


def test_each_package_has_a_place() -> None:
    there = {path.parent.name for path in CORE.glob("*/__init__.py")} - {"__pyinstaller"}
    assert there == set(LEVEL)


@pytest.mark.parametrize("edge", sorted(EDGES), ids="-".join)
def test_imports_go_down(edge: tuple[str, str]) -> None:
    above, below = edge
    if edge in AGAINST:
        assert LEVEL[above] < LEVEL[below], "this goes down, and is listed in AGAINST"
    else:
        assert LEVEL[above] > LEVEL[below], f"{above} imports {below} in {', '.join(EDGES[edge])}"


def test_what_is_listed_is_there() -> None:
    assert set(AGAINST) <= set(EDGES)


def test_beside_the_packages_nothing_is_imported_from_them() -> None:
    """Modules such as `errors` are below all packages. Faces of public names import their names when they are used."""
    faces = {"__init__", "__main__", "index", "public"}
    found = {
        f"{path.name}: {module}"
        for path in sorted(CORE.glob("*.py"))
        if path.stem not in faces
        for module in imports(path)
        if package_of(module)
    }
    assert not found


PARTS = ("actorflow", "kernels", "transports", "devices", "checkpoint")
FOLDERS = sorted({path.parent for part in PARTS for path in (ROOT / part).rglob("*.py")})
MAP_ENTRY = re.compile(r"^(\w+(?:\.py|/))  +", re.MULTILINE)
LARGER = {
    "actorflow": "the faces of public names, and what is below all packages",
}


@pytest.mark.parametrize("folder", [pytest.param(f, id=f.relative_to(ROOT).as_posix()) for f in FOLDERS])
def test_a_folder_has_at_most_fourteen_files_and_its_map_names_each(folder: Path) -> None:
    files = sorted(path.name for path in folder.glob("*.py"))
    name = folder.relative_to(ROOT).as_posix()
    assert "__init__.py" in files
    assert len(files) <= 14 or name in LARGER, f"{len(files)} files"
    document = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    if len(files) > 4 and name not in LARGER:
        missing = [file for file in files if file not in ("__init__.py", "__main__.py") and file not in document]
        assert not missing, f"the map in {name}/__init__.py lacks {', '.join(missing)}"
    gone = [entry for entry in MAP_ENTRY.findall(document) if not (folder / entry).exists()]
    assert not gone, f"the map in {name}/__init__.py names {', '.join(gone)}"
