"""`import actorflow` beside `import tensorflow`, and a model that was exported as a module, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from benchmarks.harness.definitions import Figure, Measurement, Options

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


_ANSWER = """
import time
start = time.perf_counter()
import model
import numpy
answer = model.predict(numpy.zeros((1, 64), numpy.float32))["scores"]
seconds = time.perf_counter() - start
assert answer.shape == (1, 10)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(seconds, int(status["VmHWM"].split()[0]) / 1024)
"""
"""The peak of memory that `getrusage` tells counts the process that this one was forked from."""


def _network(af: Any) -> tuple[Any, Any]:
    """A convolutional network for digits: its input and its output."""
    x = af.placeholder(af.float32, [None, 64], name="images")
    y = af.layers.conv2d(af.reshape(x, [-1, 8, 8, 1]), 32, 3, padding="same", activation=af.nn.relu)
    y = af.layers.conv2d(af.layers.max_pooling2d(y, 2, 2), 64, 3, padding="same", activation=af.nn.relu)
    y = af.layers.dense(af.layers.flatten(y), 64, activation=af.nn.relu)
    return x, af.nn.softmax(af.layers.dense(y, 10))


async def _standalone(options: Options) -> Mapping[str, float]:
    import actorflow as af

    with tempfile.TemporaryDirectory() as folder:
        graph = af.Graph()
        with graph.as_default():
            x, scores = _network(af)
            init = af.global_variables_initializer()
        async with af.Session(graph=graph) as session:
            await session.run(init)
            await af.export.standalone(Path(folder) / "model.py", session, {"scores": scores}, {"images": x})
        for _ in range(2):  # the first fills the caches of compiled modules and of the disk
            done = await anyio.run_process([sys.executable, "-c", _ANSWER], cwd=folder)
    seconds, memory = map(float, done.stdout.split())
    return {"standalone_ms": 1e3 * seconds, "standalone_mb": memory}


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
    Measurement(
        "standalone",
        ours=_standalone,
        figures=(
            Figure(
                "standalone_ms",
                "an exported network for digits: import of its module, with numpy, and first answer",
                "ms",
            ),
            Figure("standalone_mb", "peak memory of the process that did so", "MB"),
        ),
    ),
)
