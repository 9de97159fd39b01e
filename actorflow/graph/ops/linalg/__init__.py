"""Ops of matrices: inverses, factors, systems of equations, norms.

bands.py       matrices from diagonals, and diagonals of matrices: the main diagonal, another, or a band
decompose.py   matrices as products of simpler matrices: QR, singular values, eigenvalues, LU
diagonal.py    diagonals: tensors made of them, and taken out of tensors
functions.py   functions of whole matrices: logarithms of determinants, roots, exponentials, pseudo-inverses; products with
               vectors
matrix.py      matrices: inverses, determinants and factors
norm.py        norms of vectors and matrices
solve.py       systems of linear equations with factored or rectangular matrices, which lie in the last two dimensions
"""
