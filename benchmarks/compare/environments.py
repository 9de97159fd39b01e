"""An environment for each server, below build/compare: their packages ask for versions that exclude each other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.compare.server import NotThereError, Server
from benchmarks.harness.environment import ROOT

FOLDER = ROOT / "build" / "compare"
_SECONDS = 1800.0
_VERSIONS = """
import json
from importlib import metadata
print(json.dumps({each.metadata["Name"].lower(): each.version for each in metadata.distributions()}))
"""


def interpreter(server: Server) -> Path:
    """The Python of a server. The first call makes its environment from PyPI.

    Raises:
        NotThereError: if an installation fails.
    """
    if not server.packages:
        return Path(sys.executable)
    if server.has_actorflow:
        _compile()
    folder = FOLDER / server.name
    python, mark = folder / "bin" / "python", folder / "installed.json"
    if mark.exists() and json.loads(mark.read_text(encoding="utf-8")) == list(server.packages):
        return python
    print(f"{server.title}: pip install {' '.join(server.packages)}", flush=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *server.packages])
    if server.has_actorflow:
        paths = [path for path in sys.path if path.endswith("site-packages")]
        text = "".join(f"import site; site.addsitedir({path!r})\n" for path in paths)
        (Path(_purelib(python)) / "actorflow.pth").write_text(text, encoding="utf-8")
    mark.write_text(json.dumps(list(server.packages)), encoding="utf-8")
    return python


def _compile() -> None:
    """Writes the byte code of our packages, as pip does for those that it installs. A checkout has none where Python is told to
    write none, and a start would compile a thousand modules first."""
    packages = ["actorflow", "transports", "devices", "kernels", "checkpoint"]
    _run([sys.executable, "-m", "compileall", "-q", *(str(ROOT / package) for package in packages)])


def _run(command: list[str]) -> str:
    """The output of a command. Raises NotThereError where it fails."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotThereError(f"{' '.join(command[:4])} has not ended after {_SECONDS:.0f} s.") from None
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or ended.stderr.splitlines()
        raise NotThereError(f"{' '.join(command[:4])} fails: {' '.join(lines[-3:]) or 'it gave no reason'}")
    return ended.stdout


def _purelib(python: Path) -> str:
    """The folder of an environment's packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return _run([str(python), "-c", code]).strip()


def versions(server: Server) -> dict[str, str]:
    """The versions of a server's packages."""
    if not server.packages:
        return {}
    there: dict[str, str] = json.loads(_run([str(interpreter(server)), "-c", _VERSIONS]))
    names = [package.partition("[")[0] for package in server.packages]
    return {name: there[name] for name in names if name in there}
