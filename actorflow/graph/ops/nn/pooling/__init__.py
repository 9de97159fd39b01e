"""Pools: the largest element or the mean of each window.

fractional.py   pools that shrink images by a ratio that is not whole, in windows of random sizes (Graham 2014)
functions.py    the functions that programs call (`tf.nn.max_pool`, `avg_pool`, `pool`)
rules.py        the ops: the maximum or the mean of windows, in two and three dimensions, and their gradients
"""
