"""Small files that ask for much when they are loaded: large work is left to the runs or refused, in bounded time and memory."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest
from base.parsers import heavy_files

import actorflow as af
from actorflow.graph.graphdef.protos import GraphDef

SUPPORT = Path(__file__).parent
SECONDS = 20.0
"""Of processor time; before there was a bound, the files took minutes."""
MEBIBYTES = {**dict.fromkeys((*heavy_files.MODELS, *heavy_files.GRAPHS), 256), **dict.fromkeys(heavy_files.FILES, 640)}
REFUSED = {
    "functions": "too many nodes",
    "a few deep functions": "within each other",
    "deep branches": "more than 64 deep",
    "a constant beyond all memory": "can't be read",
    "constants of two values": "the most",
    "a packed record": "ResourceExhaustedError: The record at byte 0 of",
    "a packed record of the iterator": "ResourceExhaustedError: The record at byte 0 of",
    "a packed line": "ACTORFLOW_MAX_UNPACKED_BYTES",
}
"""The words of the errors; all other files are loaded."""

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="the bounds of a process are looked up as Linux tells them"),
]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """The time and the memory that each file took."""
    command = [sys.executable, str(SUPPORT / "heavy_files.py")]
    ended = run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SUPPORT)}, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return {row["name"]: row for row in map(json.loads, ended.stdout.splitlines())}


@pytest.mark.parametrize("name", MEBIBYTES)
def test_a_small_file_takes_little(name: str, rows: dict[str, Any]) -> None:
    row = rows[name]
    assert row["seconds"] < SECONDS and row["mib"] < MEBIBYTES[name], row
    if name in REFUSED:
        assert REFUSED[name] in row["outcome"]
    else:
        assert "Error" not in row["outcome"]


def test_a_constant_that_one_value_fills_has_its_value_in_a_run() -> None:
    message = heavy_files.splats(1, 1 << 12, 1 << 12)
    with af.Graph().as_default() as graph:
        (value,) = af.import_graph_def(message, return_elements=["c0:0"], name="")  # type: ignore[misc]
        total, shape = af.reduce_sum(value[:2] * 3.0), af.shape(value)
    with af.blocking.Session(graph=graph) as session:
        assert session.run([total, shape]) == [2 * 3.0 * (1 << 12), pytest.approx([1 << 12, 1 << 12])]
    again = GraphDef.FromString(heavy_files.splats(1, 3).SerializeToString())
    np.testing.assert_array_equal(af.make_ndarray(again.node[0].attr["value"].tensor), [1.0, 1.0, 1.0])
