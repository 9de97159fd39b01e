"""actorflow runs however it is packed: from a zip, as `.pyc` without sources, optimised, frozen by PyInstaller.

The tree is copied as a wheel would lay it out. But for PyInstaller there is no metadata of the package, so no entry points.
"""

from __future__ import annotations

import compileall
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROGRAM = """
import sys

import anyio

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.frontends.cli import main as command
from actorflow.base.registry import plugins


async def train() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 2])
        y = af.nn.relu(af.matmul(x, af.Variable([[1.0], [2.0]])))
        loss = af.reduce_sum(af.square(y - 7.0))
        step = af.train.GradientDescentOptimizer(0.01).minimize(loss)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        losses = [(await session.run([loss, step], {x: [[1.0, 1.0]]}))[0] for _ in range(3)]
        assert losses[0] > losses[1] > losses[2]


async def over_tasks() -> None:
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        with af.Graph().as_default() as graph, af.device("/job:worker/task:1"):
            total = af.add(1, 2)
        async with af.Session(cluster.target, graph=graph) as session:
            assert await session.run(total) == 3
    if getattr(sys, "frozen", False):  # it has no Python for the processes of tasks, and must not start itself again
        try:
            async with af.LocalCluster({"worker": 1}):
                raise AssertionError("a cluster of processes in a frozen program")
        except af.errors.UnimplementedError as error:
            assert "transport='local'" in str(error)


anyio.run(train)
anyio.run(over_tasks)
with tf.Graph().as_default(), tf.Session() as session:
    assert session.run(tf.math.add(1, 2)) == 3
for space in (af, af.nn, af.train, tf, *(vars(tf)[name] for name in dir(tf) if name in vars(tf))):
    for name in getattr(space, "__all__", ()):
        getattr(space, name)
for group in ("checkpoint", "commands", "devices", "kernels", "rendezvous", "simulation", "transports"):
    for entry in plugins.entries(group):
        entry.load()
print(af.__file__)
"""


def run(*command: str | Path, path: list[Path]) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=path[0].parent,
        env=environment | {"PYTHONPATH": os.pathsep.join(map(str, path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


def copied(folder: Path) -> Path:
    """The folders of the tree in `folder`, as users import them."""
    for package, source in PROJECT["tool"]["setuptools"]["package-dir"].items():
        target = folder.joinpath(*package.split("."))
        shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has the package `actorflow`."""
    return copied(tmp_path_factory.mktemp("tree") / "site")


@pytest.fixture(scope="module")
def needed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages that actorflow depends on, and no others."""
    folder = tmp_path_factory.mktemp("needed") / "site"
    folder.mkdir()
    waiting = list(PROJECT["project"]["dependencies"])
    for requirement in waiting:
        try:
            found = importlib.metadata.distribution(re.match(r"[\w.-]+", requirement)[0])  # type: ignore[index]
        except importlib.metadata.PackageNotFoundError:
            continue  # one of another platform or version of Python
        waiting += [more for more in found.requires or () if "extra ==" not in more and more not in waiting]
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(found.locate_file(name))  # type: ignore[arg-type]
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


@pytest.mark.timeout(300)
@pytest.mark.parametrize("flags", [[], ["-O"], ["-OO"]], ids=["plain", "O", "OO"])
def test_optimised(tree: Path, needed: Path, program: Path, flags: list[str]) -> None:
    found = run(sys.executable, "-S", "-P", *flags, program, path=[tree, needed])
    assert found.split() == [str(tree / "actorflow" / "__init__.py")]


@pytest.mark.timeout(300)
def test_from_a_zip(tree: Path, needed: Path, program: Path, tmp_path: Path) -> None:
    packed = tmp_path / "actorflow.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in tree.rglob("*"):
            if "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(tree))
    found = run(sys.executable, "-S", "-P", program, path=[packed, needed])
    assert found.split() == [str(packed / "actorflow" / "__init__.py")]


@pytest.mark.timeout(300)
def test_without_sources(needed: Path, program: Path, tmp_path: Path) -> None:
    bare = copied(tmp_path / "site")
    assert compileall.compile_dir(bare, quiet=1, legacy=True)
    for file in bare.rglob("*.py*"):
        if file.suffix != ".pyc":
            file.unlink()
    found = run(sys.executable, "-S", "-P", program, path=[bare, needed])
    assert found.split() == [str(bare / "actorflow" / "__init__.pyc")]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_frozen(needed: Path, program: Path, tmp_path: Path) -> None:
    """PyInstaller finds our hook through an entry point, so the package has its metadata here."""
    site, tools = copied(tmp_path / "site"), tmp_path / "tools"
    version = PROJECT["project"]["version"]
    info = site / f"actorflow-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: actorflow\nVersion: {version}\n", encoding="utf-8")
    lines = []
    for group, entries in PROJECT["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    venv.create(
        tmp_path / "environment", with_pip=False, symlinks=True
    )  # PyInstaller packs what it finds beside us, too
    python = tmp_path / "environment" / "bin" / "python"
    path = [site, needed, tools]
    run(sys.executable, "-m", "pip", "install", "--quiet", "--target", tools, "pyinstaller", path=[tmp_path / "none"])
    run(
        python,
        "-m",
        "PyInstaller",
        "--log-level",
        "ERROR",
        "--onedir",
        "--distpath",
        tmp_path / "dist",
        program,
        path=path,
    )
    shutil.rmtree(site)  # nothing of it is needed any more
    found = run(tmp_path / "dist" / "program" / "program", path=[tmp_path / "none"])
    assert Path(found.split()[-1]).is_relative_to(tmp_path / "dist")
