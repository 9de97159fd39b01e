# `make names` writes this file from the marks in the sources.

"""`af.nn.rnn_cell`: the cells under TensorFlow's names."""

from actorflow.models.rnn.base import LSTMStateTuple as LSTMStateTuple
from actorflow.models.rnn.base import RNNCell as RNNCell
from actorflow.models.rnn.cells import BasicLSTMCell as BasicLSTMCell
from actorflow.models.rnn.cells import BasicRNNCell as BasicRNNCell
from actorflow.models.rnn.cells import GRUCell as GRUCell
from actorflow.models.rnn.cells import LSTMCell as LSTMCell
from actorflow.models.rnn.cells import MultiRNNCell as MultiRNNCell
from actorflow.models.rnn.wrappers import DeviceWrapper as DeviceWrapper
from actorflow.models.rnn.wrappers import DropoutWrapper as DropoutWrapper
from actorflow.models.rnn.wrappers import ResidualWrapper as ResidualWrapper

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
