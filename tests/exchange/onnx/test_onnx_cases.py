"""A sample of ONNX's own test suite, stored by `dump_onnx.py`: two cases of each op that has a builder."""

from __future__ import annotations

import functools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorflow.exchange.onnx.backend import Backend, told
from actorflow.exchange.onnx.protos import ModelProto, OptionalProto, SequenceProto, TensorProto
from actorflow.exchange.onnx.tensors import array_of

pytest.importorskip("ml_dtypes")
ARCHIVE = Path(__file__).parent / "cases.zip"


@functools.cache
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


CASES = sorted({name.split("/")[0] for name in files()})


def stored(data: bytes, kind: str | None) -> Any:
    """A value of the suite, in the form in which `Backend` gives it."""
    if kind == "sequence_type":
        return [array_of(t) for t in SequenceProto.FromString(data).tensor_values]
    if kind == "optional_type":
        optional = OptionalProto.FromString(data)
        if optional.HasField("sequence_value"):
            return [array_of(t) for t in optional.sequence_value.tensor_values]
        return array_of(optional.tensor_value) if optional.HasField("tensor_value") else None
    return array_of(TensorProto.FromString(data))


def check(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            check(one, other)
    elif wanted is None:
        assert found is None
    else:
        wanted = np.asarray(told(wanted))
        assert np.shape(found) == wanted.shape
        assert np.asarray(found).dtype == wanted.dtype
        if wanted.dtype == object:
            assert np.asarray(found).tolist() == wanted.tolist()
        else:
            coarse = wanted.dtype.name in ("bfloat16", "float16") or wanted.dtype.name.startswith("float8")
            as_numbers = np.float64 if wanted.dtype.kind not in "cb" else wanted.dtype
            np.testing.assert_allclose(
                np.asarray(found).astype(as_numbers),
                wanted.astype(as_numbers),
                rtol=2**-6 if coarse else 1e-3,
                atol=1e-6,
            )


@pytest.mark.parametrize("case", CASES)
def test_a_case_of_onnxs_suite_passes(case: str) -> None:
    model = files()[f"{case}/model"]
    graph = ModelProto.FromString(model).graph
    given = [stored(files()[f"{case}/input{at}"], info.type.WhichOneof("value")) for at, info in enumerate(graph.input)]
    wanted = [
        stored(files()[f"{case}/output{at}"], info.type.WhichOneof("value")) for at, info in enumerate(graph.output)
    ]
    found = Backend.prepare(model).run(given)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        check(one, other)
