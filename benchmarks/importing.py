"""`import actorflow` beside `import tensorflow`, each in a fresh interpreter with nothing else imported."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

from benchmarks.definitions import Figure, Measurement, Options

_CODE = """
import time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
import resource
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=open({output!r}, "w"))
"""


def _imports(module: str) -> Callable[[Options], Mapping[str, float]]:
    def measure(options: Options) -> Mapping[str, float]:
        with tempfile.NamedTemporaryFile("r") as output:
            command = [sys.executable, "-P", "-c", _CODE.format(module=module, output=output.name)]
            for _ in range(2):  # the first fills the caches of compiled modules and of the disk
                subprocess.run(command, check=True, cwd=tempfile.gettempdir(), stdout=subprocess.DEVNULL)
            seconds, memory = map(float, output.read().split())
        return {"import_ms": 1e3 * seconds, "import_mb": memory}

    return measure


BENCHMARKS = (
    Measurement(
        "import",
        ours=_imports("actorflow"),
        peer=_imports("tensorflow"),
        figures=(
            Figure("import_ms", "import of the package", "ms"),
            Figure("import_mb", "peak memory of a process that imported it", "MB"),
        ),
    ),
)
