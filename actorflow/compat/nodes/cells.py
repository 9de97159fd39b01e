"""Nodes of whole cells of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.graph.graphdef.rewrites.attributes import Attributes
from actorflow.graph.ops.nn.lstm import block_lstm


def _lstm(a: Attributes, t: Sequence[Any]) -> Any:
    """`LSTMBlockCell`: input gate, state, forget gate, output gate, new part of the state, its activation, and output."""
    x, state, output, weights, *peeps, bias = t
    has_peephole, clip = a("use_peephole", False), a("cell_clip", 3.0)
    joined = af.matmul(af.concat([x, output], 1), weights) + bias
    i, new, f, o = af.split(joined, 4, 1)
    if has_peephole:
        i, f = i + state * peeps[0], f + state * peeps[1]
    i, new, f = af.sigmoid(i), af.tanh(new), af.sigmoid(f + a("forget_bias", 1.0))
    state = new * i + state * f
    if clip > 0:
        state = af.clip_by_value(state, -clip, clip)
    o = af.sigmoid(o + state * peeps[2] if has_peephole else o)
    active = af.tanh(state)
    return [i, state, f, o, new, active, active * o]


def _lstm_steps(a: Attributes, t: Sequence[Any]) -> Any:
    """`BlockLSTMV2`, whose gates have another order than those of `BlockLSTM`, and whose forget gate has no bias of its own."""
    i, f, new, o = af.split(t[4], 4, 1)
    bias_i, bias_f, bias_new, bias_o = af.split(t[8], 4)
    weights = af.concat([i, new, f, o], 1)
    bias = af.concat([bias_i, bias_new, bias_f, bias_o], 0)
    clip = a("cell_clip", 0.0) or -1.0
    flags = {"forget_bias": 0.0, "cell_clip": clip, "use_peephole": a("use_peephole", False)}
    return list(block_lstm(t[0], t[1], t[2], t[3], weights, t[5], t[6], t[7], bias, **flags))


def _gru(a: Attributes, t: Sequence[Any]) -> Any:
    """`GRUBlockCell`: reset gate, update gate, candidate, and output."""
    x, output, gates, weights, gate_bias, bias = t
    r, u = af.split(af.sigmoid(af.matmul(af.concat([x, output], 1), gates) + gate_bias), 2, 1)
    candidate = af.tanh(af.matmul(af.concat([x, r * output], 1), weights) + bias)
    return [r, u, candidate, u * output + (1 - u) * candidate]


FORMS = {"BlockLSTMV2": _lstm_steps, "GRUBlockCell": _gru, "LSTMBlockCell": _lstm}
"""For each op how it is built."""
