"""Makes `onnx/cases.zip`: a sample of ONNX's own test suite, two cases of each op that has a builder, with the package onnx
(1.23.2) installed.

    python tests/exchange/onnx/dump_onnx.py

For each case the archive has its model, and for each set of data its inputs and outputs as the suite stores them.
"""

from __future__ import annotations

import importlib
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("cases.zip")
LEFT_OUT = re.compile("bernoulli|_expanded|training_dropout")
LARGEST = 6_000
EACH = 2


def main() -> None:
    """Writes the archive."""
    warnings.simplefilter("ignore")
    importlib.import_module("actorflow.exchange.onnx.builders")
    builders: Any = importlib.import_module("actorflow.exchange.onnx.nodes").BUILDERS
    onnx: Any = importlib.import_module("onnx")
    helper: Any = importlib.import_module("onnx.numpy_helper")
    runner: Any = importlib.import_module("onnx.backend.test.runner")
    loader: Any = importlib.import_module("onnx.backend.test.loader")

    def packed(value: Any, kind: Any) -> bytes:
        which = kind.WhichOneof("value")
        if which == "sequence_type":
            made = helper.from_list(value)
        elif which == "optional_type":
            made = onnx.OptionalProto() if value is None else helper.from_optional(value)
        else:
            made = helper.from_array(runner._normalize_tensor(value))
        data: bytes = made.SerializeToString()
        return data

    taken: dict[str, int] = {}
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def put(name: str, data: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)

        for case in loader.load_model_tests(kind="node"):
            if LEFT_OUT.search(case.name) or case.model is None:
                continue
            if not all((n.domain, n.op_type) in builders for n in case.model.graph.node):
                continue
            op = case.model.graph.node[-1].op_type
            graph = case.model.graph
            files = {"model": case.model.SerializeToString()}
            for inputs, outputs in case.data_sets:
                for at, (value, info) in enumerate(zip(inputs, graph.input)):
                    files[f"input{at}"] = packed(value, info.type)
                for at, (value, info) in enumerate(zip(outputs, graph.output)):
                    files[f"output{at}"] = packed(value, info.type)
            if taken.get(op, 0) >= EACH or sum(map(len, files.values())) > LARGEST:
                continue
            taken[op] = taken.get(op, 0) + 1
            for name, data in files.items():
                put(f"{case.name}/{name}", data)
    print(len(taken), "ops,", sum(taken.values()), "cases,", TARGET.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
