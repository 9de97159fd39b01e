"""Kernels that call oneDNN, for float32 on the CPU: convolutions, pools, products of matrices, their fused forms and batches.

They stand beside numpy's, and are chosen where the library is there (extra `onednn`) and the sizes pay
(`actorflow.base.registry.library`). If the library lacks a kernel, numpy's computes.

batch.py          batches of products of float32 matrices, each a primitive of its own for all of them, or for parts of them
                  where threads share the work
binding.py        oneDNN's C interface: where the library is, how it is loaded, and what its calls are
constants.py      constants in the library's layouts, which all programs share
conv.py           convolutions of images with channels last, also with what is fused behind them
conv_program.py   programs of convolutions: forward, to the images and to the weights, and those of single channels
interface.py      the declarations of oneDNN's functions as cffi's tables, which `tools/onednn_interface.py` writes
int8.py           products and convolutions with weights of int8
matmul.py         products of two matrices of float32, plain, on top of a bias, and into a variable
panels.py         products of a few rows with constants, by our own kernel in C, which reads weights in the order of memory
parts.py          parts of a library's work that threads of the pool take in turns: some images of a batch, some rows or columns
                  of a product
pool.py           pools of images with channels last
prepared.py       convolutions and products of constants, which get their weights in the library's layout as a plan is made
program.py        programs: single or several primitives of oneDNN, made for certain shapes, that run on arrays
"""

from actorflow.base.registry.library import provide

from . import batch, conv, int8, matmul, pool
from .binding import loaded

provide("onednn", lambda: loaded() is not None)

__all__ = ["batch", "conv", "int8", "matmul", "pool"]
