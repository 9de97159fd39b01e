"""Ops of arithmetic, elementwise functions, reductions, products of matrices.

arithmetic.py    elementwise arithmetic of two tensors, and sums of several
cast.py          changes of element type, and complex numbers and their parts
clip.py          bounding values and norms (`tf.clip_by_value` and its family)
cumulative.py    cumulative sums and products along one axis
einsum.py        `einsum`: sums of products that an equation spells
elementwise.py   elementwise functions of one tensor: powers, roundings, exponentials, circular and hyperbolic functions
histogram.py     how often values come: counts of integers, histograms, confusion matrices
logic.py         comparisons, boolean logic, and choices by a condition
matmul.py        products of matrices
reduction.py     reductions over axes: sums, means, extremes, and the indices of extremes
segment.py       reductions over groups of rows: `segment_ids` says to which group (segment) each row belongs
special.py       special functions, elementwise, of floating tensors
statistics.py    reductions that are made of others: log-sum-exp, norms, variances, counts
"""
