"""Rows of connectionist temporal classification."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64
from graph.ops.nn.rows_activation import log_soft
from graph.ops.table import Case, Literal, Reject

from actorflow import nn
from actorflow.errors import FailedPreconditionError, InvalidArgumentError
from actorflow.graph.sparse_tensor import SparseTensor

LOGITS = np.float32(np.round(np.sin(np.arange(4 * 3 * 4) * 1.7).reshape(4, 3, 4) * 2, 2))
PLACES, VALUES = i64([0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 0]), i32(0, 1, 2, 2, 1, 0)
WHOLE = i32(4, 4, 4)


def sparse(values: Any = VALUES, places: Any = PLACES) -> SparseTensor:
    return SparseTensor(places, values, i64(3, 3))


def ctc(**options: Any) -> Any:
    return lambda logits, lengths: nn.ctc_loss(sparse(), logits, lengths, **options)


def labels_of(path: tuple[int, ...], blank: int, merge: bool) -> list[int]:
    """The labels that an alignment stands for."""
    return [v for i, v in enumerate(path) if v != blank and not (merge and i and path[i - 1] == v)]


def by_all_alignments(collapse: bool = False, merge: bool = True, ignore: bool = False) -> Any:
    """The definition: the sum of the probabilities of all alignments."""

    def reference(logits: Any, lengths: Any) -> Any:
        losses = []
        for b, length in enumerate(lengths.tolist()):
            wanted = VALUES[PLACES[:, 0] == b].tolist()
            if collapse:
                wanted = [label for label, _ in itertools.groupby(wanted)]
            if ignore and length < len(wanted):
                losses.append(0.0)
                continue
            logs = [log_soft(row) for row in logits[:length, b].tolist()]
            blank = logits.shape[2] - 1
            total = math.fsum(
                math.exp(sum(row[v] for row, v in zip(logs, path)))
                for path in itertools.product(range(blank + 1), repeat=length)
                if labels_of(path, blank, merge) == wanted
            )
            losses.append(-math.log(total))
        return np.array(losses)

    return reference


FIRST_SLOPES = [[-0.77607584, 0.8047067, 0.06671821, -0.09534901], [0.3289918, 0.6054868, -0.9698546, 0.03537596]]
NO_PATH = [[0.3289918, 0.6054868, 0.03014541, 0.03537596], [0, 0, 0, 0]]


def slope_rows(rows: list[tuple[int, int]], **options: Any) -> Any:
    """Some rows of the gradient of the losses' sum."""
    from actorflow.graph.autodiff.gradients import gradients
    from actorflow.graph.ops.array.gather import gather_nd

    def build(logits: Any, lengths: Any) -> Any:
        return gather_nd(gradients(ctc(**options)(logits, lengths), logits)[0], i32(*rows))

    return build


