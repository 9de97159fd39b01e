"""Recurrent networks: cells, and how they are run through time (`tf.nn.rnn_cell`, `tf.nn.dynamic_rnn`)."""

from actorflow.rnn import rnn_cell as rnn_cell
