"""Rows of the LSTM over all steps, against its equations for one number after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, n64
from graph.ops.table import Case, Entry, Literal, Reject

from actorflow.graph.ops.nn.lstm import block_lstm

OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def by_numbers(forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False) -> Any:
    """All outputs, from Python's own numbers."""

    def reference(count: Any, x: Any, c0: Any, h0: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any) -> Any:
        steps, batch, _ = x.shape
        units = c0.shape[1]
        made = {name: np.zeros((steps, batch, units)) for name in OUTPUTS}
        looks = [one if use_peephole else np.zeros(units) for one in (wci, wcf, wco)]
        for t in range(int(count)):
            for row in range(batch):
                seen = [*x[t, row], *(made["h"][t - 1, row] if t else h0[row])]
                for u in range(units):
                    sums = [
                        math.fsum(v * w[k, gate * units + u] for k, v in enumerate(seen)) + b[gate * units + u]
                        for gate in range(4)
                    ]
                    before = made["cs"][t - 1, row, u] if t else c0[row, u]
                    i = sigmoid(sums[0] + looks[0][u] * before)
                    f = sigmoid(sums[2] + forget_bias + looks[1][u] * before)
                    candidate = math.tanh(sums[1])
                    cell = i * candidate + f * before
                    if cell_clip > 0:
                        cell = min(max(cell, -cell_clip), cell_clip)
                    o = sigmoid(sums[3] + looks[2][u] * cell)
                    values = (i, cell, f, o, candidate, math.tanh(cell), o * math.tanh(cell))
                    for name, value in zip(OUTPUTS, values):
                        made[name][t, row, u] = value
        return tuple(made[name] for name in OUTPUTS)

    return reference


def sized(steps: int, batch: int, inputs: int, units: int, count: int | None = None) -> tuple[Entry, ...]:
    vector, state = (units,), (batch, units)
    weights = (inputs + units, 4 * units)
    first = n64(steps if count is None else count)
    return (first, (steps, batch, inputs), state, state, weights, vector, vector, vector, (4 * units,))


def states(*given: Any, **options: Any) -> Any:
    """The outputs that have a gradient."""
    made = block_lstm(*given, **options)
    return made[1], made[6]


ONE = np.ones((1, 1), np.float32)
HALF = np.full((1, 1, 1), 0.5, np.float32)
WEIGHTS = np.array([[0.1, 0.2, 0.3, 0.4], [-0.4, 0.3, 0.2, -0.1]], np.float32)
ZERO = np.zeros(1, np.float32)
BIAS = np.array([0.1, -0.2, 0.3, 0.4], np.float32)
SMALL = (n64(1), HALF, ONE, ONE, WEIGHTS, ZERO, ZERO, ZERO, BIAS)
_I, _F, _O, _C = sigmoid(-0.25), sigmoid(1.65), sigmoid(0.5), math.tanh(0.2)
_CELL = _I * _C + _F
ANSWER = tuple(
    np.full((1, 1, 1), value, np.float32) for value in (_I, _CELL, _F, _O, _C, math.tanh(_CELL), _O * math.tanh(_CELL))
)


def wrong(place: int, value: Any) -> tuple[Any, ...]:
    return (*SMALL[:place], value, *SMALL[place + 1 :])


CASES = [
    Case(
        "BlockLSTM",
        block_lstm,
        by_numbers(),
        [sized(3, 2, 4, 5), sized(1, 1, 1, 1), sized(0, 2, 3, 2), sized(2, 9, 33, 33), sized(4, 3, 2, 17, count=2)],
        Literal(SMALL, ANSWER),
        rejects=[
            Reject(EITHER, wrong(4, WEIGHTS[:1])),
            Reject(EITHER, wrong(8, BIAS[:3])),
            Reject(EITHER, wrong(2, np.ones((2, 1), np.float32))),
        ],
        dtypes="float32 float64",
        gradient=None,
        loose=4,
    ),
    *(
        Case(
            "BlockLSTM BlockLSTMGateGrad",
            lambda *given, how=how: states(*given, **how),
            lambda *given, how=how: by_numbers(**how)(*given)[1::5],
            [sized(3, 2, 4, 5), sized(3, 1, 2, 3, count=2), sized(2, 9, 3, 4)],
            Literal(SMALL, ANSWER[1::5]),
            dtypes="float32 float64",
            gradient=1,
            loose=4,
            note=note,
        )
        for note, how in [
            ("states", {"cell_clip": -1.0}),
            ("peepholes", {"cell_clip": -1.0, "use_peephole": True}),
        ]
    ),
    Case(
        "BlockLSTM",
        lambda *given: block_lstm(*given, cell_clip=0.25, forget_bias=0.5, use_peephole=True),
        by_numbers(cell_clip=0.25, forget_bias=0.5, use_peephole=True),
        [sized(3, 2, 4, 5)],
        Literal(
            SMALL,
            tuple(
                np.full((1, 1, 1), value, np.float32)
                for value in (_I, 0.25, sigmoid(1.15), _O, _C, math.tanh(0.25), _O * math.tanh(0.25))
            ),
        ),
        dtypes="float32 float64",
        gradient=None,
        loose=4,
        note="clipped",
    ),
]
