"""Kernels of connectionist temporal classification. They loop over time, which is what it is about, and over sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, OpError


def _check(logits: Any, lengths: Any, too_long: type[OpError] = FailedPreconditionError) -> None:
    if logits.ndim != 3 or lengths.shape != logits.shape[1:2]:
        raise InvalidArgumentError(
            f"Logits are [time, batch, classes] and lengths [batch], but the shapes are {logits.shape} and {lengths.shape}."
        )
    if lengths.size and not (0 <= int(lengths.min()) and int(lengths.max()) <= logits.shape[0]):
        raise too_long(
            f"Lengths are from 0 to the time of {logits.shape[0]}, but sequence_length is {lengths.tolist()}."
        )


def _log_softmax(xp: Any, x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))


@kernel("CTCLoss")
def ctc_loss(
    xp: Any,
    inputs: Any,
    indices: Any,
    values: Any,
    lengths: Any,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    labels, times = sequences_of(
        inputs, indices, values, lengths, preprocess_collapse_repeated, ignore_longer_outputs_than_inputs
    )
    return losses_of(xp, inputs, labels, times, ctc_merge_repeated)


def sequences_of(
    inputs: Any, indices: Any, values: Any, lengths: Any, collapse: bool, leaves_out: bool
) -> tuple[list[list[int]], Any]:
    """The labels of each sequence, and its length, which is 0 for a sequence that is left out."""
    _check(inputs, lengths, InvalidArgumentError)
    _, batch, classes = inputs.shape
    if not batch:
        raise InvalidArgumentError("batch_size must not be 0: a batch has at least one sequence.")
    labels = _labels(indices, values, batch, classes)
    if collapse:
        labels = [[v for i, v in enumerate(row) if i == 0 or v != row[i - 1]] for row in labels]
    times = lengths.astype(np.int32)
    for b, (length, sequence) in enumerate(zip(times.tolist(), labels)):
        if length < len(sequence):
            if not leaves_out:
                raise InvalidArgumentError(
                    f"Not enough time for target transition sequence (required: {len(sequence)}, available: {length}) in "
                    f"sequence {b}.",
                    hint="ignore_longer_outputs_than_inputs=True leaves such sequences out.",
                )
            times[b] = 0
    return labels, times


def losses_of(xp: Any, inputs: Any, labels: list[list[int]], times: Any, merge: bool) -> tuple[Any, Any]:
    """The losses of sequences and the derivatives by the logits; zeros where a sequence is left out."""
    loss, gradient = xp.zeros(len(labels), inputs.dtype), xp.zeros(inputs.shape, inputs.dtype)
    for b, (length, sequence) in enumerate(zip(times.tolist(), labels)):
        if length:
            logs = _log_softmax(xp, inputs[:length, b].astype(np.float64))
            loss[b], gradient[:length, b] = _aligned(xp, logs, sequence, merge)
    return loss, gradient


def _labels(indices: Any, values: Any, batch: int, classes: int) -> list[list[int]]:
    """The labels of each sequence."""
    if indices.ndim != 2 or indices.shape[1] != 2 or values.shape != indices.shape[:1]:
        raise InvalidArgumentError(
            f"Labels are a SparseTensor of rank 2, but indices have shape {indices.shape} and values {values.shape}."
        )
    sequences: list[list[int]] = [[] for _ in range(batch)]
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise InvalidArgumentError(f"A label is of sequence {row}, but there are {batch}.")
        if not 0 <= value < classes - 1:
            raise InvalidArgumentError(
                f"A label of sequence {row} is {value}, but labels are from 0 to {classes - 2}, and {classes - 1} is the "
                "blank."
            )
        sequences[row].append(value)
    for row, sequence in enumerate(sequences):
        if not sequence:
            raise InvalidArgumentError(f"Sequence {row} has no labels.")
    return sequences


def _aligned(xp: Any, logs: Any, sequence: list[int], merge: bool) -> tuple[Any, Any]:
    """The loss of one sequence and its derivative by the logits: the forward-backward algorithm (Graves, 7.3).

    `logs` are logarithms of probabilities, [time, classes]. States are the labels with blanks between and around them.
    """
    time, blank = logs.shape[0], logs.shape[1] - 1
    states = xp.full(2 * len(sequence) + 1, blank)
    states[1::2] = sequence
    count = len(states)
    may_stay = xp.ones(count, bool) if merge else states == blank
    may_skip = states != blank
    may_skip[:2] = False
    if merge:
        may_skip[2:] &= states[2:] != states[:-2]
    emitted = logs[:, states]
    ahead, behind = xp.full((time, count), -np.inf), xp.full((time, count), -np.inf)
    ahead[0, :2] = emitted[0, :2]
    behind[-1, -2:] = 0.0
    with np.errstate(invalid="ignore"):
        for t in range(1, time):
            ahead[t] = emitted[t] + _total(xp, ahead[t - 1], may_stay, may_skip, 1)
        for t in range(time - 2, -1, -1):
            reached = behind[t + 1] + emitted[t + 1]
            behind[t] = _total(xp, reached, may_stay, xp.concatenate([may_skip[2:], [False] * min(2, count)]), -1)
        both = ahead + behind
        loss = -xp.logaddexp.reduce(both[0])
        if not np.isfinite(loss):
            return loss, xp.exp(logs)
        shares = xp.exp(both + loss)
    gradient = xp.exp(logs)
    for u, state in enumerate(states.tolist()):
        gradient[:, state] -= shares[:, u]
    return loss, gradient


def _total(xp: Any, before: Any, may_stay: Any, may_skip: Any, step: int) -> Any:
    """For each state the log of the sum over the states that lead to it: itself, the next state, and the state after that."""
    never = -np.inf
    total = xp.where(may_stay, before, never)
    for distance in (1, 2):
        if distance < len(before):
            moved = xp.full(before.shape, never)
            if step > 0:
                moved[distance:] = before[:-distance]
            else:
                moved[:-distance] = before[distance:]
            total = xp.logaddexp(total, moved if distance == 1 else xp.where(may_skip, moved, never))
    return total


# ---- decoders


@kernel("CTCGreedyDecoder")
def ctc_greedy_decoder(xp: Any, inputs: Any, lengths: Any, *, merge_repeated: bool) -> tuple[Any, Any, Any, Any]:
    _check(inputs, lengths)
    _, batch, classes = inputs.shape
    best = inputs.argmax(axis=2) if inputs.size else np.zeros(inputs.shape[:2], np.int64)
    top = inputs.max(axis=2) if inputs.size else np.zeros(inputs.shape[:2], inputs.dtype)
    rows: list[list[int]] = []
    scores = xp.zeros((batch, 1), inputs.dtype)
    for b in range(batch):
        path = best[: int(lengths[b]), b].tolist()
        scores[b, 0] = -top[: int(lengths[b]), b].sum()
        rows.append(
            [v for i, v in enumerate(path) if v != classes - 1 and not (merge_repeated and i and path[i - 1] == v)]
        )
    return (*_sparse(xp, rows), scores)


def _sparse(xp: Any, rows: list[list[int]]) -> tuple[Any, Any, Any]:
    """Lists of labels as a sparse tensor's indices, values and shape."""
    indices = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
    return (
        xp.asarray(indices, np.int64).reshape(-1, 2),
        xp.asarray([v for row in rows for v in row], np.int64),
        xp.asarray([len(rows), max(map(len, rows), default=0)], np.int64),
    )


