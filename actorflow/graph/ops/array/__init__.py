"""Ops of shapes, parts, joins, orders and constants.

constant.py      sources: constants, placeholders, and tensors filled with one value (paper sections 2 and 4.2)
gather.py        ops that pick elements by their indices, and put them back: gather, scatter, masks
index.py         rectangular parts of a tensor: slice, strided_slice, and Python's own `x[1:, ..., None]`
join.py          ops that put tensors together and take them apart along a dimension: concat, split, stack, unstack
pad_tile.py      ops that make a tensor larger around itself: pad with a constant or a mirror image, tile, repeat
partition.py     parting the elements of a tensor by numbers that a run decides, and putting such parts together
one_hot.py       one-hot codes, masks of lengths, and grids
reverse.py       elements in another order: reverse_sequence, roll, invert_permutation
scatter.py       scattering: zeros, or a copy of a tensor, with some elements or slices replaced or combined: `scatter_nd`,
                 `tensor_scatter_nd_*`
shape.py         ops that ask for a tensor's shape or change it, and leave its elements: shape, reshape, transpose, squeeze,
                 reverse
sort.py          sorted orders along a dimension: sort, argsort, top_k, and searchsorted in what is sorted already
space_batch.py   ops that move elements between space and the batch or the channels, and that take patches of images
unique.py        distinct elements and differences of lists: unique, unique_with_counts, setdiff1d
"""
