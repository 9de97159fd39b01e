"""Connectionist temporal classification: labels of sequences that are not aligned in time (Graves et al.)."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32, float64, int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like
from actorflow.graph.ops.array.gather import boolean_mask
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.one_hot import sequence_mask
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape, size, transpose
from actorflow.graph.ops.building import composite, outputs_of
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import logical_and, not_equal
from actorflow.graph.ops.math.reduction import reduce_max, reduce_sum
from actorflow.graph.ops.nn.losses import is_zero
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_REAL = frozenset((float32, float64))


def _lengths(c: Inference, logits: int, lengths: int) -> tuple[Shape, int | None]:
    """The shape of the logits, [time, batch, classes], and the size of the batch."""
    logits_shape, count = require_rank(c, logits, 3), require_rank(c, lengths, 1)
    batch = merge((None,) if logits_shape is None else logits_shape[1:2], count)
    return logits_shape, None if batch is None else batch[0]


def _loss(c: Inference) -> list[Shape]:
    logits, batch = _lengths(c, 0, 3)
    indices, values = require_rank(c, 1, 2), require_rank(c, 2, 1)
    if indices is not None and values is not None:
        merge(indices[:1], values)
    return [(batch,), (None, batch, None) if logits is None else (logits[0], batch, logits[2])]


def _loss_work(c: Inference) -> float:
    sizes = c.shapes[0]
    return 1e5 if sizes is None or None in sizes else 60.0 * sizes[0] * sizes[1] * (sizes[2] + 100)  # type: ignore[operator]


@op(
    "CTCLoss",
    shape=_loss,
    dtypes=_REAL,
    types={"labels_indices": int64, "labels_values": int32, "sequence_length": int32},
    result=lambda c: (c.dtypes[0],) * 2,
    work=_loss_work,
)
def ctc_loss_op(
    inputs: TensorLike,
    labels_indices: TensorLike,
    labels_values: TensorLike,
    sequence_length: TensorLike,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The loss of each sequence, [batch], and its derivative by the logits. See `ctc_loss`."""


@ctc_loss_op.gradient
def _(node: Operation, d_loss: Tensor, d_gradient: Tensor) -> list[Any]:
    if not is_zero(d_gradient):
        raise LookupError(
            describe("The loss of CTC has no second derivative.", node=node.name, op=node.type, where=node.where)
        )
    return [expand_dims(expand_dims(d_loss, 0), -1) * node.outputs[1], None, None, None]


