"""Ops of sparse tensors (`tf.sparse`).

cross.py       crosses of categories: each combination of an example's features as a number
join.py        sparse tensors put together and taken apart along a dimension (`tf.sparse`)
math.py        arithmetic of sparse tensors with others: products, sums, extremes (`tf.sparse`)
reduce.py      sparse tensors reduced over some axes, and the softmax of one (`tf.sparse`)
segment.py     reductions over groups of rows picked by their indices first: a gather and a segment reduction in a single op
serialize.py   sparse tensors as strings, and back
sets.py        sets in the last dimension: unions, intersections, differences, sizes (`tf.sets`)
shape.py       sparse tensors whose elements are put together, picked, moved and reordered (`tf.sparse`)
tensor.py      sparse tensors: made, fed, and turned into dense tensors (`tf.sparse`)
"""
