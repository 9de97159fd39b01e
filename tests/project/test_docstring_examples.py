"""Each example in a docstring does what it says, and each public function and class has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import actorflow as af
from actorflow.compat.v1.index import NAMES as THEIRS
from actorflow.index import NAMES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docsite import doctests  # noqa: E402

FOLDERS = ("actorflow", "transports", "devices", "kernels", "checkpoint")
MODULES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
    if doctests.PROMPT in path.read_text(encoding="utf-8")
)

NONE = {
    "actorflow.cluster.processes.blocking_server:Server": "it listens at a port of the machine",
    "actorflow.compat.v1.dimensions:disable_v2_tensorshape": "the whole process changes, and stays so",
    "actorflow.compat.v1.dimensions:enable_v2_tensorshape": "the whole process changes, and stays so",
    "actorflow.compat.v1.testing.program:create_local_cluster": "its servers end with the process",
    "actorflow.compat.names.libraries:load_library": "it refuses",
    "actorflow.compat.names.libraries:load_op_library": "it refuses",
    "actorflow.compat.training.server:Server": "it listens at a port of the machine",
    "actorflow.compat.names.switches:enable_v2_behavior": "it refuses",
    "actorflow.compat.v1.testing.program:main": "it ends the process",
    "actorflow.frontends.grpc.server:GrpcServer": "it needs grpcio, which is an extra",
    "actorflow.models.data.tables.parquet:ArrowDataset": "it needs pyarrow, which is an extra",
    "actorflow.models.data.tables.parquet:ParquetDataset": "it needs pyarrow, which is an extra",
    "actorflow.models.data.tables.parquet:write_parquet": "it needs pyarrow, which is an extra",
    "actorflow.training.estimator.inputs.tables:pandas_input_fn": "it needs pandas, which is an extra",
}
"""The names without an example, and why."""
WHOLE = (
    "actorflow.cluster.config.",
    "actorflow.cluster.processes.local:",
    "actorflow.graph.control_flow.tensor_array:",
    "actorflow.models.data.",
    "actorflow.base.dtypes:",
    "actorflow.engine.eager.functions.",
    "actorflow.engine.eager.scope:",
    "actorflow.engine.eager.tapes.",
    "actorflow.graph.tensor:",
    "actorflow.models.layers.layer:",
    "actorflow.training.monitored.hook:",
    "actorflow.training.monitored.hooks.",
    "actorflow.models.queues.",
    "actorflow.base.records.files:",
    "actorflow.models.rnn.",
    "actorflow.engine.session.blocking:",
    "actorflow.engine.session.inspection:",
    "actorflow.engine.session.session:",
    "actorflow.base.shapes:",
    "actorflow.models.summary.",
    "actorflow.models.train.input.coordinator:",
    "actorflow.models.train.input.queue_runner:",
    "actorflow.models.train.optimizers.optimizer:",
    "actorflow.models.train.saving.checkpoint",
    "actorflow.models.train.saving.saver:",
    "actorflow.graph.variables.",
)
"""The modules whose methods have examples, each of them."""
LIKE = re.compile(r"[Ss]ee `[\w.]+`|^(?:`[\w.]+\(?\)?`,? |As `[\w.]+`|`[\w.]+` )")
"""The docstring of a method that is another one in all but this, such as without `await`."""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
async def test_the_examples_of_a_module(module: Path) -> None:
    ended, errors = await doctests.run_module(module)
    faults = [fault for pair in ended for fault in doctests.complaints(*pair)]
    assert not errors + faults, "\n".join(errors + faults)


def without_example() -> set[str]:
    """The public functions and classes, by the places of their definitions, whose docstrings have no example."""
    found = set()
    for names in (*NAMES.values(), *THEIRS.values()):
        for name, place in names.items():
            home, colon, inner = place.partition(":")
            if inner or not colon:
                value = getattr(importlib.import_module(home), inner or name)
                needs = callable(value) and not (inspect.isclass(value) and issubclass(value, Exception))
                if needs and doctests.PROMPT not in (inspect.getdoc(value) or ""):
                    found.add(f"{home}:{inner or name}")
    return found


def test_every_public_function_has_an_example() -> None:
    found = without_example()
    assert not found - set(NONE), "write an Example: into their docstrings (CONTRIBUTING.md, Conventions)"
    assert not set(NONE) - found, "they have an example now"


def examples_of(text: str | None) -> str:
    """The statements of the examples of a docstring."""
    return "\n".join(example.source for example in doctest.DocTestParser().get_examples(text or ""))


def methods_without_example() -> set[str]:
    """The public methods of public classes, by the places of their definitions, that neither have an example nor are called in
    that of a class that has them. One that says no more than which method it is like is shown there.
    """
    shown: dict[str, bool] = {}
    for names in (*NAMES.values(), *THEIRS.values()):
        for name, place in names.items():
            home, colon, inner = place.partition(":")
            if inner or not colon:
                value = getattr(importlib.import_module(home), inner or name)
                if inspect.isclass(value) and not issubclass(value, Exception):
                    shown |= {place: shown.get(place, False) or found for place, found in methods_of(value)}
    return {place for place, found in shown.items() if not found and place.startswith(WHOLE)}


def methods_of(kind: type) -> Iterator[tuple[str, bool]]:
    """The public methods of a class, by the places of their definitions, and whether they have an example."""
    around = "\n".join(
        examples_of(vars(c).get("__doc__")) for c in kind.__mro__ if c.__module__.startswith("actorflow")
    )
    for name, static in inspect.getmembers_static(kind):
        function = inspect.unwrap(getattr(static, "__func__", static))
        home = getattr(function, "__module__", None) or ""
        if name.startswith("_") or not home.startswith("actorflow") or inspect.isclass(static):
            continue
        if inspect.isroutine(getattr(kind, name)):
            said = inspect.getdoc(function) or ""
            has_one = doctests.PROMPT in said or re.search(rf"\.{name}\b", around) or LIKE.search(said)
            yield f"{home}:{function.__qualname__}", bool(has_one)


def test_every_public_method_has_an_example_or_is_in_that_of_its_class() -> None:
    assert not methods_without_example(), "write an Example: into their docstrings, or use them in that of the class"


# ---- the runner


async def ran(text: str, tmp_path: Path) -> list[str]:
    """The faults of a module with a docstring of this text."""
    file = tmp_path / "module.py"
    file.write_text(f'"""Does.\n\nExample:\n{text}"""\n')
    (example,) = doctests.examples(file)
    return doctests.complaints(example, await doctests.run_example(example))


@pytest.mark.parametrize(
    "text",
    [
        ">>> af.argmax([1.0, 3.0, 2.0])\n1\n",
        ">>> import anyio\n>>> await anyio.lowlevel.checkpoint()\n",
        ">>> x = af.placeholder(af.float32)\n>>> await session.run(x / 3.0, {x: 1.0})\n0.3333\n",
        ">>> for n in range(2):\n...     print(n)\n0\n1\n",
        ">>> af.split([1, 2, 3, 4], 2)\n[[1 2], [3 4]]\n",
        ">>> {}['k']\nTraceback (most recent call last):\n    ...\nKeyError: 'k'\n",
        ">>> af.Graph()\n<...Graph ...>\n",
    ],
)
async def test_an_example_that_is_right(text: str, tmp_path: Path) -> None:
    assert not await ran(text, tmp_path)


async def test_the_working_folder_is_the_examples_own(tmp_path: Path) -> None:
    before = os.getcwd()
    assert not await ran(">>> open('file', 'w').close()\n>>> import os\n>>> os.listdir()\n['file']\n", tmp_path)
    assert os.getcwd() == before and "file" not in os.listdir()


async def test_an_output_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    (fault,) = await ran(">>> x = 1\n>>> x\n2\n", tmp_path)
    assert fault.startswith(f"{tmp_path / 'module.py'}:5: x prints\n1\n")


async def test_an_example_that_raises_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(doctests.ExampleError, match=r"module.py:4 raised(.|\n)*KeyError: 'k'"):
        await ran(">>> {}['k']\n", tmp_path)


async def test_an_example_has_a_graph_and_numbers_of_its_own(tmp_path: Path) -> None:
    before = af.get_default_graph()
    graph = ">>> x = af.placeholder(af.float32, name='x')\n>>> x.name, len(x.graph)\n('x:0', 1)\n"
    assert not await ran(graph, tmp_path) and not await ran(graph, tmp_path)
    draws = ">>> print(np.random.uniform(), af.random_uniform([]))\n"
    assert await ran(draws, tmp_path) == await ran(draws, tmp_path) != []
    assert af.get_default_graph() is before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(1 / 3), "0.3333"),
        ([np.float32(-1 / 3), "a", b"b", None, True], "[-0.3333, 'a', b'b', None, True]"),
        ((1,), "(1,)"),
        ({"a": 1e-9}, "{'a': 1e-09}"),
    ],
)
def test_how_values_are_shown(value: object, text: str) -> None:
    assert doctests.shown(value) == text


def test_rows_of_an_array_stand_under_each_other() -> None:
    with af.eager():
        assert doctests.shown((1, af.constant([[1, 2], [3, 4]]))) == "(1, [[1 2]\n     [3 4]])"
        sparse = af.SparseTensor([[0, 1]], [2.0], [2, 2])
        assert doctests.shown(sparse) == "SparseTensor(indices=[[0 1]], values=[2.], dense_shape=[2 2])"


def test_outputs_are_written(tmp_path: Path) -> None:
    """An output that already fits stays as it is, with its dots."""
    file = tmp_path / "module.py"
    source = '"""Does.\n\nExample:\n    >>> [1, 2]\n{}    >>> "abc"\n    \'a...\n"""\n'
    file.write_text(source.format("    3\n    4\n"))
    assert doctests.main(["--write", str(file)]) == 0
    assert file.read_text() == source.format("    [1, 2]\n")
    assert doctests.main([str(file)]) == 0
