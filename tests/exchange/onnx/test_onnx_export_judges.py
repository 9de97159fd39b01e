"""Exports before ONNX's checker, its reference evaluator and onnxruntime. `make test-extras` runs this."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_exports import ROWS, built_row, exported, flows, refused
from graph.ops.harness import Built, compare
from graph.ops.table import Case

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # the evaluator's own
    pytest.mark.extras("onnx", "onnxruntime"),
]
pytest.importorskip("onnx.reference", reason="onnx is not installed (make test-extras)")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (make test-extras)")


BEYOND = {
    "Cast-to-bfloat16", "GatherV2-in-batches", "PadV2", "Conv2DBackpropInput-groups", "Conv2DBackpropInput-groups-channels-first"
}  # fmt: skip
"""Rows that a judge can't run: the evaluator has no bfloat16, no empty batches and no ConvTranspose in groups, and
onnxruntime pads no scalars."""


def judged(built: Built, name: str, loose: float = 5.0) -> None:
    """The checker takes the model; both runtimes give the values of the graph."""
    onnx: Any = importlib.import_module("onnx")
    runtime: Any = importlib.import_module("onnxruntime")
    evaluator: Any = importlib.import_module("onnx.reference")
    data = exported(built).SerializeToString()
    onnx.checker.check_model(data, full_check=True)
    feeds = {f"in{at}": np.asarray(value) for at, value in enumerate(built.feeds.values())}
    wanted = built.run()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    for session in (runtime.InferenceSession(data, options), evaluator.ReferenceEvaluator(onnx.load_from_string(data))):
        for found, value, tensor in zip(session.run(None, feeds), wanted, built.outputs):
            compare(name, np.asarray(found), value, tensor.dtype, loose)


@pytest.mark.parametrize(
    "case", [case for case in ROWS if not refused(case) and case.id not in BEYOND], ids=lambda case: case.id
)
def test_a_row_is_read_by_others(case: Case, seed: int) -> None:
    judged(built_row(case, seed), case.id, max(case.loose, 5.0))


def test_loops_and_branches_are_read_by_others() -> None:
    judged(Built(flows, [np.array([0.5, 0.25], np.float32)], "shape", [False]), "flows")
