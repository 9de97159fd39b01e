"""Runs the tests that lie in the installed Keras with this backend, or with another one, and counts them by folder.

python packages/keras-actorflow/tests/keras_suite.py ops layers/core       # folders or files below keras/src
KERAS_BACKEND=numpy python packages/keras-actorflow/tests/keras_suite.py ops
EVERY=20 python packages/keras-actorflow/tests/keras_suite.py              # every twentieth test of each file
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "actorflow")
if os.environ["KERAS_BACKEND"] == "actorflow":
    from keras_actorflow import hook

    def _adapted(name: str, source: str, adapted: Callable[[str, str], str] = hook.adapted) -> str:
        return adapted(name, source).replace('"torch": "cpu",', '"torch": "cpu", "actorflow": "cpu:0",')

    hook.BRANCHES["keras.src.trainers.trainer_test"] = 3  # a test that refuses a name which is not on its list
    hook.adapted = _adapted
import keras
import pytest

HERE = Path(__file__).resolve().parent
SOURCES = Path(keras.__file__).parent / "src"


class Conftest(ModuleType):
    """The part of Keras' `conftest.py` that tests import, which Keras does not install."""

    @staticmethod
    def skip_if_backend(name: str, reason: str) -> Any:
        return pytest.mark.skipif(keras.backend.backend() == name, reason=reason)


def _every(step: int, items: list[Any]) -> list[Any]:
    """Every `step`-th test of each file, and the first of each file."""
    files: Counter[Path] = Counter()
    kept = []
    for item in items:
        if files[item.path] % step == 0:
            kept.append(item)
        files[item.path] += 1
    return kept


class Suite:
    """A plug-in of pytest: the exclusions, the markers of Keras' own configuration, and the counts."""

    def __init__(self) -> None:
        lines = (HERE / "excluded_tests.txt").read_text().splitlines()
        self._excluded = [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()]
        self._counts: Counter[tuple[str, str]] = Counter()

    def pytest_configure(self, config: Any) -> None:
        config.addinivalue_line("markers", "requires_trainable_backend: for backends that train")
        config.addinivalue_line("markers", "multi_device: for more than one device")

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        trains = keras.backend.backend() not in ("numpy", "openvino")
        kept = []
        for item in items:
            name = item.nodeid.replace("::", ".")
            excluded = keras.backend.backend() == "actorflow" and any(
                fnmatch(name, f"*{part}") for part in self._excluded
            )
            lacking = item.get_closest_marker("requires_trainable_backend") is not None and not trains
            if not excluded and not lacking and item.get_closest_marker("multi_device") is None:
                kept.append(item)
        kept = _every(int(os.environ.get("EVERY", "1")), kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            folder = report.nodeid.partition("::")[0].rpartition("src/")[2]
            self._counts[folder, report.outcome] += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        files = sorted({file for file, _ in self._counts})
        for file in files:
            passed, failed, skipped = (self._counts[file, kind] for kind in ("passed", "failed", "skipped"))
            terminalreporter.write_line(f"{passed:6} passed {failed:5} failed {skipped:5} skipped  {file}")
        passed, failed = (
            sum(n for (_, kind), n in self._counts.items() if kind == name) for name in ("passed", "failed")
        )
        terminalreporter.write_line(f"{passed} of {passed + failed} tests pass with {keras.backend.backend()}")


def main(arguments: list[str]) -> int:
    """Runs the folders or files that are named, or all; arguments that begin with a dash go to pytest."""
    options = [word for word in arguments if word.startswith("-")]
    places = [str(SOURCES / word) for word in arguments if not word.startswith("-")] or [str(SOURCES)]
    sys.modules["conftest"] = Conftest("conftest")
    settings = [
        "-c",
        os.devnull,
        f"--rootdir={SOURCES.parents[1]}",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "--assert=plain",
    ]
    settings += ["-o", "python_files=*_test.py", "-W", "ignore", "-q", "--no-header", "--continue-on-collection-errors"]
    return int(pytest.main([*settings, *options, *places], plugins=[Suite()]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