CTC = [
    Case(
        "CTCLoss",
        ctc(),
        by_all_alignments(),
        [((4, 3, 4), WHOLE), ((4, 3, 4), i32(3, 4, 2)), ((5, 3, 4), i32(3, 5, 1))],
        Literal((LOGITS, WHOLE), [4.3882513, 6.074731, 6.0223017]),
        special=[
            Literal((LOGITS, i32(3, 4, 2)), [4.849592, 6.074731, 0.47192702]),
            Literal((LOGITS, i32(4, 3, 4)), [4.3882513, math.inf, 6.0223017]),
        ],
        rejects=[
            Reject(InvalidArgumentError, (LOGITS, i32(1, 4, 4))),
            Reject(InvalidArgumentError, (LOGITS, i32(5, 4, 4))),
            Reject(EITHER, (LOGITS, i32(4, 4))),
            Reject(EITHER, (LOGITS[0], WHOLE)),
            Reject(
                InvalidArgumentError,
                (np.zeros([4, 0, 4], np.float32), np.zeros([0], np.int32)),
                build=lambda x, n: nn.ctc_loss(sparse(np.zeros([0], np.int32), np.zeros([0, 2], np.int64)), x, n),
            ),
            Reject(TypeError, (LOGITS, WHOLE), build=lambda x, n: nn.ctc_loss(VALUES, x, n)),
            Reject(ValueError, (LOGITS, WHOLE), build=lambda x, n: nn.ctc_loss(sparse(), x)),
            *(
                Reject(InvalidArgumentError, (LOGITS, WHOLE), build=lambda x, n, v=values: nn.ctc_loss(sparse(v), x, n))
                for values in (i32(0, 1, 2, 2, 1, 3), i32(0, 1, 2, 2, 1, -1))
            ),
            *(
                Reject(
                    InvalidArgumentError,
                    (LOGITS, WHOLE),
                    build=lambda x, n, p=places: nn.ctc_loss(sparse(i32(0, 1), p), x, n),
                )
                for places in (i64([0, 0], [1, 0]), i64([0, 0], [5, 0]))
            ),
        ],
        dtypes="float32 float64",
        gradient=1,
    ),
    *(
        Case(
            "CTCLoss",
            ctc(**options),
            by_all_alignments(**how),
            [((4, 3, 4), WHOLE), ((5, 3, 4), i32(1 if "ignore" in how else 3, 5, 2))],
            Literal((LOGITS, lengths), answer),
            dtypes="float32 float64",
            gradient=1,
            note=note,
        )
        for note, options, how, lengths, answer in [
            ("unmerged", {"ctc_merge_repeated": False}, {"merge": False}, WHOLE, [5.636959, 5.974532, 6.4009314]),
            (
                "collapsed",
                {"preprocess_collapse_repeated": True},
                {"collapse": True},
                WHOLE,
                [4.3882513, 5.1937904, 6.0223017],
            ),
            (
                "collapsed unmerged",
                {"preprocess_collapse_repeated": True, "ctc_merge_repeated": False},
                {"collapse": True, "merge": False},
                WHOLE,
                [5.636959, 5.2868853, 6.4009314],
            ),
            (
                "too long ignored",
                {"ignore_longer_outputs_than_inputs": True},
                {"ignore": True},
                i32(1, 4, 4),
                [0, 6.074731, 6.0223017],
            ),
        ]
    ),
    Case(
        "CTCLoss Transpose",
        lambda logits, lengths: nn.ctc_loss(sparse(), logits=logits, sequence_length=lengths, time_major=False),
        lambda logits, lengths: by_all_alignments()(logits.transpose(1, 0, 2), lengths),
        [((3, 4, 4), WHOLE)],
        Literal((LOGITS.transpose(1, 0, 2), WHOLE), [4.3882513, 6.074731, 6.0223017]),
        dtypes="float32 float64",
        gradient=1,
        note="batch major",
    ),
    Case(
        "CTCLoss",
        slope_rows([(0, 0), (0, 1)]),
        None,
        [((4, 3, 4), WHOLE)],
        Literal((LOGITS, WHOLE), FIRST_SLOPES),
        special=[Literal((LOGITS, i32(4, 3, 4)), [FIRST_SLOPES[0], NO_PATH[0]])],
        rejects=[
            Reject(
                LookupError,
                (LOGITS, WHOLE),
                build=lambda x, n: _second(x, n),
                match="no second derivative",
            )
        ],
        dtypes="float32 float64",
        gradient=None,
        note="slopes",
    ),
]


def _second(logits: Any, lengths: Any) -> Any:
    from actorflow.graph.autodiff.gradients import gradients

    return gradients(gradients(ctc()(logits, lengths), logits)[0], logits)[0]


def decoded(found: Any) -> list[Any]:
    """The parts of the sparse tensors, and the scores."""
    paths, scores = found
    return [part for path in paths for part in (path.indices, path.values, path.dense_shape)] + [scores]


def as_parts(rows: list[list[int]]) -> tuple[Any, Any, Any]:
    places = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
    shape = [len(rows), max(map(len, rows), default=0)]
    return np.int64(places).reshape(-1, 2), np.int64([v for row in rows for v in row]), np.int64(shape)


def greedy(merge: bool) -> Any:
    def reference(logits: Any, lengths: Any) -> Any:
        paths = [tuple(int(np.argmax(row)) for row in logits[:n, b]) for b, n in enumerate(lengths.tolist())]
        scores = [[-sum(max(row) for row in logits[:n, b].tolist())] for b, n in enumerate(lengths.tolist())]
        rows = [labels_of(path, logits.shape[2] - 1, merge) for path in paths]
        return (*as_parts(rows), np.array(scores, float).reshape(-1, 1))

    return reference


def best_of_all(logits: Any, lengths: Any) -> Any:
    """The most probable labels among all alignments, which is what a wide enough beam finds."""
    blank = logits.shape[2] - 1
    found = []
    for b, length in enumerate(lengths.tolist()):
        logs = [log_soft(row) for row in logits[:length, b].tolist()]
        totals: dict[tuple[int, ...], float] = {}
        for path in itertools.product(range(blank + 1), repeat=length):
            labels = tuple(labels_of(path, blank, True))
            totals[labels] = totals.get(labels, 0.0) + math.exp(sum(row[v] for row, v in zip(logs, path)))
        found.append(sorted(totals.items(), key=lambda item: -item[1])[:2])
    parts = [as_parts([list(of_batch[k][0]) for of_batch in found]) for k in range(2)]
    return (*parts[0], *parts[1], np.array([[math.log(total) for _, total in of_batch] for of_batch in found]))


