"""Logits, labels, weights and losses of heads: tensors of [D0, ..., DN, columns] whose shapes fit the logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor

NO_LABELS = (
    "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contains your "
    "label feature. Check that your input_fn properly parses and returns labels."
)


def fitted_logits(logits: Any, width: int) -> Tensor:
    """Logits as float32.

    Raises:
        ValueError: the rank is known to be below 2, or the last size to be another than `width`.
    """
    tensor = af.cast(af.convert_to_tensor(logits), af.float32)
    shape, rule = tensor.static_shape, "logits shape must be [D0, D1, ... DN, logits_dimension]"
    if shape is not None and (len(shape) < 2 or shape[-1] not in (None, width)):
        raise ValueError(f"{rule}, got {tensor.shape}, where the logits_dimension is {width}.")
    if shape is not None and shape[-1] is not None:
        return tensor
    rank = af.assert_rank_at_least(tensor, 2, data=[af.shape(tensor)], message=rule)
    with af.control_dependencies([rank]):
        size = af.assert_equal(width, af.shape(tensor)[-1], data=[af.shape(tensor)], message=rule)
    with af.control_dependencies([size]):
        return af.identity(tensor)


def fitted_labels(labels: Any, logits: Tensor, width: int) -> Tensor:
    """Labels as [D0, ..., DN, width], where the logits are [D0, ..., DN, n]; a last size of 1 may be left out.

    Raises:
        ValueError: there are no labels, they are sparse, or their shape is known to be another.
    """
    if labels is None:
        raise ValueError(NO_LABELS)
    if isinstance(labels, SparseTensor):
        raise ValueError(
            f"SparseTensor labels are not supported. Labels must be a Tensor of shape [D0, D1, ..., DN, {width}]. Say "
            "tf.sparse_tensor_to_dense(labels) in the input function."
        )
    tensor = _as_column(af.convert_to_tensor(labels), logits)
    rule = (
        f"labels shape must be [D0, D1, ... DN, {width}]. Check the n_classes of the head, and the shape of the labels."
    )
    shape = tensor.static_shape
    if shape is not None and len(shape) < 2:
        raise ValueError(f"{rule} The labels have the shape {tensor.shape}, the logits {logits.shape}.")
    if shape is not None and shape[-1] not in (None, width):
        raise ValueError(
            f"Mismatched label shape. Expected labels dimension={width}.  Received {shape[-1]}. If the classifier expects "
            "one-hot labels, look at its n_classes; otherwise at the shape of the labels."
        )
    expected = af.concat([af.shape(logits)[:-1], [width]], 0)
    return _checked(tensor, expected, rule, ("expected_labels_shape: ", "labels_shape: "))


def in_range(labels: Tensor, classes: int, message: str | None = None) -> Tensor:
    """The labels; those below 0 or above `classes - 1` are an error of the step."""
    top = af.constant(classes - 1, labels.dtype)
    below = af.assert_less_equal(labels, top, message=message or "Labels must be <= n_classes - 1")
    above = af.assert_greater_equal(labels, af.constant(0, labels.dtype), message=message or "Labels must be >= 0")
    with af.control_dependencies([below, above]):
        return af.identity(labels)


def in_vocabulary(labels: Tensor, vocabulary: Sequence[Any]) -> Tensor:
    """The places of words in a vocabulary. Words that it does not have are an error of the step, which names them."""
    places = af.lookup.index_table_from_tensor(vocabulary).lookup(labels)
    unknown = af.boolean_mask(labels, af.less(places, 0))
    message = f"Labels must be words of the label_vocabulary {list(vocabulary)!r:.300}, but there are:"
    with af.control_dependencies([af.Assert(af.equal(af.size(unknown), 0), [message, unknown])]):
        return af.identity(places)


def fitted_weights(values: Any, logits: Tensor, each: bool) -> Tensor:
    """Weights of examples as float32, [D0, ..., DN, 1], or with `each` of single logits."""
    tensor = af.convert_to_tensor(values)
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise ValueError(f"Weight column should be castable to float. Given dtype: {tensor.dtype.name}")
    tensor = _as_column(af.cast(tensor, af.float32), logits)
    last = (tensor.static_shape or (None,))[-1]
    rule = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
    size = af.constant([1], af.int32)
    if each:
        rule = "weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"
        if last != 1:
            size = af.where(af.equal(af.shape(tensor)[-1:], 1), size, af.shape(logits)[-1:])
    return _checked(
        tensor,
        af.concat([af.shape(logits)[:-1], size], 0),
        rule,
        ("logits_shape: ", "weights_shape: "),
        af.shape(logits),
    )


def fitted_losses(losses: Any, logits: Tensor, width: int) -> Tensor:
    """The result of a loss function, [D0, ..., DN, width]."""
    tensor = af.convert_to_tensor(losses)
    expected, shape = af.concat([af.shape(logits)[:-1], [width]], 0), af.shape(tensor)
    rule = f"loss_fn must return Tensor of shape [D0, D1, ... DN, {width}]. "
    data = [rule, "logits_shape: ", af.shape(logits), "loss_shape: ", shape]
    with af.control_dependencies([af.Assert(af.reduce_all(af.equal(shape, expected)), data)]):
        return af.identity(tensor)


def _as_column(tensor: Tensor, logits: Tensor) -> Tensor:
    rank, other = tensor.shape.ndims, logits.shape.ndims
    return af.expand_dims(tensor, -1) if other is not None and rank == other - 1 else tensor


def _checked(tensor: Tensor, expected: Tensor, rule: str, words: tuple[str, str], shown: Any = None) -> Tensor:
    shape = af.shape(tensor)
    data = [rule, words[0], expected if shown is None else shown, words[1], shape]
    with af.control_dependencies([af.Assert(af.reduce_all(af.equal(shape, expected)), data)]):
        return af.identity(tensor)
