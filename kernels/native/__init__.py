"""Kernels in C, for arrays that lie in order: the library `_native`, and which ops it computes.

They stand beside numpy's, which are the reference, and are chosen where the library is there and the shapes suit
(`actorflow.base.registry.library`). The library is compiled when the package is installed, if there is a compiler, or comes with
a wheel. Without it numpy computes, and a line of the log says why. A kernel in C that meets what it does not know (another
type, another order of elements, a value that is an error) leaves the call, untouched, to the Python kernel of the op.
Results are the same bits, except where a module here says otherwise.

`src/` has the sources, a file for each idea; `src/call.h` says how a kernel is written. They are compiled once for each set of
instructions, and the best for the processor is taken as the library is loaded. `ACTORFLOW_NATIVE` changes that: `off` does
without the library, `plain`, `avx2` and `avx512` name a set of instructions.

batches/         batches of images and of small matrices
elementwise.py   elementwise ops, casts, choices, sums of a list
library.py       loads the library, and makes functions of its kernels
norm.py          batch normalization with the activation behind it
product.py       products of matrices, and batches of them
random.py        uniform random numbers
reduce.py        sums, means, extremes, cumulative sums
rows.py          gathers, slices, one-hot vectors, the largest of each row, concatenations
scatter.py       scatters, sparse updates, segments, distinct elements
smooth.py        erf, GELU and Swish, rows that are normalized
softmax.py       softmax, cross entropy, attention
sparse.py        sparse tensors
strings/         hashes of strings, their parts, letters and numbers
update.py        optimizers' dense updates
window.py        pools of maxima, depthwise convolutions
"""

from actorflow.base.registry.library import provide

from .library import available

provide("native", available)

__all__ = ["available"]
