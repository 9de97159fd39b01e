"""The wheel holds every module of the tree and nothing else; the sources keep the rules that tools don't check.

The rules: the core names no part, a part imports only the core and its siblings, nothing unpickles or evaluates text,
and tasks are made in a few named places.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]  # import package: folder
PARTS = {package.partition(".")[2] for package in PACKAGES} - {""}
BESIDE = ("tests", "tools", "examples", "benchmarks", "docs", "deploy", "packages")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "Makefile", "README.md", "CONTRIBUTING.md", "LICENSE")
EXTRAS_OF_IMPORTS = ("cupy", "scipy", "ml_dtypes", "llvmlite")


def files_of(folder: str) -> Iterator[Path]:
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def modules() -> Iterator[str]:
    """Every module of the tree under the name by which users import it."""
    for package, folder in PACKAGES.items():
        for path in files_of(folder):
            if path.suffix == ".py" and path.stem.isidentifier():  # a hook for PyInstaller is no module
                names = path.relative_to(ROOT / folder).with_suffix("").parts
                yield ".".join([package, *names]).removesuffix(".__init__")


# ---- the library in C


@pytest.mark.parametrize(
    "source", sorted((ROOT / "kernels" / "native" / "src").glob("*.[ch]")), ids=lambda path: path.name
)
def test_a_library_built_on_a_later_python_serves_the_earlier(source: Path) -> None:
    """Python 3.11 and 3.12 refuse lengths in formats (`y#`) of a library that was built with the headers of 3.13."""
    formats = re.findall(
        r'Py_?(?:Arg_Parse|BuildValue|Object_Call)\w*\([^;]*?"([^"]*)"', source.read_text(encoding="utf-8")
    )
    assert not [each for each in formats if "#" in each]


# ---- the wheel


def call(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, built from a copy of the tree."""
    copy = tmp_path_factory.mktemp("tree")
    ignore = shutil.ignore_patterns("__pycache__", "*.so")
    for folder in [*PACKAGES.values(), *BESIDE]:
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy, cwd=copy)
    (found,) = (copy / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and its dependencies, nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    call(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel, cwd=folder)
    return python


@pytest.mark.timeout(600)
def test_wheel_holds_the_tree_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    tree = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in files_of(folder)
        if path.suffix not in (".so", ".c", ".h")  # the library takes the place of its sources
    }
    library = {name for name in names if name.endswith(".abi3.so")}  # where there is a compiler
    assert names - library == tree
    assert library <= {"actorflow/kernels/native/_native.abi3.so"}
    assert "actorflow/py.typed" in names


