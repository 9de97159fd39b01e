"""Samples of classes to train against when all classes are too many (`tf.nn.*_candidate_sampler`).

Each sampler gives `num_sampled` classes of [0, range_max), and the expected count of each true and each sampled class among
them. Training has to correct for these counts (Jean et al. 2014). The count is p · num_sampled for a class of probability p.
With `unique`, which draws again what was drawn before, it is 1 - (1 - p)^draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias

from actorflow.base.dtypes import float32, int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.convert import graph_of
from actorflow.graph.ops.declare import Op, op
from actorflow.graph.ops.random.distributions import seeds
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

Candidates: TypeAlias = "tuple[Tensor, Tensor, Tensor]"
_TYPES: dict[str, Any] = {"true_classes": int64}


def _sampled(c: Inference) -> list[Shape]:
    true = require_rank(c, 0, 2)
    count = c.attrs["num_sampled"]
    if count < 1 or c.attrs["num_true"] < 1:
        raise ValueError(f"A sampler takes 1 true class or more a row, and gives 1 sample or more, not {count}.")
    return [(count,), (None if true is None else true[0], c.attrs["num_true"]), (count,)]


P = ParamSpec("P")


def _sampler(type: str) -> Callable[[Callable[P, Candidates]], Op[P, Candidates]]:
    return op(
        type,
        shape=_sampled,
        types=_TYPES,
        result=(int64, float32, float32),
        gradient=None,
        stateful=True,
        work=50,
    )


@_sampler("UniformCandidateSampler")
def uniform_sampler_op(
    true_classes: TensorLike,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Candidates:
    """Classes of equal probability. See `uniform_candidate_sampler`."""


@_sampler("LogUniformCandidateSampler")
def log_uniform_sampler_op(
    true_classes: TensorLike,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Candidates:
    """Classes of Zipf's distribution. See `log_uniform_candidate_sampler`."""


