"""Losses over many classes that look at a sample of them: noise-contrastive estimation and sampled softmax."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import int64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import stop_gradient
from actorflow.graph.ops.math.arithmetic import multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.logic import equal
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.math.reduction import reduce_any, reduce_sum
from actorflow.graph.ops.nn.embedding import embedding_lookup
from actorflow.graph.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

# The number that takes an accidental hit out of a softmax, TensorFlow's -FLT_MAX.
_NEVER = -3.4028234663852886e38


@public("af.nn")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = "nce_loss",
) -> Tensor:
    """The noise-contrastive estimate of the loss of a classifier over many classes (`tf.nn.nce_loss`; Gutmann and
    Hyvärinen).

    Example:
        >>> weights, biases = af.ones([1000, 8]), af.zeros([1000])
        >>> loss = af.nn.nce_loss(weights, biases, labels=[[7], [42]], inputs=af.zeros([2, 8]), num_sampled=5, num_classes=1000)
        >>> loss.shape
        TensorShape([2])

    Args:
        weights: [classes, dim], or a list of tables among which the classes are divided; variables usually.
        biases: [classes], or a list of them.
        labels: the true classes, [batch, num_true], converted to int64.
        inputs: [batch, dim], the forward activations.
        num_sampled: how many classes are sampled for the batch.
        num_classes: how many classes there are.
        num_true: how many true classes an example has; 1 by default.
        sampled_values: the sample and the expected counts of the true and of the sampled classes, as a candidate sampler
            gives them; by default those of `log_uniform_candidate_sampler`.
        remove_accidental_hits: sampled classes that are true classes of an example don't count as false there.
        partition_strategy: "mod" or "div", as of `embedding_lookup`.

    Returns:
        The loss of each example, [batch].

    Raises:
        InvalidArgumentError: a label is not a class, in the run.
    """
    with composite(name, "nce_loss", labels, inputs):
        logits, targets = _sampled_logits(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            remove_accidental_hits,
            partition_strategy,
            None,
        )
        losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
        return reduce_sum(losses, 1)


@public("af.nn")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str | None = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The softmax cross entropy over the true and some sampled classes (`tf.nn.sampled_softmax_loss`; Jean et al.).

    Example:
        >>> weights, biases = af.ones([1000, 8]), af.zeros([1000])
        >>> loss = af.nn.sampled_softmax_loss(weights, biases, [[7], [42]], af.zeros([2, 8]), num_sampled=5, num_classes=1000)
        >>> loss.shape
        TensorShape([2])

    Args:
        weights: [classes, dim], or a list of tables among which the classes are divided; variables usually.
        biases: [classes], or a list of them.
        labels: the true classes, [batch, num_true], converted to int64.
        inputs: [batch, dim], the forward activations.
        num_sampled: how many classes are sampled for the batch.
        num_classes: how many classes there are.
        num_true: how many true classes an example has; 1 by default.
        sampled_values: the sample and the expected counts of the true and of the sampled classes, as a candidate
            sampler gives them; by default those of `log_uniform_candidate_sampler`.
        remove_accidental_hits: whether sampled classes that are true classes of an example don't count as false there.
        partition_strategy: "mod" or "div", as of `embedding_lookup`.
        seed: the sampler's; makes the samples the same in every session.

    Returns:
        The loss of each example, [batch].

    Raises:
        InvalidArgumentError: a label is not a class, in the run.
    """
    with composite(name, "sampled_softmax_loss", labels, inputs):
        logits, targets = _sampled_logits(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            remove_accidental_hits,
            partition_strategy,
            seed,
        )
        return softmax_cross_entropy_with_logits_v2(labels=stop_gradient(targets), logits=logits)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits of the true classes and then of the sampled classes, less the log of the expected count of each in a sample. Then
    their labels, in equal shares for the true classes. Both [batch, num_true + sampled]."""
    x = convert_to_tensor(inputs)
    true = cast(convert_to_tensor(labels), int64)
    if sampled_values is None:
        from actorflow.graph.ops.nn.candidate_sampling import log_uniform_candidate_sampler

        sampled_values = log_uniform_candidate_sampler(
            true_classes=true, num_true=num_true, num_sampled=num_sampled, unique=True, range_max=num_classes, seed=seed
        )
    sample, true_count, sampled_count = (stop_gradient(value) for value in sampled_values)
    sample = cast(sample, int64)
    flat = reshape(true, [-1])
    count = shape(flat)[0]
    # One lookup for both, so that each table gets one gradient.
    every = concat([flat, sample], 0)
    rows = cast(embedding_lookup(weights, every, partition_strategy), x.dtype)
    shifts = cast(embedding_lookup(biases, every, partition_strategy), x.dtype)
    of_sampled = matmul(x, rows[count:], transpose_b=True) + shifts[count:]
    true_rows = reshape(rows[:count], concat([[-1, num_true], shape(rows)[1:]], 0))
    of_true = reduce_sum(multiply(expand_dims(x, 1), true_rows), 2) + reshape(shifts[:count], [-1, num_true])
    if remove_accidental_hits:
        hits = reduce_any(equal(expand_dims(true, 2), reshape(sample, [1, 1, -1])), 1)
        of_sampled = of_sampled + cast(hits, x.dtype) * _NEVER
    of_true = of_true - log(cast(true_count, x.dtype))
    of_sampled = of_sampled - log(cast(sampled_count, x.dtype))
    targets = concat([ones_like(of_true) / num_true, zeros_like(of_sampled)], 1)
    return concat([of_true, of_sampled], 1), targets
