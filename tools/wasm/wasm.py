"""Runs the tests of the pure Python core in CPython as WebAssembly, in Node (`make test-wasm`).

    python tools/wasm/wasm.py                       the folders below
    python tools/wasm/wasm.py tests/graph -k while  tests of your own choice

CPython for WebAssembly is the npm package `pyodide`. Its numpy is none of PyPI's wheels: it lies where Pyodide keeps its
packages. On a machine that does not reach that place, `PYODIDE_WHEELS` names a folder in which numpy's wheel lies. A test
that asks for a thread, a process or a socket is skipped, and so is a module that imports a package that is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-wasm"
PYODIDE = "314"
PLACE = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{file}"
PURE = ("anyio", "idna", "structlog", "typing_extensions", "hypothesis", "sortedcontainers", "pygments", "packaging")
TESTING = ("pytest", "pluggy", "iniconfig", "pytest-asyncio", "pytest-timeout")
COMPILED = ("msgpack",)
ENGINE = ("passes", "runtime", "session", "eager")
TESTS = (
    *(f"tests/{folder}" for folder in ("graph", "base", "training", "models", "testing")),
    *(f"tests/engine/{folder}" for folder in ENGINE),
)


def main(arguments: Sequence[str]) -> int:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("WebAssembly runs in Node, which is not on PATH: install Node 20 or later.", file=sys.stderr)
        return 2
    wheels = FOLDER / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    subprocess.run([npm, "install", "--silent", "--prefix", FOLDER, f"pyodide@{PYODIDE}"], check=True)
    pyodide = FOLDER / "node_modules" / "pyodide"
    bring_packages(pyodide, wheels)
    build_wheel(wheels)
    command: list[str | Path] = [
        node,
        ROOT / "tools/wasm/run.mjs",
        pyodide,
        wheels,
        ROOT,
        *(arguments or ("-q", *TESTS)),
    ]
    return subprocess.run(command, check=False).returncode


def bring_packages(pyodide: Path, wheels: Path) -> None:
    """Puts the packages that the tests need into a folder, each once.

    Args:
        pyodide: the folder of the npm package, whose lock file names its numpy.
        wheels: the folder.

    Raises:
        SystemExit: numpy's wheel is neither reached nor named.
    """
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    version, abi = lock["info"]["python"], lock["info"]["abi_version"]
    download: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--dest",
        wheels,
    ]
    if not any(wheels.glob("hypothesis*")):
        subprocess.run([*download, "--platform", "any", "--python-version", version, *PURE, *TESTING], check=True)
    if not any(wheels.glob("msgpack*")):
        target = ["--platform", f"pyemscripten_{abi}_wasm32", "--python-version", version, "--implementation", "cp"]
        subprocess.run([*download, *target, *COMPILED], check=True)
    if any(wheels.glob("numpy*")):
        return
    file = lock["packages"]["numpy"]["file_name"]
    if folder := os.environ.get("PYODIDE_WHEELS"):
        for wheel in Path(folder).glob(f"numpy-*pyemscripten_{abi}_wasm32.whl"):
            shutil.copy(wheel, wheels)
            return
        sys.exit(f"PYODIDE_WHEELS={folder} has no wheel of numpy for pyemscripten_{abi}_wasm32.")
    release = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))["version"]
    try:
        urllib.request.urlretrieve(PLACE.format(version=release, file=file), wheels / file)
    except OSError as error:
        sys.exit(
            f"{file} can't be had ({error}). Put it into a folder, and name the folder: make test-wasm PYODIDE_WHEELS=..."
        )


def build_wheel(wheels: Path) -> None:
    """Puts the wheel of this tree there, without the library in C."""
    for wheel in wheels.glob("actorflow-*"):
        wheel.unlink()
    build: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        wheels,
        ROOT,
    ]
    subprocess.run(build, env={**os.environ, "ACTORFLOW_COMPILE": "none"}, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
