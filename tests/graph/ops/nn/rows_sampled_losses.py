"""Rows of losses that look at samples of many classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.arrays import i64
from graph.ops.nn.rows_activation import log_soft
from graph.ops.table import Case, Literal, Reject

from actorflow import nn
from actorflow.errors import InvalidArgumentError

TABLE = np.float32([[1, 0], [0, 1], [1, 1], [2, -1], [0.5, 0.5]])
BIASES = np.float32([0, 0.1, 0.2, 0.3, 0.4])
INPUTS = np.float32([[1, 2], [0.5, -1]])
ONE, TWO = i64([1], [3]), i64([1, 0], [3, 2])
SAMPLE = i64(1, 4, 2)
COUNTS_OF_ONE, COUNTS_OF_TWO = np.float32([[0.5], [0.25]]), np.float32([[0.5, 0.3], [0.25, 0.2]])
COUNTS = np.float32([0.5, 0.125, 0.75])


def sampled(loss: Any, labels: Any, **options: Any) -> Any:
    """`loss` of a table, biases and inputs, over the sample above."""
    counts = COUNTS_OF_TWO if labels.shape[1] == 2 else COUNTS_OF_ONE

    def build(table: Any, biases: Any, inputs: Any) -> Any:
        kind = inputs.dtype.numpy_dtype
        values = (SAMPLE, counts.astype(kind), COUNTS.astype(kind))
        return loss(table, biases, labels, inputs, 3, 5, labels.shape[1], sampled_values=values, **options)

    return build


def logits_of(table: Any, biases: Any, inputs: Any, labels: Any, without_hits: bool) -> Any:
    """For each example the logits of the true classes and of the sampled ones."""
    counts = COUNTS_OF_TWO if labels.shape[1] == 2 else COUNTS_OF_ONE
    for row, x in enumerate(inputs):
        true = [x @ table[k] + biases[k] - math.log(c) for k, c in zip(labels[row], counts[row])]
        other = [
            -math.inf if without_hits and k in labels[row] else x @ table[k] + biases[k] - math.log(c)
            for k, c in zip(SAMPLE, COUNTS)
        ]
        yield true, other


def nce(labels: Any, without_hits: bool = False) -> Any:
    def reference(table: Any, biases: Any, inputs: Any) -> Any:
        found = []
        for true, other in logits_of(table, biases, inputs, labels, without_hits):
            share = 1 / len(true)
            positive = sum(share * math.log1p(math.exp(-v)) + (1 - share) * math.log1p(math.exp(v)) for v in true)
            found.append(positive + sum(math.log1p(math.exp(v)) for v in other))
        return np.array(found)

    return reference


def softmax(labels: Any, without_hits: bool = True) -> Any:
    def reference(table: Any, biases: Any, inputs: Any) -> Any:
        found = []
        for true, other in logits_of(table, biases, inputs, labels, without_hits):
            possible = [v for v in (*true, *other) if v > -math.inf]
            found.append(-sum(log_soft(possible)[: len(true)]) / len(true))
        return np.array(found)

    return reference


SAMPLED = [
    Case(
        "",
        sampled(loss, labels, **options),
        reference,
        [((5, 2), (5,), (2, 2))],
        Literal((TABLE, BIASES, INPUTS), answer),
        dtypes="float32 float64",
        note=note,
        loose=4,
    )
    for note, loss, labels, options, reference, answer in [
        ("nce loss", nn.nce_loss, ONE, {}, nce(ONE), [10.427762, 3.6384494]),
        ("nce loss of two", nn.nce_loss, TWO, {}, nce(TWO), [13.031009, 6.37531]),
        (
            "nce loss without hits",
            nn.nce_loss,
            ONE,
            {"remove_accidental_hits": True},
            nce(ONE, True),
            [7.5751877, 3.6384492],
        ),
        ("sampled softmax", nn.sampled_softmax_loss, ONE, {}, softmax(ONE), [1.837004, 0.2453803]),
        ("sampled softmax of two", nn.sampled_softmax_loss, TWO, {}, softmax(TWO), [2.2162757, 1.4857075]),
        (
            "sampled softmax with hits",
            nn.sampled_softmax_loss,
            ONE,
            {"remove_accidental_hits": False},
            softmax(ONE, False),
            [1.9848151, 0.2453803],
        ),
    ]
]
PARTS = [
    Case(
        "",
        lambda first, second, biases, inputs, s=strategy: sampled(nn.nce_loss, ONE, partition_strategy=s)(
            [first, second], biases, inputs
        ),
        None,
        [((3, 2), (2, 2), (5,), (2, 2))],
        Literal((first, second, BIASES, INPUTS), [10.427762, 3.6384494]),
        dtypes="float32 float64",
        rejects=[
            Reject(
                InvalidArgumentError,
                (first, second, BIASES, INPUTS),
                build=lambda a, b, biases, inputs: sampled(nn.nce_loss, ONE + 2)(a, biases, inputs),
            )
        ],
        note=f"nce loss of tables by {strategy}",
    )
    for strategy, first, second in [("mod", TABLE[::2], TABLE[1::2]), ("div", TABLE[:3], TABLE[3:])]
]

CASES = [*SAMPLED, *PARTS]
