"""`af.nn.rnn_cell`: the cells under TensorFlow's names."""

from __future__ import annotations

from actorflow.rnn.base import LSTMStateTuple, RNNCell
from actorflow.rnn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell, MultiRNNCell
from actorflow.rnn.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
