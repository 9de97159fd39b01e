"""Ops that put strings into buckets by their hash: `tf.string_to_hash_bucket*`. The numbers are TensorFlow's."""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import STRING
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _bucket(c: Inference) -> Shape:
    if c.attrs["num_buckets"] < 1:
        raise ValueError(f"There has to be one bucket or more, not {c.attrs['num_buckets']}.")
    return c.shapes[0]


@op("StringToHashBucket", shape=_bucket, dtypes=STRING, result=dt.int64, gradient=None)
def _string_to_hash_bucket(string_tensor: TensorLike, *, num_buckets: int, name: str | None = None) -> Tensor:
    """The bucket of each string. See `string_to_hash_bucket`."""


@public("af", "af.strings:to_hash_bucket")
def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int = 0,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The bucket of each string by TensorFlow's oldest hash (`tf.string_to_hash_bucket`).

    Deprecated there: `string_to_hash_bucket_fast` spreads better.

    Example:
        >>> af.string_to_hash_bucket(["a", "b", "a"], 10)
        [8 0 8]

    Args:
        string_tensor: strings of any shape.
        num_buckets: how many buckets there are, 1 or more.
        input: the newer name of `string_tensor`.

    Returns:
        Numbers int64 in [0, num_buckets), in the shape of the strings.

    Raises:
        ValueError: `num_buckets` is less than 1.
    """
    texts = input if string_tensor is None else string_tensor
    return _string_to_hash_bucket(texts, num_buckets=num_buckets, name=name)


@op("StringToHashBucketFast", shape=_bucket, dtypes=STRING, result=dt.int64, gradient=None)
def _string_to_hash_bucket_fast(input: TensorLike, *, num_buckets: int, name: str | None = None) -> Tensor:
    """The bucket of each string. See `string_to_hash_bucket_fast`."""


@public("af", "af.strings:to_hash_bucket_fast")
def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """The bucket in [0, num_buckets) of each string, int64, by FarmHash's Fingerprint64 (`tf.string_to_hash_bucket_fast`).

    The same on every machine. Strings that share a bucket can be found by those who know the hash.
    Raises ValueError for no bucket.

    Example:
        >>> af.string_to_hash_bucket_fast(["a", "b", "a"], 10)
        [9 2 9]
    """
    return _string_to_hash_bucket_fast(input, num_buckets=num_buckets, name=name)


@op("StringToHashBucketStrong", shape=_bucket, dtypes=STRING, result=dt.int64, gradient=None)
def _string_to_hash_bucket_strong(
    input: TensorLike, *, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """The bucket of each string. See `string_to_hash_bucket_strong`."""


@public("af", "af.strings:to_hash_bucket_strong")
def string_to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """The bucket of each string by SipHash-2-4 under a key (`tf.string_to_hash_bucket_strong`).

    Strings that share a bucket can't be found without the key.

    Example:
        >>> af.string_to_hash_bucket_strong(["a", "b", "a"], 10, key=[123, 456])
        [8 2 8]

    Args:
        input: strings of any shape.
        num_buckets: how many buckets there are, 1 or more.
        key: two 64-bit integers.

    Returns:
        Numbers int64 in [0, num_buckets), in the shape of the strings.

    Raises:
        ValueError: no bucket.
        InvalidArgumentError: the key has not two numbers, in the run.
    """
    return _string_to_hash_bucket_strong(input, num_buckets=num_buckets, key=key, name=name)
