"""Graphs that are saved as ONNX models: the rows of the table of ops, loops and branches."""

from __future__ import annotations

from typing import Any

from graph.ops.harness import Built
from graph.ops.table import Case, all_cases

import actorflow as af
from actorflow.base.dtypes import as_dtype
from actorflow.exchange.onnx.exporter.block import RULES
from actorflow.exchange.onnx.exporter.save import model_of

CONTROL = {"Merge", "Switch", "Enter", "Exit"}
ROWS = [case for case in all_cases() if case.ops.split() and case.ops.split()[0] in RULES.keys() - CONTROL]
REFUSED = {
    "GatherV2-in-batches-along-a-later-axis", "GatherV2-in-batches-from-the-end", "MirrorPad-SYMMETRIC",
    "ScatterNd-of-strings-and-truth-values", "Transpose-conjugate", "FusedBatchNormV3", "FusedBatchNormV3-channels-first",
    "FusedBatchNormV3-inference", "LeftShift", "RightShift",
}  # fmt: skip
"""Rows that have no form in ONNX, as far as the rules know: axes that only a run knows, complex numbers, training, and
outputs for the gradient."""


def refused(case: Case) -> bool:
    """Whether a row has no form in ONNX."""
    return case.id in REFUSED or "complex" in case.id or not set(case.dtypes.split()) - {"complex64", "complex128"}


def exported(built: Built) -> Any:
    """The model of a row's graph."""
    names = {f"out{at}": tensor.name for at, tensor in enumerate(built.outputs)}
    inputs = {f"in{at}": tensor.name for at, tensor in enumerate(built.feeds)}
    return model_of(built.graph.as_graph_def(add_shapes=True), names, inputs)


def built_row(case: Case, seed: int) -> Built:
    """The last example of a row in a graph."""
    names = case.dtypes.split()
    dtype = as_dtype("float32" if "float32" in names else "int32" if "int32" in names else names[0])
    _, arrays, drawn = list(case.examples(dtype, seed))[-1]
    return Built(case.build, arrays, "shape", [not one for one in drawn])


def flows(x: Any) -> list[Any]:
    """Loops and branches, in each other and after each other."""
    total = af.while_loop(lambda at, y: at < 5, lambda at, y: (at + 1, y * 1.5 + x), [0, x])[1]

    def inner(at: Any, y: Any) -> Any:
        return at + 1, af.cond(af.reduce_sum(y) > 10.0, lambda: y - total, lambda: y * 2.0 + 1.0)

    both = af.while_loop(lambda at, y: at < 4, inner, [0, x])[1]
    nested = af.while_loop(
        lambda at, y: at < 3,
        lambda at, y: (at + 1, af.while_loop(lambda to, z: to < at, lambda to, z: (to + 1, z + y), [0, y])[1]),
        [0, x],
    )[1]
    side = af.cond(
        af.reduce_sum(x) > 0.0,
        lambda: af.cond(af.reduce_max(x) > 1.0, lambda: x + 1.0, lambda: x * both),
        lambda: af.constant([7.0, 8.0]),
    )
    return [total, both, nested, side]
