"""Runs the tests on each Python of this machine that actorflow supports, each in an environment of its own.

    python tools/pythons.py                               all but the slow tests, newest dependencies
    python tools/pythons.py --lowest                      the lowest dependencies: tests/lowest.txt
    python tools/pythons.py --pythons "3.12 3.13"         these alone; an error where one is not here
    python tools/pythons.py --list                        the interpreters alone
    python tools/pythons.py -- tests/graph -k queue       pytest with arguments of your own

The interpreters are those of PATH, of pyenv and the one that runs this. The environments lie in `.venv-pythons`, are made
once, and are installed into again when the project's files change. The library in C is the checkout's: its last build serves
all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-pythons"
LOWEST = ROOT / "tests" / "lowest.txt"
EXTRAS = "dev,examples,bfloat16,special"  # those of `make test`
NAME = re.compile(r"python3\.\d+t?")
QUESTION = (
    "import json, sys, sysconfig; "
    "print(json.dumps([sys.implementation.name, *sys.version_info[:3], bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


@dataclass(frozen=True, slots=True, order=True)
class Interpreter:
    """A Python of this machine.

    Args:
        version: its three numbers.
        free_threaded: whether it is a build without the GIL.
        path: its program.
    """

    version: tuple[int, int, int]
    free_threaded: bool
    path: Path

    @property
    def name(self) -> str:
        """Its name on a command line, such as `3.13` or `3.13t`."""
        return "{}.{}".format(*self.version) + "t" * self.free_threaded


def candidates(environment: dict[str, str], home: Path) -> Iterator[Path]:
    """The programs that may be a Python: those of PATH, those of pyenv, and this one. A file may come more than once."""
    pyenv = Path(environment.get("PYENV_ROOT") or home / ".pyenv")
    folders = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(pyenv.glob("versions/*/bin"), reverse=True)
    for folder in folders:
        try:
            yield from sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))
        except OSError:  # PATH may name what is not there
            continue
    yield Path(sys.executable)


def asked_of(path: Path) -> Interpreter | None:
    """The interpreter behind a path; None where it is no CPython, or a shim of pyenv for a version that is not chosen."""
    try:
        told = subprocess.run([path, "-Ic", QUESTION], capture_output=True, text=True, timeout=60, check=True).stdout
        kind, major, minor, micro, free_threaded = json.loads(told)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter((major, minor, micro), free_threaded, path) if kind == "cpython" else None


def supported(interpreters: Iterable[Interpreter], requires: str) -> dict[str, Interpreter]:
    """The first interpreter of each name that the project's `requires-python` takes, the oldest Python first."""
    least = tuple(map(int, requires.removeprefix(">=").split(".")))
    chosen: dict[str, Interpreter] = {}
    for interpreter in interpreters:
        if interpreter.version >= least:
            chosen.setdefault(interpreter.name, interpreter)
    return {each.name: each for each in sorted(chosen.values())}


def here() -> dict[str, Interpreter]:
    """The interpreters of this machine that actorflow supports, by their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    paths = dict.fromkeys(
        path.resolve() if path.is_symlink() else path for path in candidates(dict(os.environ), Path.home())
    )
    return supported(filter(None, map(asked_of, paths)), project["requires-python"])


def environment_of(interpreter: Interpreter, lowest: bool) -> Path:
    """The Python of the environment, which is made and installed into where its stamp is not that of the project's files.

    Raises:
        CalledProcessError: pip found no set of packages; its words were shown.
    """
    folder = ENVIRONMENTS / f"{interpreter.name}-{'lowest' if lowest else 'newest'}"
    python, stamp = folder / "bin" / "python", folder / ".stamp"
    files = [ROOT / "pyproject.toml", ROOT / "setup.py", *([LOWEST] if lowest else [])]
    state = hashlib.sha256(b"".join([str(interpreter).encode(), *(file.read_bytes() for file in files)])).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != state:
        print(f"Installing what the tests need into {folder.relative_to(ROOT)}: some 900 MB", flush=True)
        subprocess.run([interpreter.path, "-m", "venv", "--clear", folder], check=True)
        install: list[str | Path] = [
            python,
            "-m",
            "pip",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
            "install",
        ]
        if lowest:
            install += ["--constraint", LOWEST]
        subprocess.run([*install, "--editable", f".[{EXTRAS}]"], cwd=ROOT, check=True)
        stamp.write_text(state, encoding="utf-8")
    return python


def tested(python: Path, arguments: Sequence[str]) -> int:
    """The status of the tests, or of pytest with arguments of your own, in an environment."""
    own = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments] if arguments else ["tools/run_tests.py"]
    return subprocess.run([python, *own], cwd=ROOT, check=False).returncode


def main(command: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--pythons", default="", help="their names, such as '3.12 3.13'; all of this machine unless given"
    )
    parser.add_argument("--lowest", action="store_true", help="the lowest declared versions of the dependencies")
    parser.add_argument("--list", action="store_true", help="show the interpreters, and run nothing")
    parser.add_argument("arguments", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args(command)
    interpreters = here()
    names = options.pythons.replace(",", " ").split() or list(interpreters)
    if missing := [name for name in names if name not in interpreters]:
        print(
            f"Python {', '.join(missing)} is not on this machine, which has {', '.join(interpreters)}.", file=sys.stderr
        )
        return 2
    rows, status = [], 0
    for name in names:
        interpreter, begun = interpreters[name], time.monotonic()
        row = f"Python {'.'.join(map(str, interpreter.version))}{'t' * interpreter.free_threaded}"
        if options.list:
            print(f"{row}: {interpreter.path}")
            continue
        print(f"\n{row}, {'lowest' if options.lowest else 'newest'} dependencies", flush=True)
        try:
            failed = tested(environment_of(interpreter, options.lowest), options.arguments)
        except subprocess.CalledProcessError as error:
            failed = error.returncode
            row += ": no environment could be made"
        status = status or int(failed != 0)
        rows.append(f"{row}: {'failed' if failed else 'passed'}, {(time.monotonic() - begun) / 60:.1f} min")
    print("\n".join(["", *rows] if rows else []))
    return status


if __name__ == "__main__":
    sys.exit(main())