@pytest.mark.timeout(600)
def test_the_source_distribution_holds_the_tests_with_what_they_need(wheel: Path) -> None:
    (source,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = [*BESIDE, "kernels/native/src"]
    tree = {path.relative_to(ROOT).as_posix() for folder in folders for path in files_of(folder)}
    assert names >= {*FILES, *tree} - {name for name in tree if name.startswith("examples/out/")}
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.timeout(600)
def test_wheel_installs_one_package(installed: Path) -> None:
    script = """
        import importlib.metadata, json
        installed = importlib.metadata.distribution("actorflow")
        scripts = {file for file in installed.files if file.parent.name == "bin"}
        print(json.dumps(sorted({file.parts[0] for file in set(installed.files) - scripts})))
        print(json.dumps(sorted(file.name for file in scripts)))
        for entry in installed.entry_points:
            entry.load()
        from actorflow.base.registry.plugins import entry_points
        from actorflow.base.registry.standard import ENTRY_POINTS
        for group, entries in ENTRY_POINTS.items():
            assert entries == {entry.name: entry.value for entry in entry_points(group=group)}, group
    """
    output = call(installed, "-I", "-c", textwrap.dedent(script), cwd=installed.parent)
    version = PROJECT["project"]["version"]
    folders, scripts = map(json.loads, output.splitlines()[:2])
    assert folders == ["actorflow", f"actorflow-{version}.dist-info"] and scripts == ["actorflow"]


@pytest.mark.timeout(600)
def test_every_module_imports_from_the_wheel(installed: Path) -> None:
    script = """
        import importlib, importlib.util, json, sys, traceback
        failed = {}
        for name in sys.argv[1:]:
            try:
                if name.endswith("__main__"):
                    assert importlib.util.find_spec(name), "not in the wheel"
                else:
                    file = importlib.import_module(name).__file__
                    assert file.startswith(sys.prefix), f"imported from {file}"
            except BaseException:
                failed[name] = traceback.format_exc(limit=-4)
        print(json.dumps(failed))
    """
    names = list(modules())
    assert set(PACKAGES) <= set(names)
    output = call(installed, "-I", "-c", textwrap.dedent(script), *names, cwd=installed.parent)
    failed = json.loads(output.splitlines()[-1])
    assert not failed, "\n\n".join(f"{name}\n{trace}" for name, trace in failed.items())


def test_extras_are_not_imported() -> None:
    """Here the extras are installed, so a watcher at the head of the import system tells who asks for one."""
    script = f"""
        import sys, traceback
        class Watcher:
            def find_spec(self, name, path=None, target=None):
                if name in {EXTRAS_OF_IMPORTS!r}:
                    traceback.print_stack(limit=12)
                    sys.exit("import actorflow asks for " + name)
        sys.meta_path.insert(0, Watcher())
        import actorflow
    """
    call(sys.executable, "-c", textwrap.dedent(script), cwd=ROOT / "tests")


@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_part_is_not_imported_under_its_folder_name(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    with pytest.raises(ImportError, match=f"actorflow.{part}"):
        importlib.import_module(part)


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for folder in PACKAGES.values() for path in files_of(folder) if path.suffix == ".py"}
    assert not [str(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_the_tables_of_public_names_and_the_stubs_are_current() -> None:
    call(sys.executable, ROOT / "tools" / "public_names.py", "--check", cwd=ROOT)


# ---- the rules of the sources; a rule yields the offending nodes of one module and what is wrong with each

Finding = tuple[ast.AST, str]
Rule = Callable[[Path, ast.AST], Iterator[Finding]]
IMPORTERS = ("import_module", "find_spec", "__import__")
UNSAFE_MODULES = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
TASKS_ALLOWED = {
    "actorflow/engine/runtime/actors.py": "tasks of nodes",
    "actorflow/engine/runtime/visible_actors.py": "tasks of nodes that can be seen",
    "actorflow/engine/runtime/event_loops/driver.py": "calls of blocking sessions",
    "actorflow/engine/runtime/event_loops/background_tasks.py": "a task group that outlives the block in which it began",
    "actorflow/engine/session/prefetch.py": "runs that are started before their results are asked for",
}


def imports(path: Path, tree: ast.AST) -> Iterator[tuple[ast.AST, str, int]]:
    """Each imported name in full (`from a import b` gives a.b) with the dots it was written with.

    Relative names are resolved in the folders of the tree: `from . import x` in transports/local.py gives transports.x.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.parent.parts[: len(path.parent.parts) - node.level + 1] if node.level else ()
            base = [*package, *([node.module] if node.module else [])]
            yield from ((node, ".".join([*base, alias.name]), node.level) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in IMPORTERS and node.args:
            if isinstance(name := node.args[0], ast.Constant) and isinstance(name.value, str):
                yield node, name.value, 0


def called(node: ast.Call) -> str:
    """The last name of what is called: `f` for f(), a.f() and a.b().f()."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def dependency_rule(path: Path, tree: ast.AST) -> Iterator[Finding]:
    home = path.parts[0]
    for node, name, level in imports(path, tree):
        top, _, rest = name.partition(".")
        part = rest.partition(".")[0] if top == "actorflow" and rest.partition(".")[0] in PARTS else None
        if level and top != home:
            yield node, "a relative import must not leave its folder"
        elif level:
            if part:
                yield node, f"the core must not import the part actorflow.{part}"
        elif top in PARTS:
            yield node, f"{top} is imported as actorflow.{top}"
        elif part and home == "actorflow":
            yield node, f"the core must not import the part actorflow.{part}"
        elif part and home in PARTS:
            yield node, "a part imports its siblings relatively" if part == home else "a part must not import another"


COMPILED = (("actorflow/compat/autograph/conversion.py", "compile"),)  # syntax trees of the program's own functions


def no_evaluation(path: Path, tree: ast.AST) -> Iterator[Finding]:
    for node, name, _ in imports(path, tree):
        if name.partition(".")[0] in UNSAFE_MODULES:
            yield node, f"{name.partition('.')[0]} is not used"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("eval", "exec", "compile"):
            if (path.as_posix(), node.id) not in COMPILED:
                yield node, f"{node.id} is not used"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                yield node.value, "allow_pickle is not used"


def asyncio_rule(path: Path, tree: ast.AST) -> Iterator[Finding]:
    banned = {"asyncio.wait_for", "asyncio.timeout", "asyncio.timeout_at"}
    for node, name, _ in imports(path, tree):
        if name in banned:
            yield node, f"{name} is not used: take an anyio cancel scope"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if f"{node.value.id}.{node.attr}" in banned:
                yield node, f"{node.value.id}.{node.attr} is not used: take an anyio cancel scope"
        if isinstance(node, ast.Call) and path.as_posix() not in TASKS_ALLOWED:
            makes_task = called(node) == "Task" and ast.unparse(node.func) in ("asyncio.Task", "Task")
            if called(node) in ("create_task", "ensure_future") or makes_task:
                yield node, f"tasks are made in {', '.join(TASKS_ALLOWED)} only: take an anyio task group"


ASK_FOR_ROLES = ("runtime", "passes", "session")
REWRITE_OPS = ("fusion", "fold.py", "freeze.py", "loops.py")  # rules that are about ops, such as that of Reshape


def roles_rule(path: Path, tree: ast.AST) -> Iterator[Finding]:
    if path.parts[0] != "actorflow" or not {*ASK_FOR_ROLES} & {*path.parts} or {*REWRITE_OPS} & {*path.parts}:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr in ("op", "type"):
            if any(isinstance(value, ast.Constant) and isinstance(value.value, str) for value in ast.walk(node)):
                yield node, "a node is known by the role of its op, not by the op's name"


RULES: list[Rule] = [dependency_rule, no_evaluation, asyncio_rule, roles_rule]
OUTSIDE = {"examples": [no_evaluation], "benchmarks": [no_evaluation]}  # users write create_task as they like
CHECKED = {folder: RULES for folder in PACKAGES.values()} | OUTSIDE


@pytest.mark.parametrize("folder", sorted(CHECKED))
def test_sources_keep_the_rules(folder: str) -> None:
    found = []
    for file in files_of(folder):
        if file.suffix == ".py":
            path = file.relative_to(ROOT)
            tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(path))
            for rule in CHECKED[folder]:
                found += [f"{path}:{getattr(node, 'lineno', 0)}: {message}" for node, message in rule(path, tree)]
    assert not found, "\n".join(["the sources break a rule:", *found])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("actorflow/engine/session/x.py", 'if node.op == "Merge": pass'),
        ("actorflow/engine/runtime/x/y.py", 'if node.node.op in ("Merge", "Enter"): pass'),
        ("actorflow/engine/session/x.py", "import actorflow.kernels"),
        ("actorflow/engine/session/x.py", "import actorflow.kernels.nn.activation as nn"),
        ("actorflow/engine/session/x.py", "from actorflow import devices"),
        ("actorflow/engine/session/x.py", "from actorflow.devices.cpu import CpuDevice"),
        ("actorflow/engine/session/x.py", "from ... import transports"),
        ("actorflow/engine/session/x.py", "from ...checkpoint import saver"),
        ("actorflow/x.py", "from .kernels import nn"),
        ("actorflow/x.py", "def f():\n    import kernels"),
        ("actorflow/x.py", "importlib.import_module('actorflow.kernels')"),
        ("kernels/x.py", "from actorflow.devices.cpu import CpuDevice"),
        ("kernels/x.py", "from actorflow.kernels.math.arithmetic import add"),
        ("kernels/x.py", "from actorflow import transports"),
        ("kernels/x.py", "from .. import graph"),
        ("kernels/x.py", "from ..graph import Graph"),
        ("kernels/x.py", "import devices"),
        ("actorflow/x.py", "import pickle"),
        ("actorflow/x.py", "from marshal import loads"),
        ("actorflow/x.py", "eval('1')"),
        ("actorflow/engine/runtime/x.py", "exec('1')"),
        ("checkpoint/x.py", "np.load(file, allow_pickle=True)"),
        ("actorflow/engine/session/x.py", "await asyncio.wait_for(x, 1)"),
        ("actorflow/engine/session/x.py", "from asyncio import timeout"),
        ("actorflow/engine/session/x.py", "asyncio.timeout(1)"),
        ("transports/x.py", "asyncio.create_task(f())"),
        ("actorflow/models/train/x.py", "asyncio.get_running_loop().create_task(f())"),
        ("devices/x.py", "asyncio.ensure_future(f())"),
        ("devices/x.py", "asyncio.Task(f())"),
    ],
)
def test_the_rules_find(path: str, code: str) -> None:
    assert any(list(rule(Path(path), ast.parse(code))) for rule in RULES)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("actorflow/engine/session/x.py", "from actorflow.graph import Graph"),
        ("actorflow/engine/session/x.py", "from ..graph import Graph"),
        ("actorflow/engine/device/x.py", "from . import spec"),
        ("actorflow/x.py", "entry_points(group='actorflow.kernels')"),
        ("kernels/x.py", "from actorflow.base.registry.kernel import kernel"),
        ("kernels/x.py", "from . import math"),
        ("kernels/x.py", "from .math import add"),
        ("kernels/conv/im2col.py", "from ..math import add"),
        ("kernels/x.py", "import numpy as np"),
        ("actorflow/compat/v1.py", "tensor.eval(); np.load(file, allow_pickle=False)"),
        ("actorflow/engine/runtime/actors.py", "loop.create_task(f())"),
        ("devices/x.py", "task: asyncio.Task[None] | None = None"),
        ("devices/x.py", "with anyio.fail_after(1): pass"),
        ("actorflow/engine/runtime/x.py", "if node.role is roles.MERGE: pass"),
        ("actorflow/engine/passes/fusion/x.py", 'if node.op == "MatMul": pass'),
    ],
)
def test_the_rules_allow(path: str, code: str) -> None:
    assert not [message for rule in RULES for _, message in rule(Path(path), ast.parse(code))]
