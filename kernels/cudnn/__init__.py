"""Kernels that call cuDNN, for GPUs: convolutions and batch normalization, with their gradients.

They stand beside those that compute with CuPy, and are chosen where NVIDIA's Python package of the library is there (extra
`cudnn`). If the library lacks a kernel, CuPy's computes. Pools are CuPy's: that package has no call for them.

binding.py   whether cuDNN is there, and the handle of each GPU
conv.py      convolutions on GPUs by cuDNN, of two and three dimensions, in groups and of single channels, with their gradients
norm.py      batch normalization on GPUs by cuDNN, while training and after it, with the gradients of training
program.py   operations of cuDNN: how they are described, the plans that the library makes of them, and their runs
"""

from actorflow.base.registry.library import provide

from . import conv, norm
from .binding import loaded

provide("cudnn", lambda: loaded() is not None)

__all__ = ["conv", "norm"]
