"""Kernels of arithmetic, elementwise functions, reductions, products of matrices.

arithmetic.py    elementwise arithmetic of two tensors, and of sums
cast.py          changes of element type, and of the parts of complex numbers
elementwise.py   elementwise functions of one tensor
histogram.py     counts and histograms
logic.py         comparisons, boolean logic, bits and choices
matmul.py        products of matrices and of einsum
range.py         ranges and evenly spaced numbers
reduction.py     reductions and scans
segment.py       reductions over groups of rows
special.py       special functions, which scipy computes (`cupyx.scipy` on a GPU)
"""
