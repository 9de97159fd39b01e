"""The CTC loss of dense labels, with any class as the blank (`tf.compat.v1.nn.ctc_loss_v2`)."""

from __future__ import annotations

from actorflow.base.dtypes import int32, int64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.gather import gather, gather_nd
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.one_hot import sequence_mask
from actorflow.graph.ops.array.shape import expand_dims, shape, transpose
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.argmax import argmax
from actorflow.graph.ops.math.arithmetic import maximum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import cumsum, range_
from actorflow.graph.ops.math.logic import equal, greater, logical_and, where_indices, where_v2
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.nn.activation import log_softmax
from actorflow.graph.ops.nn.ctc import ctc_loss
from actorflow.graph.ops.sparse.tensor import sparse_of
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.nn")
def ctc_loss_v2(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: tuple[Tensor, Tensor] | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log of the probability of all alignments of the labels in time (`tf.nn.ctc_loss_v2`).

    Example:
        >>> loss = af.nn.ctc_loss_v2([[1]], af.zeros([2, 1, 3]), label_length=[1], logit_length=[2])
        >>> af.exp(-loss) * 9
        [3.]

    Args:
        labels: integers, [batch, most labels]; or a SparseTensor, as in `ctc_loss`.
        logits: float32 or float64, [time, batch, classes].
        label_length: [batch]: how many labels of each row count. None for a SparseTensor.
        logit_length: [batch]: how long each sequence is.
        logits_time_major: False where the logits are [batch, time, classes].
        unique: what `ctc_unique_labels(labels)` gives. The loss is the same with it and without.
        blank_index: which class is the blank; a negative number counts from the last. By default the first class; for a
            SparseTensor it has to be given.

    Returns:
        The losses, [batch]; infinity, without a gradient, for labels that the sequence is too short for.

    Raises:
        ValueError: a SparseTensor without `blank_index`, dense labels without lengths, or shapes that don't fit.
        InvalidArgumentError: in the run: a label is no class or the blank, a sequence is longer than the time; or, of sparse
            labels, shorter than its labels, or has none.
    """
    parts = (labels.values,) if isinstance(labels, SparseTensor) else (labels,)
    with composite(name, "ctc_loss_dense", *parts, logits, logit_length) as scope:
        tensor = convert_to_tensor(logits)
        scores = tensor if logits_time_major else transpose(tensor, [1, 0, 2])
        lengths = cast(convert_to_tensor(logit_length), int32)
        if isinstance(labels, SparseTensor):
            if blank_index is None:
                raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
            sparse = sparse_of(labels, "labels")
            last, values = _with_blank_last(scores, cast(sparse.values, int32), blank_index)
            return ctc_loss(SparseTensor(sparse.indices, values, sparse.dense_shape), last, lengths)
        if label_length is None:
            raise ValueError("ctc_loss_v2 needs the number of labels of each row, `label_length`, of dense labels.")
        last, rows = _with_blank_last(scores, cast(convert_to_tensor(labels), int32), blank_index or 0)
        counts = cast(convert_to_tensor(label_length), int32)
        losses = ctc_loss(_sparse(rows, counts), last, lengths, ignore_longer_outputs_than_inputs=True)
        # No labels at all: nothing but blanks.
        blanks = where_v2(
            sequence_mask(lengths, shape(last)[0]), -transpose(log_softmax(last)[:, :, -1]), zeros_like(last[0, 0, 0])
        )
        losses = where_v2(greater(counts, 0), losses, reduce_sum(blanks, 1))
        return where_v2(greater(counts, lengths), float("inf") * ones_like(losses), losses, name=scope)


def _with_blank_last(scores: Tensor, labels: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """Logits [time, batch, classes] and labels, renumbered so that the blank is the last class."""
    if blank == -1:
        return scores, labels
    classes = shape(scores)[2]
    at = blank if blank >= 0 else classes + blank
    order = concat([range_(at), range_(at + 1, classes), range_(at, at + 1)], 0)
    moved = gather(scores, order, axis=2)
    moved.set_shape(scores.static_shape)
    return moved, where_v2(greater(labels, at), labels - 1, labels)


def _sparse(rows: Tensor, counts: Tensor) -> SparseTensor:
    """The labels that count. A row without labels gets a label, since the op asks for that; its loss is not used."""
    kept = where_v2(expand_dims(greater(counts, 0), 1), rows, zeros_like(rows))
    mask = sequence_mask(maximum(counts, 1), shape(rows)[1])
    places = where_indices(mask)
    return SparseTensor(places, gather_nd(kept, places), cast(shape(rows), int64))


@public("af.nn")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct labels of each row, and which of them each label is (`tf.nn.ctc_unique_labels`).

    Example:
        >>> af.nn.ctc_unique_labels([[3, 5, 3]])
        ([[3 5 0]], [[0 1 0]])

    Args:
        labels: integers, [batch, most labels], padded by zeros.

    Returns:
        The distinct labels in the order of their first places, padded by zeros, and the numbers, int32; both of the shape of
        `labels`.
    """
    with composite(name, "ctc_unique_labels", labels):
        rows = convert_to_tensor(labels)
        places = range_(shape(rows)[1])
        alike = equal(expand_dims(rows, 2), expand_dims(rows, 1))  # [batch, first, label]
        first = argmax(cast(alike, int32), 1, output_type=int32)
        new = equal(first, expand_dims(places, 0))
        numbers = cumsum(cast(new, int32), 1) - 1
        which = gather(numbers, first, batch_dims=1)
        chosen = logical_and(expand_dims(new, 2), equal(expand_dims(numbers, 2), places))
        distinct = reduce_sum(where_v2(chosen, expand_dims(rows, 2), zeros_like(rows[0, 0])), 1)
        return distinct, which
