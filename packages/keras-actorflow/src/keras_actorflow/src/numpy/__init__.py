"""Numpy's functions over tensors, as Keras asks for them.

promotion.py   types of operands and results
arithmetic.py  arithmetic and functions of each element
logic.py       comparisons, truth values, bits
creation.py    constants, ranges, windows
reductions.py  sums, extremes, means, quantiles
shaping.py     joined, split, moved, repeated, padded
indexing.py    chosen, ordered, looked for
products.py    products of vectors, matrices, tensors
"""

from keras_actorflow.src.linalg import slogdet  # noqa: F401
from keras_actorflow.src.numpy.arithmetic import *  # noqa: F403
from keras_actorflow.src.numpy.creation import *  # noqa: F403
from keras_actorflow.src.numpy.indexing import *  # noqa: F403
from keras_actorflow.src.numpy.logic import *  # noqa: F403
from keras_actorflow.src.numpy.products import *  # noqa: F403
from keras_actorflow.src.numpy.reductions import *  # noqa: F403
from keras_actorflow.src.numpy.shaping import *  # noqa: F403
