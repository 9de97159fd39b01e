"""`tf.contrib.rnn`: cells, wrappers of cells, and unrolled networks.

cells.py     cells beside those of `tf.nn.rnn_cell`
unrolled.py  stacks of networks in both directions
wrappers.py  wrappers of cells: projections, embeddings, attention over former states
"""

from actorflow.compat.contrib.parts import part as _part

_RARE = (
    "GLSTMCell",
    "GridLSTMCell",
    "TimeFreqLSTMCell",
    "BidirectionalGridLSTMCell",
    "PhasedLSTMCell",
    "SRUCell",
    "IndyLSTMCell",
    "IndyGRUCell",
    "IntersectionRNNCell",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "GRUBlockCell",
)

__getattr__, __dir__, __all__ = _part(
    "rnn",
    {
        "tf.nn.rnn_cell": "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell "
        "RNNCell ResidualWrapper GRUBlockCellV2=GRUCell",
        "tf.nn": "static_rnn static_bidirectional_rnn",
        "actorflow.compat.door.cells": "LayerRNNCell",
        "actorflow.compat.door.calculations": "transpose_batch_time best_effort_input_batch_size=batch_size",
        ".rnn.cells": "LayerNormBasicLSTMCell NASCell UGRNNCell IndRNNCell LSTMBlockCell CoupledInputForgetGateLSTMCell",
        ".rnn.wrappers": "OutputProjectionWrapper InputProjectionWrapper EmbeddingWrapper AttentionCellWrapper HighwayWrapper "
        "CompiledWrapper FusedRNNCellAdaptor TimeReversedFusedRNN LSTMBlockFusedCell",
        ".rnn.unrolled": "stack_bidirectional_dynamic_rnn stack_bidirectional_rnn",
    },
    {name: "its cell is in no program that was found; derive it from tf.nn.rnn_cell.RNNCell" for name in _RARE},
)
