"""`make test-native`: the kernels in C for each set of instructions of this processor, under the sanitizers, and all ops
without them.

A build under AddressSanitizer or ThreadSanitizer goes to a folder of its own, whose library is loaded in the place of the
installed one (`ACTORFLOW_NATIVE_BUILD`). The sanitizer's own library has to be there before Python is, so it is preloaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SANITIZERS = {
    "address": {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"},  # Python keeps what it has until it ends
    "thread": {
        "TSAN_OPTIONS": "report_signal_unsafe=0:die_after_fork=0:halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1"
    },
}
ROWS = ["tests/graph/ops"]
SANITIZED = ["tests/graph/ops/test_table.py::test_kernels", "tests/kernels/test_lstm.py"]
"""Tests that run under the sanitizers as well: all kernels of each op, on small arrays."""


def run(what: str, command: list[str], **environment: str) -> bool:
    print(f"---- {what}", flush=True)
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode == 0


def pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "600", *arguments]


def sanitized(name: str, folder: Path) -> dict[str, str] | None:
    """The environment of tests under a sanitizer; None where the compiler has none."""
    flags = f"-fsanitize={name} -O1 -g -fno-omit-frame-pointer"
    build = [
        sys.executable,
        "setup.py",
        "--quiet",
        "build_ext",
        "--build-lib",
        str(folder),
        "--build-temp",
        str(folder / "temp"),
    ]
    if not run(f"build for {name}", build, ACTORFLOW_NATIVE_FLAGS=flags):
        return None
    found = next(folder.glob("**/_native*.so"), None)
    library = subprocess.run(
        ["gcc", f"-print-file-name=lib{name[0]}san.so"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if found is None or not os.path.isabs(library):
        return None
    return {"ACTORFLOW_NATIVE_BUILD": str(found), "LD_PRELOAD": library, "PYTHONMALLOC": "malloc", **SANITIZERS[name]}


def main(tests: list[str]) -> int:
    failed = []
    for level in ("avx512", "avx2", "plain"):
        if not run(level, pytest(*tests), ACTORFLOW_NATIVE=level):
            failed.append(level)
    with tempfile.TemporaryDirectory() as folder:
        for name in SANITIZERS:
            environment = sanitized(name, Path(folder) / name)
            if environment is None:
                failed.append(f"{name}: no build")
            elif not run(f"{name} sanitizer", pytest("-x", *tests, *SANITIZED), **environment):
                failed.append(name)
    for rows, environment in (("with", {}), ("without", {"ACTORFLOW_NATIVE": "off"})):
        if not run(f"ops {rows} the library", pytest(*ROWS), **environment):
            failed.append(f"ops {rows} the library")
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