@kernel("CTCBeamSearchDecoder")
def ctc_beam_search_decoder(
    xp: Any, inputs: Any, lengths: Any, *, beam_width: int, top_paths: int, merge_repeated: bool
) -> tuple[Any, ...]:
    _check(inputs, lengths)
    batch = inputs.shape[1]
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = xp.zeros((batch, top_paths), inputs.dtype)
    for b in range(batch):
        logs = _log_softmax(np, np.asarray(inputs[: int(lengths[b]), b], np.float64))
        beams = _beams(logs, beam_width)[:top_paths]
        if len(beams) < top_paths:
            raise InvalidArgumentError(f"{top_paths} paths are wanted, but sequence {b} has {len(beams)}.")
        for k, (labels, score) in enumerate(beams):
            kept = [v for i, v in enumerate(labels) if not (merge_repeated and i and labels[i - 1] == v)]
            paths[k].append(kept)
            scores[b, k] = score
    parts = [_sparse(xp, rows) for rows in paths]
    return (*(p[0] for p in parts), *(p[1] for p in parts), *(p[2] for p in parts), scores)


def _beams(logs: Any, width: int) -> list[tuple[tuple[int, ...], float]]:
    """The most probable beginnings, best first, with the logs of their probabilities (Graves, 7.5.3).

    Of each beginning it knows how probable the alignments are that end in a blank, and those that end in its last label.
    """
    blank = logs.shape[1] - 1
    never = -np.inf
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, never)}
    for row in logs.tolist():
        grown: dict[tuple[int, ...], tuple[float, float]] = {}

        def give(labels: tuple[int, ...], to_blank: float, to_label: float) -> None:
            present = grown.get(labels, (never, never))  # noqa: B023 (called in this turn only)
            grown[labels] = (np.logaddexp(present[0], to_blank), np.logaddexp(present[1], to_label))  # noqa: B023

        for labels, (ends_blank, ends_label) in beams.items():
            both = float(np.logaddexp(ends_blank, ends_label))
            give(labels, both + row[blank], ends_label + row[labels[-1]] if labels else never)
            for label in range(blank):
                before = ends_blank if labels and labels[-1] == label else both
                give((*labels, label), never, before + row[label])
        order = sorted(grown, key=lambda labels: -np.logaddexp(*grown[labels]))
        beams = {labels: grown[labels] for labels in order[:width] if max(grown[labels]) > never}
    return [(labels, float(np.logaddexp(*beams[labels]))) for labels in beams]
