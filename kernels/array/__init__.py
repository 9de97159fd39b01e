"""Kernels of shapes, parts, joins, orders and constants.

constant.py      constants, placeholders and tensors filled with one value
gather.py        ops that pick elements by their indices, and put them back
index.py         rectangular parts of a tensor
join.py          ops that put tensors together and take them apart
pad_tile.py      ops that make a tensor larger around itself
one_hot.py       one-hot codes
reverse.py       put elements in another order: reverse_sequence, roll, invert_permutation
scatter.py       copy a tensor and change some of its elements or slices
shape.py         ops that ask for a shape or change it
sort.py          sorted orders: top_k and searches in sorted rows
space_batch.py   ops that move elements between space and the batch or the channels, and of patches of images
unique.py        distinct elements and differences of lists
views.py         reshapes and transposes whose sizes and orders are constants, read as the plan is made
"""
