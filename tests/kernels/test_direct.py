"""The functions that tapes call in the place of a kernel (`Direct`) give the kernel's bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.dtypes import DType
from actorflow.base.registry import kernel, opdef
from actorflow.base.registry.kernel import KernelDef

TYPES = (af.float32, af.float64, af.int32, af.int64, af.bool, af.complex64, af.float16)


def entries() -> Iterator[Any]:
    af.Graph()
    for op in sorted(kernel.registered()):
        for entry in (*kernel.registered()[op], *kernel.from_libraries(op)):
            if entry.direct is not None and not entry.direct.passes_on and (entry.direct.fresh or entry.direct.into):
                if op != "ReadVariableOp":
                    yield pytest.param(entry, id=f"{op}-{entry.library or entry.device}")


def values(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> Any:
    array = (rng.normal(size=shape) * 3).astype(dtype.numpy_dtype)
    return array if shape else array[()]


@pytest.mark.parametrize("entry", list(entries()))
def test_a_direct_function_gives_the_bits_of_its_kernel(entry: KernelDef, seed: int) -> None:
    rng, calls = np.random.default_rng(seed), 0
    direct = entry.direct
    assert direct is not None
    specs = opdef.lookup(entry.op).inputs
    attributes = {name: "NHWC" for name in entry.attrs}
    for dtype in TYPES:
        if not entry.accepts([dtype]):
            continue
        for shape in ((), (7,), (3, 5), (40, 50)):
            inputs = [values(rng, dtype, shape) for _ in specs]
            if entry.op == "BiasAdd":
                if not shape:
                    continue
                inputs[1] = inputs[1].reshape(-1)[: shape[-1]]
            if entry.op == "Select":
                inputs[0] = np.asarray(inputs[0]) > 0
            if specs[0].kind == "list":
                inputs = [[inputs[0], values(rng, dtype, shape)]]
            with np.errstate(all="ignore"):
                try:
                    expected = entry.function(np, *inputs, **attributes)
                except (TypeError, ValueError):
                    continue  # no op has this type
                reads = inputs if direct.reads is None else [inputs[i] for i in direct.reads]
                if direct.fresh is not None:
                    same(direct.fresh(*reads), expected)
                    calls += 1
                if direct.into is not None and entry.takes_out and shape:
                    buffers = [np.empty_like(np.asarray(expected)) for _ in range(2)]
                    same(direct.into(*reads, buffers[0]), entry.function(np, *inputs, out=buffers[1], **attributes))
                    same(buffers[0], buffers[1])
                    calls += 1
    assert calls


def same(result: Any, expected: Any) -> None:
    result, expected = np.asarray(result), np.asarray(expected)
    assert (result.dtype, result.shape, result.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
