# `make names` writes this file from the marks in the sources.

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

from actorflow.models.feature_column.categorical import categorical_column_with_hash_bucket as categorical_column_with_hash_bucket
from actorflow.models.feature_column.categorical import categorical_column_with_identity as categorical_column_with_identity
from actorflow.models.feature_column.categorical import categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file
from actorflow.models.feature_column.categorical import categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list
from actorflow.models.feature_column.categorical import weighted_categorical_column as weighted_categorical_column
from actorflow.models.feature_column.crossed import crossed_column as crossed_column
from actorflow.models.feature_column.embedded import embedding_column as embedding_column
from actorflow.models.feature_column.embedded import indicator_column as indicator_column
from actorflow.models.feature_column.embedded import shared_embedding_columns as shared_embedding_columns
from actorflow.models.feature_column.models import input_layer as input_layer
from actorflow.models.feature_column.models import linear_model as linear_model
from actorflow.models.feature_column.models import make_parse_example_spec as make_parse_example_spec
from actorflow.models.feature_column.numeric import bucketized_column as bucketized_column
from actorflow.models.feature_column.numeric import numeric_column as numeric_column
from actorflow.models.feature_column.sequence import concatenate_context_input as concatenate_context_input
from actorflow.models.feature_column.sequence import sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket
from actorflow.models.feature_column.sequence import sequence_categorical_column_with_identity as sequence_categorical_column_with_identity
from actorflow.models.feature_column.sequence import sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file
from actorflow.models.feature_column.sequence import sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list
from actorflow.models.feature_column.sequence import sequence_input_layer as sequence_input_layer
from actorflow.models.feature_column.sequence import sequence_numeric_column as sequence_numeric_column

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "concatenate_context_input",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "numeric_column",
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
    "shared_embedding_columns",
    "weighted_categorical_column",
]
