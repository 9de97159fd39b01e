"""`af.estimator.inputs`: input functions over arrays and tables (`tf.estimator.inputs`).

source.py   what an input function gives, as batches that are fed or as tensors of the graph
arrays.py   `numpy_input_fn`: batches of arrays in memory
tables.py   `pandas_input_fn`: batches of a table's rows
parsing_specs.py parsing specs of canned Estimators: features, label and weight of an example
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.estimator.inputs", __name__)
