"""Kernels that call cuDNN, for GPUs: convolutions and batch normalization, with their gradients.

They stand beside those that compute with CuPy, and are chosen where NVIDIA's Python package of the library is there (extra
`cudnn`). Whatever the library lacks, CuPy's kernel computes. Pools are CuPy's: that package has no call for them.
"""

from actorflow.registry.library import provide

from . import conv, norm
from .binding import loaded

provide("cudnn", lambda: loaded() is not None)

__all__ = ["conv", "norm"]
