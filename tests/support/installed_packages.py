"""Packages of somebody else's, as if they were installed, here and in processes: their modules and entry points are found."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE

import actorflow as af
from actorflow.base.registry import plugins

ROOT = Path(af.__file__).parent.parent


def write_metadata(site: Path, name: str, version: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Writes what pip would write of a package into `site`."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def installed(package: Path, site: Path) -> Iterator[str]:
    """A block in which the package of a folder is installed. Gives the PYTHONPATH that makes it so for other processes."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    write_metadata(site, project["name"], project["version"], project["entry-points"])
    with pytest.MonkeyPatch.context() as patch:
        for folder in (str(site), str(package)):
            patch.syspath_prepend(folder)
        plugins.look_again()
        yield os.pathsep.join([str(site), str(package), str(ROOT)])
    plugins.look_again()


def environ(paths: str, **more: str) -> dict[str, str]:
    """The environment of a process in which the packages of `paths` are installed."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ACTORFLOW_")}
    return kept | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"} | more


def run(paths: str, *command: str | Path) -> str:
    """The output of a Python program that ends well and complains of nothing."""
    done = subprocess.run(
        [sys.executable, *command],
        env=environ(paths), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, f"{done.stdout}\n{done.stderr}"
    return done.stdout
