"""Kernels of matrices: inverses, factors, systems of equations, norms.

decompose.py   matrix factorizations, which LAPACK computes
diagonal.py    diagonals and bands of matrices
functions.py   functions of whole matrices
lapack.py      LAPACK by scipy, for single matrices and large matrices
matrix.py      inverses, determinants and Cholesky factors, which LAPACK computes
solve.py       systems of linear equations
"""
