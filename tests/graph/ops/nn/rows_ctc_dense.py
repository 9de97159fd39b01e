"""Rows of the CTC loss of dense labels, with any class as the blank; and of their distinct labels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from graph.ops.arrays import i32, i64
from graph.ops.nn.rows_activation import log_soft
from graph.ops.table import Case, Literal, Reject

from actorflow import nn
from actorflow.errors import InvalidArgumentError
from actorflow.graph.sparse_tensor import SparseTensor

LOGITS = np.float32(np.round(np.sin(np.arange(5 * 3 * 4) * 1.7).reshape(5, 3, 4) * 2, 2))
LABELS, COUNTS, LENGTHS = i32([1, 2, 0], [2, 2, 0], [3, 0, 0]), i32(2, 2, 1), i32(5, 4, 3)
PLACES = i64([0, 0], [0, 1], [1, 0], [1, 1], [2, 0])


def loss(blank: int | None = None, **options: Any) -> Any:
    return lambda labels, logits, counts, lengths: nn.ctc_loss_v2(
        labels, logits, counts, lengths, blank_index=blank, **options
    )


def by_all_alignments(blank: int) -> Any:
    """The definition: the sum of the probabilities of all alignments; infinity where there is none."""

    def reference(labels: Any, logits: Any, counts: Any, lengths: Any) -> Any:
        losses = []
        for b, (count, length) in enumerate(zip(counts.tolist(), lengths.tolist())):
            logs = [log_soft(row) for row in logits[:length, b].tolist()]
            total = 0.0
            for path in itertools.product(range(logits.shape[2]), repeat=length):
                merged = [v for i, v in enumerate(path) if v != blank % logits.shape[2] and path[i - 1 : i] != (v,)]
                if merged == labels[b, :count].tolist():
                    total += math.exp(sum(row[v] for row, v in zip(logs, path)))
            losses.append(-math.log(total) if total else math.inf)
        return np.array(losses)

    return reference


def slopes(labels: Any, logits: Any, counts: Any, lengths: Any) -> Any:
    """Some rows of the gradient of the losses' sum."""
    from actorflow.graph.autodiff.gradients import gradients
    from actorflow.graph.ops.array.gather import gather_nd

    return gather_nd(gradients(loss()(labels, logits, counts, lengths), logits)[0], i32([0, 0], [1, 1], [4, 0]))


def of_sparse(blank: int | None) -> Any:
    return lambda logits, lengths: nn.ctc_loss_v2(
        SparseTensor(PLACES, i32(1, 2, 2, 2, 3), i64(3, 3)), logits, None, lengths, blank_index=blank
    )


def distinct(labels: Any) -> Any:
    found = np.zeros_like(labels)
    which = np.zeros(labels.shape, np.int32)
    for b, row in enumerate(labels.tolist()):
        known = list(dict.fromkeys(row))
        found[b, : len(known)] = known
        which[b] = [known.index(v) for v in row]
    return found, which


DRAWN = (4, 3, 4)
FIRST = [3.6654942, 5.280326, 2.1144555]
FIRST_SLOPES = [
    [0.0871017, -0.1712897, 0.0667182, 0.0174699],
    [-0.4330506, 0.0280456, -0.0207362, 0.4257412],
    [-0.452029, 0.8125227, -0.3767772, 0.0162834],
]

CASES = [
    Case(
        "",
        loss(),
        by_all_alignments(0),
        [(LABELS, DRAWN, COUNTS, i32(4, 4, 3)), (i64([1], [2]), (2, 2, 3), i32(1, 1), i32(2, 1))],
        Literal((LABELS, LOGITS, COUNTS, LENGTHS), FIRST),
        special=[
            # Rows without labels are all blanks; TensorFlow has some 708 where a sequence is too short.
            Literal((LABELS, LOGITS, i32(0, 2, 1), LENGTHS), [11.244299, 5.280326, 2.1144555]),
            Literal((LABELS, LOGITS, i32(0, 2, 1), i32(0, 4, 3)), [0.0, 5.280326, 2.1144555]),
            Literal((LABELS, LOGITS, COUNTS, i32(5, 1, 3)), [3.6654942, math.inf, 2.1144555]),
        ],
        rejects=[
            Reject(ValueError, (LABELS, LOGITS, COUNTS, LENGTHS), lambda a, x, _, n: nn.ctc_loss_v2(a, x, None, n)),
            Reject(InvalidArgumentError, (LABELS, LOGITS, COUNTS, i32(6, 4, 3))),
            Reject(InvalidArgumentError, (i32([1, 4, 0], [2, 2, 0], [3, 0, 0]), LOGITS, COUNTS, LENGTHS)),
        ],
        dtypes="float32 float64",
        static=False,
        gradient=1,
        note="ctc dense",
    ),
    Case(
        "",
        slopes,
        None,
        [(LABELS, (5, 3, 4), COUNTS, LENGTHS)],
        Literal((LABELS, LOGITS, COUNTS, LENGTHS), FIRST_SLOPES),
        dtypes="float32 float64",
        static=False,
        gradient=None,
        note="ctc dense slopes",
    ),
    *(
        Case(
            "",
            loss(blank),
            by_all_alignments(blank),
            [(labels, DRAWN, i32(3, 2, 1), i32(4, 4, 3))],
            Literal((labels, LOGITS, i32(3, 2, 1), LENGTHS), answer),
            dtypes="float32 float64",
            static=False,
            gradient=1,
            note=f"ctc dense blank {blank}",
        )
        for blank, labels, answer in (
            (2, i32([1, 0, 1], [3, 3, 0], [0, 0, 0]), [2.0226579, 7.4400115, 1.8062391]),
            (-1, i32([1, 0, 1], [2, 2, 0], [0, 0, 0]), [2.515921, 4.91638, 2.2111397]),
        )
    ),
    Case(
        "",
        lambda a, x, m, n: nn.ctc_loss_v2(a, x, m, n, logits_time_major=False, unique=nn.ctc_unique_labels(a)),
        lambda a, x, m, n: by_all_alignments(0)(a, x.transpose(1, 0, 2), m, n),
        [(LABELS, (3, 4, 4), COUNTS, i32(4, 4, 3))],
        Literal((LABELS, LOGITS.transpose(1, 0, 2), COUNTS, LENGTHS), FIRST),
        dtypes="float32 float64",
        static=False,
        gradient=1,
        note="ctc dense batch major",
    ),
    *(
        Case(
            "",
            of_sparse(blank),
            lambda logits, lengths: by_all_alignments(0)(LABELS, logits, COUNTS, lengths),
            [(DRAWN, i32(4, 4, 3))],
            Literal((LOGITS, LENGTHS), FIRST),
            rejects=[Reject(ValueError, (LOGITS, LENGTHS), of_sparse(None), match="blank_index")],
            dtypes="float32 float64",
            gradient=1,
            note=f"ctc sparse blank {blank}",
        )
        for blank in (0, -4)
    ),
    Case(
        "",
        nn.ctc_unique_labels,
        distinct,
        [((4, 5),), ((1, 1),), ((2, 7),)],
        Literal((i32([3, 4, 4, 3], [1, 1, 1, 0]),), (i32([3, 4, 0, 0], [1, 0, 0, 0]), i32([0, 1, 1, 0], [0, 0, 0, 1]))),
        dtypes="int32 int64",
        domain=(0, 4),
        static=False,
        gradient=None,
        note="ctc unique labels",
    ),
]
