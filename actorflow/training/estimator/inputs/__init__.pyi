# `make names` writes this file from the marks in the sources.

"""`af.estimator.inputs`: input functions over arrays and tables (`tf.estimator.inputs`).

source.py   what an input function gives, as batches that are fed or as tensors of the graph
arrays.py   `numpy_input_fn`: batches of arrays in memory
tables.py   `pandas_input_fn`: batches of a table's rows
parsing_specs.py parsing specs of canned Estimators: features, label and weight of an example
"""

from actorflow.training.estimator.inputs.arrays import numpy_input_fn as numpy_input_fn
from actorflow.training.estimator.inputs.tables import pandas_input_fn as pandas_input_fn

__all__ = [
    "numpy_input_fn",
    "pandas_input_fn",
]
