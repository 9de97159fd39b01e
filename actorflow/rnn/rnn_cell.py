"""`af.nn.rnn_cell`: the cells under TensorFlow's names."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.nn.rnn_cell", __name__)
