"""Generated loops: elementwise members of regions, and optimizers' updates, compiled for this machine (extra `jit`).

The runtime finds `LlvmCompiler` by its entry point and asks it for the loops of regions (`actorflow.runtime.codegen.jit`).
The updates stand beside numpy's as kernels of a library, and so does the cross entropy of a few classes
(`actorflow.registry.library`).
"""

from . import (
    ops_arrays,
    ops_elementwise,
    ops_gathering,
    ops_joining,
    ops_norm,
    ops_pool,
    ops_random,
    ops_reduce,
    ops_rows,
    ops_slices,
    softmax,
    updates,
)
from .compiler import LlvmCompiler

__all__ = [
    "LlvmCompiler",
    "ops_arrays",
    "ops_elementwise",
    "ops_gathering",
    "ops_joining",
    "ops_norm",
    "ops_pool",
    "ops_random",
    "ops_reduce",
    "ops_rows",
    "ops_slices",
    "softmax",
    "updates",
]
