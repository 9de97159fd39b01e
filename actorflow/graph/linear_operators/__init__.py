"""Matrices that are known by their structure (`tf.linalg.LinearOperator*`): products and solutions without the matrix.

block_diagonal.py    operators along the diagonal of a matrix that is zero elsewhere
circulant.py         convolutions that go round, in 1 to 3 dimensions, by Fourier transforms
composition.py       products of operators
derived.py           the adjoint and the inverse of an operator
diagonal.py          `LinearOperatorDiag`
householder.py       reflections
identity.py          identities, multiples of them, and zeros
kronecker.py         Kronecker products of operators
low_rank_update.py   an operator plus a product of narrow matrices
matrices.py          operators over a matrix: a full matrix, or a lower triangle
operator.py          `LinearOperator`: all methods, and how they are computed where a class knows nothing better
shapes.py            batches of matrices that are broadcast against each other, and what hints imply
toeplitz.py          matrices that are constant along their diagonals
"""