@public("af.nn")
def ctc_loss(
    labels: SparseTensor,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """-log of the probability of all alignments of the labels in time (`tf.nn.ctc_loss`).

    Example:
        >>> labels = af.SparseTensor([[0, 0]], af.constant([1], af.int32), [1, 1])
        >>> af.nn.ctc_loss(labels, af.zeros([2, 1, 3]), [2])
        [1.0986]
        >>> af.exp(-af.nn.ctc_loss(labels, af.zeros([2, 1, 3]), [2])) * 9
        [3.]

    Args:
        labels: an int32 SparseTensor; `labels.indices[i] == [b, t]` says that `labels.values[i]` is label t of sequence b.
        inputs, logits: the logits, float32 or float64, [time, batch, classes]; the last class is the blank. `logits` is
            another name.
        sequence_length: int32, [batch]: how long each sequence is.
        preprocess_collapse_repeated: labels that repeat the label before are dropped first.
        ctc_merge_repeated: labels that repeat in an alignment without a blank between count once.
        ignore_longer_outputs_than_inputs: a sequence shorter than its labels has loss 0 and no gradient, instead of an
            error.
        time_major: False where the logits are [batch, time, classes].

    Returns:
        The losses, [batch], of the type of the logits. There is no second derivative.

    Raises:
        TypeError: the labels are no SparseTensor.
        ValueError: shapes don't fit.
        InvalidArgumentError: in the run: a label is no class or the blank, a sequence is longer than the time, shorter
            than its labels, or has none.
    """
    labels = SparseTensor.from_value(labels) if isinstance(labels, SparseTensorValue) else labels
    if not isinstance(labels, SparseTensor):
        raise TypeError(f"Labels are a SparseTensor, but a {type(labels).__name__} was given.")
    scores = inputs if logits is None else logits
    if scores is None or sequence_length is None:
        raise ValueError("ctc_loss needs the logits and the length of each sequence.")
    with composite(None, "ctc_loss", labels.values, scores, sequence_length):
        x = convert_to_tensor(scores)
        return outputs_of(
            ctc_loss_op(
                x if time_major else transpose(x, [1, 0, 2]),
                labels.indices,
                labels.values,
                cast(convert_to_tensor(sequence_length), int32),
                preprocess_collapse_repeated=preprocess_collapse_repeated,
                ctc_merge_repeated=ctc_merge_repeated,
                ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
            )
        )[0]


def _greedy(c: Inference) -> list[Shape]:
    _, batch = _lengths(c, 0, 1)
    return [(None, 2), (None,), (2,), (batch, 1)]


@op(
    "CTCGreedyDecoder",
    shape=_greedy,
    dtypes=_REAL,
    types={"sequence_length": int32},
    result=lambda c: (int64, int64, int64, c.dtypes[0]),
    gradient=None,
)
def ctc_greedy_decoder_op(
    inputs: TensorLike, sequence_length: TensorLike, *, merge_repeated: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best class at each time without blanks, as indices, values and shape, and scores. See `ctc_greedy_decoder`."""


@public("af.nn")
def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """The labels along the most probable alignment (`tf.nn.ctc_greedy_decoder`).

    Example:
        >>> logits = af.log([[[0.6, 0.1, 0.3]], [[0.2, 0.1, 0.7]], [[0.1, 0.8, 0.1]]])
        >>> (labels,), scores = af.nn.ctc_greedy_decoder(logits, [3])
        >>> labels.values
        [0 1]

    Args:
        inputs: logits, [time, batch, classes], float32 or float64; the last class is the blank.
        sequence_length: int32, [batch].
        merge_repeated: a class that repeats without a blank between counts once.

    Returns:
        A list of one int64 SparseTensor of shape [batch, longest], and minus the sum of the logits along the alignment,
        [batch, 1].

    Raises:
        FailedPreconditionError: a sequence is longer than the time, in the run.
    """
    outputs = outputs_of(ctc_greedy_decoder_op(inputs, sequence_length, merge_repeated=merge_repeated))
    return [SparseTensor(*outputs[:3])], outputs[3]


def _beam(c: Inference) -> list[Shape]:
    _, batch = _lengths(c, 0, 1)
    paths = c.attrs["top_paths"]
    return [*[(None, 2)] * paths, *[(None,)] * paths, *[(2,)] * paths, (batch, paths)]


@op(
    "CTCBeamSearchDecoder",
    shape=_beam,
    dtypes=_REAL,
    types={"sequence_length": int32},
    result=lambda c: (int64,) * (3 * c.attrs["top_paths"]) + (c.dtypes[0],),
    gradient=None,
    work=lambda c: 1e8,
)
def ctc_beam_search_decoder_op(
    inputs: TensorLike,
    sequence_length: TensorLike,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool = True,
    name: str | None = None,
) -> Any:
    """The indices of each path, then the values of each, the shapes of each, and the scores, [batch, paths]. See
    `ctc_beam_search_decoder`."""


@public("af.nn")
def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable sequences of labels, by a beam search over their beginnings (`tf.nn.ctc_beam_search_decoder`).

    Example:
        >>> logits = af.log([[[0.6, 0.1, 0.3]], [[0.2, 0.1, 0.7]], [[0.1, 0.8, 0.1]]])
        >>> (best,), scores = af.nn.ctc_beam_search_decoder(logits, [3], merge_repeated=False)
        >>> best.values
        [0 1]

    Args:
        inputs: logits, [time, batch, classes], float32 or float64; the last class is the blank.
        sequence_length: int32, [batch].
        beam_width: how many beginnings are kept at each time.
        top_paths: how many sequences are wanted.
        merge_repeated: labels that repeat in a result are dropped, as TensorFlow 1's default does.

    Returns:
        For each path an int64 SparseTensor of shape [batch, longest], and the logarithms of the paths' probabilities,
        [batch, top_paths].

    Raises:
        ValueError: fewer beams than paths, or no path.
        FailedPreconditionError: a sequence is longer than the time, in the run.
        InvalidArgumentError: fewer paths were found, in the run.
    """
    if not 0 < top_paths <= beam_width:
        raise ValueError(f"top_paths is from 1 to beam_width ({beam_width}), not {top_paths}.")
    outputs = outputs_of(
        ctc_beam_search_decoder_op(
            inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
        )
    )
    n = top_paths
    return [SparseTensor(*outputs[i : 3 * n : n]) for i in range(n)], outputs[-1]


@public("af.nn")
def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` that keeps labels that repeat (`tf.nn.ctc_beam_search_decoder_v2`).

    Example:
        >>> logits = af.log([[[0.6, 0.1, 0.3]], [[0.2, 0.1, 0.7]], [[0.8, 0.1, 0.1]]])
        >>> (best, second), scores = af.nn.ctc_beam_search_decoder_v2(logits, [3], top_paths=2)
        >>> best.values, second.values
        ([0], [0 0])

    Args:
        inputs: logits, [time, batch, classes], float32 or float64; the last class is the blank.
        sequence_length: int32, [batch]: how long each sequence is.
        beam_width: how many beginnings are kept at each time.
        top_paths: how many sequences are wanted.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


@public("af.nn")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`labels` without those that repeat the label before (`tf.nn.collapse_repeated`).

    Example:
        >>> af.nn.collapse_repeated([[1, 1, 2, 2, 1]], [5])
        ([[1 2 1]], [3])

    Args:
        labels: [batch, time].
        seq_length: int32 or int64, [batch]: how many labels of each row count.

    Returns:
        The labels, [batch, longest], padded by zeros, and how many there are, [batch].
    """
    with composite(name, "collapse_repeated_labels", labels, seq_length):
        rows, lengths = convert_to_tensor(labels), convert_to_tensor(seq_length)
        first = ones_like(rows[:, :1], dtype="bool")
        kept = concat([first, not_equal(rows[:, 1:], rows[:, :-1])], 1)
        kept = logical_and(kept, sequence_mask(lengths, shape(rows)[1]))
        count = reduce_sum(cast(kept, int32), 1)
        longest = reduce_max(count)
        places = reshape(sequence_mask(count, longest), [-1])
        moved = scatter_nd(
            expand_dims(boolean_mask(range_(size(places)), places), 1),
            boolean_mask(reshape(rows, [-1]), reshape(kept, [-1])),
            shape(places),
        )
        result = reshape(moved, [shape(rows)[0], longest])
        result.set_shape(None if rows.static_shape is None else (rows.static_shape[0], None))
        return result, cast(count, lengths.dtype)
