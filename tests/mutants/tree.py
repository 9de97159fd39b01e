"""A copy of the project in which tests import the copy, whatever is installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mutants.mutant import ROOT, Mutant
from mutants.server import Server

_PARTS = ("transports", "devices", "kernels", "checkpoint")
_COPIED = ("actorflow", *_PARTS, "tests", "examples", "docs", "pyproject.toml", "setup.py")
_PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "mutants.footprints", "--hypothesis-seed=0")
_WHERE = "import sys, importlib; print(*(importlib.import_module(name).__file__ for name in sys.argv[1:]), sep='\\n')"


class Tree:
    """A copy below `folder`, an empty one. One mutant at a time lives in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.root.mkdir()
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(
                    source, self.root / name, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", "out")
                )
            else:
                shutil.copy2(source, self.root / name)
        for part in _PARTS:  # so that the folder is the whole package, as an installed one is
            (self.root / "actorflow" / part).symlink_to(self.root / part, target_is_directory=True)
        self._check()
        self._server: Server | None = None

    def server(self, files: Sequence[str]) -> Server:
        """The server of tests of these files; it begins when it is first asked for, with no mutant in the copy."""
        if self._server is None:
            self._server = Server(self.root, self.environment, files, self.root.parent / "server.log")
        return self._server

    def close(self) -> None:
        """Ends the server."""
        if self._server is not None:
            self._server.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which a Python imports the copy."""
        return os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (self.root, self.root / "tests", self.root / "tests" / "support"))),
            "TMPDIR": str(self.temporary),
            "ACTORFLOW_TEST_SEED": "1",
        }

    def pytest(self, arguments: Sequence[str], seconds: float, log: Path, **variables: str) -> int | None:
        """Runs pytest in the copy, with its output in `log`; gives its exit status, None where it took longer."""
        command = [sys.executable, "-m", "pytest", *_PYTEST, *arguments]
        with (
            log.open("wb") as out,
            subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has started

    def _check(self) -> None:
        """Raises where a module would come from elsewhere: each mutant would seem to survive."""
        names = ["actorflow", *(f"actorflow.{part}" for part in _PARTS), "mutants"]
        asked = [sys.executable, "-c", _WHERE, *names]
        answer = subprocess.run(asked, cwd=self.root, env=self.environment, capture_output=True, text=True, check=True)
        for name, file in zip(names, answer.stdout.split()):
            if not Path(file).resolve().is_relative_to(self.root.resolve()):
                raise RuntimeError(f"In the copy {self.root}, `import {name}` finds {file}.")

    def source(self, file: str) -> str:
        """A file of the copy."""
        return (self.root / file).read_text(encoding="utf-8")

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy with a mutant in it: processes that tests start are of it too."""
        original = self.source(mutant.file)
        try:
            self._put(mutant.file, mutant.source)
            yield
        finally:
            self._put(mutant.file, original)
            shutil.rmtree(self.temporary)
            self.temporary.mkdir()
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)  # examples that failed for the last mutant

    def _put(self, file: str, source: str) -> None:
        path = self.root / file
        path.write_text(source, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()  # its date has full seconds only; a mutant of the same size might be taken for the one before