TALL = [[1, 0, 2], [1, 0], [0, 2, 1]]
SCORES = {
    100: [[-0.7435685, -1.8382365], [-1.7505027, -1.813768], [-1.0175052, -1.8860487]],
    3: [[-0.7438316, -2.0810895], [-1.7505027, -1.8329763], [-1.0834014, -1.9314067]],
    2: [[-0.9303141, -2.0810895], [-1.8320355, -1.8932366], [-1.1207666, -2.1611674]],
}
SECOND = {100: [[1, 2], [0, 2], [0, 2]], 3: [[1, 2], [0], [0, 2]], 2: [[1, 2], [0], [0, 2]]}
# Label 0 three times with blanks between.
REPEATED = np.zeros((5, 1, 3), np.float32)
REPEATED[[0, 2, 4], 0, 0] = REPEATED[[1, 3], 0, 2] = 3

DECODERS = [
    Case(
        "CTCGreedyDecoder",
        lambda x, n: decoded(nn.ctc_greedy_decoder(x, n)),
        greedy(True),
        [((4, 3, 4), i32(4, 3, 0)), ((2, 1, 3), i32(2)), ((3, 0, 2), i32())],
        Literal((LOGITS, i32(4, 3, 4)), (*as_parts([[1, 0, 2], [1, 0, 2], [0, 2, 1]]), [[-7.82], [-4.7], [-7.37]])),
        special=[Literal((np.zeros((5, 1, 3)), i32(5)), (*as_parts([[0]]), [[0]]), "float32")],
        rejects=[
            Reject(FailedPreconditionError, (LOGITS, i32(5, 3, 4))),
            Reject(EITHER[:1], (LOGITS, i32(3, 4))),
        ],
        dtypes="float32 float64",
        gradient=None,
        static=False,
    ),
    Case(
        "CTCGreedyDecoder",
        lambda x, n: decoded(nn.ctc_greedy_decoder(x, n, merge_repeated=False)),
        greedy(False),
        [((4, 2, 3), i32(4, 3))],
        Literal((LOGITS, i32(4, 3, 0)), (*as_parts([[1, 0, 2], [1, 0, 2], []]), [[-7.82], [-4.7], [0]])),
        dtypes="float32 float64",
        gradient=0,
        static=False,
        note="unmerged",
    ),
    *(
        Case(
            "CTCBeamSearchDecoder",
            lambda x, n, w=width: decoded(nn.ctc_beam_search_decoder(x, n, w, 2, merge_repeated=False)),
            best_of_all if width == 100 else None,
            [((4, 3, 4), i32(4, 3, 2)), ((3, 1, 3), i32(3))],
            Literal((LOGITS, i32(4, 3, 4)), (*as_parts(TALL), *as_parts(SECOND[width]), SCORES[width])),
            rejects=[
                Reject(FailedPreconditionError, (LOGITS, i32(5, 3, 4))),
                Reject(InvalidArgumentError, (LOGITS, i32(0, 3, 4))),
                Reject(ValueError, (LOGITS, WHOLE), build=lambda x, n: nn.ctc_beam_search_decoder(x, n, 2, 3)[1]),
            ],
            dtypes="float32 float64",
            gradient=None,
            static=False,
            note=f"of {width}",
        )
        for width in SCORES
    ),
    Case(
        "CTCBeamSearchDecoder",
        lambda x, n: decoded(nn.ctc_beam_search_decoder_v2(x, n)),
        None,
        [((3, 2, 3), i32(3, 2))],
        Literal((REPEATED, i32(5)), (*as_parts([[0, 0, 0]]), [[-0.4746151]])),
        dtypes="float32 float64",
        gradient=0,
        static=False,
        note="unmerged",
    ),
    Case(
        "CTCBeamSearchDecoder",
        lambda x, n: decoded(nn.ctc_beam_search_decoder(x, n)),
        None,
        [((3, 2, 3), i32(3, 2))],
        Literal((REPEATED, i32(5)), (*as_parts([[0]]), [[-0.4746151]])),
        dtypes="float32 float64",
        gradient=0,
        static=False,
        note="merged",
    ),
    Case(
        "",
        nn.collapse_repeated,
        None,
        [(i32([1, 1, 2], [3, 3, 3]), i32(3, 2))],
        Literal((i32([1, 1, 2, 2, 1], [3, 3, 3, 0, 0]), i64(5, 2)), (i32([1, 2, 1], [3, 0, 0]), i64(3, 1))),
        dtypes="int32",
        gradient=None,
        static=False,
        note="collapse repeated",
    ),
]

CASES = [*CTC, *DECODERS]
