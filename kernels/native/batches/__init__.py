"""Kernels in C of whole batches: each image, and each small matrix, is a piece of work that a thread takes.

images.py      images of other sizes, parts of images, colours
linalg.py      factors, solutions, determinants, inverses and eigenvalues of small matrices
sequences.py   losses of sequences whose alignment with their labels is not known
"""
