"""Ops of arithmetic, elementwise functions, reductions, products of matrices.

argmax.py        the place of the largest or smallest element along an axis
arithmetic.py    elementwise arithmetic of two tensors, and sums of several
cast.py          changes of element type, and complex numbers and their parts
clip.py          bounding values and norms (`tf.clip_by_value` and its family)
cumulative.py    cumulative sums and products along one axis; ranges and evenly spaced numbers
elementwise.py   elementwise functions of one tensor: powers, roundings, exponentials, circular and hyperbolic functions
histogram.py     how often values come: counts of integers, histograms, confusion matrices
logic.py         comparisons, boolean logic, and choices by a condition
matmul.py        products of matrices, and `einsum`
reduction.py     reductions over axes: sums, means, extremes
segment.py       reductions over groups of rows: `segment_ids` says to which group (segment) each row belongs
special.py       special functions, elementwise, of floating tensors
statistics.py    reductions that are made of others: log-sum-exp, norms, variances, counts
"""
