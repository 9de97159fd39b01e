"""Kernels that call oneDNN, for float32 on the CPU: convolutions, pools, products of matrices, their fused forms and batches.

They stand beside numpy's, and are chosen where the library is there (extra `onednn`) and the sizes pay
(`actorflow.registry.library`). Whatever the library lacks, numpy's kernel computes.
"""

from actorflow.registry.library import provide

from . import batch, conv, matmul, pool
from .binding import loaded

provide("onednn", lambda: loaded() is not None)

__all__ = ["batch", "conv", "matmul", "pool"]
