"""An environment for each server, below build/compare: their packages ask for versions that exclude each other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.compare.server import Server
from benchmarks.harness.environment import ROOT

FOLDER = ROOT / "build" / "compare"
_SECONDS = 1800.0
_VERSIONS = """
import json
from importlib import metadata
print(json.dumps({each.metadata["Name"].lower(): each.version for each in metadata.distributions()}))
"""


class NotThereError(Exception):
    """A server can't be installed or started; the message says why."""


def interpreter(server: Server) -> Path:
    """The Python of a server. The first call makes its environment from PyPI.

    Raises:
        NotThereError: if an installation fails.
    """
    if not server.packages:
        return Path(sys.executable)
    folder = FOLDER / server.name
    python, mark = folder / "bin" / "python", folder / "installed.json"
    if mark.exists() and json.loads(mark.read_text(encoding="utf-8")) == list(server.packages):
        return python
    print(f"{server.title}: pip install {' '.join(server.packages)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *server.packages]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotThereError(f"pip has not ended after {_SECONDS:.0f} s.") from None
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or ended.stderr.splitlines()
        raise NotThereError(f"pip can't install it: {' '.join(lines[-3:]) or 'it gave no reason'}")
    if server.has_actorflow:
        paths = [path for path in sys.path if path.endswith("site-packages")]
        text = "".join(f"import site; site.addsitedir({path!r})\n" for path in paths)
        (Path(_purelib(python)) / "actorflow.pth").write_text(text, encoding="utf-8")
    mark.write_text(json.dumps(list(server.packages)), encoding="utf-8")
    return python


def _purelib(python: Path) -> str:
    """The folder of an environment's packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def versions(server: Server) -> dict[str, str]:
    """The versions of a server's packages."""
    if not server.packages:
        return {}
    ended = subprocess.run([str(interpreter(server)), "-c", _VERSIONS], capture_output=True, text=True, check=True)
    there: dict[str, str] = json.loads(ended.stdout)
    names = [package.partition("[")[0] for package in server.packages]
    return {name: there[name] for name in names if name in there}
