"""Recurrent networks: cells, and how they are run through time (`tf.nn.rnn_cell`, `tf.nn.dynamic_rnn`).

base.py       `RNNCell`: what all cells have in common: sizes, variables in a scope of their own, and a state of zeros
cells.py      the cells: plain recurrent units, LSTM and GRU, and stacks of cells (`tf.nn.rnn_cell`)
raw.py        `raw_rnn`: a cell in a loop whose inputs, state and end a function decides step by step (`tf.nn.raw_rnn`)
rnn_cell.py   `af.nn.rnn_cell`: the cells under TensorFlow's names
sequence.py   LSTM cells over all steps by one op
steps.py      what unrolling needs: sizes of inputs, the first state, lengths, and the choice of old values behind a row's end
unroll.py     cells through time: `dynamic_rnn` in a loop or one op, `static_rnn` by steps, both directions (`tf.nn.dynamic_rnn`)
wrappers.py   cells around a cell: dropout, residual connections, devices (`tf.nn.rnn_cell`)
"""

from actorflow.models.rnn import rnn_cell as rnn_cell
