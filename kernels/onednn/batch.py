"""Batches of products of float32 matrices, each a primitive of its own for all of them, or for parts of them where threads
share the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from actorflow.base.registry.kernel import kernel

from ..math import matmul as math_matmul
from ..native import product as native_product
from .binding import Binding, loaded
from .conv import FLOAT32
from .parts import ImageBatches
from .program import DST, SRC, WEIGHTS, CompiledProgram, Governed, ProgramBuilder, ProgramCache, destination

_WORTH_PRODUCTS, _NARROWEST = 1 << 20, 16
"""Multiplications: numpy computes smaller batches, and those of narrower matrices, as fast."""
_programs = ProgramCache()
_batches = ImageBatches()


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Batches of the same sizes, nothing empty."""
    x, y = shapes
    return len(x) == len(y) >= 3 and tuple(x[:-2]) == tuple(y[:-2]) and prod(x) > 0 and prod(y) > 0


def pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    if native_product.can_batch(attrs, shapes) and native_product.batch_pays(attrs, shapes):
        return False  # our own kernel begins sooner, and reads matrices as they lie
    m, k = _turned(shapes[0], attrs["adj_x"])
    n = _turned(shapes[1], attrs["adj_y"])[1]
    return prod(shapes[0][:-2]) * m * k * n >= _WORTH_PRODUCTS and min(m, k, n) >= _NARROWEST


def _turned(shape: Sequence[int], turned: bool) -> tuple[int, int]:
    return (shape[-1], shape[-2]) if turned else (shape[-2], shape[-1])


def product(x: Any, y: Any, adj_x: bool, adj_y: bool, out: Any) -> Any:
    """The products, or None if they can't be computed here."""
    library = loaded()
    if library is None or not can({}, (x.shape, y.shape)):
        return None
    m, k = _turned(x.shape, adj_x)
    rows, n = _turned(y.shape, adj_y)
    if rows != k:
        return None
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        return None
    shape = (*x.shape[:-2], m, n)
    count = prod(shape[:-2])
    key = (m, k, n, adj_x, adj_y)

    def program_for(some: int, flops: float) -> Governed | None:
        return _programs.get((*key, some, flops > 0), library, lambda: _program(library, some, *key), flops)

    batch = _batches.get((*key, count), library, count, 2.0 * count * m * k * n, program_for)
    if batch is None:
        return None
    result = destination(out, shape)
    batch.run([x.reshape(count, *x.shape[-2:]), y.reshape(count, *y.shape[-2:])], (0, 1), result.reshape(count, m, n))
    return result


def _program(library: Binding, count: int, m: int, k: int, n: int, adj_x: bool, adj_y: bool) -> CompiledProgram:
    builder = ProgramBuilder(library)
    builder.layouts = {
        "x": builder.strided((count, m, k), (m * k, 1, m) if adj_x else (m * k, k, 1)),
        "y": builder.strided((count, k, n), (k * n, 1, k) if adj_y else (k * n, n, 1)),
        "z": builder.strided((count, m, n), (m * n, n, 1)),
    }
    x, y, z = (builder.layouts[name] for name in "xyz")
    pd = builder.describe("products", library.lib.dnnl_matmul_primitive_desc_create, x, y, library.ffi.NULL, z)
    builder.step(pd, {SRC: "x", WEIGHTS: "y", DST: "z"})
    return CompiledProgram(builder, ("x", "y", "z"))


@kernel("BatchMatMulV2", device="CPU", dtypes=FLOAT32, library="onednn", can=can, pays=pays)
def batch_matmul(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool, out: Any = None) -> Any:
    result = product(x, y, adj_x, adj_y, out)
    return math_matmul.batch_matmul_on_cpu(xp, x, y, adj_x=adj_x, adj_y=adj_y, out=out) if result is None else result
