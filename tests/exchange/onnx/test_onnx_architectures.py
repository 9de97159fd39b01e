"""Ten architectures with random weights, exported from PyTorch, against PyTorch's own answers. `make test-extras` runs this;
`ACTORFLOW_ONNX_MODELS` names a folder in which the exports are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange.onnx import torch_models

import actorflow as af

pytestmark = [pytest.mark.extras("torch", "transformers", "onnxscript"), pytest.mark.timeout(600)]
KEPT = os.environ.get("ACTORFLOW_ONNX_MODELS")
if KEPT is None:
    for _needed in ("torch", "transformers", "onnxscript"):
        pytest.importorskip(_needed, reason=f"{_needed} is not installed (make test-extras)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """Holds the exports. A process of its own writes them: PyTorch's exporter leaves threads behind."""
    written = Path(KEPT) if KEPT else Path(tmp_path_factory.mktemp("models"))
    if missing := [name for name in torch_models.NAMES if not (written / f"{name}.onnx").exists()]:
        subprocess.run([sys.executable, torch_models.__file__, written, *missing], check=True)
    return written


@pytest.mark.parametrize("name", torch_models.NAMES)
async def test_a_model_of_pytorch_has_pytorchs_answers(folder: Path, name: str) -> None:
    stored = np.load(folder / f"{name}.npz")
    for suffix in ("", "_8"):
        given = [stored[f"in{at}{suffix}"] for at in range(2) if f"in{at}{suffix}" in stored.files]
        with af.Graph().as_default() as graph:
            open_sizes = af.onnx.load(folder / f"{name}.onnx")
            shapes = {port: value.shape for port, value in zip(open_sizes.inputs, given)}
            model = af.onnx.load(folder / f"{name}.onnx", shapes=shapes)
        async with af.Session(graph=graph) as session:
            for loaded in (open_sizes, model):
                feeds = dict(zip(loaded.inputs.values(), given))
                (found,) = (await session.run(loaded.outputs, feeds)).values()
                wanted = stored[f"out0{suffix}"]
                assert found.shape == wanted.shape
                assert np.abs(found - wanted).max() <= 1e-4 * max(1.0, np.abs(wanted).max())
