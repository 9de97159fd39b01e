"""Feature columns: how features of a table become the inputs of a model (`tf.feature_column`).

A column is a frozen record. It says which features it takes, and makes of a batch either a dense tensor or the numbers of
categories. `Features` keeps what columns have made of a batch, so that equal columns are computed once. Variables are made by the
models alone: `input_layer` and `linear_model` open a variable scope for each column, in the order of the columns' names.

categorical.py  columns of categories: by identity, by hash, by a vocabulary, with weights
column.py       what columns are made of: dense and categorical columns, and the features of a batch as they see them
crossed.py      crosses of columns: each combination of categories is a category
embedded.py     categories as numbers: one-hot, and as rows of a learned table
models.py       columns in a model: as inputs of a network, as a linear model, and as the features that examples are parsed into
numeric.py      columns of numbers: as they are, and in buckets
sequence.py     columns of sequences, and the inputs of a recurrent network
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.feature_column", __name__)
