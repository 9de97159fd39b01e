"""Builders of the ops that networks are made of.

layout.py     channels last within: transposes moved together
windows.py    convolutions and pools
unpooling.py  what undoes windows, or looks over channels
attention.py  attention, linear attention, rotary embeddings, causal convolutions with a state
recurrent.py  RNN, GRU, LSTM
resizing.py   images in other sizes: Resize
sampling.py   images at given places: GridSample
regions.py    regions of images: RoiAlign, NonMaxSuppression, DeformConv
quantized.py  numbers of few bits: to quantise and back, products and convolutions of whole numbers
"""

from __future__ import annotations

from actorflow.exchange.onnx.builders.nn import (
    attention,
    quantized,
    recurrent,
    regions,
    resizing,
    sampling,
    unpooling,
    windows,
)

__all__ = ["attention", "quantized", "recurrent", "regions", "resizing", "sampling", "unpooling", "windows"]