@_sampler("LearnedUnigramCandidateSampler")
def learned_unigram_sampler_op(
    true_classes: TensorLike,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Candidates:
    """Classes as often as they were true so far. See `learned_unigram_candidate_sampler`."""


@_sampler("FixedUnigramCandidateSampler")
def fixed_unigram_sampler_op(
    true_classes: TensorLike,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Candidates:
    """Classes of given weights. See `fixed_unigram_candidate_sampler`."""


@_sampler("AllCandidateSampler")
def all_sampler_op(
    true_classes: TensorLike,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Candidates:
    """All classes, in order. See `all_candidate_sampler`."""


def _hits(c: Inference) -> list[Shape]:
    true = require_rank(c, 0, 2)
    require_rank(c, 1, 1)
    if true is not None and true[1] not in (None, c.attrs["num_true"]):
        raise ValueError(f"Each row has {true[1]} true classes, but num_true is {c.attrs['num_true']}.")
    return [(None,), (None,), (None,)]


@op(
    "ComputeAccidentalHits",
    shape=_hits,
    types={"true_classes": int64, "sampled_candidates": int64},
    result=(int32, int64, float32),
    gradient=None,
)
def compute_accidental_hits_op(
    true_classes: TensorLike, sampled_candidates: TensorLike, *, num_true: int, name: str | None = None
) -> Candidates:
    """The places at which a sampled class is a true class. See `compute_accidental_hits`."""


@public("af.nn", "tf.random")
def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes of [0, range_max), all of equal probability.

    Example:
        >>> sampled, _, _ = af.nn.uniform_candidate_sampler([[1]], num_true=1, num_sampled=3, unique=True, range_max=3)
        >>> af.sort(sampled)
        [0 1 2]

    Args:
        true_classes: int64 [batch, num_true].
        num_true: how many true classes an example has.
        num_sampled: how many classes to draw.
        unique: whether no class is drawn twice.
        range_max: how many classes there are.
        seed: makes the draws the same in every session; see `get_seed`.

    Returns:
        sampled_candidates int64 [num_sampled], true_expected_count float32 [batch, num_true],
        sampled_expected_count float32 [num_sampled].

    Raises:
        InvalidArgumentError: in the run, a true class is outside the range, or there are fewer classes than `unique`
            asks for.
    """
    attrs: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    return uniform_sampler_op(true_classes, **attrs, **seeds(seed, graph_of([true_classes])), name=name)


@public("af.nn", "tf.random")
def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes c with the probabilities log((c + 2) / (c + 1)) / log(range_max + 1): for words in the order of
    their frequency (`tf.random.log_uniform_candidate_sampler`). Results and errors are those of
    `uniform_candidate_sampler`.

    Example:
        >>> _, (frequent, rare), _ = af.nn.log_uniform_candidate_sampler([[0], [99]], 1, 20, True, range_max=100)
        >>> frequent > rare
        [ True]

    Args:
        true_classes: int64 [batch, num_true].
        num_true: how many true classes an example has.
        num_sampled: how many classes to draw.
        unique: whether no class is drawn twice.
        range_max: how many classes there are.
        seed: makes the draws the same in every session; see `get_seed`.
    """
    attrs: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    return log_uniform_sampler_op(true_classes, **attrs, **seeds(seed, graph_of([true_classes])), name=name)


@public("af.nn", "tf.random")
def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes with probabilities that go with 1 + how often a class was true in earlier runs of the session
    (`tf.random.learned_unigram_candidate_sampler`). Results and errors are those of `uniform_candidate_sampler`.

    Example:
        >>> sampled, true_expected, _ = af.nn.learned_unigram_candidate_sampler([[4]], 1, 3, True, range_max=5)
        >>> sampled.shape, true_expected.shape
        (TensorShape([3]), TensorShape([1, 1]))

    Args:
        true_classes: int64 [batch, num_true].
        num_true: how many true classes an example has.
        num_sampled: how many classes to draw.
        unique: whether no class is drawn twice.
        range_max: how many classes there are.
        seed: makes the draws the same in every session; see `get_seed`.
    """
    attrs: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    return learned_unigram_sampler_op(true_classes, **attrs, **seeds(seed, graph_of([true_classes])), name=name)


@public("af.nn", "tf.random")
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes by given weights (`tf.random.fixed_unigram_candidate_sampler`). Results are those of
    `uniform_candidate_sampler`.

    Example:
        >>> weights = [0.0, 1.0, 0.0]
        >>> sampled, *_ = af.nn.fixed_unigram_candidate_sampler([[0]], 1, 4, False, range_max=3, unigrams=weights)
        >>> sampled
        [1 1 1 1]

    Args:
        true_classes: int64 [batch, num_true].
        num_true: how many true classes an example has.
        num_sampled: how many classes to draw.
        unique: whether no class is drawn twice.
        range_max: how many classes there are.
        vocab_file: a file with one class a line, the weight behind its last comma.
        distortion: the weights are raised to this power; 1 by default.
        num_reserved_ids: how many classes come before these, which are never drawn.
        num_shards, shard: only the classes c with c % num_shards == shard are kept, and count from 0.
        unigrams: the weights, instead of a file.
        seed: makes the draws the same in every session; see `get_seed`.

    Raises:
        ValueError: both `vocab_file` and `unigrams`, or neither.
        InvalidArgumentError: in the run, the weights are not `range_max` many.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("Must provide exactly one of vocab_file and unigrams.")
    return fixed_unigram_sampler_op(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=tuple(map(float, unigrams)),
        **seeds(seed, graph_of([true_classes])),
        name=name,
    )


@public("af.nn", "tf.random")
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """All classes [0, num_sampled) in order, each expected once: training against all, in a sampler's form
    (`tf.random.all_candidate_sampler`). Results are those of `uniform_candidate_sampler`.

    Example:
        >>> af.nn.all_candidate_sampler([[2]], num_true=1, num_sampled=3, unique=True)
        ([0 1 2], [[1.]], [1. 1. 1.])

    Args:
        true_classes: int64 [batch, num_true].
        num_true: how many true classes an example has.
        num_sampled: how many classes there are.
        unique, seed: taken, and not used: nothing is drawn.
    """
    attrs: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    return all_sampler_op(true_classes, **attrs, **seeds(seed, graph_of([true_classes])), name=name)


@public("af.nn")
def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """The places of sampled classes that are true classes (`tf.nn.compute_accidental_hits`).

    A class that was sampled more than once is found at its last place.

    Example:
        >>> af.nn.compute_accidental_hits([[2], [0]], [0, 1, 2], num_true=1)
        ([0 1], [2 0], [-3.4028e+38 -3.4028e+38])

    Args:
        true_classes: int64 [batch, num_true].
        sampled_candidates: int64 [num_sampled], as a candidate sampler gives them.
        num_true: how many true classes an example has.
        seed: taken, and not used.

    Returns:
        The rows int32 of `true_classes`, the places int64 in `sampled_candidates`, and for each the weight -3.4e38 (the
        least float32), which added to the logits takes the sample away.
    """
    return compute_accidental_hits_op(true_classes, sampled_candidates, num_true=num_true, name=name)
