"""Kernels of sparse tensors (`tf.sparse`).

cross.py       hashed crosses of categories
math.py        the arithmetic of sparse tensors
segment.py     reductions over groups of picked rows
serialize.py   sparse tensors as strings, and back
sets.py        set operations
shape.py       put sparse tensors together, take parts of them, and change their shapes
tensor.py      sparse tensors: their elements in order, in groups, in a dense tensor
"""
