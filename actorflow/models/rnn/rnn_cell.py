"""`af.nn.rnn_cell`: the cells under TensorFlow's names."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.nn.rnn_cell", __name__)
